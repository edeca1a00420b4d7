"""B47 and B49: an incremental corpus ranks as a clean one, and a verdict belongs to the very generation it judged."""

from __future__ import annotations

import shutil
from pathlib import Path

import dagster as dg
import numpy as np
import pytest

from corpus_assets.assets import corpus_assets, published_corpus
from corpus_assets.build import ingest
from corpus_assets.corpus_gates import corpus_gates
from corpus_assets.embedding.registry import load_embedder
from corpus_assets.errors import GateFailedError
from corpus_assets.gates import read_gate_results
from corpus_assets.settings import EmbeddingSettings, Settings
from corpus_assets.store.generation import Generation, open_generation, open_published
from corpus_assets.store.lock import release_home
from corpus_assets.store.publish import generations_dir, published_id
from dagster_project.resources import GateSuiteResource
from evaluation.gates import evaluation_gates
from retrieval.search import search
from tests.integration.metals import Workshop, build_workshop
from tests.integration.test_evaluation import FixedSettings

PLACES = ("bay", "moor", "dune", "fen", "cliff", "heath", "marsh", "beach")
PLANTS = ("sedge", "moss", "thrift", "kelp", "gorse")


def write_notes(folder: Path, numbers: range) -> None:
    folder.mkdir(exist_ok=True)
    for n in numbers:
        plant, place = PLANTS[n % 5], PLACES[n // 5]
        (folder / f"note{n}.md").write_text(
            f"# {plant.title()} on the {place}\n\n## Results\n\nThe {plant} of the {place} grew {n + 3} mm a year. "
            f"{'Salt held it back. ' * (1 + n % 4)}Gulls did not eat {plant} there.\n"
        )


@pytest.mark.slow
@pytest.mark.model
def test_b47_a_corpus_built_in_steps_ranks_as_one_built_at_once(tmp_path):
    folder = tmp_path / "papers"
    homes = {name: Settings(home=tmp_path / name, embedding=EmbeddingSettings(model="default"))
             for name in ("stepwise", "clean")}  # fmt: skip
    write_notes(folder, range(5))
    ingest(homes["stepwise"], folder, gates=[])
    write_notes(folder, range(40))
    second = ingest(homes["stepwise"], folder, gates=[])
    ingest(homes["clean"], folder, gates=[])
    assert second.num_unchanged == 5
    assert second.num_embedded < 40 * 2 + 1  # what was there is decided by its text and not embedded again
    embedder = load_embedder("default", homes["clean"].models_path)
    with open_published(homes["stepwise"].home) as stepwise, open_published(homes["clean"].home) as clean:
        ids = [sorted(chunk.chunk_id for s in opened.segments for chunk in s.fts.all_chunks())
               for opened in (stepwise, clean)]  # fmt: skip
        assert ids[0] == ids[1]
        assert np.abs(vectors_of(stepwise, ids[0]) - vectors_of(clean, ids[0])).max() < 1e-5
        for mode in ("embedding_only", "hybrid"):
            for place in PLACES:
                query = f"How fast do plants grow on the {place}?"
                found = [[hit.chunk.chunk_id for hit in search(opened, query, mode=mode, k=10, embedder=embedder).hits]
                         for opened in (stepwise, clean)]  # fmt: skip
                assert found[0] == found[1], (mode, place)


def vectors_of(generation: Generation, chunk_ids: list[str]) -> np.ndarray:
    from corpus_assets.vectors import vector_id

    rows: dict[str, np.ndarray] = {}
    for segment in generation.segments:
        for chunk in segment.fts.all_chunks():
            if chunk.is_retrievable and segment.vectors is not None:
                rows[chunk.chunk_id] = segment.vectors.reconstruct(np.array([vector_id(chunk.chunk_id)]))[0]
    return np.stack([rows[name] for name in chunk_ids if name in rows])


@pytest.fixture
def copied(tmp_path_factory, tmp_path) -> Workshop:
    """A corpus whose v1 passed every gate, with a home and folder to change."""
    workshop = build_workshop(tmp_path_factory.mktemp("verdicts"))
    ingest(workshop.settings, workshop.folder, gates=[*corpus_gates(), *evaluation_gates()])
    return workshop


def materialize(settings: Settings, *, only_publish: bool) -> dg.ExecuteInProcessResult:
    """Materialise every asset but the published corpus, or that one alone; no asset check is part of the run."""
    publish = dg.AssetSelection.assets(published_corpus)
    try:
        return dg.materialize(
            [*corpus_assets],
            selection=publish if only_publish else dg.AssetSelection.all() - publish,
            resources={
                "copilot": FixedSettings(settings_json=settings.model_dump_json()),
                "gate_suite": GateSuiteResource(),
            },
            raise_on_error=False,
        )
    finally:
        release_home(settings.home)


def change(workshop: Workshop, old: str, new: str) -> None:
    path = workshop.folder / "zinc.md"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def candidate_of(home: Path, v1: str) -> Path:
    (found,) = [path for path in home.rglob("manifest.json") if path.parent.name != v1 and "segment" not in str(path)]
    return found.parent


@pytest.mark.slow
def test_b49_publishing_a_second_version_alone_judges_that_version(copied):
    settings, v1 = copied.settings, copied.generation_id
    change(copied, "Bars of zinc", "Thin bars of zinc")
    assert materialize(settings, only_publish=False).success
    assert published_id(settings.home) == v1
    candidate = candidate_of(settings.home, v1)
    assert read_gate_results(candidate) == {}  # v1's verdicts are not lent to v2
    assert materialize(settings, only_publish=True).success
    v2 = published_id(settings.home)
    assert v2 not in (v1, None)
    with open_generation(settings.home, str(v2)) as generation:
        own = generation.manifest_sha256
    verdicts = read_gate_results(generations_dir(settings.home) / str(v2))
    assert {"recall_at_k", "no_regression", "index_agreement"} <= set(verdicts)
    assert {verdict.fingerprint.partition(":")[0] for verdict in verdicts.values()} == {own}


@pytest.mark.slow
@pytest.mark.parametrize("is_worse", [False, True])
def test_an_index_of_an_earlier_program_is_replaced_if_the_new_one_is_good(copied, monkeypatch, is_worse):
    settings, v1 = copied.settings, copied.generation_id
    for module in ("fts_query", "fts_build"):
        monkeypatch.setattr(f"corpus_assets.{module}.FORMAT_VERSION", "2.99")
    monkeypatch.setattr("corpus_assets.steps.candidate.FTS_VERSION", "2.99")
    if is_worse:
        monkeypatch.setattr("retrieval.lexical.tokenize", lambda query: ["nothing"])
    gates = [*corpus_gates(), *evaluation_gates()]
    if is_worse:
        with pytest.raises(GateFailedError, match="known_item"):
            ingest(settings, copied.folder, gates=gates)
        assert published_id(settings.home) == v1
        return
    report = ingest(settings, copied.folder, gates=gates)
    assert published_id(settings.home) == report.generation != v1
    verdicts = read_gate_results(generations_dir(settings.home) / report.generation)
    for name in ("no_regression", "p95_latency"):
        assert verdicts[name].passed and "has format 2.1; this program reads 2.99" in verdicts[name].detail
    assert verdicts["no_regression"].severity == "WARN"


@pytest.mark.slow
def test_b49_a_second_version_that_fails_its_gates_leaves_the_first_live(copied):
    settings, v1 = copied.settings, copied.generation_id
    change(copied, "The melting point of zinc was", "Nobody said where zinc melts, it was")
    assert materialize(settings, only_publish=False).success
    result = materialize(settings, only_publish=True)
    assert not result.success
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert "recall_at_k" in str(failure.step_failure_data.error)
    assert published_id(settings.home) == v1
    with open_published(settings.home) as generation:
        assert search(generation, "melting point of zinc", mode="fts_only", k=3).hits


@pytest.mark.slow
def test_b49_verdicts_copied_from_another_version_count_for_nothing(copied):
    settings, v1 = copied.settings, copied.generation_id
    change(copied, "The melting point of zinc was", "Nobody said where zinc melts, it was")
    assert materialize(settings, only_publish=False).success
    passed = generations_dir(settings.home) / v1 / "gates.json"
    assert passed.is_file()
    target = candidate_of(settings.home, v1)
    shutil.copy(passed, target / "gates.json")
    assert not materialize(settings, only_publish=True).success
    assert published_id(settings.home) == v1
