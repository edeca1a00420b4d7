"""A small corpus on metals with a golden set, ingested with the hash embedder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from corpus_assets.build import ingest
from corpus_assets.settings import EmbeddingSettings, GateSettings, Settings
from corpus_assets.store.generation import Generation, open_published

METALS = ("gallium", "mercury", "copper", "zinc", "iron", "nickel", "cobalt", "silver")


def write_papers_folder(folder: Path) -> None:
    folder.mkdir()
    for number, metal in enumerate(METALS):
        (folder / f"{metal}.md").write_text(
            f"# The melting of {metal}\n\n## Abstract\n\n"
            f"We study how {metal} melts. The melting point of {metal} was {300 + number * 17} kelvin in batch "
            f"AX-{100 + number}. "
            f"The result for {metal} is stable over ten runs of furnace F{number}90B.\n\n## Methods\n\n"
            f"Bars of {metal} were heated slowly under argon. A thermocouple of type K{number}7 read every "
            f"{number + 2} seconds.\n\n"
            f"## Results\n\nImpurities of {metal} oxide lowered the melting point by {number + 1} kelvin. "
            f"Vacuum made no difference to {metal} in any of the runs we measured.\n"
        )


def make_golden(generation: Generation) -> dict[str, object]:
    """Judge three questions a paper, by hand so to speak."""
    cases, papers = [], []
    for record in generation.papers.values():
        metal = record.path.removesuffix(".md")
        papers.append({"paper_id": record.paper_id, "title": record.label})
        for name, query, quote in (
            ("point", f"What is the melting point of {metal}?", f"The melting point of {metal} was"),
            ("oxide", f"effect of {metal} oxide impurities", f"Impurities of {metal} oxide lowered"),
            ("read", f"thermocouple K{METALS.index(metal)}7", f"A thermocouple of type K{METALS.index(metal)}7 read"),
        ):
            chunk = next(chunk for chunk in generation.chunks_of(record.paper_id) if quote in chunk.text)
            judgment = {"paper_id": record.paper_id, "chunk_ref": chunk.chunk_id, "relevance": 3, "quote": quote}
            cases.append(
                {
                    "case_id": f"{metal}-{name}",
                    "query": query,
                    "query_type": "exact",
                    "judgments": [judgment],
                    "expected_paper_ids": [record.paper_id],
                    "expected_chunk_refs": [chunk.chunk_id],
                }
            )
    return {"version": 1, "description": "Metals.", "papers": papers, "cases": cases}


@dataclass(frozen=True)
class Workshop:
    """A published generation, and its settings."""

    settings: Settings
    folder: Path
    generation_id: str


def build_workshop(root: Path) -> Workshop:
    folder = root / "papers"
    write_papers_folder(folder)
    settings = Settings(
        home=root / "home",
        papers_dir=folder,
        embedding=EmbeddingSettings(model="hash"),
        gates=GateSettings(golden_path=root / "golden.json", recall_floor=0.9, hit_rate_floor=0.9, ndcg_floor=0.6),
    )
    report = ingest(settings, folder, gates=[])
    with open_published(settings.home) as generation:
        (root / "golden.json").write_text(json.dumps(make_golden(generation)))
    return Workshop(settings, folder, report.generation)
