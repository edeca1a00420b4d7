"""Candidates, and the whole sentences in them that may be quoted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Protocol

from corpus_assets.model import Card, Chunk, Page, PaperRecord, Section, SectionKind
from corpus_assets.sentences import split_sentences
from retrieval.answer import StanceLabel
from retrieval.orders import is_order
from retrieval.terms import STOP_WORDS, words

MIN_SENTENCE_WORDS = 4
MAX_SENTENCE_WORDS = 75
MIN_PAPER_CHARS = 1500
GLYPH_LOSS = "\ufffd"

NEVER_QUOTED_KINDS = frozenset({SectionKind.REFERENCES, SectionKind.ACKNOWLEDGEMENTS})
TERMINAL = re.compile(r"[.!?。！？．؟।][\"'”’»)\]}」』]*[⁰¹²³⁴⁵⁶⁷⁸⁹,–⁻\-]*(?:\s?\[[\d,–\-\s]+\])?$")
REFERENCE_LIKE = re.compile(
    r"^\s*(?:\[\d{1,3}\]|\d{1,3}\.)\s+[A-Z][\w'’-]+,?\s+(?:[A-Z]\.?\s?){1,3}[,.;]"  # "12. Smith J, …"
    r"|\b(?:19|20)\d{2}[a-z]?\s*;\s*\d+\s*(?:\(\d+\))?\s*:\s*[A-Za-z]?\d+"  # "2001;3(2):1-9"
    r"|\bvol(?:ume|\.)\s*\d+.*\bpp?\.\s*\d+|\bpages \d+[–-]\d+\b|\bIn Proceedings of\b|\bpp\.\s*\d+\s*[–-]\s*\d+"
    r"|^[A-Z][\w'’-]+,? (?:[A-Z]\.\s?)+(?:,| and| &).*\((?:19|20)\d{2}[a-z]?\)",
)
BOILERPLATE = re.compile(
    r"https?://|www\.|\bdoi\b|@\w+\.|all rights reserved|creative commons|\bcopyright\b|©|corresponding author"
    r"|conflicts? of"
    r" interest|competing interests?|this work was (?:supported|funded)|\bgrant (?:no|number|agreement)"
    r"|received:? .{0,40}accepted"
    r"|open access article|\blicen[cs]ed? under\b|author contributions?|ethics committee|informed consent"
    r"|data availability"
    r"|\bthe authors (?:thank|declare|are grateful)\b|\bwe (?:thank|are grateful|acknowledge)\b|e-?mail:"
    r"|supplementary (?:file|material)"
    r"s? (?:is|are|can)|peer review|publisher[’']s note|anonymous reviewers?|^keywords?\b|^citation:|^funding\b"
    r"|^editor:",
    re.I,
)
REPORTED = re.compile(
    r"\b[A-Z][\w'’-]+ (?:et al\.?|and colleagues|and co-?workers|& [A-Z][\w'’-]+"
    r"|and [A-Z][\w'’-]+),? ?(?:\(?(?:19|20)\d{2}[a-z]?\)?"
    r"|\[\d+\])"
    r"|\b(?:et al\.?|and colleagues|and co-?workers)[^.]{0,40}\b(?:report|show|found|find|describ|demonstrat"
    r"|observ|claim|propos|suggest)"
    r"|\b[A-Z][\w'’-]+ \((?:19|20)\d{2}[a-z]?\)"
    r"|\b(?:has|have) been (?:previously |widely |recently )?(?:reported|shown|demonstrated|described|suggested"
    r"|proposed)\b"
    r"|\b(?:previous|earlier|prior|other|several|some|many|recent) (?:studies|reports?|work|authors|groups|trials"
    r"|papers)"
    r" (?:have |has |had )?(?:also |previously |consistently )?(?:report|show|found|find|describ|demonstrat"
    r"|observ|claim|suggest|indicat)"
    r"|\baccording to [A-Z][\w'’-]+|\bpreviously (?:reported|shown|described|published)\b",
)
OWN_FINDING = re.compile(
    r"\b(?:we (?:found|find|show|showed|observed|report|demonstrate|confirm|measured|conclude)|our (?:results"
    r"|data|findings|study)"
    r"|in (?:this|our|the present) (?:study|trial|work|paper|analysis))\b",
    re.I,
)
FAILED_TO_REPRODUCE = re.compile(
    r"\b(?:(?:could|can|did|do|was|were|has|have|had)(?: not|n['’]t)(?: be(?:en)?)? (?:\w+ )?(?:reproduc|replicat"
    r"|confirm|support|observ|find"
    r"|found|verif|corroborat)\w*|fail(?:ed|s|ure)? to (?:reproduce|replicate|confirm|support|find|show|observe|verify)"
    r"|unable to (?:reproduce|replicate|confirm|find|verify)|contrary to (?:this|these|that|those|the|our|earlier"
    r"|previous)"
    r"|(?:in contrast|by contrast|however|contradict\w*|inconsistent with|at odds with|not (?:consistent"
    r"|in agreement|in line) with))\b",
    re.I,
)
LEANS_ON_BEFORE = re.compile(
    r"^(?:this|these|those|that|it|they|such|he|she|both|here|there|thus|hence|therefore|however|moreover"
    r"|furthermore|in addition"
    r"|additionally|similarly|conversely|in contrast|by contrast|consequently|as a result|for example"
    r"|for instance|also|then|nevertheless"
    r"|nonetheless|the (?:former|latter|same|other)|another|accordingly|on the other hand|specifically"
    r"|in particular|indeed|likewise"
    r"|its|their|but|and|or|so)\b",
    re.I,
)
POINTS_BACK = re.compile(
    r"^(?:this|these|those|that|it|they|such|he|she|both|its|their|the (?:former|latter|same))\b", re.I
)
FIRST_PERSON = re.compile(r"\b(?:we|our|us|ours)\b", re.I)
STRUCTURE_TALK = re.compile(
    r"\b(?:(?:this|the (?:present|current|next|following|remaining)|in this) (?:paper|article|section|chapter"
    r"|review|study|work) "
    r"(?:is|are|was|aims?|describes?|presents?|introduces?|provides?|outlines?|discusses|focus\w*|gives?"
    r"|summari[sz]es|reviews?)"
    r"|we (?:aim(?:ed)?|sought|set out|describe|present|introduce|organi[sz]e|will (?:discuss|show|describe)|discuss) "
    r"|the (?:aim|purpose|objective|goal)s? of (?:this|the|our)|see (?:section|fig|table|appendix)|as (?:shown"
    r"|seen|described) "
    r"(?:in|above|below)|(?:is|are) (?:shown|listed|given|presented|summari[sz]ed|illustrated|depicted) in (?:the )?"
    r"(?:fig|table|section|appendix|supplement))",
    re.I,
)
FRAMING = re.compile(
    r"\b(?:we|the authors|this (?:paper|study|work|review|trial)|the present (?:study|work)) (?:also |therefore "
    r"|then |next |here )?"
    r"(?:examined?|asked|aimed?|sought|investigated?|set out|wanted|explored?|studied|evaluated?|assessed?"
    r"|tested?|hypothesi[sz]ed?"
    r"|wondered|reviewed?|summari[sz]ed?|compared?|discuss(?:ed)?) (?:whether|if|how|why|to|the|what|which|its"
    r"|their|an?)\b"
    r"|\b(?:this|the present|our) (?:paper|study|work|review|article|report|trial) (?:arranges?|organi[sz]es?|orders?"
    r"|sorts?|groups?|lists?|covers?|collects?|surveys?|deals? with|follows?|takes?|traces?)\b"
    r"|^To (?:measure|determine|assess|examine|investigate|evaluate|compare|test|study|explore|describe"
    r"|identify|understand|see)\b"
    r"|^Whether\b.*\b(?:is|was|remains?|are|were)\b"
    r"|\b(?:remains?|is|are|was|were) (?:still |largely |yet |not |poorly |incompletely )*(?:unknown|unclear"
    r"|uncertain|understood|to be (?:seen|determined))\b"
    r"|\bwe (?:close|end|conclude|begin|start|turn) (?:with|by|to)\b|\b(?:literature|field) has grown\b"
    r"|\b(?:little is known|has received (?:little|much) attention|is of (?:great |growing )?interest"
    r"|have looked (?:chiefly|mainly))\b",
    re.I,
)
LIKENED = re.compile(
    r"\b(?:like|unlike|than|as (?:with|in|for)|(?:in|by) contrast (?:to|with)|contrary to|compared (?:with|to)"
    r"|similar(?:ly)? to|parallels? (?:with|to)|analog\w+ (?:to|of)|exclusive (?:of|with)|instead of)\b[^,.;:()]*",
    re.I,
)  # what a sentence only likens its subject to
CAPTION = re.compile(
    r"^(?:supplementary |extended data )?(?:fig(?:ure|\.)?|table|tab\.|box|algorithm|scheme|listing)\s?[\dA-Z]", re.I
)
TERMINAL_SEQUENCES = re.compile(
    "\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[@-Z\\\\-_]"
)
MARKS = re.compile(r"\s?\[\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*\]")


class GenerationLike(Protocol):
    """The part of a generation that answering needs."""

    @property
    def id(self) -> str: ...
    @property
    def papers(self) -> Mapping[str, PaperRecord]: ...
    @property
    def cards(self) -> Mapping[str, Card]: ...
    def text(self, paper_id: str) -> str: ...
    def pages(self, paper_id: str) -> Sequence[Page]: ...
    def sections(self, paper_id: str) -> Sequence[Section]: ...


@dataclass(frozen=True)
class Candidate:
    """A passage on its way to being evidence. ``score`` is the stage's own; ``relevance`` is 0..1 after reranking."""

    chunk: Chunk
    score: float
    sub_queries: tuple[int, ...] = (0,)  # which sub-queries found it
    rank: int = 0
    cosine: float | None = None
    relevance: float = 0.0
    part_scores: Mapping[int, float] = field(
        default_factory=dict
    )  # sub-query -> 0..1, where the scorer told them apart
    is_counter: bool = False  # found by the counter-evidence pass
    is_outside_shortlist: bool = False
    stance: StanceLabel = "neutral"
    stance_reason: str = ""
    stance_is_verdict: bool = False
    stance_quote: str = ""

    @property
    def chunk_id(self) -> str:
        return self.chunk.chunk_id

    @property
    def paper_id(self) -> str:
        return self.chunk.paper_id


