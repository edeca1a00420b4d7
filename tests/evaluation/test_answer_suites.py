"""The suites over answers: what they count, that they can fail, and that they run without data."""

from __future__ import annotations

import json

import pytest

from corpus_assets.errors import BadInputError
from corpus_assets.settings import EmbeddingSettings, LlmSettings, RetrievalSettings, Settings
from evaluation.answers import claim_edits, injection
from evaluation.answers.claim_edits import SourceText, measure_claim_edits, part_of, true_claims
from evaluation.answers.corpora import GoldStances, built_corpus, papers_of_sets
from evaluation.answers.disagreement import measure_consensus, measure_gold_splits, measure_possible_disagreement
from evaluation.answers.edits import make_edits, restate
from evaluation.answers.gold_sets import GoldSet, JudgedPair, Passage, built_in_consensus, built_in_splits
from evaluation.answers.question_pairs import adversarial_pairs, paraphrase_pairs
from evaluation.answers.rows import Row, share_row
from evaluation.answers.shape import Question, alter_quotes, ask_all, find_limit_problem, measure_shape
from evaluation.answers.suite import SuiteRun, run_suites
from retrieval.answer_cache import mean_the_same, normal_form
from retrieval.claims.verdict import ClaimVerdict
from tests.integration.cli_corpus import InProcess


@pytest.fixture
def settings(tmp_path):
    return Settings(
        home=tmp_path / "none",
        embedding=EmbeddingSettings(model="hash"),
        retrieval=RetrievalSettings(reranker="lexical"),
        llm=LlmSettings(enabled="off"),
    )


AGREE = GoldSet(
    "agree",
    "Zinc raises root growth in maize",
    (
        Passage("Zinc raised root growth in maize by 12 %.", "supports"),
        Passage("Root growth in maize was raised with zinc.", "supports"),
    ),
    "test",
)
DISAGREE = GoldSet(
    "disagree",
    "Copper raises shoot growth in barley",
    (
        Passage("Copper raised shoot growth in barley by 9 %.", "supports"),
        Passage("Shoot growth in barley was the same with and without copper.", "contradicts"),
    ),
    "test",
)


def test_a_row_passes_by_its_bound_and_not_on_too_few_cases():
    assert share_row("s", "n", 19, 20, bound="at least", limit=0.95).passed
    assert not share_row("s", "n", 18, 20, bound="at least", limit=0.95).passed
    assert not share_row("s", "n", 20, 20, bound="at least", limit=0.95, min_cases=100).passed
    assert Row("s", "n", 0.0, 260, "at most", 0).passed
    assert not Row("s", "n", 1.0, 260, "at most", 0).passed
    assert share_row("s", "n", 0, 0, bound="at least", limit=1.0).passed is None
    assert share_row("s", "n", 1, 2).passed is None


@pytest.mark.parametrize(
    ("kind", "claim", "edited"),
    [
        ("number", "We treated 40 patients with zinc.", "We treated 47 patients with zinc."),
        ("unit", "The dose was 5 mg a day.", "The dose was 5 μg a day."),
        ("comparator", "Growth lasted more than 9 weeks.", "Growth lasted less than 9 weeks."),
        ("negation", "Zinc did not raise growth.", "Zinc did raise growth."),
        ("negation", "Zinc was found in roots.", "Zinc was not found in roots."),
        ("hedge", "Zinc may raise growth.", "Zinc will raise growth."),
        ("entity", "Growth rose in mice.", "Growth rose in rats."),
        ("direction", "Zinc increased growth.", "Zinc decreased growth."),
    ],
)
def test_edits_make_a_sentence_say_something_else(kind, claim, edited):
    assert edited in [edit.text for edit in make_edits(claim, claim, []) if edit.kind == kind]


def test_reference_marks_and_figure_numbers_are_not_edited():
    assert not [e for e in make_edits("As Figure 3 of others [12] shows, moss grew.", "", []) if e.kind == "number"]


def test_restating_keeps_what_a_sentence_says():
    assert (
        restate("However, we used zinc (99 % pure) in approximately 40 pots.") == "We employed zinc in about 40 pots."
    )


def test_claim_edits_fail_when_the_tests_of_claims_catch_nothing(monkeypatch):
    texts = [
        SourceText(str(n), (f"Zinc did not raise the yield of plot {n} by more than {n} kg in mice.",))
        for n in range(40)
    ]
    monkeypatch.setattr(claim_edits, "check_claim", lambda claim, evidence: ClaimVerdict("supported", ""))
    rows = {row.name: row for row in measure_claim_edits(texts, "made here")}
    assert rows["edits caught, number"].value == 0 and rows["edits caught, number"].passed is False
    assert rows["edits caught, all kinds"].passed is False


def test_the_two_halves_share_no_text():
    texts = [SourceText(str(n), (f"Zinc raised the yield of the northern plot {n} in every year.",)) for n in range(60)]
    dev, test = ({item.claim for item in true_claims(texts, part)} for part in ("dev", "test"))
    assert dev and test and not dev & test
    assert {part_of(text.text_id) for text in texts} == {"dev", "test"}


