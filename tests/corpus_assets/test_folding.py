"""What is typed and what was printed become the same tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.folding import MAX_DOI_CHARS, fold_for_search, normalise_doi


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("TNF-α", "tnf alpha tnfalpha"),
        ("TNFα", "tnf alpha tnfalpha"),
        ("TNF-alpha", "tnf alpha tnfalpha"),
        ("IL-17", "il 17 il17"),
        ("T790M", "t790m"),
        ("n-tridecanal", "n tridecanal ntridecanal"),
        ("interferon-dependent", "interferon dependent"),
        ("anti-PD-1", "anti pd 1 pd1"),
        ("NFκB", "nf kappa b nfkappab"),
        ("ΔF508", "delta f508 deltaf508"),
        ("β", "beta"),
        ("survival¹²,¹³ in", "survival in"),
        ("10⁻⁴⁸", "10 10^-48"),
        ("5.8e-48", "5.8 10 10^-48"),
        ("10^{-48}", "10 10^-48"),
        ("CO₂", "co2"),
        ("cm²", "cm cm2"),
        ("s⁻¹", "s s^-1"),
        ("¹⁴C", "c 14c"),
        ("¹Department", "department"),
        ("−0.53", "0.53"),
        ("p < .05", "p 0.05"),
        ("0,05", "0.05"),
        ("1,250", "1250"),
        ("Alzheimer's", "alzheimer"),
        ("ﬁbrosis eﬃcient", "fibrosis efficient"),
        ("Müller", "muller"),
        ("Mu\u0308ller", "muller"),
        ("M¨uller, Gar¸con, Ren´e", "muller garcon rene"),
        ("Łódź Ørsted Straße", "lodz orsted strasse"),
        ("immuno\u00adhisto", "immunohisto"),
        ("ﻣﺮﺣﺒﺎ", "مرحبا"),
        ("snake_case2", "snake case2 snakecase2"),
        ("2101.12345v2", "2101.12345v2 2101.12345"),
    ],
)
def test_text_folds_to(text, tokens):
    assert fold_for_search(text).split() == tokens.split()


def test_ten_to_the_minus_48_is_never_1048():
    assert not {"1048", "10-48"} & set(fold_for_search("p = 5.8 × 10⁻⁴⁸ and 10⁴⁸ photons").split())


def test_both_micro_signs_are_one():
    assert fold_for_search("5 \u00b5g/mL") == fold_for_search("5 \u03bcg/mL")
    assert "ug" in fold_for_search("5 \u00b5g/mL").split()
    assert "ug" not in fold_for_search("5 mg/mL").split()


def test_a_doi_is_one_token_however_it_is_written():
    wanted = "10.5555/tide-2020-10-311704"
    for text in (
        "10.5555/TIDE-2020-10-311704",
        "https://doi.org/10.5555/tide-2020-10-311704.",
        "(doi:10.5555/tide-2020-10-311704)",
        "see DOI: 10.5555/tide-2020-10-311704; and",
    ):
        assert wanted in fold_for_search(text).split()
        assert normalise_doi(text) == wanted
    assert normalise_doi("10.1016/S0140-6736(05)71146-6).") == "10.1016/s0140-6736(05)71146-6"
    assert normalise_doi("no doi") == ""


def test_text_without_spaces_is_found_by_any_stretch_of_it():
    indexed = set(fold_for_search("国際標準化に関する動向を調べた。").split())
    assert set(fold_for_search("国際標準化", is_query=True).split()) <= indexed
    assert set(fold_for_search("化", is_query=True).split()) <= indexed
    assert fold_for_search("国際標準化", is_query=True) == "国際 際標 標準 準化"
    assert set(fold_for_search("ประเทศ", is_query=True).split()) <= set(fold_for_search("ในประเทศไทย").split())


def test_vowel_signs_stay_with_their_word():
    assert fold_for_search("नमस्ते दुनिया").split() == ["नमस्ते", "दुनिया"]
    assert fold_for_search("がか", is_query=True) == "がか"


def test_long_words_are_capped():
    assert max(map(len, fold_for_search("ACGT" * 7500 + " " + "é" * 30_000).split())) <= 64


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=200))
def test_any_text_gives_clean_tokens(text):
    folded = fold_for_search(text)
    tokens = folded.split()
    assert " ".join(tokens) == folded
    assert all(
        len(token) <= MAX_DOI_CHARS and not any(char.isspace() or ord(char) < 32 for char in token) for token in tokens
    )
    assert set(fold_for_search(text, is_query=True).split()) <= set(tokens)
