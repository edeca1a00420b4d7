"""The gates every corpus must pass, whatever is asked of it: nothing lost, nothing crossed, nothing damaged.

Three more inform: which papers are served in part, which hold what a reader cannot see or what speaks to a model, and
which have characters that are not those on the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from corpus_assets.gates import Gate, GateContext, GateResult, Severity, read_gate_results
from corpus_assets.model import Page, PageState, PaperRecord, PaperStatus
from corpus_assets.settings import fingerprint
from corpus_assets.store.generation import Generation, Segment
from corpus_assets.store.manifest import find_damage

_SHOWN = 5
_FIDELITY_SAMPLE = 24  # chunks, spread over the segments by size
_FIDELITY_MINIMUM = 4  # of each segment
# What each check says of a paper's flags. Every flag ingest can set stands here, once.
FLAG_WORDS: Mapping[str, Mapping[str, str]] = {
    "whole_papers": {
        "several_pdfs": "the file holds several PDFs one after the other, and only the last is read",
        "fewer_pages_than_page_tree": "the file lacks pages its page tree names",
        "repaired": "the file had to be repaired to be opened",
        "attached_files_not_read": "other files are attached to the file, which are not read",
        "wrong_page_count": "the file counts its pages wrongly, and they were found one by one",
    },
    "visible_text": {
        "hidden_text": "hidden text, which is left out of its passages",
        "instruction_like_text": "text that reads like instructions to a model",
        "off_page_text_not_read": "a page too large to be searched for text beside it",
        "encrypted": "text that was locked and is in the corpus without its password",
    },
    "true_characters": {
        "glyph_loss": "characters its fonts do not name, minus signs among them perhaps",
        "detached_accents": "accents that stood beside their letters and were put on them",
        "control_codes": "control codes for a terminal, which are taken out",
    },
}


def corpus_gates() -> list[Gate]:
    """Return the gates of the corpus itself, in the order they are run."""
    return [
        Gate("generation_files", "ERROR", check_generation_files),
        Gate("page_completeness", "ERROR", check_page_completeness),
        Gate("papers_have_chunks", "ERROR", check_papers_have_chunks),
        Gate("index_agreement", "ERROR", check_index_agreement),
        Gate("faiss_recall", "ERROR", check_faiss_recall),
        Gate("vector_fidelity", "ERROR", check_vector_fidelity),
        Gate("whole_papers", "WARN", check_whole_papers),
        Gate("visible_text", "WARN", check_visible_text),
        Gate("true_characters", "WARN", check_true_characters),
    ]


def check_generation_files(context: GateContext) -> GateResult:
    """Every file of the candidate is there and matches its checksum."""
    damage = find_damage(context.candidate.path, context.candidate.manifest)
    num_files = len(context.candidate.manifest.files())
    return _counted("generation_files", num_files - len(damage), num_files, damage)


def check_page_completeness(context: GateContext) -> GateResult:
    """Every page of every served paper is in the ledger exactly once, in one state, with its text where it says."""
    served = {record.paper_id: record for record in _served(context.candidate)}
    problems = []
    missing = set(served)
    for segment in context.candidate.segments:
        for paper_id, _, pages in segment.bodies.bodies():
            if paper_id in missing and paper_id not in segment.removed:
                missing.discard(paper_id)
                record = served[paper_id]
                if reason := find_page_gap(record, pages):
                    problems.append(f"{paper_id} ({record.path}): {reason}")
    problems += [f"{name} ({served[name].path}): {find_page_gap(served[name], ())}" for name in sorted(missing)]
    return _counted("page_completeness", len(served) - len(problems), len(served), problems)


def find_page_gap(record: PaperRecord, pages: Sequence[Page]) -> str:
    """Return what is wrong with a paper's page ledger, empty when every expected page is accounted for."""
    numbers = [page.number for page in pages]
    if numbers != list(range(1, len(pages) + 1)):
        return "page numbers are not 1 to n"
    if len(pages) != record.num_pages_expected:
        return f"{len(pages)} of {record.num_pages_expected} pages are accounted for"
    end = 0
    for page in pages:
        if page.state is PageState.UNREADABLE and not page.reason:
            return f"page {page.number} is unreadable without a reason"
        if page.state in {PageState.BLANK, PageState.UNREADABLE} and page.num_chars:
            return f"page {page.number} is {page.state.value} and yet has text"
        if page.num_chars and page.char_start < end:
            return f"page {page.number} overlaps the page before"
        end = max(end, page.char_end)
    return ""


