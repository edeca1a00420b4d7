"""Does one topic crowd out the rest: in the corpus, in what is retrieved, and in what is cited?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from corpus_assets.gates import GateResult
from corpus_assets.model import ClusterMap

MIN_CLUSTERED = 6  # fewer papers have no topics to speak of


@dataclass(frozen=True)
class TopicBalance:
    """Share of the largest cluster among the papers, the retrieved passages and the cited ones (None: not measured)."""

    cluster: int
    label: str
    corpus_share: float
    retrieved_share: float | None
    cited_share: float | None
    silhouette: float

    @property
    def amplification(self) -> float:
        """Return how much larger the cluster is in what is retrieved or cited than in the corpus; 0 if it is not."""
        shares = [share for share in (self.retrieved_share, self.cited_share) if share is not None]
        return max([0.0, *(share - self.corpus_share for share in shares)])


def measure_balance(
    clusters: ClusterMap, retrieved: Iterable[str] = (), cited: Iterable[str] = ()
) -> TopicBalance | None:
    """Return the balance of the largest cluster; ``retrieved`` and ``cited`` are paper ids, one a passage."""
    sizes = Counter(clusters.assignments.values())
    if not sizes:
        return None
    largest = min(sizes, key=lambda cluster: (-sizes[cluster], cluster))
    return TopicBalance(
        cluster=largest,
        label=clusters.labels.get(largest, ""),
        corpus_share=sizes[largest] / sum(sizes.values()),
        retrieved_share=_share(clusters.assignments, list(retrieved), largest),
        cited_share=_share(clusters.assignments, list(cited), largest),
        silhouette=clusters.silhouette,
    )


def _share(assignments: Mapping[str, int], paper_ids: Sequence[str], cluster: int) -> float | None:
    if not paper_ids:
        return None
    return sum(assignments.get(paper_id) == cluster for paper_id in paper_ids) / len(paper_ids)


def judge_balance(balance: TopicBalance | None, *, num_papers: int, ceiling: float) -> GateResult:
    """Warn when the largest cluster takes over ``ceiling`` of what is retrieved or cited, and more than of the corpus.

    A corpus on one topic is no fault; retrieval that narrows a broad one is.
    """
    name = "topic_balance"
    if balance is None or num_papers < MIN_CLUSTERED:
        return GateResult(
            name,
            0.0,
            ceiling,
            passed=True,
            severity="WARN",
            num_cases=num_papers,
            detail=f"{num_papers} papers: too few for topics",
            extra={"is_ceiling": True},
        )
    shares = [share for share in (balance.retrieved_share, balance.cited_share) if share is not None]
    value = max([balance.corpus_share, *shares])
    is_narrowed = value > ceiling and balance.amplification > 0
    silhouette = "undefined" if math.isnan(balance.silhouette) else f"{balance.silhouette:.2f}"
    parts = [f"corpus {balance.corpus_share:.0%}"]
    parts += [f"retrieved {balance.retrieved_share:.0%}"] if balance.retrieved_share is not None else []
    parts += [f"cited {balance.cited_share:.0%}"] if balance.cited_share is not None else []
    return GateResult(
        name,
        value,
        ceiling,
        passed=not is_narrowed,
        severity="WARN",
        num_cases=num_papers,
        detail=f"largest cluster ({balance.label or 'no label'}): {', '.join(parts)}; silhouette {silhouette}; "
        f"ceiling {ceiling:.0%}",
        extra={
            "is_ceiling": True,
            "corpus_share": balance.corpus_share,
            "retrieved_share": balance.retrieved_share,
            "cited_share": balance.cited_share,
            "silhouette": None if math.isnan(balance.silhouette) else balance.silhouette,
        },
    )
