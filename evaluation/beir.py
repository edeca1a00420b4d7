"""Judged collections in BEIR's layout, as corpora that the real indexes and the real search run on.

A folder holds ``corpus.jsonl`` (_id, title, text), ``queries.jsonl`` (_id, text) and ``qrels/NAME.tsv`` (query-id,
corpus-id, score). Each document becomes a paper with one chunk: it is not cut, so that its figures compare with
published ones; a model truncates it as MTEB does.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from corpus_assets.errors import BadInputError
from corpus_assets.fts import build_fts
from corpus_assets.model import Chunk, PaperMetadata, PaperRecord, PaperStatus, Section, SectionKind
from corpus_assets.settings import IndexSettings, RetrievalMode, RetrievalSettings
from retrieval.corpus import FTS_FILE, VECTORS_FILE, SegmentCorpus

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corpus_assets.embedding.protocol import Embedder

DOCUMENTS_FILE = "documents.json"
MODES: tuple[RetrievalMode, ...] = ("fts_only", "embedding_only", "hybrid")
_SECTION = "body"
_PLAIN_ID = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}")
_EMBED_BATCH = 256


@dataclass(frozen=True)
class BeirDocument:
    doc_id: str
    title: str
    text: str

    @property
    def full_text(self) -> str:
        """Return title and text; a text that already opens with its title is left alone."""
        if not self.title or self.text.lower().startswith(self.title.lower()):
            return self.text
        return f"{self.title}\n\n{self.text}" if self.text else self.title

    @property
    def embedding_text(self) -> str:
        """Return what MTEB embeds."""
        return f"{self.title} {self.text}".strip()


@dataclass(frozen=True)
class BeirData:
    """A collection; ``queries`` holds the judged ones only."""

    documents: Sequence[BeirDocument]
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]


def load_beir(folder: Path, qrels: str = "test") -> BeirData:
    """Read a folder; queries without a relevant judgment in ``qrels/{qrels}.tsv`` are left out.

    Raises BadInputError naming the file that is missing or malformed, or a judgment of an unknown document or query.
    """
    documents = [
        BeirDocument(str(row["_id"]), str(row.get("title") or ""), str(row.get("text") or ""))
        for row in _read_jsonl(folder / "corpus.jsonl")
    ]
    texts = {str(row["_id"]): str(row["text"]) for row in _read_jsonl(folder / "queries.jsonl")}
    grades = _read_qrels(folder / "qrels" / f"{qrels}.tsv")
    judged = {query_id: found for query_id, found in grades.items() if any(grade > 0 for grade in found.values())}
    known = {document.doc_id for document in documents}
    for query_id, found in judged.items():
        if query_id not in texts:
            raise BadInputError(
                f"{folder}: judgments {qrels!r} name query {query_id!r}, which is not in queries.jsonl."
            )
        missing = sorted(found.keys() - known)
        if missing:
            raise BadInputError(
                f"{folder}: judgments {qrels!r} name document {missing[0]!r}, which is not in the corpus."
            )
    return BeirData(documents, {query_id: texts[query_id] for query_id in judged}, judged)


def build_beir_segment(
    documents: Sequence[BeirDocument], out_dir: Path, embedder: Embedder | None, settings: IndexSettings
) -> Path:
    """Write the segment files of ``documents`` under ``out_dir`` and return their folder.

    The folder's name is the digest of the texts, the settings and the model; a folder that is complete is used again.
    Without an embedder only ``fts_only`` can be searched.
    """
    from corpus_assets.fts_query import FORMAT_VERSION
    from corpus_assets.settings import fingerprint
    from corpus_assets.vectors import VECTORS_VERSION

    rows = [[document.doc_id, document.title, document.text] for document in documents]
    model = embedder.fingerprint if embedder else ""
    folder = out_dir / fingerprint(
        [rows, settings.model_dump(mode="json"), model, FORMAT_VERSION, str(VECTORS_VERSION)]
    )
    if (folder / DOCUMENTS_FILE).exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    papers = {paper_id: _paper(paper_id, document) for paper_id, document in _numbered(documents)}
    build_fts(
        (_chunk(paper_id, document) for paper_id, document in _numbered(documents)), papers, folder / FTS_FILE, settings
    )
    if embedder is not None:
        _build_vectors(documents, folder / VECTORS_FILE, embedder, settings)
    (folder / DOCUMENTS_FILE).write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    return folder


class BeirCorpus(SegmentCorpus):
    """An opened collection; offers what ``Generation`` offers to search, rerank and the ledger."""

    def __init__(self, folder: Path) -> None:
        rows = json.loads((folder / DOCUMENTS_FILE).read_text(encoding="utf-8"))
        documents = dict(_numbered([BeirDocument(*row) for row in rows]))
        super().__init__([folder], {paper_id: _paper(paper_id, document) for paper_id, document in documents.items()})
        self._documents = documents
        self.id = folder.name
        self.num_chunks = len(documents)

    def card_vectors(self) -> tuple[list[str], NDArray[np.float32]]:
        """Return no cards: a collection has none."""
        import numpy as np

        return [], np.zeros((0, 0), dtype=np.float32)

    def doc_id(self, chunk_id: str) -> str:
        """Return the collection's own id of a chunk's document."""
        return self._documents[chunk_id.split(":", 1)[0]].doc_id

    def text(self, paper_id: str) -> str:
        """Return a document's text, which chunk offsets point into."""
        return self._documents[paper_id].full_text

    def sections(self, paper_id: str) -> tuple[Section, ...]:
        """Return the one section a document has."""
        return (Section("", SectionKind.OTHER, 1, 0, len(self.text(paper_id))),)

    def chunks_of(self, paper_id: str) -> list[Chunk]:
        """Return the one chunk a document has."""
        return [_chunk(paper_id, self._documents[paper_id])]


