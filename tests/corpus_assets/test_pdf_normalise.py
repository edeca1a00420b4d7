import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.pdf.normalise import clean_text, compose_detached_accents, to_subscript, to_superscript


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("eﬃcient ﬁbrosis", "efficient fibrosis"),
        ("ﻣﺮﺣﺒﺎ", "مرحبا"),
        ("10⁻⁴⁸ and ¹²", "10⁻⁴⁸ and ¹²"),
        ("Mu\u0308ller", "Müller"),
        ("\x000.53", "\ufffd0.53"),
        ("a\u00a0b\u2009c", "a b c"),
        ("co\u00adoperate", "cooperate"),
        ("x\x1b[2Jy\x9b1mz\x07", "xyz"),
        ("\x1b]8;;http://x.invalid\x1b\\click\x1b]8;;\x1b\\", "click"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        ("½ of 5 µg", "½ of 5 µg"),
    ],
)
def test_b02_b17_b38_characters_become_what_is_printed(raw, clean):
    assert clean_text(raw) == clean


@given(st.text(st.characters(codec=None), max_size=60))
def test_clean_text_is_storable_and_stable(raw):
    clean = clean_text(raw)
    clean.encode("utf-8")
    assert "\x00" not in clean
    assert not any(unicodedata.category(char) in ("Cc", "Cs") for char in clean)
    assert clean_text(clean) == clean


@pytest.mark.parametrize(
    ("raw", "composed"),
    [
        ("M¨uller, Gar¸con and Ren´e", "Müller, Garçon and René"),
        ("M ¨uller and Erd¨ os", "Müller and Erdös"),
        ("Garc´ıa", "García"),
        ("Novotn´y and Dvoˇr´ak", "Novotný and Dvořák"),
    ],
)
def test_b14_accents_that_stand_before_their_letter_are_put_on_it(raw, composed):
    assert compose_detached_accents(raw) == (composed, True)


@pytest.mark.parametrize("text", ["a ´ b", "x ¯ y", "plain", "5´ and 3´", "`code` and `more`"])
def test_marks_that_are_no_accents_are_left_alone(text):
    assert compose_detached_accents(text) == (text, False)


def test_b08_b10_raised_and_lowered_characters():
    assert to_superscript("-48") == "⁻⁴⁸"
    assert to_superscript("−4") == "⁻⁴"
    assert to_superscript("12,13") == "¹²,¹³"
    assert to_superscript("3–5") == "³–⁵"
    assert to_superscript("48Δ") == "^48Δ"
    assert to_superscript("∗") == "∗"
    assert to_subscript("2") == "₂"
    assert to_subscript("max") == "ₘₐₓ"
    assert to_subscript("eff") == "eff"
