"""Evaluation on a real small generation: bench, tiers, report, A/B, manual sample, golden drafts, asset checks."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import dagster as dg
import pytest

from corpus_assets.embedding.hashing import HashEmbedder
from corpus_assets.errors import BadInputError
from corpus_assets.store.generation import open_published
from evaluation.ab import EXPERIMENTS_DIR, compare_arms, list_experiments, load_arm, read_bundle, run_ab
from evaluation.bench import bench_fixture
from evaluation.cases import load_fixture
from evaluation.gates import describe_results, run_gates
from evaluation.golden import draft_golden, finish_golden, judge_golden, lint_golden, read_draft
from evaluation.report import write_report
from evaluation.sampling import label_sample, sample_hits
from evaluation.tiers import bench_tiers, compare_tiers
from retrieval.decision import RetrievalDecision, store_decision, stored_mode
from tests.integration.metals import Workshop, build_workshop


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Workshop:
    return build_workshop(tmp_path_factory.mktemp("evaluation"))


@pytest.fixture
def generation(workshop):
    with open_published(workshop.settings.home) as opened:
        yield opened


def without_latency(value):
    if isinstance(value, dict):
        return {key: without_latency(item) for key, item in value.items() if "_ms" not in key}
    return [without_latency(item) for item in value] if isinstance(value, list) else value


def bench(workshop, generation, **options):
    return bench_fixture(workshop.settings.gates.golden_path, generation, settings=workshop.settings, **options)


def test_bench_is_equal_to_the_last_digit_between_runs(workshop, generation):
    """B46: rankings and so every number are reproducible; only latencies differ."""
    modes = ("fts_only", "embedding_only", "hybrid")
    first, second = (json.dumps(without_latency(bench(workshop, generation, modes=modes))) for _ in range(2))
    assert first == second


def test_bench_reports_every_mode_and_chooses_fts_only_for_hash_vectors(workshop, generation):
    settings = workshop.settings.model_copy(
        update={"retrieval": workshop.settings.retrieval.model_copy(update={"reranker": "lexical"})}
    )
    report = bench_fixture(settings.gates.golden_path, generation, settings=settings)
    assert set(report["modes"]) == {"fts_only", "embedding_only", "hybrid", "hybrid_rerank"}
    assert report["decision"]["mode"] == "fts_only"
    assert report["num_cases"] == 24
    assert report["golden_hash"] == load_fixture(settings.gates.golden_path).golden_hash
    assert report["filter_recall"] == {"mean": 1.0, "num_cases": 24, "num_skipped": 24}
    assert report["labels"] == {"kept": 24, "moved": 0, "split": 0}


def test_tiers_stand_side_by_side_on_the_same_cases(workshop, generation, monkeypatch):
    import corpus_assets.embedding.registry

    class OtherEmbedder(HashEmbedder):
        name, fingerprint = "other", "other-v1"

        def embed_documents(self, texts):
            return super().embed_documents([text[::-1] for text in texts])

    load = corpus_assets.embedding.registry.load_embedder
    monkeypatch.setattr(
        corpus_assets.embedding.registry,
        "load_embedder",
        lambda name, *args, **options: OtherEmbedder() if name == "other" else load(name, *args, **options),
    )
    golden = workshop.settings.gates.golden_path
    reports = bench_tiers(golden, generation, settings=workshop.settings, embedders=("hash", "other"))
    tiers = compare_tiers(reports)
    rows = {(row["mode"], row["metric"]): row for row in tiers["rows"]}
    full_text = rows["fts_only", "ndcg@10"]
    assert full_text["hash"] == full_text["other"]
    assert tiers["tiers"]["hash"]["num_cases"] == tiers["tiers"]["other"]["num_cases"] == 24
    with pytest.raises(BadInputError, match="different golden sets"):
        compare_tiers({"a": reports["hash"], "b": {**reports["hash"], "golden_hash": "x"}})


def test_the_report_is_one_file_that_asks_for_nothing_outside(workshop, generation, tmp_path):
    report = bench(workshop, generation, modes=("fts_only", "embedding_only", "hybrid"))
    report["cases"][0]["query"] = "<script>alert(1)</script> | pipe"
    page = write_report(report, tmp_path / "report.html", markdown_path=tmp_path / "report.md").read_text()
    markdown = (tmp_path / "report.md").read_text()
    assert "<script" not in page
    assert not re.search(r'(?:src|href)="(?!data:)', page)
    assert report["decision"]["reason"].split(":")[0] in page
    for word in ("Wins and losses", "Slices", "Comparisons", report["golden_hash"], "minimum", "fts_only"):
        assert word in page or word == "minimum"
    assert "| fts_only |" in markdown
    assert len(page) < 400_000


def test_ready_made_experiments_are_valid_and_paired():
    assert {"rerank", "counter_evidence", "cluster_widening", "prefilter", "modes"} <= set(list_experiments())
    for a, b in list_experiments().values():
        assert load_arm(a).kind == load_arm(b).kind


@pytest.mark.parametrize("name", ["modes", "rerank", "cluster_widening"])
def test_ab_runs_both_arms_on_one_bundle(workshop, generation, tmp_path, name):
    a, b = list_experiments()[name]
    settings = workshop.settings
    if name == "rerank":
        text = b.read_text() + '\n[retrieval]\nreranker = "lexical"\n'
        b = tmp_path / "b.toml"
        b.write_text(text)
    result = run_ab(
        a, b, settings.gates.golden_path, generation, settings=settings, bundle_path=tmp_path / "bundle.json"
    )
    assert result["bundle"] == read_bundle(tmp_path / "bundle.json").digest
    metric = "filter_recall" if name == "cluster_widening" else "ndcg@10"
    row = result["metrics"][metric]
    assert row["diff"] == pytest.approx(row["b"] - row["a"])
    assert result["num_cases"] == 24


def test_ab_refuses_mismatched_and_changed_bundles(workshop, generation, tmp_path):
    from evaluation.ab import ArmResult

    arm = load_arm(EXPERIMENTS_DIR / "modes" / "a.toml")
    with pytest.raises(BadInputError, match="same frozen inputs"):
        compare_arms(ArmResult(arm, "a" * 64, {"x": {"q": 1.0}}), ArmResult(arm, "b" * 64, {"x": {"q": 1.0}}))
    a, b = list_experiments()["modes"]
    path = tmp_path / "bundle.json"
    run_ab(a, b, workshop.settings.gates.golden_path, generation, settings=workshop.settings, bundle_path=path)
    path.write_text(path.read_text().replace("gallium", "thorium", 1))
    with pytest.raises(BadInputError, match="changed after it was frozen"):
        read_bundle(path)
    with pytest.raises(BadInputError, match="different inputs"):
        run_ab(a, list_experiments()["rerank"][0], workshop.settings.gates.golden_path, generation,
               settings=workshop.settings)  # fmt: skip
    with pytest.raises(BadInputError, match="needs a language model"):
        run_ab(*list_experiments()["prefilter"], workshop.settings.gates.golden_path, generation,
               settings=workshop.settings)  # fmt: skip


def test_the_manual_sample_is_blind_and_its_labels_decide(workshop, generation, tmp_path):
    fixture = load_fixture(workshop.settings.gates.golden_path)
    queries = {case.case_id: case.query for case in fixture.cases}
    folder, home = tmp_path / "sample", tmp_path / "home"
    num = sample_hits(generation, queries, folder, settings=workshop.settings, embedder=HashEmbedder(), num=5)
    page = (folder / "sample.html").read_text()
    assert not re.search(r"fts_only|hybrid|embedding_only", page)
    with pytest.raises(BadInputError, match="has label ''"):
        label_sample(folder)
    key = json.loads((folder / "key.json").read_text())
    labels = {row["item"]: "grounded" if "fts_only" in row["modes"] else "broad" for row in key["items"]}
    (folder / "labels.csv").write_text("item,label\n" + "".join(f"{a},{b}\n" for a, b in labels.items()))
    store_decision(home, RetrievalDecision(generation.id, "hybrid", "numbers said so"))
    report = label_sample(folder, home=home)
    assert report["num_items"] == num
    assert report["modes"]["fts_only"]["grounded"] == 1.0
    is_vaguer = report["modes"]["hybrid"]["is_vaguer"]
    assert stored_mode(home, generation.id)[0] == ("fts_only" if is_vaguer else "hybrid")
    assert report["modes"]["embedding_only"]["is_vaguer"]


def test_a_golden_set_is_drafted_judged_and_linted(workshop, generation, tmp_path):
    draft, path = tmp_path / "draft.json", tmp_path / "golden.json"
    num = draft_golden(generation, draft, settings=workshop.settings, embedder=HashEmbedder(), num=3)
    assert num == 3
    with pytest.raises(BadInputError, match="judged above 0"):
        finish_golden(draft, path, generation, description="none yet")
    answers = iter(["How low does it melt?", "x", "3", "0", "s", "", "2", "q"])
    shown: list[str] = []
    assert judge_golden(draft, ask=lambda _: next(answers), show=shown.append) == 3
    assert read_draft(draft)["cases"][0]["query"] == "How low does it melt?"
    fixture = finish_golden(draft, path, generation, description="Judged in a test.")
    assert len(fixture.cases) == 2
    findings = [str(item) for item in lint_golden(path, generation)]
    assert not [item for item in findings if item.startswith("ERROR")]
    raw = json.loads(path.read_text())
    raw["cases"][0]["judgments"][0]["quote"] = "Nobody ever wrote these words in a paper."
    path.write_text(json.dumps(raw))
    assert any("no chunk of the paper holds" in str(item) for item in lint_golden(path, generation))


def test_gates_store_the_decision_that_ask_obeys(workshop):
    results = run_gates(workshop.settings)
    described = describe_results(results)
    assert described["passed"], [(row["name"], row["detail"]) for row in described["gates"] if not row["passed"]]
    json.dumps(described, allow_nan=False)
    mode, reason = stored_mode(workshop.settings.home, workshop.generation_id) or ("", "")
    assert mode == "fts_only"
    assert "hash embedder" in reason
    assert "24 cases" in reason


class FixedSettings(dg.ConfigurableResource):
    """Stands in for the project's resource."""

    settings_json: str

    def settings(self):
        from corpus_assets.settings import Settings

        return Settings.model_validate_json(self.settings_json)

    def report_progress(self, *args: object) -> None: ...


