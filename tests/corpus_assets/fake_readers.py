"""Readers for the worker's tests: a file's name says what becomes of whoever reads it."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from pathlib import Path

from corpus_assets.errors import ParseError
from corpus_assets.manifest import ManifestRow
from corpus_assets.model import Page, PageState, PaperMetadata, ParsedPaper, Section, SectionKind
from corpus_assets.settings import ParseSettings


def make_parsed(text: str, pages: tuple[Page, ...] | None = None, num_expected: int | None = None) -> ParsedPaper:
    pages = pages if pages is not None else (Page(1, PageState.TEXT, 0, len(text)),)
    sections = (Section("", SectionKind.FRONT, 1, 0, len(text)),)
    return ParsedPaper(text, pages, sections, PaperMetadata(), len(pages) if num_expected is None else num_expected)


def read_by_name(path: str, settings: ParseSettings, row: ManifestRow | None) -> ParsedPaper:
    name = Path(path).name
    action = name.partition("-")[0]
    if action == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif action == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action == "exit":
        os._exit(3)
    elif action == "hang":
        time.sleep(600)
    elif action == "helper":  # an OCR program that hangs
        helper = subprocess.Popen(["sleep", "600"])
        Path(path).with_suffix(".pid").write_text(str(helper.pid))
        helper.wait()
    elif action == "bomb":
        return make_parsed("x" * 10**10)
    elif action == "library":  # as MuPDF says it
        raise RuntimeError("code=2: malloc (1073741824 bytes) failed")
    elif action == "bug":
        raise KeyError("no such\x1b[2J key")
    elif action == "html":
        raise ParseError(f"{name} is HTML.")
    elif action == "flaky":
        raise ParseError(f"{name} could not be read.", retryable=True)
    elif action == "grows":
        with Path(path).open("ab") as file:
            file.write(b"more")
    elif action == "slow":
        Path(path).with_suffix(".read").touch()
        time.sleep(0.05)
    elif action == "large":
        return make_parsed("word " * 2_000_000)
    limits = f"threads={os.environ.get('OMP_NUM_THREADS')} limited={resource.getrlimit(resource.RLIMIT_AS)[0] > 0}"
    return make_parsed(f"{name} {row.title if row else ''} {limits} sigint={signal.getsignal(signal.SIGINT).name}")


class Unloadable:
    """A reader whose module the worker does not have."""

    def __call__(self, path: str, settings: ParseSettings, row: ManifestRow | None) -> ParsedPaper:
        return make_parsed(path)

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return __import__, ("corpus_assets.there_is_no_such_module",)