@dataclass(frozen=True)
class Sentence:
    """A whole sentence of a paper: ``paper_text[char_start:char_end] == text``."""

    paper_id: str
    chunk_id: str
    char_start: int
    char_end: int
    text: str
    section_title: str
    section_kind: SectionKind
    similarities: tuple[float, ...] = ()  # to each sub-query
    coverage: tuple[float, ...] = ()  # share of each sub-query's subject words in it, weighted by rarity
    score: float = 0.0
    passage_relevance: float = 0.0
    news: float = 0.0  # what it adds to the question, for the writer
    is_on_subject: bool = True  # it or its paper's title holds a name the question holds, if the question holds any
    is_reported: bool = False  # says what others found
    companion: Sentence | None = field(default=None, compare=False)  # the next sentence, when it takes this one back
    antecedent: Sentence | None = field(default=None, compare=False)  # the one before, when this one leans on it

    @property
    def key(self) -> tuple[str, int, int]:
        return (self.paper_id, self.char_start, self.char_end)

    @property
    def num_words(self) -> int:
        return len(self.text.split())


def is_quotable(text: str) -> bool:
    """Tell whether a sentence reads as one: whole, undamaged, and not a heading, reference, address or legal note."""
    if GLYPH_LOSS in text or "\x00" in text:
        return False
    text = TERMINAL_SEQUENCES.sub("", text)
    parts = text.split()
    num_letters = sum(ch.isalpha() for ch in text)
    if len(parts) < MIN_SENTENCE_WORDS and not (len(parts) < 3 and num_letters >= 8 and not text.isascii()):
        return False
    if len(parts) > MAX_SENTENCE_WORDS or len(text) > 900:
        return False
    if not TERMINAL.search(text) or text.rstrip().endswith("?"):
        return False
    if num_letters < 0.55 * sum(not ch.isspace() for ch in text):
        return False
    if re.match(r"\d+(?:\.\d+)+\.? [A-Z]", text):
        return False  # a numbered heading runs into it
    first = text.lstrip("“\"'(‘[")[:1]
    if first.islower() and not re.match(r"[\W]*(?:[a-z]{1,4}-?[A-Z\d]|[α-ω])", text):
        return False
    if text.count("(") != text.count(")") or text.count("[") != text.count("]"):
        return False
    if REFERENCE_LIKE.search(text) or BOILERPLATE.search(text) or is_order(text):
        return False
    num_figures = sum(any(ch.isdigit() for ch in part) for part in parts)
    is_listing = len(parts) > 8 and text.isascii() and not any(word in STOP_WORDS for word in words(text))
    if is_listing and num_figures > 0.4 * len(parts):
        return False  # a table row: running text has function words
    num_capitalised = sum(part[:1].isupper() for part in parts)
    return not (len(parts) >= 8 and num_capitalised > (0.4 if is_listing else 0.7) * len(parts))


