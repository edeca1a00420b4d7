"""The ready-made experiments measure what they say: a model's pre-filter, widening, counter-evidence."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from corpus_assets.build import ingest
from corpus_assets.embedding.hashing import HashEmbedder
from corpus_assets.errors import BadInputError, GateFailedError
from corpus_assets.model import ClusterMap
from corpus_assets.settings import EmbeddingSettings, LlmSettings, Settings
from corpus_assets.store.generation import open_published
from dagster_project.cli.main import main
from evaluation import ab_counter_evidence
from evaluation.ab import list_experiments, run_ab
from evaluation.ab_arms import _own_cluster_share
from tests.integration.metals import METALS, Workshop, build_workshop
from tests.retrieval.llm.scripted_model import by_form, fenced, make_model
from tests.retrieval.llm.scripted_server import error, scripted_server


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Workshop:
    return build_workshop(tmp_path_factory.mktemp("experiments"))


@pytest.fixture
def arms(tmp_path):
    """Write two arms that keep two papers of the eight: by cosine, and by the model."""

    def write(name, method):
        path = tmp_path / f"{name}.toml"
        path.write_text(
            f'name = "{name}"\nkind = "shortlist"\nmethod = "{method}"\n'
            "[retrieval]\nshortlist_min_papers = 1\nshortlist_size = 2\n"
        )
        return path

    return write("a", "cosine"), write("b", "llm")


def pick_the_metal(body):
    """Read the question and the cards as a careful model would, and name the one card of its metal."""
    blocks = fenced(body)
    question = next(text for key, text in blocks.items() if key.startswith("question"))
    wanted = next((metal for metal in METALS if metal in question), f"F{METALS}")
    if "K" in question and "thermocouple" in question:
        wanted = METALS[int(question.split("K")[1][:-1])]
    cards = {key: text for key, text in blocks.items() if key.startswith("C")}
    card = next(key for key, text in cards.items() if wanted in text)
    return {"picks": [{"card": card, "fit": 90}]}


def compare(workshop, arms, model, **llm):
    settings = workshop.settings.model_copy(update={"llm": LlmSettings(**llm)})
    with open_published(settings.home) as generation:
        return run_ab(*arms, settings.gates.golden_path, generation, settings=settings,
                      embedder=HashEmbedder(), language_model=model)  # fmt: skip


def test_a_models_pre_filter_is_measured_beside_cosine_at_the_same_budget(workshop, arms):
    with scripted_server(by_form(PickReply=pick_the_metal)) as script:
        result = compare(workshop, arms, make_model(script))
    assert len(script.requests) == 24
    recall = result["metrics"]["filter_recall"]
    assert recall["b"] == 1.0
    assert recall["a"] < 1.0  # a thermocouple's name is in no card
    assert result["is_budget_matched"]
    assert result["metrics"]["num_papers"]["a"] == result["metrics"]["num_papers"]["b"] == 2
    assert result["metrics"]["num_by_cosine"]["b"] == 1  # one named by the model, one filled up, and said so
    spent = result["totals"]["b"]
    assert spent["calls"] == 24
    assert spent["input_tokens"] == 2400
    assert spent["output_tokens"] == 480
    # 100 tokens in at $1 and 20 out at $5 a million
    assert result["metrics"]["usd"]["b"] == pytest.approx(0.0002)
    assert spent["usd"] == pytest.approx(24 * 0.0002)
    assert result["totals"]["a"] == {}
    assert result["metrics"]["latency_ms"]["b"] > 0


def test_the_budget_of_a_question_holds_for_each_case_and_not_for_the_whole_run(workshop, arms):
    """A case costs $.0002 and its estimate about $.011: 24 of them are over a budget that each is under."""
    with scripted_server(by_form(PickReply=pick_the_metal)) as script:
        result = compare(workshop, arms, make_model(script), budget_usd_per_question=0.014)
    assert result["totals"]["b"]["calls"] == 24


def test_a_model_that_fails_ends_the_experiment_and_is_never_replaced_by_cosine(workshop, arms):
    with (
        scripted_server(by_form(PickReply=pick_the_metal), error(400, "invalid_request_error", "no")) as script,
        pytest.raises(GateFailedError, match=r"Case '.*': the model did not pick.*error 400"),
    ):
        compare(workshop, arms, make_model(script))
    with (
        scripted_server(by_form(PickReply={"picks": [{"card": "X9", "fit": 9}]})) as script,
        pytest.raises(GateFailedError, match="named no paper"),
    ):
        compare(workshop, arms, make_model(script))


@pytest.mark.parametrize("key", ["", "a-key"])
def test_without_a_model_the_experiment_is_refused_in_one_line(workshop, monkeypatch, capsys, key):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    if key:  # there is one, and it is switched off
        monkeypatch.setenv("ANTHROPIC_API_KEY", key)
        monkeypatch.setenv("RESEARCH_COPILOT_LLM__ENABLED", "off")
    golden = str(workshop.settings.gates.golden_path)
    assert main(["ab", "prefilter", "--golden", golden, "--home", str(workshop.settings.home)]) == 2
    printed = capsys.readouterr()
    (line,) = printed.err.strip().splitlines()
    assert "needs a language model" in line
    assert "ANTHROPIC_API_KEY" in line
    assert printed.out == ""


def test_the_ready_made_experiment_runs_from_the_command_line(workshop, monkeypatch, capsys):
    golden = str(workshop.settings.gates.golden_path)
    with scripted_server(by_form(PickReply=pick_the_metal)) as script:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", script.url)
        assert main(["ab", "prefilter", "--golden", golden, "--home", str(workshop.settings.home)]) == 0
    printed = capsys.readouterr().out
    assert "filter_recall" in printed
    assert "B spent: usd 0.0048, calls 24" in printed
    assert "as many papers as B in every case" in printed


def test_a_golden_set_of_another_corpus_is_refused(workshop, tmp_path):
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(workshop.settings.gates.golden_path.read_text().replace("the-melting-of", "the-boiling-of"))
    with open_published(workshop.settings.home) as generation, pytest.raises(BadInputError, match="None of the golden"):
        run_ab(*list_experiments()["modes"], elsewhere, generation, settings=workshop.settings, embedder=HashEmbedder())


def test_the_share_of_the_picks_own_cluster_by_hand():
    clusters = ClusterMap({"p": 0, "q": 0, "r": 1, "s": 2}, {}, 0.2, 0.5, 3)
    generation = SimpleNamespace(clusters=clusters)
    assert _own_cluster_share(generation, ["p", "q", "r", "unknown"]) == 0.5
    assert _own_cluster_share(generation, ["s"]) == 1.0
    assert _own_cluster_share(generation, []) == 0.0


def test_widening_is_off_in_one_arm_and_counted_in_the_other(workshop):
    settings = workshop.settings
    with open_published(settings.home) as generation:
        result = run_ab(*list_experiments()["cluster_widening"], settings.gates.golden_path, generation,
                        settings=settings, embedder=HashEmbedder())  # fmt: skip
    assert result["metrics"]["num_widened"]["a"] == 0
    assert result["is_budget_matched"]
    assert {"filter_recall", "largest_cluster_share", "own_cluster_share"} <= set(result["metrics"])


FOR = "Zinquol clearly shortened the healing of the wound in all of our patients."
AGAINST = "No association of the plaster with time to closure was found, and contrary results failed to replicate."


@pytest.fixture
def disputed(tmp_path, monkeypatch):
    """Two papers that contradict each other in other words, and the split that says so."""
    folder = tmp_path / "papers"
    folder.mkdir()
    bodies = {"for": FOR, "against": AGAINST}
    bodies |= {f"wound{n}": f"Zinquol and the healing of the wound were seen in {n} of our patients." for n in range(9)}
    for name, body in bodies.items():
        (folder / f"{name}.md").write_text(f"# A study of {name}\n\n## Results\n\n{body}\n")
    splits = tmp_path / "splits.json"
    row = {"kind": "split", "case_id": "zinquol", "question": "Does zinquol shorten the healing of the wound?"}
    row |= {"a": {"file": "for.md", "quote": FOR}, "b": {"file": "against.md", "quote": AGAINST}}
    splits.write_text(json.dumps({"cases": [row]}))
    monkeypatch.setattr(ab_counter_evidence, "SPLITS", splits)
    settings = Settings(home=tmp_path / "home", papers_dir=folder, embedding=EmbeddingSettings(model="hash"))
    ingest(settings, folder, gates=[])
    retrieval = settings.retrieval.model_copy(update={"k_retrieve": 2})
    return settings.model_copy(update={"retrieval": retrieval}), splits


def run_counter_evidence(settings, workshop):
    golden = json.loads(workshop.settings.gates.golden_path.read_text())
    with open_published(settings.home) as generation:
        (record,) = [record for record in generation.papers.values() if record.path == "for.md"]
        chunk = next(chunk for chunk in generation.chunks_of(record.paper_id) if FOR in chunk.text)
        judgment = {"paper_id": record.paper_id, "chunk_ref": chunk.chunk_id, "relevance": 3, "quote": FOR}
        case = {**golden["cases"][0], "judgments": [judgment], "expected_paper_ids": [record.paper_id],
                "expected_chunk_refs": [chunk.chunk_id]}  # fmt: skip
        papers = [{"paper_id": record.paper_id, "title": "for"}]
        path = settings.home / "golden.json"
        path.write_text(json.dumps({**golden, "papers": papers, "cases": [case]}))
        return run_ab(*list_experiments()["counter_evidence"], path, generation, settings=settings,
                      embedder=HashEmbedder())  # fmt: skip


def test_the_lift_of_the_counter_evidence_pass_and_its_cost_are_seen(disputed, workshop):
    settings, _ = disputed
    result = run_counter_evidence(settings, workshop)
    metrics = result["metrics"]
    assert metrics["contradict_recall"]["num_cases"] == 2
    assert metrics["both_sides_recall"]["num_cases"] == 1
    assert result["cases"]["zinquol:a"]["contradict_recall"] == [0.0, 1.0]  # only the pass finds it
    assert metrics["num_candidates"]["diff"] > 0
    assert metrics["latency_ms"]["num_cases"] == 3
    assert metrics["both_sides_recall"]["minimum_detectable"] is None  # one case shows no spread


def test_a_split_whose_quote_is_nowhere_fails_loudly(disputed, workshop):
    settings, splits = disputed
    splits.write_text(splits.read_text().replace("No association of the plaster", "Some association of the plaster"))
    with pytest.raises(GateFailedError, match=r"Split 'zinquol': no passage of against\.md holds"):
        run_counter_evidence(settings, workshop)
    splits.write_text(json.dumps({"cases": []}))
    with pytest.raises(BadInputError, match="No known split"):
        run_counter_evidence(settings, workshop)
