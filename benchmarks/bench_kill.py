"""Kill an ingest of real papers at random moments, again and again, and see that nothing is lost.

``python -m benchmarks.bench_kill DATA [--kills 20] [--seed 7] [--embedder hash]`` where DATA holds ``pdf/papers``. A
third of the papers is published first. Then the command line's own ``ingest`` is started on a changing folder and
killed (SIGKILL) after a random delay. After each kill the published corpus must be whole and answer, and no process of
the killed run may be left. At the end one more ingest, with nothing done by hand, must equal a clean build: the same
papers, chunk ids, texts and rankings. Exits 1 when any of it fails.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from corpus_assets.build import load_settings_embedder
from corpus_assets.settings import EmbeddingSettings, Settings
from corpus_assets.store.generation import open_published
from corpus_assets.store.manifest import find_damage
from corpus_assets.store.publish import published_id
from retrieval.search import search

PROGRAM = Path(sys.executable).parent / "research-copilot"
QUIET_SECONDS = 10.0  # in which the workers of a killed run must have ended
MIN_DELAY_SECONDS = 0.2
PARTS = ("*.part", "*.tmp")  # what a write leaves behind when it is cut off


@dataclass
class KillReport:
    """What the kills did. ``faults`` is empty when nothing was lost."""

    num_kills: int = 0
    num_finished_first: int = 0  # ingests that were done before their kill
    delays: list[float] = field(default_factory=list)
    stages: list[str] = field(default_factory=list)  # what the killed run was last heard to do
    num_papers: int = 0
    num_chunks: int = 0
    clean_seconds: float = 0.0
    last_seconds: float = 0.0
    faults: list[str] = field(default_factory=list)


def read_content(home: Path, queries: Sequence[str], embedder: str = "hash") -> dict[str, Any]:
    """Return all a reader sees: papers, chunks with text and place, and each query's ranking in two modes."""
    settings = Settings(home=home, embedding=EmbeddingSettings(model=embedder))
    model = load_settings_embedder(settings)
    with open_published(home) as generation:
        papers = dict(generation.papers)
        chunks = {
            chunk.chunk_id: (chunk.text, chunk.char_start, chunk.pages)
            for name, record in papers.items()
            if record.is_served
            for chunk in generation.chunks_of(name)
        }
        rankings = {}
        for mode in ("fts_only", "embedding_only"):
            for query in queries:
                found = search(generation, query, mode=mode, k=10, embedder=model, settings=settings.retrieval)
                rankings[mode, query] = [(hit.chunk.chunk_id, round(hit.score, 5)) for hit in found.hits]
    return {"papers": papers, "chunks": chunks, "rankings": rankings}


def find_differences(got: dict[str, Any], clean: dict[str, Any]) -> list[str]:
    """Return in words where two contents differ; empty when they are the same."""
    differences = []
    for what in ("papers", "chunks", "rankings"):
        mine, theirs = got[what], clean[what]
        if mine == theirs:
            continue
        keys = [key for key in sorted(mine.keys() | theirs.keys(), key=str) if mine.get(key) != theirs.get(key)]
        shown = f"{keys[0]}: {mine.get(keys[0])} against {theirs.get(keys[0])}"
        differences.append(f"{len(keys)} {what} differ from a clean build, as {shown[:500]}")
    return differences