def run_gate_job(settings):
    """Run the evaluation checks as a job; return its result and the evaluations by check name."""
    from corpus_assets.assets import summary_cards
    from corpus_assets.store.lock import release_home
    from evaluation.checks import evaluation_checks

    defs = dg.Definitions(
        assets=[summary_cards],
        asset_checks=[evaluation_checks],
        jobs=[dg.define_asset_job("gate", selection=dg.AssetSelection.checks(evaluation_checks))],
        resources={"copilot": FixedSettings(settings_json=settings.model_dump_json())},
    )
    try:
        result = defs.get_job_def("gate").execute_in_process(raise_on_error=False)
    finally:
        release_home(settings.home)
    evaluations = {item.check_name: item for item in result.get_asset_check_evaluations()}
    return result, evaluations


def test_asset_checks_carry_values_cases_tables_and_charts(workshop, tmp_path):
    home = tmp_path / "home"
    shutil.copytree(workshop.settings.home, home)
    settings = workshop.settings.model_copy(update={"home": home})
    result, evaluations = run_gate_job(settings)
    recall = evaluations["recall_at_k"]
    assert result.success
    assert recall.passed
    assert recall.blocking
    assert not evaluations["topic_balance"].blocking
    assert recall.metadata["num_cases"].value == 24
    assert recall.metadata["floor"].value == 0.9
    assert recall.metadata["golden_set"].value == load_fixture(settings.gates.golden_path).golden_hash
    assert "| case |" in recall.metadata["worst_cases"].value
    chart = recall.metadata["chart"].value
    assert chart.startswith("![recall_at_k](data:image/png;base64,")
    assert len(chart) < 60_000
    assert "Wins and losses" in Path(evaluations["retrieval_decision"].metadata["report"].value).read_text()


def test_a_failing_gate_fails_the_run(workshop, tmp_path):
    home = tmp_path / "home"
    shutil.copytree(workshop.settings.home, home)
    gates = workshop.settings.gates.model_copy(update={"golden_path": tmp_path / "absent.json"})
    settings = workshop.settings.model_copy(update={"home": home, "gates": gates})
    for stored in home.glob("generations/*/gates.json"):
        stored.unlink()
    result, evaluations = run_gate_job(settings)
    assert not evaluations["recall_at_k"].passed
    assert evaluations["recall_at_k"].severity == dg.AssetCheckSeverity.ERROR
    assert "absent.json" in evaluations["recall_at_k"].description
    assert not result.success
