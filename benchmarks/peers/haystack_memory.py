"""Haystack's in-memory store: its PDF converter, cleaner, splitter and embedder; BM25 and dense fused by rank."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.work import CHUNK_WORDS, NUM_FOUND, Search, Work
from corpus_assets.embedding.packaged import find_default_folder

NAME = "Haystack"
WHAT = "PyPDF, splitter by word, in-memory BM25 + embedding, reciprocal rank fusion"
PACKAGES = ("haystack", "haystack_integrations.components.embedders.sentence_transformers", "pypdf")
IS_DENSE = True


def _embedders() -> Any:
    from haystack_integrations.components.embedders import sentence_transformers

    return sentence_transformers


def ingest(files: Sequence[Path], scratch: Path) -> int:
    """Run the indexing pipeline and return the number of pieces."""
    from haystack import Pipeline
    from haystack.components.converters import PyPDFToDocument
    from haystack.components.preprocessors import DocumentCleaner, DocumentSplitter
    from haystack.components.writers import DocumentWriter
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    pipeline = Pipeline()
    pipeline.add_component("read", PyPDFToDocument())
    pipeline.add_component("clean", DocumentCleaner())
    pipeline.add_component("split", DocumentSplitter(split_by="word", split_length=CHUNK_WORDS))
    pipeline.add_component(
        "embed",
        _embedders().SentenceTransformersDocumentEmbedder(model=str(find_default_folder()), progress_bar=False),
    )
    pipeline.add_component("write", DocumentWriter(store))
    for first, second in (("read", "clean"), ("clean", "split"), ("split", "embed"), ("embed", "write")):
        pipeline.connect(first, second)
    pipeline.run({"read": {"sources": list(files)}})
    return int(store.count_documents())


def index(work: Work) -> Search:
    """Return the hybrid pipeline over SciFact."""
    from haystack import Document, Pipeline
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    store.write_documents(
        [
            Document(id=document.doc_id, content=document.full_text, embedding=vector.tolist())
            for document, vector in zip(work.scifact.documents, work.vectors(), strict=True)
        ]
    )
    pipeline = Pipeline()
    pipeline.add_component(
        "embed", _embedders().SentenceTransformersTextEmbedder(model=str(find_default_folder()), progress_bar=False)
    )
    pipeline.add_component("dense", InMemoryEmbeddingRetriever(store, top_k=100))
    pipeline.add_component("bm25", InMemoryBM25Retriever(store, top_k=100))
    pipeline.add_component("join", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=NUM_FOUND))
    pipeline.connect("embed.embedding", "dense.query_embedding")
    pipeline.connect("dense", "join")
    pipeline.connect("bm25", "join")

    def run(question: str) -> list[str]:
        found = pipeline.run({"embed": {"text": question}, "bm25": {"query": question}})
        return [document.id for document in found["join"]["documents"]]

    return run
