"""Make a golden set of one's own: draft candidate cases from the corpus, judge them in a terminal, lint the set."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.errors import BadInputError
from corpus_assets.model import Chunk, SectionKind
from corpus_assets.settings import Settings
from corpus_assets.store.atomic import write_atomic
from evaluation.cases import Fixture, LintFinding, lint_fixture, load_fixture, parse_fixture
from evaluation.labels import bind_fixture

if TYPE_CHECKING:
    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.store.generation import Generation

DRAFT_FORMAT = "research-copilot golden draft 1"
DRAFTED_KINDS = (SectionKind.ABSTRACT, SectionKind.RESULTS, SectionKind.CONCLUSION, SectionKind.DISCUSSION)
POOL_DEPTH = 5  # passages each mode brings to a query's pool
GRADES = {"0": 0, "1": 1, "2": 2, "3": 3}

Asker = Callable[[str], str]  # shows a prompt, returns what was typed


def draft_golden(
    generation: Generation,
    path: Path,
    *,
    settings: Settings,
    embedder: Embedder | None = None,
    num: int = 20,
    queries: Sequence[str] = (),
) -> int:
    """Write a draft of cases to judge and return how many it holds; nothing in it counts before a person judged it.

    Without ``queries`` each case starts from a passage (one a paper, then again) whose key sentence stands in for a
    question: rewrite it as a person would ask. Each case's pool is what the modes find, mixed without their names.
    """
    drafted = [{"query": query, "seed": ""} for query in queries] or [
        {"query": _key_sentence(chunk), "seed": chunk.chunk_id} for chunk in _spread_chunks(generation, num)
    ]
    if not drafted:
        raise BadInputError(f"Generation {generation.id} has no passage to draft cases from.")
    cases = []
    for number, row in enumerate(drafted[:num], start=1):
        pool = _pool(generation, row["query"], row["seed"], settings, embedder)
        cases.append(
            {
                "case_id": f"case-{number:03}",
                "query": row["query"],
                "query_type": "paraphrase",
                "difficulty": "single_hop",
                "is_query_rewritten": bool(queries),
                "pool": [_pool_entry(chunk) for chunk in pool],
                "judgments": [],
            }
        )
    draft = {"format": DRAFT_FORMAT, "generation": generation.id, "cases": cases}
    _write_json(path, draft)
    return len(cases)


def _spread_chunks(generation: Generation, num: int) -> list[Chunk]:
    """Return passages in rounds over the papers, so that no paper crowds the draft."""
    by_paper: list[list[Chunk]] = []
    for paper_id, record in generation.papers.items():
        if record.is_served and not record.is_retracted:
            chunks = [c for c in generation.chunks_of(paper_id) if c.is_retrievable and c.section_kind in DRAFTED_KINDS]
            by_paper.append(sorted(chunks, key=lambda chunk: hashlib.sha256(chunk.chunk_id.encode()).digest()))
    rounds = max((len(chunks) for chunks in by_paper), default=0)
    spread = [chunks[place] for place in range(rounds) for chunks in by_paper if place < len(chunks)]
    return [chunk for chunk in spread if _key_sentence(chunk)][:num]


def _sentences(chunk: Chunk) -> list[str]:
    from corpus_assets.sentences import split_sentences

    return [chunk.text[start:end] for start, end in split_sentences(chunk.text)]


def _key_sentence(chunk: Chunk) -> str:
    """Return the passage's longest plain sentence, or nothing."""
    plain = [text for text in _sentences(chunk) if 8 <= len(text.split()) <= 35]
    return max(plain, key=lambda text: (len(text), text), default="")


def _pool(generation: Generation, query: str, seed: str, settings: Settings, embedder: Embedder | None) -> list[Chunk]:
    from retrieval.search import search

    modes = ("fts_only", "embedding_only", "hybrid") if embedder is not None else ("fts_only",)
    found: dict[str, Chunk] = {seed: generation.chunk(seed)} if seed else {}
    for mode in modes:
        result = search(
            generation,
            query,
            mode=mode,  # type: ignore[arg-type]
            k=POOL_DEPTH,
            embedder=embedder,
            settings=settings.retrieval,
        )
        found.update({hit.chunk.chunk_id: hit.chunk for hit in result.hits})
    # By digest, not by rank: a judge who sees ranks judges them.
    return sorted(found.values(), key=lambda chunk: hashlib.sha256(f"{query}\0{chunk.chunk_id}".encode()).digest())


