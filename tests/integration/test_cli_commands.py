"""What each command prints, as a person's text and as one JSON document, and how it exits."""

from __future__ import annotations

import csv
import io
import json

import pytest

from retrieval.ledger import STAGES as LEDGER_STAGES
from tests.integration.cli_corpus import write_papers

QUESTION = "What was the median progression-free survival with osimertinib?"

INGEST_KEYS = {
    "num_files", "num_papers", "num_new", "num_changed", "num_removed", "num_unchanged", "num_failed", "num_pages",
    "num_chunks", "num_embedded", "generation", "published", "seconds", "problems",
}  # fmt: skip
HIT_KEYS = {
    "rank", "score", "chunk_id", "paper_id", "title", "section", "pages", "text", "quote", "char_start", "char_end",
}  # fmt: skip
ANSWER_KEYS = {
    "answer_id", "question", "mode", "intent", "writer", "generation", "abstained", "answer", "next_steps", "splits",
    "citations", "evidence", "sub_queries", "faithfulness", "stages", "cost", "cached",
}  # fmt: skip


@pytest.mark.slow
def test_ingest_reports_numbers_and_a_second_run_does_nothing(fresh, tmp_path):
    papers = write_papers(tmp_path / "papers")
    first = fresh("ingest", str(papers), "--embedder", "hash", "--json")
    assert first.code == 0
    assert first.document.keys() >= INGEST_KEYS
    assert first.document["num_new"] == first.document["num_papers"] == 4
    assert first.document["published"]

    second = fresh("ingest", str(papers), "--embedder", "hash", "--json")
    assert second.document["num_unchanged"] == 4
    assert second.document["num_parsed"] == second.document["num_embedded"] == second.document["num_built"] == 0
    assert second.document["generation"] == first.document["generation"]


@pytest.mark.slow
def test_ingest_names_each_problem_once_and_goes_on(fresh, tmp_path):
    papers = write_papers(tmp_path / "papers")
    (papers / "empty.pdf").write_bytes(b"")
    done = fresh("ingest", str(papers), "--embedder", "hash", "--json")
    assert done.code == 0
    assert [problem["path"] for problem in done.document["problems"]] == ["empty.pdf"]
    assert done.document["problems"][0]["reason"]

    text = fresh("ingest", str(papers), "--embedder", "hash")
    assert text.err.count("refused: empty.pdf") == 1
    assert "Nothing changed" in text.out


def test_a_run_of_the_command_line_is_in_the_history(corpus):
    import dagster as dg

    from corpus_assets.settings import Settings
    from dagster_project.instance import open_instance

    with open_instance(Settings(home=corpus[0])) as instance:
        run = instance.get_runs(filters=dg.RunsFilter(job_name="corpus"))[-1]
        assert run.status is dg.DagsterRunStatus.SUCCESS
        assert run.tags[".dagster/repository"] == "__repository__@research_copilot"
        event = instance.get_latest_materialization_event(dg.AssetKey("published_corpus"))
        assert event is not None


def test_papers_list_show_and_export(cli):
    listed = cli("papers", "list", "--json").document
    assert {row["path"] for row in listed} >= {"lichen.txt", "osimertinib.txt", "moths.md"}
    row = next(row for row in listed if row["path"] == "lichen.txt")
    assert row["status"] == "ready"
    assert row["pages_by_state"] == {"text": 1}
    assert row["num_chunks"] >= 1

    shown = cli("papers", "show", row["paper_id"], "--json").document
    assert shown["pages"][0]["state"] == "text"
    assert "Lichen" in shown["pages"][0]["first_line"]
    assert cli("papers", "show", "lichen.txt", "--json").document["paper_id"] == row["paper_id"]

    table = list(csv.DictReader(io.StringIO(cli("papers", "export", "--csv").out)))
    assert {line["paper_id"] for line in table} == {row["paper_id"] for row in listed}
    assert cli("papers", "list", "--status", "failed", "--json").document == []


@pytest.mark.parametrize("mode", ["fts_only", "embedding_only", "hybrid"])
def test_search_returns_exact_quotes(cli, corpus, mode):
    found = cli("search", "median progression-free survival", "--retrieval", mode, "-k", "3", "--json").document
    assert found["retrieval"] == mode
    assert found["hits"][0].keys() >= HIT_KEYS
    assert found["hits"][0]["quote"] == "The median progression-free survival was 10.1 months."

    from corpus_assets.store.generation import open_published

    with open_published(corpus[0]) as generation:
        for hit in found["hits"]:
            assert generation.text(hit["paper_id"])[hit["char_start"] : hit["char_end"]] == hit["quote"]


def test_search_can_be_restricted(cli):
    everywhere = cli("search", "median", "--json").document["hits"]
    abstracts = cli("search", "median", "--sections", "abstract", "--json").document["hits"]
    assert {hit["section"] for hit in abstracts} == {"Abstract"}
    assert len(abstracts) < len(everywhere)


def test_ask_prints_an_answer_that_verifies(cli, corpus, tmp_path):
    asked = cli("ask", QUESTION, "--no-cache", "--json")
    assert asked.code == 0
    record = asked.document
    assert record.keys() >= ANSWER_KEYS
    assert not record["abstained"]
    assert record["citations"][0]["quote"] == "The median progression-free survival was 10.1 months."

    path = tmp_path / "answer.json"
    path.write_text(asked.out)
    checked = cli("verify", str(path), "--json")
    assert checked.code == 0
    assert checked.document["num_ok"] == checked.document["num_quotes"] == len(record["citations"])
    assert cli("verify", record["answer_id"]).code == 0

    record["citations"][0]["quote"] = record["citations"][0]["quote"].replace("10.1", "10.7")
    path.write_text(json.dumps(record))
    broken = cli("verify", str(path), "--json")
    assert broken.code == 1
    assert len(broken.document["failures"]) == 1


