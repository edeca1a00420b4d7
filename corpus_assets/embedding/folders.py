"""What a sentence-transformers folder says about its model, read without importing torch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from corpus_assets.embedding.checksums import Checksums, digest_of
from corpus_assets.errors import ModelMissingError

Pooling = Literal["mean", "cls"]
Runtime = Literal["openvino", "onnxruntime"]

_WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
_SHAPING_SUFFIXES = frozenset({".json", ".safetensors", ".bin", ".txt", ".model", ".spm", ".py"})
_PIPELINE = (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])


@dataclass(frozen=True)
class BertFolder:
    """A model that is a BERT encoder and mean or CLS pooling, which the ONNX path can run."""

    folder: Path
    pooling: Pooling
    dimension: int
    max_tokens: int
    query_prompt: str
    document_prompt: str

    @property
    def tokenizer_path(self) -> Path:
        return self.folder / "tokenizer.json"


def check_folder(folder: Path, name: str) -> None:
    """Raise ``ModelMissingError`` unless the folder holds a model's description and its weights."""
    if not folder.is_dir():
        raise ModelMissingError(
            f"The model folder {folder} does not exist.",
            hint="Give the folder that SentenceTransformer.save wrote, or set embedding.model to default.",
        )
    has_description = (folder / "modules.json").is_file() or (folder / "config.json").is_file()
    if not has_description:
        raise ModelMissingError(
            f"{folder} is not a model folder: it holds neither modules.json nor config.json.",
            hint="Give the folder that SentenceTransformer.save wrote.",
        )
    weights_dirs = [folder, *(folder / path for path in _module_paths(folder))]
    if not any((directory / file).is_file() for directory in weights_dirs for file in _WEIGHTS):
        raise ModelMissingError(
            f"The model {name} in {folder} has no weights ({' or '.join(_WEIGHTS[::2])}).",
            hint="Copy or download the whole model again.",
        )


def read_bert_folder(folder: Path) -> BertFolder | None:
    """Return what the folder says, or None when it is another kind of model than :class:`BertFolder`."""
    modules = _read_json(folder / "modules.json")
    config = _read_json(folder / "config.json")
    if not isinstance(modules, list) or config.get("model_type") != "bert" or not (folder / "tokenizer.json").is_file():
        return None
    if [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules] not in _PIPELINE:
        return None
    if modules[0].get("path", "") != "":
        return None
    pooling = _pooling(_read_json(folder / modules[1].get("path", "1_Pooling") / "config.json"))
    transformer = _read_json(folder / "sentence_bert_config.json")
    if pooling is None or transformer.get("do_lower_case"):
        return None
    described = _read_json(folder / "config_sentence_transformers.json")
    prompts = described.get("prompts") or {}
    default = prompts.get(described.get("default_prompt_name") or "", "")
    return BertFolder(
        folder=folder,
        pooling=pooling,
        dimension=int(config["hidden_size"]),
        max_tokens=_max_tokens(folder, config, transformer),
        query_prompt=_first_prompt(prompts, ("query",), default),
        document_prompt=_first_prompt(prompts, ("document", "passage", "corpus"), default),
    )


def folder_fingerprint(folder: Path, checksums: Checksums) -> str:
    """Return the digest of every file of the folder that shapes vectors.

    What runs the model is no part of it: an export whose vectors are not the original's is refused.
    """
    files = sorted(path for path in folder.rglob("*") if path.suffix in _SHAPING_SUFFIXES and path.is_file())
    parts = [f"{path.relative_to(folder).as_posix()}={checksums.sha256(path)}" for path in files]
    return digest_of(["embedder-v1", *parts])


def _first_prompt(prompts: dict[str, str], names: tuple[str, ...], default: str) -> str:
    """Return the prompt sentence-transformers would take: an empty one is a choice, not a gap."""
    return next((prompts[name] or "" for name in names if name in prompts), default)


def _pooling(config: dict[str, Any]) -> Pooling | None:
    if config.get("include_prompt") is False:
        return None
    modes = config.get("pooling_mode")
    if modes is None:
        modes = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    names = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
    listed = [modes] if isinstance(modes, str) else list(modes)
    named = [names.get(mode, mode) for mode in listed]
    if named == ["mean"]:
        return "mean"
    return "cls" if named == ["cls"] else None


def _max_tokens(folder: Path, config: dict[str, Any], transformer: dict[str, Any]) -> int:
    limits = [int(config.get("max_position_embeddings", 512))]
    if transformer.get("max_seq_length"):
        limits.append(int(transformer["max_seq_length"]))
    else:
        limits.append(int(_read_json(folder / "tokenizer_config.json").get("model_max_length", limits[0])))
    return min(limits)


def _module_paths(folder: Path) -> list[str]:
    modules = _read_json(folder / "modules.json")
    return [str(module.get("path", "")) for module in modules] if isinstance(modules, list) else []


def _read_json(path: Path) -> Any:
    """Return the file's value; a file that is not there says nothing, so an empty mapping."""
    if not path.is_file():
        return {}
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelMissingError(f"{path} is damaged: {error}.", hint="Copy or download the model again.") from error
