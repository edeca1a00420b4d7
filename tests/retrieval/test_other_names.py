"""Reading a question in the names the papers use."""

from __future__ import annotations

import pytest

from corpus_assets.errors import BadInputError
from corpus_assets.settings import RetrievalSettings
from retrieval.copilot import finish, start
from retrieval.other_names import MEDICINES, known_names, read_as, read_names, replace_names
from retrieval.pipeline import run_stages
from retrieval.relevance import unknown_names
from tests.retrieval.fakes import fake_context, paper

NAMES = {
    "tagrisso": ("osimertinib", "AZD9291"),
    "heart attack": ("myocardial infarction",),
    "myocardial infarction": ("heart attack",),
}


def counter(**counts: int):
    return lambda word: counts.get(word, 0)


def write_table(tmp_path, text: str):
    path = tmp_path / "names.tsv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_name_no_paper_holds_is_read_as_the_one_they_do() -> None:
    readings = read_as("Does TAGRISSO help?", NAMES, counter(osimertinib=3))
    assert readings == {"TAGRISSO": "osimertinib"}
    assert replace_names("Does TAGRISSO help?", readings) == "Does osimertinib help?"


@pytest.mark.parametrize(
    ("question", "counts"),
    [
        ("Does Tagrisso help?", {"osimertinib": 3, "tagrisso": 1}),  # the papers call it so too
        ("Does Tagrisso help?", {}),  # no paper holds any of its names
        ("Does Tagrisso-like treatment help?", {"osimertinib": 3}),  # another word
        ("Does it help the heart to attack early?", {"myocardial": 1, "infarction": 1}),
    ],
)
def test_other_questions_stay_as_they_are(question, counts) -> None:
    assert read_as(question, NAMES, counter(**counts)) == {}


def test_a_name_of_several_words_is_one_name() -> None:
    readings = read_as("Who has a heart attack?", NAMES, counter(heart=4, myocardial=2, infarction=2))
    assert replace_names("Who has a Heart attack?", readings) == "Who has a myocardial infarction?"


def test_what_is_said_to_be_read_is_replaced_whatever_its_letters(tmp_path) -> None:
    names = read_names(write_table(tmp_path, "Münzöl\tthe \\1 oil\n++\tplus\n"))
    readings = read_as("Does MÜNZÖL or ++ help?", names, counter(the=1, oil=1, plus=2, **{"1": 1}))
    assert replace_names("Does MÜNZÖL or ++ help?", readings) == "Does the \\1 oil or plus help?"


def test_of_several_names_the_most_frequent_is_taken() -> None:
    assert read_as("Tagrisso?", NAMES, counter(osimertinib=1, azd9291=5)) == {"Tagrisso": "AZD9291"}


def test_the_medicines_name_each_name_once() -> None:
    found = read_names(MEDICINES)
    assert len(found) > 300
    assert found["tagrisso"][0] == "osimertinib" and "Tagrisso" in found["osimertinib"]


def test_the_users_own_table_wins(tmp_path) -> None:
    path = write_table(tmp_path, "# ours\n\nTagrisso\tdrug A\nswollen legs\toedema\n")
    names = known_names(path)
    assert names["tagrisso"] == ("drug A",) and names["swollen legs"] == ("oedema",)
    assert names["keytruda"] == ("pembrolizumab",)


@pytest.mark.parametrize(
    ("text", "said"),
    [("one\ttwo\nlonely\n", "line 2 has one name"), ("one\ttwo\nthree\tONE\n", "line 2: “ONE” is named before")],
)
def test_a_bad_table_is_named_with_its_line(tmp_path, text, said) -> None:
    with pytest.raises(BadInputError, match=said):
        read_names(write_table(tmp_path, text))


def test_a_missing_table_is_named(tmp_path) -> None:
    with pytest.raises(BadInputError, match=r"nowhere\.tsv cannot be read"):
        read_names(tmp_path / "nowhere.tsv")


@pytest.fixture
def papers():
    return [
        paper("a", "Osimertinib 160 mg a day was given to 18 patients with leptomeningeal disease."),
        paper("b", "Wheat yield rose by 12 % under shade nets in the driest of three summers."),
    ]


def test_the_reader_is_told_how_a_name_was_read(tmp_path, papers) -> None:
    ctx = fake_context(tmp_path, papers, use_cache=False)
    question = "How many patients with leptomeningeal disease were given Tagrisso 160 mg?"
    record = finish(run_stages(start(question), ctx), ctx, save=False)
    assert not record.abstained and record.question == question
    assert "“Tagrisso” is read as “osimertinib”, as the papers call it." in record.answer
    assert next(stage.detail for stage in record.stages if stage.name == "plan")["read_as"] == {
        "Tagrisso": "osimertinib"
    }


def test_an_abstention_says_it_too(tmp_path, papers) -> None:
    ctx = fake_context(tmp_path, papers, use_cache=False)
    record = finish(run_stages(start("Does Tagrisso change the eyelashes of horses in Iceland?"), ctx), ctx, save=False)
    assert record.abstained and "“Tagrisso” is read as “osimertinib”" in record.abstain_reason


def test_a_table_of_ones_own_is_used_by_ask(tmp_path, papers) -> None:
    ctx = fake_context(tmp_path, papers, use_cache=False)
    path = write_table(tmp_path, "kilo-crop\twheat\n")
    retrieval = RetrievalSettings.model_validate({**ctx.settings.retrieval.model_dump(), "names_path": path})
    ctx.settings = ctx.settings.model_copy(update={"retrieval": retrieval})
    record = finish(run_stages(start("How much did kilo-crop yield rise under shade nets?"), ctx), ctx, save=False)
    assert "“kilo-crop” is read as “wheat”" in record.answer


def test_a_prefix_before_a_word_the_papers_hold_makes_no_name(tmp_path, papers) -> None:
    ctx = fake_context(tmp_path, papers, use_cache=False)

    class Speller:
        def token_starts(self, text: str) -> list[int]:
            return list(range(len(text)))

    missing = ("overpatients", "reosimertinib", "overquux", "zorbitane")
    assert unknown_names(missing, ctx.terms, Speller()) == ("overquux", "zorbitane")
