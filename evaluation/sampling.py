"""The manual pass: hits of each mode on one page, blind and shuffled, labelled grounded / broad / miss by a person.

Metrics can rise while hits get vaguer. A mode that brings more broad hits and no more grounded ones is not promoted.
"""

from __future__ import annotations

import csv
import hashlib
import html
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from corpus_assets.errors import BadInputError
from corpus_assets.settings import Settings
from corpus_assets.store.atomic import write_atomic
from evaluation.bench import PLAIN_MODES, make_search
from evaluation.statistics import compare_paired

if TYPE_CHECKING:
    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.store.generation import Generation

Label = Literal["grounded", "broad", "miss"]
LABELS: tuple[str, ...] = get_args(Label)
HITS_SHOWN = 3
SEED = 11

KEY_FILE, LABELS_FILE, PAGE_FILE = "key.json", "labels.csv", "sample.html"


def sample_hits(
    generation: Generation,
    queries: Mapping[str, str],
    folder: Path,
    *,
    settings: Settings,
    embedder: Embedder,
    num: int = 20,
    modes: Sequence[str] = PLAIN_MODES,
    seed: int = SEED,
) -> int:
    """Write the page to read, the table to fill in, and the key (which mode brought what); returns the number of hits.

    A passage that several modes brought is shown once. Keep ``key.json`` closed until the labels are in.
    """
    if not queries:
        raise BadInputError("There are no queries to sample.", hint="Name a golden set.")
    picker = random.Random(seed)
    chosen = sorted(queries) if len(queries) <= num else sorted(picker.sample(sorted(queries), num))
    searches = {
        mode: make_search(generation, mode, settings=settings.retrieval, embedder=embedder, k=HITS_SHOWN)
        for mode in modes
    }
    items: list[dict[str, Any]] = []
    for query_id in chosen:
        brought: dict[str, list[str]] = {}
        for mode, search in searches.items():
            for chunk_id in list(search(queries[query_id]))[:HITS_SHOWN]:
                brought.setdefault(chunk_id, []).append(mode)
        for chunk_id, by in brought.items():
            name = hashlib.sha256(f"{seed}\0{query_id}\0{chunk_id}".encode()).hexdigest()[:8]
            items.append({"item": name, "query_id": query_id, "chunk_id": chunk_id, "modes": by})
    items.sort(key=lambda row: (row["query_id"], row["item"]))  # by digest within a query: no mode's order shows
    folder.mkdir(parents=True, exist_ok=True)
    key = {"generation": generation.id, "modes": list(modes), "seed": seed, "items": items}
    write_atomic(folder / KEY_FILE, json.dumps(key, indent=1))
    rows = ["item,label", *(f"{row['item']}," for row in items)]
    write_atomic(folder / LABELS_FILE, "\n".join(rows) + "\n")
    write_atomic(folder / PAGE_FILE, _page(generation, queries, items))
    return len(items)


def _page(generation: Generation, queries: Mapping[str, str], items: Sequence[Mapping[str, Any]]) -> str:
    body: list[str] = []
    current = ""
    for row in items:
        if row["query_id"] != current:
            current = row["query_id"]
            body.append(f"<h2>{html.escape(queries[current])}</h2>")
        chunk = generation.chunk(row["chunk_id"])
        title = generation.papers[chunk.paper_id].label
        body.append(
            f"<section><h3>{row['item']} · {html.escape(title)}, p. {chunk.pages}</h3>"
            f"<p>{html.escape(chunk.text)}</p></section>"
        )
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        f'content="{policy}"><title>Hits to label</title><style>body{{font:16px/1.5 system-ui,sans-serif;'
        f"max-width:48rem;margin:2rem auto;padding:0 1rem}}section{{border:1px solid #d5dbe1;padding:.4rem .8rem;"
        f"margin:.6rem 0}}"
        f"h3{{font-size:.9rem;margin:.2rem 0}}</style></head><body><h1>Hits to label</h1><p>For each hit write into "
        f"{LABELS_FILE}: <b>grounded</b> (it answers the question or a part of it), <b>broad</b> (right topic, no "
        f"answer), <b>miss</b>.</p>{''.join(body)}</body></html>\n"
    )