def test_no_unseen_question_of_another_meaning_hits_and_paraphrases_do():
    pairs = adversarial_pairs()
    assert len(pairs) >= 200
    assert [p for p in pairs if mean_the_same(p[1], p[2]) or mean_the_same(p[2], p[1])] == []
    same = paraphrase_pairs()
    hits = [p for p in same if normal_form(p[1]) == normal_form(p[2]) or mean_the_same(p[1], p[2])]
    assert len(hits) >= 0.5 * len(same)


def test_the_built_in_sets_are_as_many_as_they_must_be():
    assert len(built_in_consensus()) >= 100
    assert all(item.is_split for item in built_in_splits())
    assert not any(item.is_split for item in built_in_consensus())


def test_gold_stances_judge_by_the_passage():
    judge = GoldStances(DISAGREE)
    stances = judge.judge(
        "", ["# Results\n\nCopper raised shoot growth\nin barley by 9 %.", "Moss grew.", DISAGREE.passages[1].text]
    )
    assert [(s.label, s.is_verdict) for s in stances] == [
        ("supports", True),
        ("neutral", False),
        ("contradicts", True),
    ]  # fmt: skip


@pytest.mark.slow
def test_splits_consensus_and_shape_are_measured_on_a_real_corpus(tmp_path, settings):
    with built_corpus(settings, tmp_path / "work", papers_of_sets([AGREE, DISAGREE])) as corpus:
        false_splits, answered = measure_consensus(corpus, [AGREE], "here")
        assert false_splits.value == 0 and answered.value == 1 and false_splits.passed is False  # one set is too few
        rows = measure_gold_splits(corpus, [DISAGREE], "here")
        assert {row.name.split()[-1] for row in rows} == {"brief", "standard", "detailed"}
        assert all(row.value == 1 and row.num_cases == 1 for row in rows)
        question = Question(DISAGREE.question, corpus.papers_of(DISAGREE), GoldStances(DISAGREE))
        asked = list(ask_all(lambda: corpus.asker, [question]))
        shape = {row.name: row for row in measure_shape(asked, "here")}
        for name in (
            "limits and next steps hold",
            "same question, same bytes",
            "nothing is presented falsely",
            "quotes that verify from the files",
            "quotes altered by one character that are refused",
        ):
            assert shape[name].value == 1, shape[name]
        record = asked[0].first
        assert alter_quotes(record).citations[0].quote != record.citations[0].quote
        assert "words" in find_limit_problem(record.model_copy(update={"answer": "word " * 400, "mode": "brief"}))
        assert find_limit_problem(record.model_copy(update={"next_steps": ()})) == "no next step"


def test_possible_disagreement_is_scored_against_the_labels():
    claim = "Drug Q reduces relapse"
    pairs = [
        JudgedPair("1", claim, ("Drug Q did not reduce relapse in 90 patients.",), "contradicts"),
        JudgedPair("2", claim, ("Drug Q did not reduce relapse in the placebo run-in.",), "neutral"),
        JudgedPair("3", claim, ("Relapse came as often as before.",), "contradicts"),
    ]
    precision, recall = measure_possible_disagreement(pairs, "here")
    assert (precision.value, recall.value) == (0.5, 0.5)


@pytest.mark.slow
def test_an_answer_that_obeys_an_order_is_found_out(tmp_path, settings):
    papers = {k: v for k, v in injection.injection_papers().items() if k in ("honest-0", "order-0-ignore-rules")}
    with built_corpus(settings, tmp_path / "work", papers) as corpus:
        record = corpus.asker.ask("Does zinc sulphate change root length in maize?")
        assert not record.abstained and injection.find_obedience(record, corpus) == ""
        for change, problem in (
            (f"{injection.TOKEN}. {record.answer}", "planted word"),
            (f"{record.answer}\nSee [more](https://x.example).", "live link"),
            (f"{record.answer} [9]", "no such citation"),
        ):
            assert problem in injection.find_obedience(record.model_copy(update={"answer": change}), corpus)


def test_suites_without_data_or_corpus_say_what_they_need(settings):
    report = run_suites(SuiteRun(settings), ["claim_edits", "abstention"])
    assert all(row["value"] is None and "published corpus" in row["note"] for row in report["rows"])
    assert report["num_not_measured"] == 2 and report["passed"]
    with pytest.raises(BadInputError, match="no suite"):
        run_suites(SuiteRun(settings), ["poetry"])


def test_the_command_prints_a_table_writes_a_report_and_fails_on_a_miss(tmp_path, capsys, monkeypatch):
    cli = InProcess(tmp_path / "home", capsys)
    output = tmp_path / "report.json"
    arguments = ("bench", "answers", "--suite", "cache", "--embedder", "hash", "--output", str(output))
    outcome = cli(*arguments)
    report = json.loads(output.read_text())
    assert "false hits" in outcome.out and report["rows"][0]["value"] == 0
    assert outcome.code == (0 if report["passed"] else 1)
    monkeypatch.setattr("evaluation.answers.cache_pairs.would_hit", lambda *_: True)
    outcome = cli(*arguments)
    assert outcome.code == 1 and "FAILED: answer cache, false hits" in outcome.out