def run_kills(
    papers: Sequence[Path], work: Path, *, num_kills: int, seed: int, embedder: str = "hash", num_queries: int = 20
) -> KillReport:
    """Do it in ``work``, an empty folder; ``papers`` are only read."""
    report, rng = KillReport(), random.Random(seed)
    folder, home, clean_home = work / "papers", work / "home", work / "clean"
    folder.mkdir()
    _fill(folder, papers)
    started = time.monotonic()
    _run(clean_home, folder, embedder)
    report.clean_seconds = time.monotonic() - started
    with open_published(clean_home) as generation:
        served = [record for record in generation.papers.values() if record.is_served]
        report.num_papers, report.num_chunks = len(served), generation.num_chunks
    queries = [record.label for record in rng.sample(served, min(num_queries, len(served)))]
    _fill(folder, papers[: max(1, len(papers) // 3)])
    _run(home, folder, embedder)
    longest = report.clean_seconds
    while report.num_kills < num_kills:
        present = rng.sample(list(papers), max(1, len(papers) - rng.randrange(len(papers) // 4 + 1)))
        _fill(folder, present)
        is_full = rng.random() < 0.5  # half of them read every file again, the others go on where the last one ended
        delay = rng.uniform(MIN_DELAY_SECONDS, longest if is_full else longest / 2)
        before = published_id(home)
        stage = _kill_after(delay, home, folder, embedder, is_full, report)
        if not stage:
            report.num_finished_first += 1
        else:
            report.num_kills += 1
            report.delays.append(round(delay, 2))
            report.stages.append(stage)
        report.faults.extend(_faults_after_kill(home, before, queries, embedder))
    _fill(folder, papers)
    started = time.monotonic()
    _run(home, folder, embedder)
    report.last_seconds = time.monotonic() - started
    clean = read_content(clean_home, queries, embedder)
    report.faults.extend(find_differences(read_content(home, queries, embedder), clean))
    if published_id(home) != published_id(clean_home):
        report.faults.append(f"generation {published_id(home)}, a clean build gives {published_id(clean_home)}")
    left = [path for pattern in PARTS for path in home.rglob(pattern) if path.is_file()]
    report.faults.extend(f"left behind: {path.relative_to(home)}" for path in left)
    return report


def _fill(folder: Path, papers: Sequence[Path]) -> None:
    """Make the folder hold these papers and no others; what is there already is not touched."""
    wanted = {path.name: path for path in papers}
    for path in list(folder.iterdir()):
        if path.name not in wanted:
            path.unlink()
    for name, path in wanted.items():
        if not (folder / name).exists():
            shutil.copy2(path, folder / name)


def _command(home: Path, folder: Path, embedder: str, is_full: bool = False) -> list[str]:
    command = [str(PROGRAM), "ingest", str(folder), "--home", str(home)]
    return [*command, "--embedder", embedder, *(["--full"] if is_full else [])]


def _environment(embedder: str) -> dict[str, str]:
    """Return the environment of an ingest; with hashes for vectors, what answers are like is not judged."""
    relaxed = {"HONESTY_FLOOR": "0", "FAITHFULNESS_FLOOR": "0"} if embedder == "hash" else {}
    return {**os.environ, **{f"RESEARCH_COPILOT_GATES__{name}": floor for name, floor in relaxed.items()}}


def _run(home: Path, folder: Path, embedder: str) -> None:
    command, environment = _command(home, folder, embedder), _environment(embedder)
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise SystemExit(f"an ingest that nobody killed ended with {done.returncode}:\n{done.stderr[-3000:]}")


def _kill_after(delay: float, home: Path, folder: Path, embedder: str, is_full: bool, report: KillReport) -> str:
    """Start an ingest, kill it, and return what it was doing; empty when it was done before."""
    log = home.parent / "killed.log"
    with log.open("w") as err:
        process = subprocess.Popen(
            _command(home, folder, embedder, is_full), stdout=subprocess.DEVNULL, stderr=err, env=_environment(embedder)
        )
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            children = psutil.Process(process.pid).children(recursive=True)
            process.kill()
            process.wait()
            _, alive = psutil.wait_procs(children, timeout=QUIET_SECONDS)
            report.faults.extend(f"process {child.pid} outlived the killed ingest" for child in alive)
            return _stage_of(log)
    if process.returncode:
        report.faults.append(f"an ingest failed by itself: {log.read_text()[-500:]}")
    return ""


def _stage_of(log: Path) -> str:
    """Return the last stage the run's progress names; "starting" when it named none."""
    lines = [line for line in log.read_text(errors="replace").replace("\r", "\n").splitlines() if ":" in line]
    return lines[-1].partition(":")[0].strip() if lines else "starting"


def _faults_after_kill(home: Path, before: str | None, queries: Sequence[str], embedder: str) -> list[str]:
    """Return what is wrong with what readers see: the published generation must be whole, and answer."""
    if before is None:
        return []
    settings = Settings(home=home, embedding=EmbeddingSettings(model=embedder))
    with open_published(home) as generation:
        damage = find_damage(generation.path, generation.manifest)
        faults = [f"generation {generation.id} is damaged: {line}" for line in damage]
        found = [search(generation, q, mode="fts_only", k=10, settings=settings.retrieval) for q in queries]
        if not any(result.hits for result in found):
            faults.append(f"generation {generation.id} answers none of {len(queries)} queries")
    return faults


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--embedder", default="hash")
    parser.add_argument("--work", type=Path, help="An empty folder to work in; default: one that is removed.")
    parser.add_argument("--json", type=Path, help="Write the numbers here.")
    options = parser.parse_args(arguments)
    papers = sorted((options.data / "pdf" / "papers").glob("*.pdf"))
    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        report = run_kills(papers, work, num_kills=options.kills, seed=options.seed, embedder=options.embedder)
    for delay, stage in zip(report.delays, report.stages, strict=True):
        print(f"killed after {delay:6.2f} s in {stage}")
    for fault in report.faults:
        print(f"WRONG  {fault}")
    print(f"kills            {report.num_kills}   ({report.num_finished_first} more ingests were done before theirs)")
    print(f"papers, chunks   {report.num_papers}, {report.num_chunks}")
    print(f"clean build      {report.clean_seconds:.1f} s; the last ingest {report.last_seconds:.1f} s")
    print(f"lost or wrong    {len(report.faults)}   (bound: 0)")
    if options.json:
        options.json.write_text(json.dumps(asdict(report), indent=1), encoding="utf-8")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
