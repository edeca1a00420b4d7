import pytest

from corpus_assets.pdf.quality import measure_text
from tests.corpus_assets.pdf_factory import FILLER

ENGLISH = " ".join(FILLER)
FRENCH = (
    "Les échantillons ont été conservés dans une chambre froide et mesurés de nouveau le troisième jour. Chaque valeur "
    "est la moyenne de quatre lectures faites par deux observateurs."
)
GERMAN = (
    "Die Proben wurden in einem kalten Raum gelagert und am dritten Tag erneut gemessen. Jeder Wert ist das Mittel von "
    "vier Ablesungen durch zwei Beobachter."
)


def shift(text: str, by: int) -> str:
    return "".join(chr((ord(c) - 97 + by) % 26 + 97) if c.islower() else c for c in text.lower())


@pytest.mark.parametrize(
    "text", [ENGLISH, FRENCH, GERMAN, "国際標準化に関する動向を調べた。", "ACGT" * 5000, "7.4 3.1", ""]
)
def test_readable_text_is_above_the_bar(text):
    assert measure_text(text) >= 0.7


@pytest.mark.parametrize(
    "text",
    [
        *(shift(ENGLISH, by) for by in (3, 7, 11, 20)),
        " ".join(f"(cid:{n})" for n in range(80)),
        ENGLISH.replace("e", "\ufffd").replace("a", "\ufffd").replace("t", "\ufffd"),
        " ".join(ENGLISH.replace(" ", "").lower()),
    ],
)
def test_garbage_is_below_the_bar(text):
    assert measure_text(text, num_bad=text.count("\ufffd")) < 0.5
