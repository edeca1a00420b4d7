"""Export a sentence-transformers BERT folder to ONNX once, prove it equal to the original in what runs it, and keep it.

The export runs in a process of its own (``python -m corpus_assets.embedding.onnx_export``), so that the caller never
imports torch and its thread settings and progress bars stay out of it.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from corpus_assets.embedding.checksums import Checksums
from corpus_assets.embedding.folders import BertFolder, Runtime, read_bert_folder
from corpus_assets.embedding.onnx_embedder import OnnxEmbedder
from corpus_assets.embedding.openvino_session import OpenVinoSession, has_openvino
from corpus_assets.store.atomic import file_sha256

logger = logging.getLogger(__name__)

MODEL_FILE = "model.onnx"
REPORT_FILE = "export.json"
# Of the farthest sample, blank and odd ones too. bfloat16 has 8 bits of mantissa.
MIN_COSINE = {"fp32": 0.9999, "bf16": 0.999}
_TIMEOUT_SECONDS = 600
_STALE_SECONDS = 3600
_OPSET = 17

SAMPLE_TEXTS = (
    "",
    "T",
    "What are the resistance mechanisms to EGFR inhibitors in lung cancer?",
    "Osimertinib improved median progression-free survival (18.9 v 10.2 months; HR 0.46, 95% CI 0.37–0.57; P < .001).",
    "TNF-α and IL-17A rose 2.5-fold in 12 of 40 mice, p = 5.8 × 10⁻⁴⁸, whereas IFN-γ did not change.",
    "Müller, Garçon und Šćepanović (2011) beschrieben das Verfahren; 国際標準化 とは何か。 مرحبا بالعالم",
    "ACGT" * 500,
    "Nocturnal insects avoid cold light. " * 60,
    "We enrolled 1,250 participants at 14 sites. The primary outcome was relapse within 31 weeks. " * 3,
    "See https://doi.org/10.5555/tide-2020-10-311704 and Table 2 [12, 13].\n\nThe slope was −0.53 (SE 0.11).",
)


class ExportError(Exception):
    """The export could not be made, or is not equal to the original. The message says which."""


def ensure_export(bert: BertFolder, fingerprint: str, cache_dir: Path, checksums: Checksums) -> Path:
    """Return the ONNX file of a model, exporting it the first time (some seconds). Raises ``ExportError``.

    The finished folder ``<cache_dir>/<fingerprint>`` appears by one rename, so of two processes at work on the same
    export one wins and both go on. A file that is not what its report says is made again.
    """
    target = cache_dir / fingerprint
    if _is_sound(target, checksums):
        return target / MODEL_FILE
    started = time.monotonic()
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        _remove_stale(cache_dir)
        work_dir = Path(tempfile.mkdtemp(prefix=".export-", dir=cache_dir))
    except OSError as error:
        raise ExportError(f"{cache_dir} cannot be written ({error.strerror or error})") from error
    try:
        _run_export(bert.folder, work_dir)
        _put_in_place(work_dir, target, checksums)
    finally:
        shutil.rmtree(work_dir, ignore_errors=True)
    logger.info("exported %s to %s in %.1f s", bert.folder, target, time.monotonic() - started)
    return target / MODEL_FILE


def read_report(fingerprint: str, cache_dir: Path) -> dict[str, Any] | None:
    """Return what was measured when the export was made (cosine to the original, versions), None when there is none."""
    path = cache_dir / fingerprint / REPORT_FILE
    if not path.is_file():
        return None
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return report


def _is_sound(target: Path, checksums: Checksums) -> bool:
    model_path = target / MODEL_FILE
    if not target.exists():
        return False
    try:
        report = json.loads((target / REPORT_FILE).read_text(encoding="utf-8"))
        is_sound = checksums.sha256(model_path) == str(report["onnx_sha256"])
        is_compared = set(usable_runtimes()) <= set(report.get("runtimes", ()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        logger.warning("%s is damaged (%s) and is made again", target, error)
        return False
    if not is_sound:
        logger.warning("%s is not the file that was exported and is made again", model_path)
    elif not is_compared:
        logger.info("%s was not compared with the original in %s and is made again", model_path, usable_runtimes()[0])
    return is_sound and is_compared


def usable_runtimes() -> list[Runtime]:
    """Return what can run a graph here, the one that is used first."""
    return ["openvino", "onnxruntime"] if has_openvino() else ["onnxruntime"]


def _run_export(folder: Path, work_dir: Path) -> None:
    command = [sys.executable, "-m", "corpus_assets.embedding.onnx_export", str(folder), str(work_dir)]
    project_root = str(Path(__file__).resolve().parents[2])
    environment = os.environ | {
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONPATH": os.pathsep.join(filter(None, [project_root, os.environ.get("PYTHONPATH", "")])),
    }
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExportError(f"the export of {folder} did not end: {error}") from error
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise ExportError(f"the export of {folder} failed: {lines[-1] if lines else f'exit code {done.returncode}'}")


def _put_in_place(work_dir: Path, target: Path, checksums: Checksums) -> None:
    try:
        work_dir.rename(target)
    except OSError:
        if _is_sound(target, checksums):
            return  # another process was first
        discarded = Path(tempfile.mkdtemp(prefix=".export-", dir=target.parent)) / "damaged"
        try:
            if target.exists():
                target.rename(discarded)
            work_dir.rename(target)
        except OSError as error:
            if not _is_sound(target, checksums):
                raise ExportError(f"{target} could not be written ({error.strerror or error})") from error
        finally:
            shutil.rmtree(discarded.parent, ignore_errors=True)


def _remove_stale(cache_dir: Path) -> None:
    """Remove the leavings of exports that were killed."""
    for path in cache_dir.glob(".export-*"):
        if time.time() - path.stat().st_mtime > _STALE_SECONDS:
            shutil.rmtree(path, ignore_errors=True)


def _export(folder: Path, out_dir: Path) -> None:
    """Write ``model.onnx`` and ``export.json``; raise ``ExportError`` when its vectors are not the original's."""
    bert = read_bert_folder(folder)
    if bert is None:
        raise ExportError(f"{folder} is not a BERT encoder with mean or CLS pooling")
    _write_graph(folder, out_dir / MODEL_FILE)
    report = _compare(bert, out_dir / MODEL_FILE)
    for runtime, found in report["runtimes"].items():
        if found["min_cosine"] < MIN_COSINE[found["precision"]]:
            raise ExportError(
                f"in {runtime} ({found['precision']}) the cosine to the original is {found['min_cosine']:.6f}, "
                f"below {MIN_COSINE[found['precision']]}"
            )
    (out_dir / REPORT_FILE).write_text(json.dumps(report, indent=1), encoding="utf-8")


