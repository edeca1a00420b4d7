"""Writes are whole or not at all, and say which path failed."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from corpus_assets.errors import StoreError
from corpus_assets.store.atomic import explain_os_error, link_or_copy, write_atomic


def test_a_failed_write_leaves_the_old_file_and_no_part(tmp_path, monkeypatch):
    path = tmp_path / "value.json"
    write_atomic(path, "old")

    def no_space(self: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", no_space)
    with pytest.raises(StoreError, match=r"No space left .*value\.json"):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["value.json"]


@pytest.mark.parametrize(("code", "hint"), [(errno.EFBIG, "file size limit"), (errno.EACCES, "RESEARCH_COPILOT_HOME")])
def test_errors_say_what_to_do(code, hint):
    error = explain_os_error(OSError(code, "x"), Path("/some/where"))
    assert "/some/where" in error.message
    assert hint in error.hint


def test_shared_files_are_the_same_bytes(tmp_path):
    (tmp_path / "a").write_bytes(b"\x00\x01")
    link_or_copy(tmp_path / "a", tmp_path / "deep" / "b")
    assert (tmp_path / "deep" / "b").read_bytes() == b"\x00\x01"
