"""A person edits a paper that has no DOI, so that its id changes with its text: nothing is lost and labels follow."""

from __future__ import annotations

import pytest

from corpus_assets.build import ingest
from corpus_assets.errors import GateFailedError
from corpus_assets.store.generation import open_published
from corpus_assets.store.publish import published_id
from evaluation.bench import bench_fixture
from evaluation.gates import evaluation_gates
from tests.integration.metals import Workshop, build_workshop

NAMES = ("no_lost_papers", "recall_at_k", "no_regression")


@pytest.fixture
def workshop(tmp_path) -> Workshop:
    return build_workshop(tmp_path)


def edit(workshop: Workshop, old: str, new: str):
    path = workshop.folder / "zinc.md"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    gates = [gate for gate in evaluation_gates() if gate.name in NAMES]
    assert len(gates) == len(NAMES)
    return ingest(workshop.settings, workshop.folder, gates=gates)


def test_an_edited_paper_is_published_and_its_golden_cases_still_count(workshop):
    edit(workshop, "Bars of zinc", "Thin bars of zinc")
    assert published_id(workshop.settings.home) != workshop.generation_id
    with open_published(workshop.settings.home) as generation:
        report = bench_fixture(
            workshop.settings.gates.golden_path, generation, settings=workshop.settings, modes=["fts_only"]
        )
    assert report["num_cases"] == 24
    assert report["num_left_out"] == 0


def test_an_edit_that_takes_a_judged_sentence_away_is_stopped_by_name(workshop):
    with pytest.raises(GateFailedError, match="zinc-point"):
        edit(workshop, "The melting point of zinc was", "Nobody said where zinc melts, it was")
    assert published_id(workshop.settings.home) == workshop.generation_id