def read_labels(folder: Path) -> dict[str, str]:
    """Return item -> label. Raises BadInputError naming the first item that is missing, unknown or mislabelled."""
    known = {row["item"] for row in _read_key(folder)["items"]}
    labels: dict[str, str] = {}
    path = folder / LABELS_FILE
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error}.") from error
    for row in rows:
        item, label = str(row.get("item") or "").strip(), str(row.get("label") or "").strip().lower()
        if item not in known:
            raise BadInputError(f"{path}: item {item!r} is not in the sample.")
        if label not in LABELS:
            raise BadInputError(f"{path}: item {item!r} has label {label!r}.", hint=f"Use {', '.join(LABELS)}.")
        labels[item] = label
    missing = sorted(known - labels.keys())
    if missing:
        raise BadInputError(f"{path}: {len(missing)} of {len(known)} items have no label, {missing[0]!r} first.")
    return labels


def _read_key(folder: Path) -> dict[str, Any]:
    try:
        key: dict[str, Any] = json.loads((folder / KEY_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInputError(f"{folder / KEY_FILE} cannot be read: {error}.", hint="Draw a sample first.") from error
    return key


def label_sample(folder: Path, *, home: Path | None = None, baseline: str = "fts_only") -> dict[str, Any]:
    """Open the labels and report, per mode, shares of each label and the paired change against the baseline.

    A mode is ``vaguer`` when its broad share rises and its grounded share does not. With ``home`` the report is stored
    with the generation's retrieval decision; a decision for a mode that only got vaguer is turned into fts_only.
    """
    key, labels = _read_key(folder), read_labels(folder)
    per_mode: dict[str, dict[str, dict[str, float]]] = {}
    for mode in key["modes"]:
        by_query: dict[str, list[str]] = {}
        for row in key["items"]:
            if mode in row["modes"]:
                by_query.setdefault(row["query_id"], []).append(labels[row["item"]])
        per_mode[mode] = {
            label: {query_id: found.count(label) / len(found) for query_id, found in by_query.items()}
            for label in LABELS
        }
    report: dict[str, Any] = {"generation": key["generation"], "num_items": len(labels), "modes": {}}
    for mode, shares in per_mode.items():
        report["modes"][mode] = {label: sum(values.values()) / max(len(values), 1) for label, values in shares.items()}
        report["modes"][mode]["num_queries"] = len(shares["grounded"])
    if baseline in per_mode:
        report["against"] = baseline
        for mode in per_mode:
            if mode == baseline or not per_mode[mode]["grounded"].keys() & per_mode[baseline]["grounded"].keys():
                continue
            grounded = compare_paired(per_mode[mode]["grounded"], per_mode[baseline]["grounded"])
            broad = compare_paired(per_mode[mode]["broad"], per_mode[baseline]["broad"])
            report["modes"][mode] |= {
                "grounded_diff": grounded.difference,
                "grounded_ci95": grounded.interval.as_list(),
                "grounded_p": grounded.p_value,
                "broad_diff": broad.difference,
                "is_vaguer": broad.difference > 0 and grounded.difference <= 0,
            }
    if home is not None:
        _store(home, report)
    return report


def _store(home: Path, report: Mapping[str, Any]) -> None:
    from retrieval.decision import RetrievalDecision, latest_decision, store_decision

    current = latest_decision(home, str(report["generation"]))
    if current is None:
        raise BadInputError(
            f"No retrieval decision is stored for generation {report['generation']}.", hint="Run the gates first."
        )
    is_vaguer = bool(report["modes"].get(current.mode, {}).get("is_vaguer"))
    note = (
        "The manual sample: hits of this mode only got vaguer; fts_only is served."
        if is_vaguer
        else "Manual sample stored."
    )
    store_decision(
        home,
        RetrievalDecision(
            generation=current.generation,
            mode="fts_only" if is_vaguer else current.mode,
            reason=f"{note} {current.reason}",
            numbers={**current.numbers, "manual_sample": dict(report)},
            embedder=current.embedder,
            golden_hash=current.golden_hash,
            num_cases=current.num_cases,
            decided_by="person" if is_vaguer else current.decided_by,
        ),
    )
