"""LlamaIndex's in-memory index: its folder reader, sentence splitter and Hugging Face embedding; dense search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.work import CHUNK_TOKENS, NUM_FOUND, Search, Work
from corpus_assets.embedding.packaged import find_default_folder

NAME = "LlamaIndex"
WHAT = "SimpleDirectoryReader (PyPDF), SentenceSplitter, VectorStoreIndex"
PACKAGES = ("llama_index.core", "llama_index.embeddings.huggingface", "llama_index.readers.file", "pypdf")
IS_DENSE = True


def _embedding() -> Any:
    from llama_index.embeddings.huggingface import HuggingFaceEmbedding

    return HuggingFaceEmbedding(model_name=str(find_default_folder()), device="cpu", embed_batch_size=32)


def ingest(files: Sequence[Path], scratch: Path) -> int:
    """Read, split and index the files and return the number of pieces."""
    from llama_index.core import SimpleDirectoryReader, VectorStoreIndex
    from llama_index.core.node_parser import SentenceSplitter
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(find_default_folder() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    splitter = SentenceSplitter(
        chunk_size=CHUNK_TOKENS,
        chunk_overlap=0,
        include_metadata=False,
        tokenizer=lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
    )
    documents = SimpleDirectoryReader(input_files=[str(file) for file in files]).load_data()
    nodes = splitter.get_nodes_from_documents(documents)
    VectorStoreIndex(nodes, embed_model=_embedding())
    return len(nodes)


def index(work: Work) -> Search:
    """Return the retriever over SciFact."""
    from llama_index.core import VectorStoreIndex
    from llama_index.core.schema import TextNode

    nodes = [
        TextNode(id_=document.doc_id, text=document.full_text, embedding=vector.tolist())
        for document, vector in zip(work.scifact.documents, work.vectors(), strict=True)
    ]
    retriever = VectorStoreIndex(nodes, embed_model=_embedding()).as_retriever(similarity_top_k=NUM_FOUND)
    return lambda question: [found.node.node_id for found in retriever.retrieve(question)]
