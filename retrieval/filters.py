"""What a person may restrict a search to, turned into what the indexes understand."""

from __future__ import annotations

from dataclasses import dataclass, fields
from weakref import WeakKeyDictionary

from corpus_assets.errors import BadInputError
from corpus_assets.fts import ChunkFilter
from corpus_assets.model import SectionKind
from retrieval.corpus import Corpus


@dataclass(frozen=True, repr=False)
class Filters:
    """Restrictions that all must hold; an empty set or None restricts nothing."""

    section_kinds: frozenset[SectionKind] = frozenset()
    paper_ids: frozenset[str] = frozenset()
    excluded_paper_ids: frozenset[str] = frozenset()
    min_year: int | None = None
    max_year: int | None = None
    clusters: frozenset[int] = frozenset()
    include_retracted: bool | None = None  # None: as the settings say
    include_references: bool = False  # also passages that are not retrievable by default

    def __repr__(self) -> str:
        """Return the same text in every process (sets are sorted): cache keys are made of it."""
        shown = []
        for field in fields(self):
            value = getattr(self, field.name)
            shown.append(f"{field.name}={sorted(value) if isinstance(value, frozenset) else value!r}")
        return f"Filters({', '.join(shown)})"

    @property
    def is_empty(self) -> bool:
        return self == Filters()


@dataclass(frozen=True)
class _Excluded:
    unserved: frozenset[str]
    retracted: frozenset[str]


_EXCLUDED: WeakKeyDictionary[Corpus, _Excluded] = WeakKeyDictionary()


def resolve_filters(filters: Filters | None, corpus: Corpus, *, include_retracted: bool) -> ChunkFilter:
    """Return the chunks that may be found: served, not retracted unless asked for, and within ``filters``.

    Raises BadInputError for a paper id the corpus does not know, so that a typing error is not an empty result.
    """
    filters = filters or Filters()
    excluded = _excluded(corpus)
    with_retracted = include_retracted if filters.include_retracted is None else filters.include_retracted
    left_out = excluded.unserved | filters.excluded_paper_ids
    if not with_retracted:
        left_out |= excluded.retracted
    return ChunkFilter(
        paper_ids=_chosen_papers(filters, corpus),
        excluded_paper_ids=left_out,
        section_kinds=frozenset(SectionKind(kind) for kind in filters.section_kinds) or None,
        include_unretrievable=filters.include_references,
    )


def _chosen_papers(filters: Filters, corpus: Corpus) -> frozenset[str] | None:
    chosen: set[str] | None = None
    if filters.paper_ids:
        unknown = sorted(filters.paper_ids - corpus.papers.keys())
        if unknown:
            raise BadInputError(f"No paper {unknown[0]!r} in this corpus.", hint="`research-copilot papers list`.")
        chosen = set(filters.paper_ids)
    if filters.min_year is not None or filters.max_year is not None:
        low = filters.min_year if filters.min_year is not None else -10_000
        high = filters.max_year if filters.max_year is not None else 10_000
        dated = {
            paper_id
            for paper_id, record in corpus.papers.items()
            if record.metadata.year is not None and low <= record.metadata.year <= high
        }
        chosen = dated if chosen is None else chosen & dated
    if filters.clusters:
        within = {paper_id for paper_id, cluster in corpus.clusters.assignments.items() if cluster in filters.clusters}
        chosen = within if chosen is None else chosen & within
    return None if chosen is None else frozenset(chosen)


def _excluded(corpus: Corpus) -> _Excluded:
    found = _EXCLUDED.get(corpus)
    if found is None:
        papers = corpus.papers
        found = _Excluded(
            frozenset(paper_id for paper_id, record in papers.items() if not record.is_served),
            frozenset(paper_id for paper_id, record in papers.items() if record.is_retracted),
        )
        _EXCLUDED[corpus] = found
    return found
