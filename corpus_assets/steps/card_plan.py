"""Who writes which summary card: what a build's id and its cards step must agree on before a card is written."""

from __future__ import annotations

from collections.abc import Mapping

from corpus_assets.card_model import model_for_cards
from corpus_assets.cards import CARDS_VERSION
from corpus_assets.model import PaperRecord
from corpus_assets.settings import Settings, fingerprint
from corpus_assets.store.duck import to_json
from corpus_assets.store.working import WorkingStore

EXTRACTIVE = "extractive"
FAILED, ATTEMPT = "cards_failed", "cards_attempt"  # in the working store


def card_bases(papers: Mapping[str, PaperRecord], settings: Settings) -> dict[str, str]:
    """Return paper id -> digest of what its card is made from, whoever writes it."""
    shaping = settings.cards.model_dump(mode="json", exclude={"writer"})
    return {
        paper_id: fingerprint([CARDS_VERSION, record.text_sha256, to_json(record.metadata), shaping])
        for paper_id, record in papers.items()
    }


def card_key(base: str, writer: str) -> str:
    return f"{base}:{writer}"


def is_fresh(key: str, base: str, model: str) -> bool:
    """Tell whether a stored card is of this text and, where a model writes, by that model.

    Without a model the one a model wrote earlier stays: an ingest without a key throws nothing away.
    """
    stored, _, who = key.partition(":")
    return stored == base and (not model or who == model)


def plan_cards(store: WorkingStore, settings: Settings) -> list[object]:
    """Return what the cards will add to a generation's id: who writes them; nothing when no model ever did.

    Failed calls leave extractive cards in a sealed generation; the attempt number makes the next try another one.
    """
    model = model_for_cards(settings)
    have = {
        paper_id: key for paper_id, key in store.card_keys().items() if key.partition(":")[2] not in {"", EXTRACTIVE}
    }
    if not model and not have:
        return []
    papers = {paper_id: record for paper_id, record in store.papers().items() if record.is_served}
    if model:
        by_model = sorted((paper_id, model) for paper_id in papers)
    else:
        bases = card_bases({paper_id: papers[paper_id] for paper_id in have if paper_id in papers}, settings)
        by_model = sorted(
            (paper_id, have[paper_id].partition(":")[2])
            for paper_id, base in bases.items()
            if is_fresh(have[paper_id], base, model)
        )
    return [by_model, store.get_meta(ATTEMPT) or 0] if by_model else []


def begin_attempt(store: WorkingStore, settings: Settings) -> None:
    """Count a new attempt when the last ingest's model calls failed and a model is there to try again."""
    if store.get_meta(FAILED) and model_for_cards(settings):
        store.set_meta(ATTEMPT, (store.get_meta(ATTEMPT) or 0) + 1)
        store.set_meta(FAILED, False)