def is_reported_by_others(text: str) -> bool:
    """Tell whether the sentence repeats what another paper found."""
    return bool(REPORTED.search(text)) and not OWN_FINDING.search(text)


class SentenceReader:
    """Read the sentences of passages out of the papers' texts; a sentence is never cut at a chunk's edge."""

    def __init__(self, generation: GenerationLike) -> None:
        self._generation = generation
        self._texts: dict[str, str] = {}

    def text(self, paper_id: str) -> str:
        if paper_id not in self._texts:
            self._texts[paper_id] = self._generation.text(paper_id)
        return self._texts[paper_id]

    def title(self, paper_id: str) -> str:
        """Return a paper's title, empty when none was found."""
        paper = self._generation.papers.get(paper_id)
        return paper.metadata.title if paper else ""

    def spans_around(self, paper_id: str, start: int, end: int) -> list[tuple[int, int]]:
        """Return the sentence spans of the paragraphs that ``[start, end)`` touches."""
        text = self.text(paper_id)
        first = text.rfind("\n\n", 0, start)
        first = 0 if first < 0 else first + 2
        last = text.find("\n\n", end)
        last = len(text) if last < 0 else last
        return [(first + s, first + e) for s, e in _split(text[first:last])]

    def sentences(self, chunk: Chunk) -> list[Sentence]:
        """Return the quotable sentences that overlap the chunk, in order."""
        if chunk.section_kind in NEVER_QUOTED_KINDS:
            return []
        text = self.text(chunk.paper_id)
        spans = self.spans_around(chunk.paper_id, chunk.char_start, chunk.char_end)
        found: list[Sentence] = []
        for index, (start, end) in enumerate(spans):
            if end <= chunk.char_start or start >= chunk.char_end:
                continue
            sentence = self._sentence(chunk, text, start, end)
            if not is_quotable(sentence.text) or self._is_title(sentence):
                continue
            if index and POINTS_BACK.match(sentence.text):
                before = text[slice(*spans[index - 1])]
                if is_quotable(before):
                    sentence = replace(sentence, antecedent=self._sentence(chunk, text, *spans[index - 1]))
            if sentence.is_reported and index + 1 < len(spans):
                next_text = text[slice(*spans[index + 1])]
                if FAILED_TO_REPRODUCE.search(next_text) and is_quotable(next_text):
                    sentence = replace(sentence, companion=self._sentence(chunk, text, *spans[index + 1]))
            found.append(sentence)
        return found

    def _is_title(self, sentence: Sentence) -> bool:
        """Tell whether a sentence is (part of) its paper's title or a section's heading, which state nothing."""
        # In a text of a few lines the "title" is often its first sentence.
        if sentence.section_kind is not SectionKind.FRONT or len(self.text(sentence.paper_id)) < MIN_PAPER_CHARS:
            return False
        paper = self._generation.papers.get(sentence.paper_id)
        title = " ".join(words(paper.metadata.title)) if paper else ""
        own = " ".join(words(sentence.text))
        is_first_line = sentence.char_start < 200
        return bool(title) and (own in title or (is_first_line and title in own and len(own) < len(title) + 12))

    def any_sentence(self, chunk: Chunk) -> Sentence | None:
        """Return the chunk's first whole undamaged sentence, however it reads, or None."""
        text = self.text(chunk.paper_id)
        for start, end in self.spans_around(chunk.paper_id, chunk.char_start, chunk.char_end):
            if end > chunk.char_start and start < chunk.char_end and GLYPH_LOSS not in text[start:end]:
                return self._sentence(chunk, text, start, end)
        return None

    def _sentence(self, chunk: Chunk, text: str, start: int, end: int) -> Sentence:
        quote = text[start:end]
        return Sentence(
            paper_id=chunk.paper_id,
            chunk_id=chunk.chunk_id,
            char_start=start,
            char_end=end,
            text=quote,
            section_title=chunk.section_title,
            section_kind=chunk.section_kind,
            is_reported=is_reported_by_others(quote),
        )


@lru_cache(maxsize=512)
def _split(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(split_sentences(text))


def pages_of_span(pages: Sequence[Page], start: int, end: int) -> str:
    """Return the pages a span of text stands on, "3" or "3-4"; empty when no page holds it."""
    touched = [page.number for page in pages if page.char_start < end and page.char_end > start]
    if not touched:
        return ""
    return str(touched[0]) if touched[0] == touched[-1] else f"{touched[0]}-{touched[-1]}"


def section_of_span(sections: Sequence[Section], start: int) -> Section | None:
    """Return the section a character stands in."""
    return next((section for section in sections if section.char_start <= start < section.char_end), None)