def check_papers_have_chunks(context: GateContext) -> GateResult:
    """No served paper has zero retrievable chunks, and its chunks reach every page that has text.

    A segment that passed as part of the published generation is not read again: its files cannot have changed.
    """
    name, candidate = "papers_have_chunks", context.candidate
    served = {record.paper_id: record for record in _served(candidate)}
    proven = _proven_segments(context, name)
    problems = []
    found: set[str] = set()
    for segment in candidate.segments:
        here = {name for name in segment.fts.paper_ids if name not in segment.removed and name in served} - found
        found |= here
        if _segment_digest(candidate, segment) in proven:
            continue
        extents = segment.fts.page_extents()
        for paper_id, text, pages in segment.bodies.bodies():
            if paper_id not in here:
                continue
            covered = {number for first, last in extents.get(paper_id, ()) for number in range(first, last + 1)}
            lost = [p.number for p in pages if text[p.char_start : p.char_end].strip() and p.number not in covered]
            if lost:
                problems.append(f"{paper_id} ({served[paper_id].path}): no chunk covers page {lost[0]}")
        retrievable = segment.fts.papers_with_retrievable_chunks()
        problems += [
            f"{name} ({served[name].path}) has no retrievable chunk" for name in sorted(here) if name not in retrievable
        ]
    problems += [f"{name} ({served[name].path}) has no retrievable chunk" for name in sorted(served.keys() - found)]
    return _remember_segments(context, _counted(name, len(served) - len(problems), len(served), problems))


def check_index_agreement(context: GateContext) -> GateResult:
    """Full text and vectors hold exactly the retrievable chunks, under the ids and the texts the papers have.

    Of a segment that passed as part of the published generation only the counts are taken again: its files cannot have
    changed. Papers removed from a segment count for nothing.
    """
    candidate = context.candidate
    proven = _proven_segments(context, "index_agreement")
    problems: list[str] = []
    num_chunks = num_agreeing = 0
    for segment in candidate.segments:
        if _segment_digest(candidate, segment) in proven:
            num_chunks += segment.fts.num_live
            num_agreeing += segment.fts.num_live
            continue
        num_here, problems_here = _compare_segment(segment)
        num_chunks += num_here
        num_agreeing += num_here - sum(problem.startswith("chunk ") for problem in problems_here)
        problems += problems_here
    if num_chunks != candidate.manifest.num_chunks:
        problems.append(f"{num_chunks} chunks stored, the manifest says {candidate.manifest.num_chunks}")
    return _remember_segments(context, _counted("index_agreement", num_agreeing, max(num_chunks, 1), problems))


def _compare_segment(segment: Segment) -> tuple[int, list[str]]:
    """Return how many live chunks a segment has, and where its chunks, texts, vectors and postings do not agree."""
    from corpus_assets.folding import fold_for_search
    from corpus_assets.vectors import vector_id

    problems = []
    num_chunks = num_worded = 0
    wanted: set[int] = set()
    paper_id, text = "", ""
    for chunk in segment.fts.all_chunks():
        num_chunks += 1
        num_worded += bool(fold_for_search(chunk.text).split())
        if chunk.paper_id != paper_id:
            paper_id, text = chunk.paper_id, segment.bodies.text(chunk.paper_id)
        if text[chunk.char_start : chunk.char_end] != chunk.text:
            problems.append(f"chunk {chunk.chunk_id} is not what its paper's text has at its place")
        if chunk.is_retrievable:
            wanted.add(vector_id(chunk.chunk_id))
    if segment.vectors is not None:
        stored = {int(number) for number in segment.vectors.ids()}
        unknown = stored - wanted - {int(number) for number in segment.fts.removed_vector_ids()}
        if unknown or wanted - stored:
            problems.append(
                f"{segment.name}: {len(wanted - stored)} chunks have no vector, {len(unknown)} vectors no chunk"
            )
    unsearchable = num_worded - segment.fts.num_indexed()
    if unsearchable > 0:
        problems.append(f"{segment.name}: {unsearchable} chunks are not in the full-text index")
    return num_chunks, problems


def _segment_digest(generation: Generation, segment: Segment) -> str:
    """Return the digest of a segment's files, by the checksums in the manifest."""
    files = generation.manifest.files()
    return fingerprint(sorted((n, entry.sha256) for n, entry in files.items() if n.startswith(f"{segment.name}/")))


def _proven_segments(context: GateContext, gate: str) -> frozenset[str]:
    """Return the digests of the segments with which the published generation passed a gate."""
    if context.published is None:
        return frozenset()
    verdict = read_gate_results(context.published.path).get(gate)
    if verdict is None or not verdict.passed or verdict.fingerprint != context.published.manifest_sha256:
        return frozenset()
    return frozenset(verdict.extra.get("segments", ()))


def _remember_segments(context: GateContext, result: GateResult) -> GateResult:
    digests = [_segment_digest(context.candidate, segment) for segment in context.candidate.segments]
    return replace(result, extra={**result.extra, "segments": digests})


def check_faiss_recall(context: GateContext) -> GateResult:
    """Recall at 10 of the vector indexes against exact search, as measured when built: the worst segment's."""
    artifacts = context.candidate.manifest.artifacts
    built = [artifacts[f"{segment.name}/vectors"] for segment in context.candidate.segments]
    value = min((float(artifact.stats["recall_at_10"]) for artifact in built), default=0.0)
    kinds = ", ".join(str(artifact.stats["kind"]) for artifact in built)
    floor = 0.99
    return GateResult(
        "faiss_recall",
        value,
        floor,
        value >= floor,
        num_cases=context.candidate.manifest.num_vectors,
        detail=f"{kinds} index, recall at 10 against exact search {value:.4f}",
    )


