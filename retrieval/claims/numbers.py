"""Quantities in scientific prose: locale forms, exponents, units, comparators; what only looks like data is left out.

Reference marks (``survival¹²,¹³``, ``[12]``), identifiers (``T790M``, ``IL-17``) and labels (``Figure 3``) are no data.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Comparator = Literal["=", "<", "<=", ">", ">=", "~"]

SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
SIGNS = str.maketrans(
    {"−": "-", "‐": "-", "‑": "-", "µ": "μ", "\u00a0": " ", "\u202f": " ", "\u2009": " ", "·": "·", "∼": "~", "≈": "~"}
)
RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"

# unit -> (dimension, factor to the dimension's base); case matters (mM is not mm), litres aside.
SCALED_UNITS: dict[str, tuple[str, float]] = {
    "kg": ("g", 1e3), "g": ("g", 1.0), "mg": ("g", 1e-3), "μg": ("g", 1e-6), "mcg": ("g", 1e-6),
    "ng": ("g", 1e-9), "pg": ("g", 1e-12),
    "L": ("L", 1.0), "dL": ("L", 1e-1), "mL": ("L", 1e-3), "μL": ("L", 1e-6), "nL": ("L", 1e-9),
    "km": ("m", 1e3), "m": ("m", 1.0), "cm": ("m", 1e-2), "mm": ("m", 1e-3), "μm": ("m", 1e-6), "nm": ("m", 1e-9),
    "M": ("M", 1.0), "mM": ("M", 1e-3), "μM": ("M", 1e-6), "nM": ("M", 1e-9), "pM": ("M", 1e-12),
    "mol": ("mol", 1.0), "mmol": ("mol", 1e-3), "μmol": ("mol", 1e-6), "nmol": ("mol", 1e-9),
    "year": ("year", 1.0), "month": ("month", 1.0), "week": ("day", 7.0), "day": ("day", 1.0),
    "hour": ("s", 3600.0), "minute": ("s", 60.0), "s": ("s", 1.0), "ms": ("s", 1e-3), "μs": ("s", 1e-6),
    "ns": ("s", 1e-9),
    "%": ("%", 1.0), "percentage point": ("pp", 1.0), "fold": ("fold", 1.0), "°C": ("°C", 1.0), "°F": ("°F", 1.0),
    "K": ("K", 1.0),
    "°": ("°", 1.0), "degree": ("°", 1.0),
    "Pa": ("Pa", 1.0), "kPa": ("Pa", 1e3), "MPa": ("Pa", 1e6), "GPa": ("Pa", 1e9), "hPa": ("Pa", 1e2),
    "mmHg": ("mmHg", 1.0),
    "Hz": ("Hz", 1.0), "kHz": ("Hz", 1e3), "MHz": ("Hz", 1e6), "GHz": ("Hz", 1e9),
    "J": ("J", 1.0), "kJ": ("J", 1e3), "kcal": ("kcal", 1.0), "eV": ("eV", 1.0), "keV": ("eV", 1e3),
    "MeV": ("eV", 1e6), "GeV": ("eV", 1e9), "TeV": ("eV", 1e12),
    "W": ("W", 1.0), "mW": ("W", 1e-3), "kW": ("W", 1e3), "MW": ("W", 1e6), "V": ("V", 1.0), "mV": ("V", 1e-3),
    "kV": ("V", 1e3),
    "A": ("A", 1.0), "mA": ("A", 1e-3), "T": ("T", 1.0), "mT": ("T", 1e-3), "Gy": ("Gy", 1.0),
    "mGy": ("Gy", 1e-3), "Sv": ("Sv", 1.0), "mSv": ("Sv", 1e-3),
    "N": ("N", 1.0), "kN": ("N", 1e3), "Da": ("Da", 1.0), "kDa": ("Da", 1e3), "bp": ("bp", 1.0),
    "kb": ("bp", 1e3), "Mb": ("bp", 1e6),
    "fL": ("L", 1e-15), "IU": ("IU", 1.0), "U": ("U", 1.0), "ppm": ("ppm", 1.0), "ppb": ("ppb", 1.0),
    "dB": ("dB", 1.0), "rpm": ("rpm", 1.0), "ha": ("ha", 1.0),
    "GB": ("B", 1e9), "MB": ("B", 1e6), "kB": ("B", 1e3), "TB": ("B", 1e12),
}  # fmt: skip
UNIT_SPELLINGS: dict[str, str] = {
    "l": "L", "ml": "mL", "μl": "μL", "dl": "dL", "nl": "nL", "fl": "fL", "ug": "μg", "ul": "μL", "um": "μm",
    "uM": "μM",
    "years": "year", "yr": "year", "yrs": "year", "y": "year", "months": "month", "mo": "month", "mos": "month",
    "weeks": "week", "wk": "week", "wks": "week", "days": "day", "d": "day", "hours": "hour", "hr": "hour",
    "hrs": "hour",
    "h": "hour", "minutes": "minute", "min": "minute", "mins": "minute", "seconds": "s", "second": "s",
    "sec": "s", "secs": "s",
    "percent": "%", "per cent": "%", "percentage points": "percentage point", "percentage-point": "percentage point",
    "-fold": "fold", "times": "fold", "grams": "g", "gram": "g", "milligrams": "mg", "milligram": "mg",
    "micrograms": "μg",
    "microgram": "μg", "kilograms": "kg", "kilogram": "kg", "litres": "L", "liters": "L", "litre": "L", "liter": "L",
    "metres": "m", "meters": "m", "metre": "m", "meter": "m", "kilometres": "km", "kilometers": "km", "°c": "°C",
    "ºC": "°C",
    "mm Hg": "mmHg", "degrees": "degree", "degrees Celsius": "°C", "millimolar": "mM", "micromolar": "μM",
    "nanomolar": "nM",
    "base pairs": "bp", "units": "U",
}  # fmt: skip
_UNIT_NAMES = sorted({*SCALED_UNITS, *UNIT_SPELLINGS}, key=lambda name: (-len(name), name))
UNIT = r"(?:" + "|".join(re.escape(name) for name in _UNIT_NAMES) + r")(?![A-Za-zμ])"
COMPOUND = (
    rf"{UNIT}(?:(?:\s?/\s?|\s+per\s+|\s?[·⋅]\s?|\s(?=[A-Za-zμ]+\^-))"
    rf"(?:{UNIT}|kg|cell|person|dose|[a-z]+)(?:\^-?\d)?|\^-?\d)*"
)

NUMBER = r"(?:\d{1,3}(?: \d{3})+(?:[.,]\d+)?|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+[.,·]\d+|\d+|(?<![\d.])\.\d+)"
SCIENTIFIC = (
    rf"(?P<mantissa>-?{NUMBER})\s*(?:[x×*·⋅]\s*10\s*(?:\^\s*)?\(?\s*(?P<power>[-+]?\d{{1,4}})\)?"
    r"|[eE](?P<e>[-+]?\d{1,4}))"
)
QUANTITY = re.compile(
    rf"(?<![\w.])(?:{SCIENTIFIC}|(?P<bare>10)\^(?P<bare_power>[-+]?\d{{1,4}})"
    rf"|(?P<number>(?:(?<![\w)\]])-)?{NUMBER}))(?![\d])"
    rf"(?:\s?(?P<unit>{COMPOUND})|-(?P<hyphen_unit>{UNIT}|fold\b))?"
)
LABEL_BEFORE = re.compile(
    r"(?:\b(?:fig(?:ure|s)?|tables?|tab|refs?|reference|references|eqs?|equation|sections?|sect?|chapter|appendix"
    r"|box|panel|step"
    r"|supplementary|algorithm|theorem|lemma|version|no|nr|pp?|page|pages|vol|volume|issue|experiment|phase|stage"
    r"|grade|type|class|table s|"
    r"figure s)\.?\s?|[§#])$",
    re.I,
)
LABELS_THAT_COUNT = re.compile(r"\b(?:phase|stage|grade|type|class|experiment)\.?\s?$", re.I)
BEFORE: tuple[tuple[re.Pattern[str], Comparator], ...] = (
    (re.compile(r"(?:\b(?:no|not) (?:more|greater|higher|longer) than|\bat most|\bup to|\bmaximum of|\bat maximum"
                r"|≤|<=|⩽|\bnot exceed(?:ing)?)\s*$", re.I), "<="),
    (re.compile(r"(?:\b(?:no|not) (?:less|fewer|lower|shorter) than|\bat least|\bminimum of|≥|>=|⩾)\s*$", re.I), ">="),
    (re.compile(r"(?:\b(?:less|fewer|lower|smaller|shorter|younger|earlier) than|\bbelow|\bunder|<|\bwithin)\s*$",
                re.I), "<"),
    (re.compile(r"(?:\b(?:more|greater|higher|larger|longer|older|later) than|\babove|\bover|>"
                r"|\bexceed(?:s|ed|ing)?)\s*$", re.I), ">"),
    (re.compile(r"(?:\b(?:about|approximately|approx\.?|around|roughly|nearly|almost|some|circa|c\.|ca\.?|close to"
                r"|an? estimated|estimated at)|~)\s*$", re.I), "~"),
)  # fmt: skip
AFTER: tuple[tuple[re.Pattern[str], Comparator], ...] = (
    (re.compile(r"^\s*(?:or more|or greater|or higher|or longer|or older|and (?:above|over)|\+)(?!\w)", re.I), ">="),
    (
        re.compile(r"^\s*(?:or less|or fewer|or lower|or shorter|or younger|and (?:below|under)|at most)(?!\w)", re.I),
        "<=",
    ),
)
WORD_NUMBERS = {
    "zero": 0, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11,
    "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18,
    "nineteen": 19,
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
    "hundred": 100,
}  # fmt: skip
WORD_NUMBER = re.compile(rf"\b(?:{'|'.join(WORD_NUMBERS)})\b(?!-?fold)", re.I)
JOINED_NOUN = re.compile(r"-([A-Za-z]{3,})(?![\w])")  # "3-dimensional", "two-sided", "12-item"
RANGE_JOIN = re.compile(r"^\s?(?:–|—|-|to|and)\s?$")


@dataclass(frozen=True)
class Quantity:
    """A number with what is needed to compare it. ``other`` is what an ambiguous spelling could also mean."""

    value: float
    unit: str  # canonical; "" for a bare count
    noun: str  # the word counted ("patients"), when there is no unit
    comparator: Comparator
    raw: str
    start: int
    end: int
    other: float | None = None
    is_year: bool = False
    decimals: int = 0

    def describe(self) -> str:
        return self.raw.strip()


def normalise(text: str) -> str:
    """Return text with exponents as ``^n``, reference marks removed, and signs and micro signs unified."""
    text = text.translate(SIGNS).translate(SUBSCRIPTS)
    text = re.sub(rf"(?<=[\d)A-Za-zμΩ°])([⁻⁺]?[{RAISED}]+(?:[,–-][{RAISED}]+)*)", _raise, text)
    text = re.sub(rf"[⁻⁺{RAISED}]+(?:[,–-][{RAISED}]+)*", " ", text)
    text = re.sub(r"\s?\[\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*\]", " ", text)  # bracketed reference numbers
    # "survival12,13" and "relapse.12": reference marks that lost their rise
    return re.sub(r"(?<=[a-z]{4})[.,]?\d{1,3}(?:[,–-]\d{1,3})*(?=[\s.,;)]|$)", " ", text)


def _raise(match: re.Match[str]) -> str:
    """Keep a raised number that is an exponent (of ten, or of a unit); drop one that is a reference mark."""
    raised = match.group(1)
    before = match.string[max(0, match.start() - 14) : match.start()]
    plain = raised.translate(SUPERSCRIPTS)
    if "," in raised or "–" in raised:
        return " "
    if re.search(r"(?<![\d.,])10$", before) or (plain[0] in "-+" and before[-1:].isdigit()):
        return f"^{plain}"
    word = re.search(r"[A-Za-zμΩ°]+$", before)
    if word:
        name = UNIT_SPELLINGS.get(word.group(0), word.group(0))
        is_unit = name in SCALED_UNITS and abs(int(plain)) <= 4
        return f"^{plain}" if is_unit and (plain[0] == "-" or plain in "234") else " "
    return " "


def parse_number(text: str) -> tuple[float, float | None, int]:
    """Return the value, what an ambiguous spelling could also mean, and the number of decimals.

    ``0,05`` is 0.05, ``12 345,6`` is 12345.6; ``1,250`` is 1250 but could be 1.25; ``1.250`` is 1.25 but could be 1250.
    """
    sign = -1.0 if text.startswith("-") else 1.0
    body = text.lstrip("-").replace("·", ".")
    if " " in body:
        body = body.replace(" ", "").replace(",", ".")
        return sign * float(body), None, _decimals(body)
    if "," in body and "." in body:
        body = body.replace(",", "")
        return sign * float(body), None, _decimals(body)
    if "," in body:
        head, *groups = body.split(",")
        if len(groups) > 1:
            return sign * float(body.replace(",", "")), None, 0
        if len(groups[0]) == 3 and head != "0":
            return sign * float(head + groups[0]), sign * float(f"{head}.{groups[0]}"), 0
        return sign * float(f"{head}.{groups[0]}"), None, len(groups[0])
    if re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", body):
        return sign * float(body), sign * float(body.replace(".", "")), 3
    return sign * float(body), None, _decimals(body)


def _decimals(body: str) -> int:
    return len(body.split(".")[1]) if "." in body else 0


def canonical_unit(text: str) -> str:
    """Return a unit's canonical spelling: "mg/ml" -> "mg/mL", "weeks" -> "week", "mg kg^-1" -> "mg/kg"."""
    text = " ".join(text.split())
    text = re.sub(r"\s+per\s+", "/", text)
    text = re.sub(r"\s?/\s?", "/", text)
    text = re.sub(r"[\s·⋅]+([A-Za-zμ]+)\^-1\b", r"/\1", text)
    text = re.sub(r"^([A-Za-zμ]+)\^-1$", r"1/\1", text)
    parts = text.split("/")
    return "/".join(UNIT_SPELLINGS.get(part, part) for part in parts)


