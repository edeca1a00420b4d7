"""Pick the papers to search in by letting a model read their cards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpus_assets.model import Card
from retrieval.llm.prompts import PICK, Item, fence, user_turn
from retrieval.llm.protocol import LanguageModel
from retrieval.llm.replies import MalformedReplyError
from retrieval.llm.schemas import PickReply
from retrieval.plan import MAX_QUERY_WORDS
from retrieval.terms import clip_words

if TYPE_CHECKING:
    from corpus_assets.settings import RetrievalSettings
    from corpus_assets.store.generation import Generation

STAGE = "shortlist"
SUMMARY_CHARS = 280
MAX_PICKS = 17
BATCH_SIZE = 120  # cards a call: about 12,000 tokens, the cached part of the prompt


@dataclass(frozen=True)
class Picks:
    """Paper ids, best first. ``num_unknown``: ids the model named that no card has."""

    paper_ids: tuple[str, ...]
    num_calls: int
    num_unknown: int = 0


def cards_to_read(generation: Generation, settings: RetrievalSettings) -> list[Card]:
    """Return the cards a model picks from: not those of retracted papers, unless the settings let them be found."""
    papers = generation.papers
    return [
        card
        for paper_id, card in generation.cards.items()
        if settings.include_retracted or not papers[paper_id].is_retracted
    ]


def pick_papers(
    model: LanguageModel, questions: Sequence[str], cards: Sequence[Card], *, limit: int = MAX_PICKS
) -> Picks:
    """Return up to ``limit`` papers by the model's reading of title and first 280 characters of the summary.

    The instructions and a batch's cards are the stable prefix, the question comes last: a second question on the same
    corpus reads the prefix from the prompt cache. Raises ``CopilotError``, also when no known card is named.
    """
    ordered = sorted(cards, key=lambda card: card.paper_id)
    fits: dict[str, int] = {}
    num_unknown = 0
    batches = [ordered[start : start + BATCH_SIZE] for start in range(0, len(ordered), BATCH_SIZE)]
    asked = fence(
        [
            Item(f"question {number}", clip_words(text, MAX_QUERY_WORDS))
            for number, text in enumerate(questions, start=1)
        ]
    )
    for batch in batches:
        known = {f"C{number}": card for number, card in enumerate(batch, start=1)}
        material = fence([Item(key, _card_text(card)) for key, card in known.items()])
        reply = model.complete_structured(
            stage=STAGE,
            system=f"{PICK}\n{material}",
            messages=user_turn(f"Pick the papers for this question and its parts.\n\n{asked}"),
            schema=PickReply,
            tier="small",
        )
        for pick in reply.picks:
            card = known.get(pick.card)
            if card is None:
                num_unknown += 1
            else:
                fits[card.paper_id] = max(pick.fit, fits.get(card.paper_id, 0))
    if not fits:
        raise MalformedReplyError(f"{STAGE}: the model named no paper of the {len(ordered)} shown.")
    best = sorted(fits, key=lambda paper_id: (-fits[paper_id], paper_id))
    return Picks(tuple(best[:limit]), len(batches), num_unknown)


def _card_text(card: Card) -> str:
    return f"{' '.join(card.title.split()) or card.paper_id}\n{' '.join(card.summary.split())[:SUMMARY_CHARS]}"
