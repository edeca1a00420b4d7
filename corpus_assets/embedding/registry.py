"""From the name in the settings to an embedder. Whether a model is there is known before anything heavy is imported."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from corpus_assets.embedding.api import API
from corpus_assets.embedding.bge_small import load_bge_small
from corpus_assets.embedding.checksums import Checksums
from corpus_assets.embedding.folders import (
    check_folder,
    folder_fingerprint,
    read_bert_folder,
)
from corpus_assets.embedding.hashing import HashEmbedder
from corpus_assets.embedding.onnx_export import ExportError, ensure_export, open_export, usable_runtimes
from corpus_assets.embedding.packaged import (
    DEFAULT_INSTALL,
    EXTRA_INSTALL,
    check_default_folder,
    check_extra_folder,
    find_default_folder,
    find_extra_folder,
)
from corpus_assets.embedding.protocol import Embedder
from corpus_assets.embedding.sentence_transformers import SentenceTransformerEmbedder
from corpus_assets.errors import BadInputError, ModelMissingError

logger = logging.getLogger(__name__)


def load_embedder(name: str, cache_dir: Path, threads: int = 1, batch_size: int = 32) -> Embedder:
    """Return the embedder called ``default``, ``hash``, ``bge-small``, or a sentence-transformers name or folder.

    BERT models run as ONNX graphs in OpenVINO, in onnxruntime where OpenVINO is not installed. ``cache_dir`` keeps
    exported graphs and remembered checksums; the first use of a model exports it there (seconds).
    Raises ``ModelMissingError`` in well under a second when the model is not on this machine; nothing is downloaded.
    """
    if not name.strip():
        raise BadInputError("The embedding model's name is empty.", hint="Set embedding.model, for example to default.")
    if name.strip() == API:
        raise BadInputError(
            "The embedding API is a tier of the benchmark: papers and questions are embedded by a local model.",
            hint="Set embedding.model to default; `research-copilot bench FIXTURE --embedder api` measures the API.",
        )
    if name == "hash":
        return HashEmbedder()
    checksums = Checksums(cache_dir)
    if name == "bge-small":
        return load_bge_small(checksums, threads=threads, batch_size=batch_size)
    if name == "default":
        folder = find_default_folder()
        check_default_folder(folder, checksums)
    else:
        folder = find_model_folder(name)
    return _load_folder(name, folder, cache_dir, checksums, threads, batch_size)


def find_model_folder(name: str) -> Path:
    """Return the folder of a model given by path, or by name in the local Hugging Face cache."""
    path = Path(name).expanduser().absolute()
    looks_like_path = Path(name).is_absolute() or name.startswith((".", "~")) or name.count("/") > 1 or os.sep == "\\"
    if path.is_dir() or looks_like_path:
        check_folder(path, name)
        return path.resolve()
    for repository in [name] if "/" in name else [name, f"sentence-transformers/{name}"]:
        folder = _find_snapshot(repository)
        if folder is not None:
            check_folder(folder, name)
            return folder
    raise ModelMissingError(
        f"The model {name} is neither a folder ({path}) nor in the local model cache ({_hub_cache()}).",
        hint=f"Download it where there is a network (hf download {name}), or set embedding.model to default.",
    )


def _load_folder(
    name: str, folder: Path, cache_dir: Path, checksums: Checksums, threads: int, batch_size: int
) -> Embedder:
    bert = read_bert_folder(folder)
    fingerprint = folder_fingerprint(folder, checksums)
    if bert is None:
        return SentenceTransformerEmbedder(name, fingerprint, folder, threads=threads, batch_size=batch_size)
    try:
        model_path = ensure_export(bert, fingerprint, cache_dir, checksums)
    except ExportError as error:
        degraded = f"no ONNX export of {name} ({error}); sentence-transformers is used instead, slower to start and run"
        logger.warning("%s", degraded)
        return SentenceTransformerEmbedder(
            name, fingerprint, folder, threads=threads, batch_size=batch_size, degraded=degraded
        )
    runtime = usable_runtimes()[0]
    return open_export(bert, name, fingerprint, model_path, runtime, threads=threads, batch_size=batch_size)


@dataclass(frozen=True)
class ModelStatus:
    """A line of ``doctor``: where a model is, or why it is not and what to do."""

    name: str
    is_available: bool
    detail: str
    install: str


def describe_models(cache_dir: Path) -> list[ModelStatus]:
    """Return the state of each model that needs no name or path, weights checked."""
    checksums = Checksums(cache_dir)

    def default() -> Path:
        folder = find_default_folder()
        check_default_folder(folder, checksums)
        return folder

    def extra(model: str) -> Callable[[], Path]:
        def find() -> Path:
            folder = find_extra_folder(model)
            check_extra_folder(folder, checksums)
            return folder

        return find

    runs_in = "runs in OpenVINO" if usable_runtimes()[0] == "openvino" else "runs in onnxruntime: no OpenVINO, slower"
    return [
        _status("default", default, DEFAULT_INSTALL, runs_in),
        ModelStatus("hash", True, "built in; knows no meaning, for tests and the offline benchmark tier", ""),
        _status("bge-small", extra("bge_small_en"), EXTRA_INSTALL),
        _status("cross-encoder", extra("reranker_en"), EXTRA_INSTALL),
    ]


def _status(name: str, find: Callable[[], Path], install: str, note: str = "") -> ModelStatus:
    try:
        return ModelStatus(name, True, f"{find()}{f' ({note})' if note else ''}", install)
    except ModelMissingError as error:
        return ModelStatus(name, False, error.message, install)


def _find_snapshot(repository: str) -> Path | None:
    """Return the newest local snapshot of a hub repository (the layout of huggingface_hub's cache)."""
    directory = _hub_cache() / f"models--{repository.replace('/', '--')}"
    reference = directory / "refs" / "main"
    if reference.is_file():
        folder = directory / "snapshots" / reference.read_text(encoding="utf-8").strip()
        if folder.is_dir():
            return folder
    return None


def _hub_cache() -> Path:
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE)
