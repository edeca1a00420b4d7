"""Trials from public reports: what other programs got wrong on the way from a folder to a ranking."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from corpus_assets.build import ingest
from corpus_assets.embedding.registry import load_embedder
from corpus_assets.settings import EmbeddingSettings, Settings
from corpus_assets.store.generation import open_published
from retrieval.search import search
from tests.corpus_assets.pdf_factory import PAGE_WIDTH, Pdf
from tests.integration.cli_corpus import run_program

LAST = "Gulls slept beside the warm pipes."


def write_pdf(path: Path, lines: list[str]) -> None:
    """Write a PDF of one or more pages; lines are wrapped by the caller."""
    pdf = Pdf()
    for start in range(0, len(lines), 50):
        pdf.add_page(PAGE_WIDTH).write_lines(lines[start : start + 50])
    path.write_bytes(pdf.document.tobytes())


def long_paragraph(last: str) -> list[str]:
    """Return lines of one paragraph of over 400 words that ends in ``last``."""
    words = " ".join(
        f"Jar {n} held sedge, moss and a thin crust of salt over grey sand from the bay." for n in range(1, 29)
    )
    words = f"{words} {last}"
    lines, line = [], ""
    for word in words.split():
        if len(line) + len(word) > 80:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return [*lines, line]


def settings_for(home: Path, model: str = "hash") -> Settings:
    return Settings(home=home, embedding=EmbeddingSettings(model=model))


def test_b26_nothing_of_a_chunk_is_past_what_the_model_reads(tmp_path: Path) -> None:
    vectors = []
    for number, last in enumerate((LAST, "Cranes stood on the frozen pond.")):
        folder = tmp_path / f"papers{number}"
        folder.mkdir()
        write_pdf(folder / "a.pdf", long_paragraph(last))
        settings = settings_for(tmp_path / f"home{number}", "default")
        ingest(settings, folder)
        embedder = load_embedder("default", settings.models_path)
        with open_published(settings.home) as generation:
            (paper_id,) = generation.papers
            chunks = generation.chunks_of(paper_id)
            holding = [chunk for chunk in chunks if last in " ".join(chunk.text.split())]
            title = generation.papers[paper_id].metadata.title
            for chunk in chunks:
                room = embedder.max_tokens - embedder.num_special_tokens
                assert len(embedder.token_starts(chunk.text)) <= room, (chunk.chunk_id, title)
            found = search(
                generation,
                "birds rest where it is warm near pipes",
                mode="embedding_only",
                k=1,
                embedder=embedder,
                settings=settings.retrieval,
            ).hits
            if last == LAST:
                assert LAST in " ".join(found[0].chunk.text.split())
            vectors.append(embedder.embed_documents([chunk.text for chunk in holding])[0])
    assert float(vectors[0] @ vectors[1]) < 0.999  # the last sentence is seen by the model


def test_b29_file_names_of_any_bytes_are_indexed_and_named_on_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    names = [b"caf\xe9 2020.pdf", b"two\nlines.pdf", b" lead space.pdf", b"-rf.pdf", "Mu\u0308ller.pdf".encode()]
    for number, name in enumerate(names):
        write_pdf(
            folder / os.fsdecode(name),
            [
                f"Paper {number}: a cup of lentils contains {9 + number} g of protein, we found.",
                "It was weighed twice.",
            ],
        )
    home = str(tmp_path / "home")
    first = run_program("ingest", str(folder), "--embedder", "hash", "--home", home)
    assert first.returncode == 0, first.stderr
    listed = run_program("papers", "list", "--json", "--home", home)
    rows = json.loads(listed.stdout)
    assert len(rows) == 5 and all("\n" not in row["path"] for row in rows)
    hits = json.loads(run_program("search", "lentils", "--json", "--home", home).stdout)["hits"]
    assert len({hit["paper_id"] for hit in hits}) == 5
    second = run_program("ingest", str(folder), "--embedder", "hash", "--home", home, "--json")
    report = json.loads(second.stdout)
    assert second.returncode == 0, second.stderr
    assert report["num_parsed"] == report["num_embedded"] == 0 and report["num_papers"] == 5, report


@pytest.mark.parametrize("mode", ["fts_only", "embedding_only", "hybrid"])
def test_b40_fewer_passages_than_asked_for_are_each_returned_once(tmp_path: Path, mode: str) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    write_pdf(folder / "poster.pdf", ["POLAR BEES", "Polar bees fly at 4 degrees."])
    settings = settings_for(tmp_path / "home")
    ingest(settings, folder)
    embedder = load_embedder("hash", settings.models_path)
    with open_published(settings.home) as generation:
        hits = search(
            generation,
            "polar bees",
            mode=mode,  # type: ignore[arg-type]
            k=20,
            embedder=embedder,
            settings=settings.retrieval,
        ).hits
    assert len(hits) == 1 and "Polar bees fly" in hits[0].chunk.text


TIES = """
import sys
from retrieval.fusion import combine_scores, rrf, weigh_scores
from retrieval.rerank import fuse_ranks
step = int(sys.argv[1])
for fts, dense in (("AB", "CD"), ("AB", "BA")):
    legs = [dict([(leg[0], 1.0), (leg[1], 0.5)][::step]) for leg in (fts, dense)]
    print(rrf([fts, dense][::step]))
    print(fuse_ranks([fts, dense][::step], k=60))
    print(combine_scores(legs[::step]))
    print(weigh_scores(legs[::step], [fts, dense], weights=(0.5, 0.5)))
"""


def test_b46_ties_fall_the_same_way_in_every_process() -> None:
    outputs = set()
    for seed in range(5):
        for step in ("1", "-1"):
            environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
            done = subprocess.run(
                [sys.executable, "-c", TIES, step], env=environment, capture_output=True, text=True, check=True
            )
            outputs.add(done.stdout)
    assert len(outputs) == 1, outputs
    (shown,) = outputs
    assert "id='A'" in shown.splitlines()[0]


def test_b47_a_text_has_one_vector_whatever_its_batch(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "home", "default")
    embedder = load_embedder("default", settings.models_path)
    texts = [f"Sample {n} of lot {n % 7} {'lost' if n % 2 else 'kept'} its colour. " * (1 + n % 5) for n in range(40)]
    whole = embedder.embed_documents(texts)
    for size in (1, 8, 32):
        parts = [embedder.embed_documents(texts[start : start + size]) for start in range(0, 40, size)]
        assert np.abs(np.concatenate(parts) - whole).max() < 1e-5