def _write_graph(folder: Path, path: Path) -> None:
    import torch
    from transformers import AutoModel

    class HiddenStates(torch.nn.Module):  # type: ignore[misc]  # torch is not followed by the type checker
        def __init__(self) -> None:
            super().__init__()
            self.bert = AutoModel.from_pretrained(str(folder), attn_implementation="eager", dtype=torch.float32)

        def forward(self, ids: Any, mask: Any, types: Any) -> Any:
            return self.bert(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state

    names = ["input_ids", "attention_mask", "token_type_ids"]
    ids = torch.ones((2, 16), dtype=torch.int64)
    with torch.no_grad():
        torch.onnx.export(
            HiddenStates().eval(),
            (ids, torch.ones_like(ids), torch.zeros_like(ids)),
            str(path),
            input_names=names,
            output_names=["last_hidden_state"],
            dynamic_axes={name: {0: "batch", 1: "tokens"} for name in [*names, "last_hidden_state"]},
            opset_version=_OPSET,
            dynamo=False,
        )


def _compare(bert: BertFolder, path: Path) -> dict[str, Any]:
    """Return how near the graph's vectors are to SentenceTransformer's on the sample texts, in whatever can run it."""
    from importlib.metadata import version

    import numpy as np
    from sentence_transformers import SentenceTransformer

    reference = SentenceTransformer(str(bert.folder), device="cpu")
    texts = list(SAMPLE_TEXTS)
    options = {"normalize_embeddings": True, "show_progress_bar": False}
    documents, queries = reference.encode_document(texts, **options), reference.encode_query(texts, **options)
    found: dict[str, dict[str, Any]] = {}
    for runtime in usable_runtimes():
        candidate = open_export(bert, "candidate", "", path, runtime)
        pairs = [(candidate.embed_documents(texts), documents), (candidate.embed_queries(texts), queries)]
        cosines = np.concatenate([(ours * theirs).sum(axis=1) for ours, theirs in pairs])
        found[runtime] = {
            "precision": candidate.session.precision if isinstance(candidate.session, OpenVinoSession) else "fp32",
            "min_cosine": float(cosines.min()),
            "mean_cosine": float(cosines.mean()),
            "max_abs_difference": float(max(np.abs(ours - theirs).max() for ours, theirs in pairs)),
        }
    packages = ("torch", "transformers", "sentence-transformers", "onnx", *usable_runtimes())
    return {
        "runtimes": found,
        "num_texts": len(texts),
        "max_tokens": bert.max_tokens,
        "onnx_sha256": file_sha256(path),
        "opset": _OPSET,
        "versions": {name: version(name) for name in packages},
    }


def open_export(
    bert: BertFolder,
    name: str,
    fingerprint: str,
    path: Path,
    runtime: Runtime,
    *,
    threads: int = 1,
    batch_size: int = 32,
) -> OnnxEmbedder:
    """Return the embedder that runs an exported graph with the pooling, limits and prompts of its folder."""
    return OnnxEmbedder(
        name,
        fingerprint,
        path,
        bert.tokenizer_path,
        dimension=bert.dimension,
        max_tokens=bert.max_tokens,
        pooling=bert.pooling,
        query_prompt=bert.query_prompt,
        document_prompt=bert.document_prompt,
        threads=threads,
        batch_size=batch_size,
        runtime=runtime,
    )


def main() -> int:
    """Export ``FOLDER`` into ``OUT_DIR``; the last line of stderr says what went wrong."""
    folder, out_dir = sys.argv[1:3]
    try:
        _export(Path(folder), Path(out_dir))
    except (ExportError, ImportError, OSError) as error:
        print(f"{type(error).__name__}: {error}".replace("\n", " "), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
