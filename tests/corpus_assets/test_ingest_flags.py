"""Every flag that ingest can set on a paper is named by one of the checks an engineer sees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import corpus_assets
from corpus_assets.corpus_gates import FLAG_WORDS, corpus_gates
from corpus_assets.gates import GateContext
from corpus_assets.pdf.reader import FILE_FLAGS, PAPER_FLAGS

PACKAGE = Path(corpus_assets.__file__).parent
NAMED = {flag: check for check, words in FLAG_WORDS.items() for flag in words}
ALL_FLAGS = sorted({*FILE_FLAGS, *PAPER_FLAGS})


def _flags_written_in(path: Path) -> Iterator[str]:
    """Yield the literals a module puts into a set called ``flags``: by ``flags.add("…")`` or ``flags = {"…"}``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add":
            if isinstance(node.func.value, ast.Name) and node.func.value.id == "flags":
                yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant))
        elif isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "flags" for target in node.targets):
            yield from (
                item.value
                for found in ast.walk(node.value)
                if isinstance(found, ast.Set)
                for item in found.elts
                if isinstance(item, ast.Constant)
            )


def test_what_the_readers_set_is_what_is_listed() -> None:
    in_pdf = set(_flags_written_in(PACKAGE / "pdf" / "reader.py"))
    assert in_pdf == set(FILE_FLAGS)
    in_text = set(_flags_written_in(PACKAGE / "text_reader.py"))
    assert in_text and in_text <= set(ALL_FLAGS)


@pytest.mark.parametrize("flag", ALL_FLAGS)
def test_a_paper_with_the_flag_is_named_by_its_check(flag: str) -> None:
    flagged = _record("flagged.pdf", flag)
    gates = {gate.name: gate for gate in corpus_gates()}
    candidate = SimpleNamespace(papers={"a": flagged, "b": _record("clean.pdf")}, segments=[])
    result = gates[NAMED[flag]].run(cast(GateContext, SimpleNamespace(candidate=candidate)))
    assert (result.passed, result.severity, result.num_cases) == (False, "WARN", 2)
    assert result.extra["problems"] == [f"flagged (flagged.pdf): {FLAG_WORDS[NAMED[flag]][flag]}"]


def test_no_check_names_a_flag_nothing_sets() -> None:
    assert set(NAMED) == set(ALL_FLAGS)
    assert sum(map(len, FLAG_WORDS.values())) == len(NAMED)


def _record(path: str, *flags: str) -> Any:
    return SimpleNamespace(paper_id=path[:-4], path=path, flags=flags, status="ready", is_served=True, reason="")