def test_ask_text_has_markdown_on_stdout_and_the_writer_on_stderr(cli):
    asked = cli("ask", QUESTION)
    assert "10.1 months" in asked.out
    assert "## " in asked.out  # Markdown as it is, since this is no terminal
    assert "written by extractive" in asked.err


def test_a_question_outside_the_corpus_is_not_answered(cli):
    record = cli("ask", "How do I repair a bicycle chain?", "--json").document
    assert record["abstained"]
    assert record["citations"] == []


@pytest.mark.slow
def test_generations_and_rollback(fresh, tmp_path):
    papers = write_papers(tmp_path / "papers")
    first = fresh("ingest", str(papers), "--embedder", "hash", "--json").document["generation"]
    (papers / "moths.md").unlink()
    second = fresh("ingest", str(papers), "--embedder", "hash", "--json").document["generation"]

    listed = fresh("generations", "--json").document["generations"]
    assert [(row["id"], row["published"]) for row in listed] == [(second, True), (first, False)]
    back = fresh("rollback", "--json")
    assert (back.code, back.document["published"]) == (0, first)
    assert len(fresh("papers", "list", "--json").document) == 4
    assert fresh("rollback", "nonsense").code == 2


def test_doctor_says_what_is_there(cli, fresh):
    healthy = cli("doctor", "--json")
    names = {finding["name"]: finding for finding in healthy.document["findings"]}
    assert healthy.code == 0, healthy.document
    assert "all checksums agree" in names["published corpus"]["detail"]
    assert "sk-" not in healthy.out

    assert fresh("doctor").code == 3


@pytest.mark.slow
def test_doctor_names_a_damaged_file(fresh, tmp_path):
    papers = write_papers(tmp_path / "papers")
    generation = fresh("ingest", str(papers), "--embedder", "hash", "--json").document["generation"]
    victim = next((fresh.home / "generations" / generation).rglob("cards.json"))
    victim.write_bytes(b"x" * victim.stat().st_size)
    sick = fresh("doctor", "--json")
    assert sick.code == 1
    assert victim.name in json.dumps(sick.document)


def test_ask_writes_a_page_that_loads_nothing(cli, tmp_path):
    done = cli("ask", QUESTION, "--html", str(tmp_path / "answer.html"))
    page = (tmp_path / "answer.html").read_text()
    assert done.code == 0
    assert "10.1 months" in page
    assert "<script" not in page
    assert cli("ask", QUESTION, "--html", str(tmp_path / "no" / "answer.html")).code == 2


def test_feedback_is_stored_once(cli):
    answer_id = cli("ask", QUESTION, "--json").document["answer_id"]
    words = [
        "feedback",
        answer_id,
        "--rating",
        "2",
        "--issue",
        "wrong_fact",
        "--correct-answer",
        "10.1 months",
        "--json",
    ]
    first = cli(*words)
    assert (first.code, first.document["is_new"], first.document["is_checkable"]) == (0, True, True)
    assert not cli(*words).document["is_new"]
    assert cli("feedback", answer_id, "--rating", "9").code == 2
    assert cli("feedback", answer_id, "--rating", "2", "--issue", "nonsense").code == 2
    assert cli("feedback", "nonsense", "--rating", "2").code == 2


def test_a_golden_set_is_drafted_judged_finished_and_measured(cli, tmp_path, monkeypatch):
    draft, golden = tmp_path / "draft.json", tmp_path / "golden.json"
    assert cli("golden", "draft", str(draft), "-n", "1", "--json").document["num_cases"] == 1
    monkeypatch.setattr("sys.stdin", io.StringIO("What was measured?\n3\nq\n"))
    assert cli("golden", "judge", str(draft), "--json").document["num_judged"] == 1
    assert cli("golden", "finish", str(draft), str(golden)).code == 0
    assert cli("golden", "lint", str(golden), "--json").document["num_errors"] == 0

    fate = cli("golden", "losses", str(golden), "--min-relevance", "3", "--json").document
    assert fate["num_cases"] == fate["num_passages"] == sum(fate["stages"].values()) == 1
    assert set(fate["stages"]) == {"plan", *LEDGER_STAGES, "cited"}
    assert fate["passages"][0]["reason"] and fate["stages"][fate["passages"][0]["stage"]] == 1
    assert cli("golden", "losses", str(tmp_path / "none.json")).code == 2

    measured = cli(
        "bench", str(golden), "--retrieval", "fts_only,hybrid", "--output", str(tmp_path / "report.json"), "--json"
    )
    assert measured.code == 0
    assert measured.document["modes"].keys() == {"fts_only", "hybrid"}
    assert json.loads((tmp_path / "report.json").read_text())["num_cases"] == 1
    too_high = cli("bench", str(golden), "--retrieval", "fts_only", "--fail-under-hybrid-recall", "0.1")
    assert too_high.code == 1, "a mode that was not measured passed a floor"
    assert cli("bench", str(tmp_path / "none.json")).code == 2
    assert cli("bench", "beir", str(tmp_path / "none")).code == 2


def test_gate_judges_the_published_corpus(cli):
    judged = cli("gate", "--json")
    assert judged.code == (0 if judged.document["passed"] else 1)
    assert {"index_agreement", "honesty"} <= {row["name"] for row in judged.document["gates"]}


def test_papers_retractions_is_empty_without_notices(cli):
    assert cli("papers", "retractions", "--json").document == []