def check_vector_fidelity(context: GateContext) -> GateResult:
    """Stored vectors are those of their chunks: a sample is embedded again and compared (cosine)."""
    import random

    import numpy as np

    from corpus_assets.build import load_settings_embedder
    from corpus_assets.chunking import embed_text
    from corpus_assets.vectors import vector_id

    candidate = context.candidate
    floor = 0.999  # the same text in another batch differs past the fifth decimal, another text or model by far more
    embedder = load_settings_embedder(context.settings)
    if embedder.fingerprint != candidate.manifest.embedder.fingerprint:
        detail = f"vectors are of {candidate.manifest.embedder.name}, the settings name {embedder.name}"
        return GateResult("vector_fidelity", 0.0, floor, passed=False, detail=detail)
    lowest, num_cases, worst = 1.0, 0, ""
    chance = random.Random(candidate.id)
    for segment in candidate.segments:
        if segment.vectors is None:
            continue
        numbers = segment.fts.retrievable_numbers()
        share = max(_FIDELITY_MINIMUM, round(_FIDELITY_SAMPLE * len(numbers) / max(1, candidate.manifest.num_vectors)))
        sample = segment.fts.chunks_at(chance.sample(numbers, min(share, len(numbers))))
        if not sample:
            continue
        titles = [candidate.papers[chunk.paper_id].metadata.title for chunk in sample]
        with_title = context.settings.embedding.include_title
        fresh = embedder.embed_documents(
            [embed_text(title, chunk.text, with_title) for title, chunk in zip(titles, sample, strict=True)]
        )
        stored = segment.vectors.reconstruct(np.array([vector_id(chunk.chunk_id) for chunk in sample], dtype=np.int64))
        cosines = (fresh * stored).sum(axis=1)
        num_cases += len(sample)
        at = int(cosines.argmin())
        if float(cosines[at]) < lowest:
            lowest, worst = float(cosines[at]), sample[at].chunk_id
    detail = f"lowest cosine {lowest:.5f} of {num_cases} sampled chunks" + (f" ({worst})" if worst else "")
    passed = num_cases > 0 and lowest >= floor
    return GateResult("vector_fidelity", lowest, floor, passed, num_cases=num_cases, detail=detail)


def check_whole_papers(context: GateContext) -> GateResult:
    """Every served paper is whole: its file sound, no page unreadable, damaged or blank between pages with text."""
    candidate = context.candidate
    served = _served(candidate)
    problems = []
    hollows = {
        paper_id: hollow
        for segment in candidate.segments
        for paper_id, _, pages in segment.bodies.bodies()
        if paper_id not in segment.removed and (hollow := find_blank_inside(pages))
    }
    for record in served:
        faults = [record.reason] if record.status is PaperStatus.PARTIAL else []
        if blank := hollows.get(record.paper_id):
            faults.append(f"blank between pages with text: page {', '.join(map(str, blank))}")
        faults += _name_flags("whole_papers", record)
        if faults:
            problems.append(f"{record.paper_id} ({record.path}): {'; '.join(faults)}")
    return _counted("whole_papers", len(served) - len(problems), len(served), problems, severity="WARN")


def find_blank_inside(pages: Sequence[Page]) -> list[int]:
    """Return the blank pages that stand between two pages with text: a hole, or a page left free on purpose."""
    written = [page.number for page in pages if page.num_chars]
    if not written:
        return []
    return [p.number for p in pages if p.state is PageState.BLANK and written[0] < p.number < written[-1]]


def check_visible_text(context: GateContext) -> GateResult:
    """No paper holds text that a reader cannot see, or passages that read like instructions to a model."""
    return _judge_flags("visible_text", list(context.candidate.papers.values()))


def check_true_characters(context: GateContext) -> GateResult:
    """Every served paper's characters are the printed ones: none lost, none mended, no control codes."""
    return _judge_flags("true_characters", _served(context.candidate))


def _judge_flags(name: str, records: Sequence[PaperRecord]) -> GateResult:
    problems = [
        f"{record.paper_id} ({record.path}): {' and '.join(words)}"
        for record in records
        if (words := _name_flags(name, record))
    ]
    return _counted(name, len(records) - len(problems), len(records), problems, severity="WARN")


def _name_flags(check: str, record: PaperRecord) -> list[str]:
    return [words for flag, words in FLAG_WORDS[check].items() if flag in record.flags]


def _served(candidate: Generation) -> list[PaperRecord]:
    return [record for record in candidate.papers.values() if record.is_served]


def _counted(
    name: str, num_good: int, num_all: int, problems: Sequence[str], severity: Severity = "ERROR"
) -> GateResult:
    value = num_good / num_all if num_all else 0.0
    passed = not problems and num_all > 0
    shown = "; ".join(problems[:_SHOWN]) + (f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else "")
    detail = shown or (f"{num_good} of {num_all}" if num_all else "the candidate is empty")
    extra = {"problems": list(problems[:50])}
    return GateResult(name, value, 1.0, passed, severity, num_cases=num_all, detail=detail, extra=extra)
