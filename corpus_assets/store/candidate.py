"""The generation being built: a staging folder whose artifacts are built once, or shared from an earlier generation."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from corpus_assets.errors import StoreError
from corpus_assets.gates import GATES_FILE
from corpus_assets.store.atomic import (
    explained_writes,
    file_sha256,
    link_or_copy,
    remove_tree,
    sync_dir,
    sync_file,
    write_atomic,
)
from corpus_assets.store.manifest import (
    MANIFEST_FILE,
    Artifact,
    FileEntry,
    Manifest,
    OldFormatError,
    find_damage,
    read_manifest,
)
from corpus_assets.store.publish import generations_dir

ARTIFACTS_FILE = "artifacts.json"
PLAN_FILE = "plan.json"
STAGING_PREFIX = ".candidate-"

Origin = Literal["built", "shared", "kept"]


class Candidate:
    """A generation on its way. When a finished one of this id exists, that is the candidate and nothing is built."""

    def __init__(self, home: Path, generation_id: str) -> None:
        self.home = home
        self.id = generation_id
        self.final_path = generations_dir(home) / generation_id
        self.staging_path = generations_dir(home) / f"{STAGING_PREFIX}{generation_id}"
        self.num_copied = 0  # files that could not be shared with an earlier generation, and were copied
        self._earlier: list[tuple[Path, Manifest]] | None = None
        self.damage = self._find_damage()
        self.is_finished = (self.final_path / MANIFEST_FILE).exists() and not self.damage

    @property
    def path(self) -> Path:
        """Return the folder the candidate's files are in now."""
        return self.final_path if self.is_finished else self.staging_path

    @property
    def is_sealed(self) -> bool:
        """Tell whether the manifest is written."""
        return (self.path / MANIFEST_FILE).exists()

    def artifacts(self) -> dict[str, Artifact]:
        """Return the artifacts that are ready, by name."""
        if self.is_finished:
            return dict(read_manifest(self.final_path).artifacts)
        path = self.staging_path / ARTIFACTS_FILE
        if not path.exists():
            return {}
        return {name: Artifact.model_validate(row) for name, row in json.loads(path.read_text("utf-8")).items()}

    def ensure(
        self, name: str, inputs: str, build: Callable[[Path], tuple[list[str], Mapping[str, Any]]]
    ) -> tuple[Artifact, Origin]:
        """Return the artifact of this name made from these inputs, building it only when no generation has it.

        ``build`` writes into the folder it is given and returns the relative file names and its numbers.
        """
        ready = self.artifacts().get(name)
        if ready is not None and ready.inputs == inputs and not self._is_damaged(ready):
            return ready, "kept"
        shared = self._share(name, inputs)
        if shared is not None:
            self._record(name, shared)
            return shared, "shared"
        with explained_writes(self.staging_path):
            self.staging_path.mkdir(parents=True, exist_ok=True)
        files, stats = build(self.staging_path)
        entries = {}
        for file in files:
            path = self.staging_path / file
            sync_file(path)
            entries[file] = FileEntry(sha256=file_sha256(path), size=path.stat().st_size)
        artifact = Artifact(inputs=inputs, files=entries, stats=dict(stats))
        self._record(name, artifact)
        return artifact, "built"

    def can_share(self, name: str, inputs: str) -> bool:
        """Tell whether some generation has the artifact of this name, made from these inputs and undamaged."""
        return self._find(name, inputs) is not None

    def earlier(self) -> list[tuple[Path, Manifest]]:
        """Return the finished generations of this program's format, newest first."""
        if self._earlier is None:
            found = []
            folder = generations_dir(self.home)
            for path in folder.iterdir() if folder.exists() else ():
                if not path.name.startswith(".") and (path / MANIFEST_FILE).exists():
                    with contextlib.suppress(StoreError):  # of another format, or damaged: nothing to share
                        found.append((path, read_manifest(path)))
            self._earlier = sorted(found, key=lambda item: (item[1].created, item[0].name), reverse=True)
        return self._earlier

    def seal(self, manifest: Manifest) -> None:
        """Write the manifest: from here on the candidate is complete and only waits for its gates."""
        if self.is_finished:
            return
        self._drop_strays(manifest)
        target = self.staging_path / MANIFEST_FILE
        if target.exists():
            old = read_manifest(self.staging_path)
            if old.model_copy(update={"created": manifest.created}) == manifest:
                return  # same content: keep the digest that stored gate results refer to
        write_atomic(target, manifest.model_dump_json(indent=1) + "\n")

    def finish(self) -> None:
        """Move the sealed candidate to its place among the generations; it is not published by this."""
        if self.is_finished:
            return
        damage = find_damage(self.staging_path, read_manifest(self.staging_path))
        if damage:
            raise StoreError(
                f"The candidate {self.id} is damaged: {damage[0]}.", hint="Run ingest again to rebuild it."
            )
        with explained_writes(self.final_path):
            for name in (ARTIFACTS_FILE, PLAN_FILE):
                (self.staging_path / name).unlink(missing_ok=True)
            remove_tree(self.final_path)  # only ever a damaged one: finished ones are not rebuilt
            self.staging_path.rename(self.final_path)
            sync_dir(self.final_path.parent)
        self.is_finished = True
        self.damage = []

    def drop_other_candidates(self) -> None:
        """Delete staging folders that other inputs left behind."""
        folder = generations_dir(self.home)
        for path in folder.glob(f"{STAGING_PREFIX}*") if folder.exists() else ():
            if path != self.staging_path:
                remove_tree(path)

    def _find_damage(self) -> list[str]:
        if not (self.final_path / MANIFEST_FILE).exists():
            return []
        try:
            manifest = read_manifest(self.final_path)
        except OldFormatError:
            return ["it has an older format"]
        except StoreError as error:
            return [error.message]
        sealed_at = (self.final_path / MANIFEST_FILE).stat().st_mtime_ns
        shallow = find_damage(self.final_path, manifest, is_deep=False)
        if shallow:
            return shallow
        touched = any((self.final_path / name).stat().st_mtime_ns > sealed_at for name in manifest.files())
        return find_damage(self.final_path, manifest) if touched else []

    def _is_damaged(self, artifact: Artifact) -> bool:
        return any(
            not (self.path / name).exists() or (self.path / name).stat().st_size != entry.size
            for name, entry in artifact.files.items()
        )

    def _find(self, name: str, inputs: str) -> tuple[Path, Artifact] | None:
        for path, manifest in self.earlier():
            artifact = manifest.artifacts.get(name)
            if artifact is None or artifact.inputs != inputs:
                continue
            if all(_is_whole(path / file, entry) for file, entry in artifact.files.items()):
                return path, artifact  # never spread a damaged file
        return None

    def _share(self, name: str, inputs: str) -> Artifact | None:
        found = self._find(name, inputs)
        if found is None:
            return None
        path, artifact = found
        for file in artifact.files:
            self.num_copied += not link_or_copy(path / file, self.staging_path / file)
        return artifact

    def _drop_strays(self, manifest: Manifest) -> None:
        """Delete files of segments that an earlier plan for this candidate had, and this one has not."""
        wanted = {*manifest.files(), ARTIFACTS_FILE, PLAN_FILE, MANIFEST_FILE, GATES_FILE}
        for path in self.staging_path.rglob("*"):
            if path.is_file() and str(path.relative_to(self.staging_path)) not in wanted:
                path.unlink()

    def _record(self, name: str, artifact: Artifact) -> None:
        merged = {**self.artifacts(), name: artifact}
        rows = {key: value.model_dump() for key, value in sorted(merged.items())}
        write_atomic(self.staging_path / ARTIFACTS_FILE, json.dumps(rows, indent=1))


def _is_whole(path: Path, entry: FileEntry) -> bool:
    return path.exists() and path.stat().st_size == entry.size and file_sha256(path) == entry.sha256
