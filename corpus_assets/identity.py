"""Which files are one paper, what each paper's id is, and which of its forms is served.

Hiding a paper is worse than showing it twice, so files are only taken together on strong evidence:

- the same bytes, or the same text: duplicates;
- at least 95 % of one's word shingles in the other, and nothing printed that says otherwise: near duplicates, of which
  the more complete is served;
- the same arXiv id or DOI and related text; or the same title, the same authors and related text: versions, of which
  the published one, else the newest, is served.

Never on a title alone. A supplement, an erratum, a comment and a retraction notice are papers of their own.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from corpus_assets.front_title import fold_title
from corpus_assets.identity_evidence import (
    common_authors,
    is_notice,
    is_preprint_doi,
    make_slug,
    strip_supplement_ending,
    strip_supplement_words,
    titles_agree,
)
from corpus_assets.manifest import ManifestRow
from corpus_assets.model import SERVED_STATUSES, PaperMetadata, PaperStatus
from corpus_assets.similarity import Signature, candidate_pairs, compute_signature, containment, read_signature

__all__ = ["Identity", "IdentityInput", "assign_identities", "compute_signature", "make_slug"]

# Hiding a near duplicate loses at most one shingle in twenty: a page's furniture, not a result. Two papers written
# from one template share far less: what they found differs.
NEAR_DUPLICATE_CONTAINMENT = 0.95
NEAR_DUPLICATE_MIN_SHINGLES = 100  # a shorter text (a poster, an abstract) is no evidence of anything
NEAR_DUPLICATE_MIN_SIZE_RATIO = 0.4  # a paper inside a whole proceedings volume is not a copy of the volume
VERSION_CONTAINMENT = 0.25  # a preprint and its paper share this much after review; a talk's abstract does not
SAME_ID_CONTAINMENT = 0.10  # with the same DOI or arXiv id on both; guards against an id read wrongly
UNKNOWN_AUTHORS_CONTAINMENT = 0.60  # the same title, but one side without authors
MIN_TITLE_CHARS = 10  # letters and digits; a shorter title is shared by chance
SUSPICIOUS_FLAGS = frozenset({"hidden_text", "instruction_like_text"})  # of two copies the one without is served
MIN_COMMON_AUTHORS = 0.5  # share of the shorter author list, by family name


@dataclass(frozen=True)
class IdentityInput:
    """What is known of one file. ``status`` is the reader's; files that are no papers pass through with an id.

    ``signature`` is ``compute_signature`` of the text; empty for files without text.
    """

    path: str
    sha256: str
    metadata: PaperMetadata = field(default_factory=PaperMetadata)
    text_sha256: str = ""
    signature: bytes = b""
    num_pages: int = 0
    num_chars: int = 0
    status: PaperStatus = PaperStatus.READY
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Identity:
    """Who a file is. ``reason`` is empty where the reader's own reason stands.

    ``version_of`` is the paper that is served instead (relations duplicate, near_duplicate, version) or that this one
    belongs to (supplement). Files with the same bytes share one ``paper_id``: the first by path stands for them and
    lists the others in ``also_at``; the others are duplicates of it.
    """

    paper_id: str
    status: PaperStatus
    reason: str = ""
    version_of: str = ""
    relation: str = ""
    also_at: tuple[str, ...] = ()


def assign_identities(
    docs: Sequence[IdentityInput], manifest: Mapping[str, ManifestRow] | None = None
) -> dict[str, Identity]:
    """Return each path's identity; the order of ``docs`` does not matter, and a rename changes no paper id.

    The manifest's ``paper_id``, ``version_of`` and ``supplement_of`` are obeyed; the rest of it is in the metadata.
    """
    return _Assignment(docs, manifest or {}).run()


@dataclass
class _Paper:
    """Distinct bytes: one file, or several with the same content."""

    doc: IdentityInput
    other_paths: tuple[str, ...]
    row: ManifestRow | None
    signature: Signature | None
    leader: _Paper | None = None
    relation: str = ""
    supplement_of: _Paper | None = None
    reason: str = ""
    paper_id: str = ""
    links: dict[int, str] = field(default_factory=dict)  # index of a paper it is one with -> relation

    @property
    def is_readable(self) -> bool:
        return self.doc.status in SERVED_STATUSES

    @property
    def metadata(self) -> PaperMetadata:
        return self.doc.metadata


class _Assignment:
    def __init__(self, docs: Sequence[IdentityInput], manifest: Mapping[str, ManifestRow]) -> None:
        self.papers = sorted(_merge_same_bytes(docs, manifest), key=_preference)
        self.readable = [index for index, paper in enumerate(self.papers) if paper.is_readable]

    def run(self) -> dict[str, Identity]:
        self._find_supplements()
        self._link_same_text()
        self._link_near_duplicates()
        self._link_versions()
        self._link_stated()
        self._choose_leaders()
        self._name()
        return {path: identity for paper in self.papers for path, identity in _identities(paper)}

    def _link(self, first: int, second: int, relation: str) -> None:
        one, other = sorted((first, second))
        if one != other:
            self.papers[other].links.setdefault(one, relation)

    def _pairs_by(self, keys: Iterable[tuple[str, int]]) -> Iterator[tuple[int, int]]:
        """Yield each pair of papers that share a key, in order of preference."""
        groups: dict[str, list[int]] = defaultdict(list)
        for key, index in keys:
            if key:
                groups[key].append(index)
        for members in groups.values():
            for position, second in enumerate(members):
                for first in members[:position]:
                    yield first, second

    def _link_same_text(self) -> None:
        for first, second in self._pairs_by((self.papers[i].doc.text_sha256, i) for i in self.readable):
            if not _are_told_apart(self.papers[first], self.papers[second]):
                self._link(first, second, "duplicate")

    def _link_near_duplicates(self) -> None:
        signed = [(i, s) for i in self.readable if (s := self.papers[i].signature) and s.num_shingles]
        for a, b in candidate_pairs([signature for _, signature in signed]):
            (first, one), (second, other) = signed[a], signed[b]
            part, whole = (one, other) if one.num_shingles <= other.num_shingles else (other, one)
            is_long = part.num_shingles >= NEAR_DUPLICATE_MIN_SHINGLES
            is_alike = part.num_shingles >= NEAR_DUPLICATE_MIN_SIZE_RATIO * whole.num_shingles
            if not is_long or not is_alike or _are_told_apart(self.papers[first], self.papers[second]):
                continue
            if containment(part, whole) >= NEAR_DUPLICATE_CONTAINMENT:
                self._link(first, second, "near_duplicate")

    def _link_versions(self) -> None:
        for first, second in self._pairs_by((self.papers[i].metadata.arxiv_id, i) for i in self.readable):
            if self._share(first, second) >= SAME_ID_CONTAINMENT and not self._is_about_another(first, second):
                self._link(first, second, "version")
        for first, second in self._pairs_by((self.papers[i].metadata.doi, i) for i in self.readable):
            if self._share(first, second) >= SAME_ID_CONTAINMENT and not self._is_about_another(first, second):
                self._link(first, second, "version")
        for first, second in self._pairs_by(self._title_keys()):
            if self._are_versions_by_title(first, second):
                self._link(first, second, "version")

    def _title_keys(self) -> Iterator[tuple[str, int]]:
        """Yield the whole folded title, and its start and end, so that a changed word does not part a pair."""
        for index in self.readable:
            folded = fold_title(self.papers[index].metadata.title)
            if len(folded) >= MIN_TITLE_CHARS:
                yield f"start:{folded[:24]}", index
                yield f"end:{folded[-24:]}", index

    def _are_versions_by_title(self, first: int, second: int) -> bool:
        one, other = self.papers[first], self.papers[second]
        if self._is_about_another(first, second) or not titles_agree(one.metadata.title, other.metadata.title):
            return False
        if _have_own_dois(one.metadata, other.metadata):
            return False  # two published papers, whatever they are called
        share = self._share(first, second)
        if not one.metadata.authors or not other.metadata.authors:
            return share >= UNKNOWN_AUTHORS_CONTAINMENT
        common = common_authors(one.metadata.authors, other.metadata.authors)
        return common >= MIN_COMMON_AUTHORS and share >= VERSION_CONTAINMENT

    def _share(self, first: int, second: int) -> float:
        one, other = self.papers[first].signature, self.papers[second].signature
        if one is None or other is None:
            return 0.0
        return containment(one, other) if one.num_shingles <= other.num_shingles else containment(other, one)

    def _is_about_another(self, first: int, second: int) -> bool:
        """Return whether one is a notice about, or a supplement to, what the other may be."""
        one, other = self.papers[first], self.papers[second]
        if bool(one.supplement_of) != bool(other.supplement_of) or _have_own_ids(one, other):
            return True
        return is_notice(one.metadata.title) != is_notice(other.metadata.title)

    def _find_supplements(self) -> None:
        """Link supplements to their paper: by DOI, by its title in theirs, or by its file name in theirs."""
        readable = [self.papers[i] for i in self.readable]
        mains = [p for p in reversed(readable) if strip_supplement_words(p.metadata.title) is None]
        by_doi = {p.metadata.doi: p for p in mains if p.metadata.doi}
        titles = {fold_title(p.metadata.title): p for p in mains if p.metadata.title}
        stems = {_stem(path): paper for paper in reversed(readable) for path in _paths(paper)}
        for paper in readable:
            title_left = strip_supplement_words(paper.metadata.title)
            stem_left = strip_supplement_ending(_stem(paper.doc.path))
            if title_left is None and stem_left is None:
                continue
            folded = fold_title(title_left or "")
            candidates = (
                by_doi.get(paper.metadata.doi),
                titles.get(folded) if len(folded) >= MIN_TITLE_CHARS else None,
                stems.get(stem_left) if stem_left else None,
            )
            main = next((other for other in candidates if other is not None and other is not paper), None)
            if main is not None and main.supplement_of is None:
                paper.supplement_of = main

    def _link_stated(self) -> None:
        """Obey what the manifest says: version_of and supplement_of name a paper id, a path or a DOI."""
        names: dict[str, int] = {}
        for index in reversed(range(len(self.papers))):
            paper = self.papers[index]
            row_id = paper.row.paper_id if paper.row else ""
            for name in (paper.metadata.doi, row_id, make_slug(row_id) if row_id else "", *_paths(paper)):
                names[name] = index
        names.pop("", None)
        for index in self.readable:
            row = self.papers[index].row
            if row is None:
                continue
            target = names.get(row.version_of, names.get(row.version_of.lower(), index))
            if target != index:
                self.papers[index].links = {}
                self.papers[index].leader, self.papers[index].relation = self.papers[target], "version"
            main = names.get(row.supplement_of, names.get(row.supplement_of.lower(), index))
            if main != index:
                self.papers[index].supplement_of = self.papers[main]

    def _choose_leaders(self) -> None:
        """Give each paper the most preferred one it is linked to that is served itself; no chains."""
        stated = [paper for paper in self.papers if paper.leader]
        for paper in self.papers:
            if paper.leader:
                continue
            for index in sorted(paper.links):
                if self.papers[index].leader is None:
                    paper.leader, paper.relation = self.papers[index], paper.links[index]
                    break
        for paper in stated:
            seen = {id(paper)}
            while paper.leader and paper.leader.leader and id(paper.leader) not in seen:
                seen.add(id(paper.leader))
                paper.leader = paper.leader.leader
            if paper.leader is paper or (paper.leader and paper.leader.leader is paper):
                paper.leader, paper.relation = None, ""

    def _name(self) -> None:
        taken: set[str] = set()
        ordered = [p for p in self.papers if p.leader is None] + [p for p in self.papers if p.leader is not None]
        for paper in ordered:
            base = paper.leader.paper_id if paper.leader else _base_id(paper)
            version = paper.metadata.arxiv_version
            choices = [base] if paper.leader is None else []
            if paper.leader is not None and version and paper.relation == "version":
                choices.append(f"{base}-v{version}")
            digest = paper.doc.sha256 or hashlib.sha256(paper.doc.path.encode()).hexdigest()
            choices.extend(f"{base}-{digest[:length]}" for length in (6, 12, 64))
            paper.paper_id = next(choice for choice in choices if choice not in taken)
            taken.add(paper.paper_id)


def _merge_same_bytes(docs: Sequence[IdentityInput], manifest: Mapping[str, ManifestRow]) -> Iterator[_Paper]:
    groups: dict[str, list[IdentityInput]] = defaultdict(list)
    for doc in sorted(docs, key=lambda doc: doc.path):
        groups[doc.sha256 or f"path:{doc.path}"].append(doc)
    for first, *others in groups.values():
        row = next((manifest[doc.path] for doc in (first, *others) if doc.path in manifest), None)
        signature = read_signature(first.signature) if first.signature else None
        yield _Paper(first, tuple(doc.path for doc in others), row, signature)


def _preference(paper: _Paper) -> tuple[object, ...]:
    """Order papers so that what should be served comes first; the same for any order and names of the files."""
    metadata = paper.metadata
    is_published = bool(metadata.doi) and not is_preprint_doi(metadata.doi)
    year = (metadata.year or 0) if metadata.sources.get("year") in ("manifest", "first_page", "xmp", "text") else 0
    return (
        paper.doc.status not in SERVED_STATUSES,
        not is_published,
        -(metadata.arxiv_version or 0),
        paper.doc.status is not PaperStatus.READY,
        bool(SUSPICIOUS_FLAGS & set(paper.doc.flags)),
        -year,
        -(paper.signature.num_shingles if paper.signature else 0),
        -paper.doc.num_pages,
        -len(metadata.sources),
        paper.doc.sha256,
        paper.doc.path,
    )


def _identities(paper: _Paper) -> Iterator[tuple[str, Identity]]:
    doc, leader = paper.doc, paper.leader
    identity = Identity(paper.paper_id, doc.status, also_at=paper.other_paths)
    if leader is not None:
        is_copy = paper.relation == "duplicate"
        what = {
            "duplicate": "the same text as",
            "near_duplicate": "nearly the same text as",
            "version": "another version of",
        }[paper.relation]
        identity = replace(
            identity,
            status=PaperStatus.DUPLICATE if is_copy else PaperStatus.SUPERSEDED,
            reason=f"{what} {leader.doc.path}, which is served",
            version_of=leader.paper_id,
            relation=paper.relation,
        )
    elif paper.supplement_of is not None:
        main = paper.supplement_of.leader or paper.supplement_of
        identity = replace(identity, version_of=main.paper_id, relation="supplement")
    yield doc.path, identity
    copy = replace(identity, reason=f"the same bytes as {doc.path}", relation="duplicate", also_at=())
    for path in paper.other_paths:
        yield path, replace(copy, status=PaperStatus.DUPLICATE if paper.is_readable else doc.status)


def _are_told_apart(one: _Paper, other: _Paper) -> bool:
    """Return whether what is printed says that two alike texts are two papers."""
    if _have_own_ids(one, other) or _have_own_dois(one.metadata, other.metadata):
        return True
    if bool(one.supplement_of) != bool(other.supplement_of):
        return True
    a, b = one.metadata, other.metadata
    return (
        bool(a.title and b.title)
        and not titles_agree(a.title, b.title)
        and "pdf_metadata"
        not in (
            a.sources.get("title"),
            b.sources.get("title"),
        )
    )


def _have_own_ids(one: _Paper, other: _Paper) -> bool:
    first = one.row.paper_id if one.row else ""
    second = other.row.paper_id if other.row else ""
    return bool(first and second and first != second)


def _have_own_dois(a: PaperMetadata, b: PaperMetadata) -> bool:
    """Return whether both carry the DOI of a publication, and not the same one."""
    dois = {doi for doi in (a.doi, b.doi) if doi and not is_preprint_doi(doi)}
    return len(dois) == 2


def _base_id(paper: _Paper) -> str:
    doc, metadata = paper.doc, paper.metadata
    if paper.row and (stated := make_slug(paper.row.paper_id)):
        return stated
    if not paper.is_readable:
        digest = doc.sha256 or hashlib.sha256(doc.path.encode()).hexdigest()
        return f"file-{digest[:12]}"
    suffix = "-supplement" if paper.supplement_of else ""
    if metadata.doi:
        return f"doi-{make_slug(metadata.doi)}{suffix}"
    if metadata.arxiv_id:
        return f"arxiv-{make_slug(metadata.arxiv_id)}{suffix}"
    digest = (doc.text_sha256 or doc.sha256)[:8]
    return f"{make_slug(metadata.title)[:48].rstrip('-.') or 'paper'}-{digest}"


def _paths(paper: _Paper) -> tuple[str, ...]:
    return (paper.doc.path, *paper.other_paths)


def _stem(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return (folder + slash + (name.rpartition(".")[0] or name)).casefold()