def find_quantities(text: str) -> list[Quantity]:
    """Return the quantities of a passage in order."""
    plain = normalise(text)
    found: list[Quantity] = []
    for match in QUANTITY.finditer(plain):
        start, end = match.span()
        before, after = plain[max(0, start - 40) : start], plain[end : end + 40]
        if re.search(r"[A-Za-z]-$", before) or re.match(r"[A-Za-z]", after) or re.match(r"-[A-Za-z]+\d", after):
            continue  # IL-17, 5HT, 3-D7
        if re.match(r"(?:st|nd|rd|th)\b", after):
            continue
        if LABEL_BEFORE.search(before) and not LABELS_THAT_COUNT.search(before):
            continue
        if before.endswith("/") and re.search(r"\d/$", before) and not match["unit"]:
            pass  # "3/20": both count
        other: float | None = None
        decimals = 0
        if match["mantissa"]:
            mantissa, _, decimals = parse_number(match["mantissa"])
            value = float(f"{mantissa}e{int(match['power'] or match['e'])}")
        elif match["bare"]:
            value = float(f"1e{int(match['bare_power'])}")
        else:
            value, other, decimals = parse_number(match["number"])
        unit = canonical_unit(match["unit"] or match["hyphen_unit"] or "")
        noun = "" if unit else _counted_noun(after)
        if not unit and not noun and re.match(r"\s?(?:–|-|to)\s?", after):
            unit, noun = _unit_of_range(plain, end)
        is_year = not unit and match["number"] is not None and bool(re.fullmatch(r"(?:18|19|20)\d{2}", match["number"]))
        found.append(
            Quantity(
                value=value,
                unit=unit,
                noun="" if is_year else noun,
                comparator=_comparator(before, after),
                raw=plain[start:end],
                start=start,
                end=end,
                other=other,
                is_year=is_year,
                decimals=decimals,
            )
        )
    taken = [(item.start, item.end) for item in found]
    for match in WORD_NUMBER.finditer(plain):
        if any(start <= match.start() < end for start, end in taken):
            continue
        after = plain[match.end() : match.end() + 40]
        unit_match = re.match(rf"[\s-](?P<unit>{UNIT})", after)
        unit = canonical_unit(unit_match["unit"]) if unit_match else ""
        found.append(
            Quantity(
                value=float(WORD_NUMBERS[match.group(0).casefold()]),
                unit=unit,
                noun="" if unit else _counted_noun(after),
                comparator=_comparator(plain[max(0, match.start() - 40) : match.start()], after),
                raw=match.group(0),
                start=match.start(),
                end=match.end(),
            )
        )
    return sorted(found, key=lambda item: item.start)


