"""Joining printed lines into running text: which hyphens belong to the word, which to the line break."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from corpus_assets.pdf.lexicon import is_word
from corpus_assets.pdf.lines import SOFT_HYPHEN

_COMPOUND_TAILS_TEXT = """
aged associated aware balanced based binding blind borne bound capable care centered centred century class
coated code coded colored coloured conditioned containing controlled cost count cut day deficiency deficient
defined dependent derived dimensional directed domain down driven edge effect effective efficient end energy
expressing factor fed field fit fold following forming free frequency friendly function generated generation
grade group half head high hour independent induced infected informed initiated invasive known label labeled
labelled lasting learning length level like limited line linear linked loaded located long low made making match
matched mean mediated minute modal mode month motivated naive negative null off old only order oriented out pair
paired parametric part patient performance phase phenotype point positive power processing producing quality
randomised randomized range rank rate ray reactive reduced regulated related released repeat reported resistant
resolution responsive rich risk round sample scale score sectional selected selective sensitive set shaped shift
short sided sized space specific square squares stage standing state step stimulated structured study survival
system target targeted term tested throughput time to trained transfected treated treatment trial tuned tuning
turn type up use used valued variable versus volume wave way week weight weighted wide width wise word year zero
"""
_COMPOUND_HEADS_TEXT = """
all alpha best beta case cell close co cross data double event ex fine first five four free full gamma gene good
half hand hard high human ill image in inter-rater large left life light long low lower machine mid multiple
near new non of off older on one open out over-the part peer point post-hoc problem quasi random real right same
second self semi short single six small so state still ten third three time top two ultra upper user vice well
wild world
"""
_BOUND_TEXT = """
aero agro allo anti arterio astro auto bio broncho cardio chemo chondro chrono co con counter cryo cyto de derm
di dis electro encephalo endo entero epi ex extra fibro fluoro fore gastro geno geo glyco haemato hemato hepato
hetero histo homo hydro hyper hypo il im immuno in infra inter intra iso karyo kine lipo lympho macro magneto
mal mega meta micro mini mis mono morpho multi myco myo nano nephro neuro non onco ortho osteo over para patho
peri pharmaco phono photo phyto poly pre pro proteo pseudo psycho pulmo pyro radio re retro sero spectro stereo
sub super supra syn techno tele therm thermo thio thrombo trans tri ultra un under uni up uro vaso xeno
"""
_COMPOUND_TAILS = frozenset(_COMPOUND_TAILS_TEXT.split())
_COMPOUND_HEADS = frozenset(_COMPOUND_HEADS_TEXT.split())
_BOUND = frozenset(_BOUND_TEXT.split())

_CLOSED = frozenset({"de", "di", "dis", "il", "im", "in", "mis", "syn", "trans", "un"})  # dissatisfied, unnamed

_HYPHENS = "-‐"
# UTF-8 bytes: what cannot stand in a word or a compound becomes a space; what is not ASCII is looked at later.
_SPACED = bytes(byte if byte >= 128 or chr(byte).isalnum() or byte in b"_-" else 32 for byte in range(256))
_WORD = re.compile(r"[^\W\d_]+(?:[-‐][^\W\d_]+)*")
_LINE_END_HYPHEN = re.compile(r"[-‐]\n")
_WORD_BEFORE = re.compile(r"\S{1,40}$")  # bounded: a sequence of 30,000 letters is one word
_WORD_AFTER = re.compile(r"\S{1,40}")
_FIRST_WORD = re.compile(r"^([^\W\d_]+)")
_LINK = re.compile(r"(?:https?:|www\.|doi\.org/|doi:\s?|\b10\.\d{4,9}/|ftp:)", re.IGNORECASE)
_LINK_GOES_ON = re.compile(r"^[a-z0-9]+[\w/%=&?#~+-]*(?:[./_=-][\w/%=&?#~.+-]+|\d[\w.]*)", re.IGNORECASE)
_NO_SPACE_SCRIPTS = re.compile("[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uff60]")


class Joiner:
    """Joins lines of one document; knows the words the document itself writes, whole and with hyphens."""

    def __init__(self, lines: Iterable[str]) -> None:
        text = _drop_broken_words("\n".join(lines)).lower().replace("‐", "-")
        self._words = _count_words(text)
        self._hyphenated = Counter({word: count for word, count in self._words.items() if b"-" in word})
        for word in self._hyphenated:
            del self._words[word]
        for word, count in self._hyphenated.items():
            for part in word.split(b"-"):
                self._words[part] += count

    def join(self, before: str, after: str) -> tuple[str, str]:
        """Return ``before`` without what the line break added to it, and what stands between it and ``after``."""
        if not before or not after:
            return before, ""
        last = before[-1]
        if "a" <= last <= "z" and "/" not in before[-120:]:
            return before, " "
        if last == SOFT_HYPHEN:
            return before[:-1], ""
        if last.isalnum() and not before.isascii() and _NO_SPACE_SCRIPTS.match(last):
            return before, "" if _NO_SPACE_SCRIPTS.match(after[0]) else " "
        if last.isspace():
            return before, ""
        link = self._join_link(before, after)
        if link is not None:
            return before, link
        if last in _HYPHENS:
            return self._join_hyphen(before, after)
        if last == "/" and len(before) > 1 and before[-2].isalpha() and after[0].isalpha():
            return before, ""
        if last == "—" and len(before) > 1 and not before[-2].isspace():
            return before, ""
        if not last.isascii() and _NO_SPACE_SCRIPTS.match(last) and _NO_SPACE_SCRIPTS.match(after[0]):
            return before, ""
        return before, " "

    def _join_link(self, before: str, after: str) -> str | None:
        """Return the joint inside an address that was cut at a line's end, or None when there is none."""
        last = before[-1]
        if last.isalpha() and "/" not in before[-120:]:
            return None
        token = before[-300:].rsplit(None, 1)[-1]
        if not ("." in token or ":" in token) or not _LINK.search(token):
            return None
        if last in "/_=&?#%~-‐" or token.endswith("www."):
            return "" if after[0].isalnum() or after[0] in "/_%?#~-(" else None
        if last == "." and _LINK_GOES_ON.match(after) and after[0].islower():
            return ""
        if last.isdigit() and after[0] in "./-_" and len(after) > 1 and after[1].isalnum():
            return ""
        return None

    def _join_hyphen(self, before: str, after: str) -> tuple[str, str]:
        start = end = len(before) - 1
        while start and before[start - 1].isalnum():
            start -= 1
        following = _FIRST_WORD.match(after)
        if start == end:
            # "3.5 -" or "--": a dash or a minus, not a word's hyphen
            return (before, "") if len(before) > 1 and before[-2].isalnum() else (before, " ")
        if following is None:
            return before, ""
        left, right = before[start:end], following[1]
        if start and before[start - 1] in _HYPHENS and is_word(left) and is_word(right):
            return before, ""  # state-of-the-|art
        return (before[:-1], "") if self._is_broken_word(left, right) else (before, "")

    def _is_broken_word(self, left: str, right: str) -> bool:
        low_left, low_right = left.lower(), right.lower()
        if len(left) == 1 or not left.isalpha() or left[-1].isdigit():
            return False
        if right[0].isupper() and not (left.isupper() and right.isupper() and len(left) > 2):
            return False
        whole, hyphenated = low_left + low_right, f"{low_left}-{low_right}"
        num_whole, num_hyphenated = self._words[whole.encode()], self._hyphenated[hyphenated.encode()]
        if num_whole != num_hyphenated:
            return num_whole > num_hyphenated
        if is_word(whole):
            return True
        if left.isupper() and right.islower():
            return False
        left_known = is_word(low_left) or self._words[low_left.encode()] > 1
        right_known = is_word(low_right) or self._words[low_right.encode()] > 1
        if low_right in _COMPOUND_TAILS and (left_known or len(left) >= 4) and low_left not in _BOUND:
            return False
        if low_left in _COMPOUND_HEADS and right_known:
            return False
        if low_left in _BOUND:
            # under-|represented, anti-|inflammatory: English writes the hyphen where a letter would stand twice
            is_doubled = low_left[-1] == low_right[0] and low_left not in _CLOSED
            return not (is_doubled and len(right) >= 4 and is_word(low_right))
        return not (left_known and right_known and len(left) >= 3 and len(right) >= 4)


def _count_words(text: str) -> Counter[bytes]:
    """Count the words and compounds (as ``_WORD`` finds them), in UTF-8: most are told apart as bytes, far faster."""
    words = Counter(text.encode("utf-8", "surrogatepass").translate(_SPACED).split())
    for word in [word for word in words if not (word.isascii() and word.isalpha())]:
        count = words.pop(word)
        for found in _WORD.findall(word.decode("utf-8", "surrogatepass")):
            words[found.encode()] += count
    return words


def _drop_broken_words(text: str) -> str:
    """Return the text without the words a hyphen breaks at a line's end: what they are is what is asked."""
    parts: list[str] = []
    end = 0  # of what is written or dropped
    for hyphen in _LINE_END_HYPHEN.finditer(text):
        before = _WORD_BEFORE.search(text[max(end, hyphen.start() - 40) : hyphen.start()])
        after = _WORD_AFTER.match(text, hyphen.end())
        if before and after and hyphen.start() >= end:
            parts.append(text[end : hyphen.start() - len(before[0])])
            end = after.end()
    parts.append(text[end:])
    return " ".join(parts)
