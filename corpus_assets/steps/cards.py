"""Write the cards of papers whose text changed, embed them, put them into the candidate and seal it."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from corpus_assets.card_model import CardFailedError, CardWriter, excerpt, load_card_writer
from corpus_assets.cards import CARDS_VERSION, card_text, write_card
from corpus_assets.embedding.protocol import Embedder
from corpus_assets.model import Card
from corpus_assets.settings import Settings, fingerprint
from corpus_assets.steps.candidate import ensure_papers, open_candidate, seal_candidate, served_papers
from corpus_assets.steps.card_plan import EXTRACTIVE, FAILED, card_bases, card_key, is_fresh
from corpus_assets.steps.chunks import text_key
from corpus_assets.steps.report import Progress, StepReport, no_progress
from corpus_assets.store.duck import to_json
from corpus_assets.store.generation import CARD_VECTORS_FILE, CARDS_FILE, CLUSTERS_FILE, read_clusters
from corpus_assets.store.working import WorkingStore


def build_cards(
    store: WorkingStore, settings: Settings, embedder: Embedder, *, progress: Progress = no_progress
) -> StepReport:
    """Bring the cards up to date and complete the candidate; every other artifact must be there already."""
    started = time.monotonic()
    candidate = open_candidate(store, settings, embedder)
    written = _write_cards(store, settings, progress)
    writer = written.writer
    clusters = read_clusters(candidate.path / CLUSTERS_FILE)
    cards = {}
    for paper_id, (_, card) in store.cards().items():
        number = clusters.assignments.get(paper_id, -1)
        cards[paper_id] = replace(card, cluster=number, cluster_label=clusters.labels.get(number, ""))
    keys = {paper_id: text_key(card_text(card)) for paper_id, card in cards.items()}
    inputs = fingerprint([CARDS_VERSION, embedder.fingerprint, [to_json(card) for card in cards.values()]])

    def build(folder: Path) -> tuple[list[str], dict[str, int]]:
        import numpy as np

        missing = store.missing_embeddings(embedder.fingerprint, list(keys.values()))
        texts = {keys[paper_id]: card_text(card) for paper_id, card in cards.items() if keys[paper_id] in missing}
        if texts:
            store.put_embeddings(embedder.fingerprint, list(texts), embedder.embed_documents(list(texts.values())))
        vectors = store.embeddings(embedder.fingerprint, list(keys.values()), embedder.dimension)
        rows = [json.loads(to_json(card)) for card in cards.values()]
        (folder / CARDS_FILE).write_text(json.dumps(rows, indent=1, ensure_ascii=False), "utf-8")
        np.save(folder / CARD_VECTORS_FILE, vectors)
        return [CARDS_FILE, CARD_VECTORS_FILE], {"num_cards": len(rows)}

    _, origin = candidate.ensure("cards", inputs, build)
    ensure_papers(store, candidate)
    seal_candidate(store, settings, embedder, candidate)
    num_dropped = store.drop_unused_embeddings(list(keys.values()))
    counts = {
        "num_cards": len(cards),
        "num_written": written.num_extractive + written.num_by_model,
        "num_built": int(origin == "built"),
        "num_vectors_dropped": num_dropped,
        "seconds": round(time.monotonic() - started, 3),
    }
    if writer is not None:
        counts |= {
            "num_by_model": written.num_by_model,
            "num_model_calls": writer.num_calls,
            "cards_usd": round(writer.usd, 6),
            "cards_usd_estimate": round(written.estimate_usd, 6),
        }
    return StepReport("summary_cards", counts, inputs, _sample(cards, inputs), notes=written.notes)


@dataclass
class _Written:
    writer: CardWriter | None
    num_extractive: int = 0
    num_by_model: int = 0
    estimate_usd: float = 0.0
    notes: tuple[str, ...] = ()


def _write_cards(store: WorkingStore, settings: Settings, progress: Progress) -> _Written:
    """Write the cards that are missing, of a changed paper, or still extractive although a model is there.

    A card's key holds what it was made from and who wrote it, so that a model's cards outlast an ingest without a key.
    """
    have = store.card_keys()
    served = served_papers(store)
    writer = load_card_writer(settings)
    done = _Written(writer)
    bases = card_bases(served, settings)
    model = writer.name if writer else ""
    stale = [paper_id for paper_id in served if not is_fresh(have.get(paper_id, ""), bases[paper_id], model)]
    if writer is not None and stale:
        parsed_papers = (store.parsed(served[paper_id].doc_sha256) for paper_id in stale)
        done.estimate_usd = sum(writer.estimate_usd(excerpt(paper)) for paper in parsed_papers if paper is not None)
        limit = settings.llm.budget_usd_per_ingest
        plan = f"by {writer.name}: at most ${done.estimate_usd:.2f} of ${limit:.2f}"
        progress("summary_cards", 0, len(stale), plan)
    failures: dict[str, list[str]] = {}
    for number, paper_id in enumerate(stale, start=1):
        record = served[paper_id]
        parsed = store.parsed(record.doc_sha256)
        assert parsed is not None, f"{paper_id} is served without a text"
        card = write_card(paper_id, record.metadata, parsed, settings.cards)
        if writer is not None:
            try:
                card = writer.write(card, record.metadata, parsed)
                done.num_by_model += 1
            except CardFailedError as error:
                failures.setdefault(error.message, []).append(paper_id)
        done.num_extractive += card.writer == EXTRACTIVE
        store.put_card(card_key(bases[paper_id], card.writer), card)
        progress("summary_cards", number, len(stale), paper_id)
    if failures:
        store.set_meta(FAILED, True)
    done.notes = tuple(
        f"{len(papers)} summary card(s), of {', '.join(papers[:3])}{', …' if len(papers) > 3 else ''}, are extractive "
        f"and are tried again at the next ingest: {reason}."
        for reason, papers in failures.items()
    )
    return done


def _sample(cards: Mapping[str, Card], seed: str) -> dict[str, str]:
    if not cards:
        return {}
    card = cards[random.Random(seed).choice(sorted(cards))]
    parts = [f"**{card.title or card.paper_id}** ({card.writer})", card.summary]
    parts += [f"*Method.* {card.method}"] if card.method else []
    parts += [f"*Findings.* {' '.join(card.findings)}"] if card.findings else []
    parts += [f"*Limitations.* {' '.join(card.limitations)}"] if card.limitations else []
    return {"sample_card": "\n\n".join(parts)}