def _unit_of_range(plain: str, end: int) -> tuple[str, str]:
    """Return the unit of "50" in "50 to 60 %"."""
    match = re.match(rf"\s?(?:–|-|to)\s?-?{NUMBER}(?:\s?(?P<unit>{COMPOUND}))?", plain[end : end + 60])
    if not match:
        return "", ""
    unit = canonical_unit(match["unit"] or "")
    return unit, "" if unit else _counted_noun(plain[end + match.end() : end + match.end() + 40])


def _counted_noun(after: str) -> str:
    joined = JOINED_NOUN.match(after)
    if joined:
        return joined.group(1)
    match = re.match(r"\s+(?:of\s+(?:the\s+)?\d+\s+)?((?:[a-z][a-z-]+\s+){0,1}?[a-z][a-z-]{2,})", after)
    return match.group(1).split()[-1] if match else ""


def _comparator(before: str, after: str) -> Comparator:
    for pattern, comparator in BEFORE:
        if pattern.search(before):
            return comparator
    for pattern, comparator in AFTER:
        if pattern.search(after):
            return comparator
    return "="


def base_value(value: float, unit: str) -> tuple[float, str]:
    """Return a value in its dimension's base unit and the dimension ("5 mg/mL" and "5 g/L" agree)."""
    numerator, _, denominator = unit.partition("/")
    dimension, factor = SCALED_UNITS.get(numerator, (numerator, 1.0))
    if not denominator:
        return value * factor, dimension
    below, divisor = SCALED_UNITS.get(denominator, (denominator, 1.0))
    return value * factor / divisor, f"{dimension}/{below}"


