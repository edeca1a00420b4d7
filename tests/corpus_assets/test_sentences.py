"""Sentences and paragraphs of scientific text are found as exact spans."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.sentences import split_paragraphs, split_sentences


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


# A bar marks where a sentence ends and the next begins; white space around it belongs to the text.
SPLITS = {
    "plain": "We treated mice. |They lived.",
    "et_al_before_a_verb": "As Smith et al. showed, it holds. |We agree.",
    "et_al_before_a_beginner": "It was shown by Smith et al. |The effect was large.",
    "et_al_before_a_name": "The method of Smith et al. Nature 2011 was used. |It works.",
    "et_al_in_brackets": "It rose (Smith et al., 2010). |Then it fell.",
    "figure": "See Fig. 3 for the trend. |It rose (Fig. 2A). |Then it fell (Figs. 4 and 5).",
    "equation_and_reference": "By Eq. (2) and Ref. 14 the rate is known. |Done.",
    "eg_ie": "Kinase inhibitors, e.g. gefitinib and, i.e. per label, osimertinib help. |They do.",
    "eg_with_capital": "Some drugs (e.g. Tagrisso) help. |Others do not.",
    "vs": "Placebo vs. Aspirin was tested. |Aspirin won.",
    "initials": "J. Smith and R. A. Fisher wrote it. |It is old.",
    "letter_that_ends": "We gave vitamin C. |The colds went on.",
    "species": "E. coli and S. Typhimurium grew. |S. aureus did not.",
    "decimal": "The slope was 0.53 and 1.2. |It held.",
    "p_value_without_zero": "It was significant (p = .03). |The end.",
    "confidence_interval": "HR 2.1 (95% CI 1.2–3.4). |The next was lower.",
    "raised_citation": "It improved survival.¹²,¹³ |We saw more.",
    "raised_range": "It improved survival.¹⁻³ |We saw more.",
    "flattened_citation": "It improved survival.12,13 |We saw more.",
    "bracket_citation_before_stop": "It was shown [12]. |The next.",
    "bracket_citation_after_stop": "It was shown.[3,4] |And more.",
    "bracket_citation_after_space": "It was shown. [12] |The next was not.",
    "titles": "Dr. Who met Prof. Moriarty. |They talked.",
    "section_number": "3.2. Cell lines were grown. |They died.",
    "list_number": "1. Wash the cells. |2. Count them.",
    "figure_caption": "Figure 3. Kaplan-Meier curves of survival. |Table 1. Baseline data.",
    "number_sign": "Kit No. 5 was used. |The answer is no. |The end.",
    "month": "In Jan. 2019 it began. |By Sept. 2020 it ended.",
    "year_then_number": "It began in 2019. |40 patients died.",
    "torn_decimal": "The value 0. 53 was found. |It held.",
    "ellipsis_inside": "Compound X is ... associated with failure. |No more.",
    "ellipsis_at_the_end": "He said... |Nothing else.",
    "quote_after_stop": "He said “it works.” |Then he left.",
    "straight_quote": 'He said "it works." |Then he left.',
    "bracket_after_stop": "(See Table 2.) |More follows.",
    "opening_bracket": "It fell. |(The rate is in Table 2.) |More follows.",
    "question_and_shout": "Does it work? |Yes! |It does.",
    "question_inside": "The question is it safe? remains.",
    "small_names": "It was lost in mice. |p53 fell. |mRNA rose. |α-Synuclein did not.",
    "small_continuation": "The pH was approx. seven and const. over time. |Then it rose.",
    "us": "We enrolled U.S. patients. |In the U.S. |The rate rose.",
    "routes": "It was given i.v. to rats. |Rats slept at 5 p.m. |The next day they woke.",
    "numbers_begin": "Recovery was slow. |12 of 40 patients relapsed.",
    "url": "Data are at https://doi.org/10.1000/xyz.123. |Code is at example.org/a.b?c=d.",
    "doi_inside": "See doi:10.5555/tide-2020.10.3117 for data. |Done.",
    "spaced_stops": "a wing was tested . |the flow was smooth .",
    "all_small": "the wing was tested. |the flow was smooth, e.g. at rest.",
    "bullets": "Rates follow (n = 5). |• First the mice. |• Then the rats.",
    "cjk": "国際標準化である。|次の文！|本当？|「はい。」|終わり",
    "arabic": "هل هو آمن؟ |نعم. |انتهى.",
    "urdu": "یہ جملہ ہے۔ |دوسرا جملہ۔",
    "hindi": "यह वाक्य है। |दूसरा वाक्य है।",
    "cyrillic": "Это первое. |Это второе.",
    "degrees": "M. Jones, Ph.D. and K. Lee, M.D. wrote it. |It is new.",
    "subspecies": "Salmonella enterica subsp. Enterica grew. |It spread.",
    "no_stop": "A title without a stop",
    "dotted_line": "Introduction . . . . . . 12",
    "damaged_minus": "Slope was �0.53 (SE 0.11) and dose 5 �g. |It held.",
    "superscript_power": "The value was 5.8 × 10⁻⁴⁸. |It was small.",
}


@pytest.mark.parametrize("marked", SPLITS.values(), ids=SPLITS.keys())
def test_sentences_end_where_a_reader_ends_them(marked: str) -> None:
    text = marked.replace("|", "")
    assert sentences(text) == [part.strip() for part in marked.split("|")]


def test_an_empty_line_always_ends_a_sentence() -> None:
    assert sentences("Methods\n\nWe did.\n\n\n  this (see\n\nFig. 3)") == ["Methods", "We did.", "this (see", "Fig. 3)"]


@pytest.mark.parametrize("text", ["", " ", "\n\n", " \n\n \t\n\n"])
def test_blank_text_has_no_sentence(text: str) -> None:
    assert split_sentences(text) == []
    assert split_paragraphs(text) == []


def test_paragraphs_are_trimmed_spans() -> None:
    text = "  One.\nStill one. \n\n\n Two \n\n"
    assert [text[start:end] for start, end in split_paragraphs(text)] == ["One.\nStill one.", "Two"]


def test_a_word_of_thirty_thousand_letters_is_one_sentence() -> None:
    text = "ACGT" * 7500 + " ends. Primer annealing at 61 degrees works."
    assert sentences(text)[1] == "Primer annealing at 61 degrees works."


ALPHABET = st.text(alphabet=st.sampled_from("aB1 .?!…\n\n()[]“”\"',;:。¹-–é国αFig.etal\t"), max_size=120) | st.text(
    max_size=120
)


@given(ALPHABET)
def test_spans_are_ordered_trimmed_and_hold_every_visible_character(text: str) -> None:
    covered = set()
    last_end = 0
    for start, end in split_sentences(text):
        assert last_end <= start < end
        sentence = text[start:end]
        assert sentence.strip() == sentence
        assert "\n\n" not in sentence
        covered.update(range(start, end))
        last_end = end
    assert all(at in covered or char.isspace() for at, char in enumerate(text))


@pytest.mark.parametrize(
    "unit", ["a. ", ".", "[1", ".[1", ". ", "(“", " ", "\n", "\n \n", "x.”", ". (((", "A", "é. B "]
)
def test_time_grows_with_the_length_only(unit: str) -> None:
    def seconds(repeats: int) -> float:
        started = time.process_time()
        split_sentences(unit * repeats)
        return time.process_time() - started

    small, large = seconds(2_000), seconds(16_000)
    assert large < max(0.2, small * 40)  # 8 times the text: a square would take 64 times as long


def test_an_ellipsis_that_swallows_words_does_not_end_the_sentence() -> None:
    assert sentences("Compound X was not … associated with harm. It is safe.")[0].endswith("harm.")