def _pool_entry(chunk: Chunk) -> dict[str, Any]:
    quote = _key_sentence(chunk) or chunk.text[:200].strip()
    return {"paper_id": chunk.paper_id, "chunk_ref": chunk.chunk_id, "text": chunk.text, "quote": quote}


def judge_golden(draft_path: Path, *, ask: Asker, show: Callable[[str], None]) -> int:
    """Walk a person through the unjudged pool entries of a draft; returns how many were judged. Saved after each.

    ``ask`` reads one line (``input`` or a test's answers), ``show`` prints one. Answers: 0 to 3, s to skip the case, q
    to stop. A new wording of the query may be typed when a case begins.
    """
    draft = read_draft(draft_path)
    num = 0
    for case in draft["cases"]:
        judged = {row["chunk_ref"] for row in case["judgments"]}
        waiting = [row for row in case["pool"] if row["chunk_ref"] not in judged]
        if not waiting:
            continue
        show(f"\n{case['case_id']}: {case['query']}")
        if not case["is_query_rewritten"]:
            typed = ask("Ask it as a person would (empty keeps it): ").strip()
            case["query"] = typed or case["query"]
            case["is_query_rewritten"] = True
            _write_json(draft_path, draft)
        for row in waiting:
            show(f"\n[{row['paper_id']}]\n{row['text']}")
            answer = _ask_grade(ask)
            if answer == "q":
                return num
            if answer == "s":
                break
            judgment = {key: row[key] for key in ("paper_id", "chunk_ref", "quote")}
            case["judgments"].append({**judgment, "relevance": GRADES[answer]})
            num += 1
            _write_json(draft_path, draft)
    return num


def _ask_grade(ask: Asker) -> str:
    while True:
        answer = ask("0 not relevant, 1 touches it, 2 helps, 3 answers it, s skip case, q stop: ").strip().lower()
        if answer in (*GRADES, "s", "q"):
            return answer


def read_draft(path: Path) -> dict[str, Any]:
    """Read a draft. Raises BadInputError when it is not one."""
    try:
        draft = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInputError(f"Draft {path} cannot be read: {error}.") from error
    if not isinstance(draft, dict) or draft.get("format") != DRAFT_FORMAT:
        raise BadInputError(
            f"{path} is not a draft of golden cases.", hint="Write one with `research-copilot golden draft`."
        )
    return draft


def finish_golden(draft_path: Path, path: Path, generation: Generation, *, description: str) -> Fixture:
    """Write the judged cases of a draft as a golden set; cases without a relevant judgment are left in the draft."""
    draft = read_draft(draft_path)
    cases = []
    for case in draft["cases"]:
        relevant = [row for row in case["judgments"] if row["relevance"] > 0]
        if relevant:
            cases.append(
                {
                    **{key: case[key] for key in ("case_id", "query", "query_type", "difficulty", "judgments")},
                    "expected_paper_ids": sorted({row["paper_id"] for row in relevant}),
                    "expected_chunk_refs": sorted({row["chunk_ref"] for row in relevant}),
                }
            )
    if not cases:
        raise BadInputError(f"No case of {draft_path} has a passage judged above 0.", hint="Judge some first.")
    names = sorted({row["paper_id"] for case in cases for row in case["judgments"]})
    papers = [{"paper_id": name, "title": generation.papers[name].label} for name in names]
    raw = {"version": 1, "description": description, "papers": papers, "cases": cases}
    fixture = parse_fixture(json.dumps(raw), source=str(draft_path))
    _write_json(path, fixture.model_dump(mode="json"))
    return fixture


def lint_golden(path: Path, generation: Generation | None = None) -> list[LintFinding]:
    """Return what is wrong with or weak about a golden set; with a generation, also labels it does not hold.

    Raises BadInputError when the set is not valid at all.
    """
    fixture = load_fixture(path)
    findings = lint_fixture(fixture)
    if generation is None:
        return findings
    bound = bind_fixture(fixture, generation)
    findings += [
        LintFinding("ERROR", f"case {item.case_id!r}", f"{item.chunk_ref}: {item.reason}") for item in bound.unbound
    ]
    findings += [
        LintFinding("WARN", f"case {name!r}", "none of its papers is in this corpus") for name in bound.left_out
    ]
    for case in fixture.cases:
        for judgment in case.judgments:
            record = generation.papers.get(judgment.paper_id)
            if record is not None and record.is_retracted and judgment.relevance > 0:
                problem = f"{judgment.paper_id} is retracted and never retrieved by default: its label cannot score"
                findings.append(LintFinding("WARN", f"case {case.case_id!r}", problem))
    return findings


def _write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")