def is_close(a: float, b: float) -> bool:
    """Tell whether two values are the same number, up to floating point."""
    return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b))


Match = Literal["same", "unit", "comparator", "opposite", "ambiguous", "none"]


def match_quantity(claim: Quantity, evidence: Quantity) -> Match:
    """Tell how a claimed quantity stands to one of the evidence."""
    claimed, claimed_dimension = base_value(claim.value, claim.unit)
    given, given_dimension = base_value(evidence.value, evidence.unit)
    if claimed_dimension != given_dimension:
        if not is_close(claim.value, evidence.value):
            return "none"
        if not claim.unit and not claim.noun:
            return _match_comparator(claim, evidence)  # a bare number: its unit was named elsewhere
        return "unit"
    if is_close(claimed, given) or _is_rounded(claim, claimed, given):
        return _match_comparator(claim, evidence)
    ambiguous = [other for other in (claim.other, evidence.other) if other is not None]
    if any(is_close(other, claim.value) or is_close(other, evidence.value) for other in ambiguous):
        return "ambiguous"
    return "none"


def _is_rounded(claim: Quantity, claimed: float, given: float) -> bool:
    """Tell whether an "about" claim rounds the given value."""
    return claim.comparator == "~" and given != 0 and abs(claimed - given) <= 0.05 * abs(given)


LESS: frozenset[Comparator] = frozenset({"<", "<="})
MORE: frozenset[Comparator] = frozenset({">", ">="})


def _match_comparator(claim: Quantity, evidence: Quantity) -> Match:
    first, second = claim.comparator, evidence.comparator
    if first == second or (first == "~" and second == "=") or (first == "=" and second == "~"):
        return "same"
    if (first in LESS and second in LESS) or (first in MORE and second in MORE):
        return "comparator"  # "less than 5" is not "at most 5"
    if (first in LESS and second in MORE) or (first in MORE and second in LESS):
        return "opposite"
    return "comparator"