def make_beir_search(
    corpus: BeirCorpus, mode: RetrievalMode, *, embedder: Embedder | None, settings: RetrievalSettings, k: int = 100
) -> Callable[[str], list[str]]:
    """Return question -> document ids, best first, by the search that ``ask`` uses."""
    from retrieval.search import search

    def run(query: str) -> list[str]:
        found = search(corpus, query, mode=mode, k=k, embedder=embedder, settings=settings)
        return [corpus.doc_id(hit.chunk.chunk_id) for hit in found.hits]

    return run


def run_modes(
    data: BeirData,
    corpus: BeirCorpus,
    *,
    embedder: Embedder | None,
    settings: RetrievalSettings,
    modes: Sequence[RetrievalMode] = MODES,
    k: int = 100,
) -> dict[str, dict[str, list[str]]]:
    """Return mode -> query id -> document ids, best first."""
    searches = {mode: make_beir_search(corpus, mode, embedder=embedder, settings=settings, k=k) for mode in modes}
    return {
        mode: {query_id: search(text) for query_id, text in data.queries.items()} for mode, search in searches.items()
    }


def _build_vectors(documents: Sequence[BeirDocument], path: Path, embedder: Embedder, settings: IndexSettings) -> None:
    import numpy as np

    from corpus_assets.vectors import build_vectors, vector_id

    # Texts of like length together: little padding. Order within a batch does not matter to the index.
    order = sorted(range(len(documents)), key=lambda number: (len(documents[number].embedding_text), number))
    vectors = np.zeros((len(documents), embedder.dimension), np.float32)
    for start in range(0, len(order), _EMBED_BATCH):
        batch = order[start : start + _EMBED_BATCH]
        vectors[batch] = embedder.embed_documents([documents[number].embedding_text for number in batch])
    ids = np.array([vector_id(f"{paper_id}:{_SECTION}:0") for paper_id, _ in _numbered(documents)], dtype=np.int64)
    build_vectors(vectors, ids, path, settings)


def _numbered(documents: Sequence[BeirDocument]) -> Iterator[tuple[str, BeirDocument]]:
    """Yield paper ids (the document's own id where it can be one) and documents."""
    for document in documents:
        plain = _PLAIN_ID.fullmatch(document.doc_id)
        digest = hashlib.sha256(document.doc_id.encode("utf-8", "surrogatepass")).hexdigest()
        yield document.doc_id if plain else f"doc-{digest[:24]}", document


def _paper(paper_id: str, document: BeirDocument) -> PaperRecord:
    return PaperRecord(paper_id, PaperStatus.READY, paper_id, "", PaperMetadata(title=document.title))


def _chunk(paper_id: str, document: BeirDocument) -> Chunk:
    text = document.full_text
    return Chunk(
        chunk_id=f"{paper_id}:{_SECTION}:0",
        paper_id=paper_id,
        section=_SECTION,
        section_title="",
        section_kind=SectionKind.OTHER,
        index=0,
        text=text,
        char_start=0,
        char_end=len(text),
        page_start=1,
        page_end=1,
        text_sha256=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        num_tokens=0,
    )


def _read_jsonl(path: Path) -> Iterator[Mapping[str, Any]]:
    if not path.is_file():
        raise BadInputError(f"{path} is missing.", hint="A BEIR folder holds corpus.jsonl, queries.jsonl and qrels/.")
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                try:
                    row = json.loads(line)
                    row["_id"]
                except (ValueError, KeyError, TypeError) as error:
                    raise BadInputError(f"{path}, line {number}: not a JSON object with an _id.") from error
                yield cast(Mapping[str, Any], row)


def _read_qrels(path: Path) -> dict[str, dict[str, int]]:
    if not path.is_file():
        names = ", ".join(sorted(found.stem for found in path.parent.glob("*.tsv"))) or "none"
        raise BadInputError(f"{path} is missing.", hint=f"Judgments there: {names}.")
    grades: dict[str, dict[str, int]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.reader(file, delimiter="\t"), start=1):
            if number == 1 and row[:2] == ["query-id", "corpus-id"]:
                continue
            try:
                query_id, doc_id, grade = row
                grades.setdefault(query_id, {})[doc_id] = int(grade)
            except ValueError as error:
                raise BadInputError(
                    f"{path}, line {number}: expected query-id, corpus-id and a whole number."
                ) from error
    return grades
