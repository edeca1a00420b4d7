"""A/B runs: two arms on one frozen, hashed bundle of inputs, compared case by case.

A bundle holds the cases, the checksums of every file of the corpus, and (for arms that start from retrieved passages)
those passages. Arms of different bundles are refused: their difference would mean nothing.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationError, model_validator

from corpus_assets.errors import BadInputError
from corpus_assets.store.atomic import write_atomic
from evaluation.cases import Fixture, Strict, load_fixture
from evaluation.labels import BoundFixture, bind_fixture, no_case_error
from evaluation.metrics import PerQuery
from evaluation.statistics import compare_paired, holm

if TYPE_CHECKING:
    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.settings import Settings
    from corpus_assets.store.generation import Generation
    from retrieval.llm.protocol import LanguageModel

EXPERIMENTS_DIR = Path(__file__).parent / "experiments"
SPLITS = Path(__file__).parent / "fixtures" / "splits_v1.json"
TARGET_EFFECT = 0.05

ArmKind = Literal["ranking", "rerank", "shortlist", "counter_evidence"]


class Arm(Strict):
    """One side of an experiment."""

    name: str = Field(min_length=1, description="How the report calls this arm.")
    kind: ArmKind = Field(
        description="ranking (a mode over the corpus), rerank (over frozen passages), shortlist (papers kept by the "
        "pre-filter), counter_evidence (both sides of known splits found)."
    )
    mode: Literal["fts_only", "embedding_only", "hybrid"] = Field("hybrid", description="Retrieval mode.")
    is_on: bool = Field(True, description="rerank and counter_evidence: whether the step runs.")
    method: Literal["cosine", "llm"] = Field("cosine", description="shortlist: how papers are picked.")
    retrieval: dict[str, Any] = Field(default_factory=dict, description="Retrieval settings this arm changes.")

    @model_validator(mode="after")
    def _changes_are_settings(self) -> Arm:
        from corpus_assets.settings import RetrievalSettings

        RetrievalSettings.model_validate(self.retrieval)
        return self


@dataclass(frozen=True)
class Bundle:
    """Frozen inputs; equal digests mean byte-identical inputs."""

    kind: ArmKind
    content: Mapping[str, Any]

    @property
    def digest(self) -> str:
        text = json.dumps([self.kind, self.content], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class ArmResult:
    """What an arm scored on each case of its bundle, and what it cost."""

    arm: Arm
    bundle_digest: str
    values: Mapping[str, PerQuery]  # metric -> case id -> value
    totals: Mapping[str, float] = field(default_factory=dict)  # usd, calls, ...


def load_arm(path: Path) -> Arm:
    """Read an arm from TOML. Raises BadInputError naming the file and the field."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        return Arm.model_validate(raw)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInputError(f"Arm {path} cannot be read: {error}.") from error
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, item['loc'])) or 'arm'}: {item['msg']}" for item in error.errors())
        raise BadInputError(f"Arm {path}: {problems}.") from error


def list_experiments() -> dict[str, tuple[Path, Path]]:
    """Return the ready-made experiments: name -> (arm A, arm B)."""
    return {
        folder.name: (folder / "a.toml", folder / "b.toml")
        for folder in sorted(EXPERIMENTS_DIR.iterdir())
        if (folder / "a.toml").is_file() and (folder / "b.toml").is_file()
    }


def freeze_bundle(kind: ArmKind, bound: BoundFixture, generation: Generation, evidence: Mapping[str, Any]) -> Bundle:
    """Freeze what arms of a kind read: labelled cases, the corpus' checksums, and the ``evidence`` they start from."""
    files = {name: entry.sha256 for name, entry in sorted(generation.manifest.files().items())}
    cases = {
        item.case.case_id: {"query": item.case.query, "grades": dict(item.grades), "twins": dict(item.twins)}
        for item in bound.cases
    }
    return Bundle(kind, {"corpus": files, "golden_hash": bound.golden_hash, "cases": cases, "evidence": dict(evidence)})


def write_bundle(bundle: Bundle, path: Path) -> None:
    """Keep a bundle as JSON with its digest."""
    path.parent.mkdir(parents=True, exist_ok=True)
    row = {"kind": bundle.kind, "content": bundle.content, "sha256": bundle.digest}
    write_atomic(path, json.dumps(row, ensure_ascii=False, indent=1, sort_keys=True))


def read_bundle(path: Path) -> Bundle:
    """Read a bundle back. Raises BadInputError when its content is not what its digest says."""
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        bundle = Bundle(row["kind"], row["content"])
        stated = row["sha256"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInputError(f"Bundle {path} cannot be read: {error}.") from error
    if bundle.digest != stated:
        raise BadInputError(
            f"Bundle {path} was changed after it was frozen.", hint="Freeze it again and rerun both arms."
        )
    return bundle


def compare_arms(a: ArmResult, b: ArmResult) -> dict[str, Any]:
    """Return the paired differences, B minus A, on every metric both have. Raises BadInputError on unequal bundles."""
    if a.bundle_digest != b.bundle_digest:
        raise BadInputError(
            f"Arm {a.arm.name!r} ran on bundle {a.bundle_digest[:12]}, arm {b.arm.name!r} on {b.bundle_digest[:12]}.",
            hint="Two arms are only comparable on the same frozen inputs: run both on one bundle.",
        )
    shared = [metric for metric in a.values if metric in b.values]
    paired = {metric: compare_paired(b.values[metric], a.values[metric]) for metric in shared}
    adjusted = holm({metric: item.p_value for metric, item in paired.items()})
    return {
        "bundle": a.bundle_digest,
        "a": a.arm.model_dump(mode="json"),
        "b": b.arm.model_dump(mode="json"),
        "num_cases": max((item.num_cases for item in paired.values()), default=0),
        "metrics": {
            metric: {
                "a": item.mean_b,
                "b": item.mean_a,
                "diff": item.difference,
                "ci95": item.interval.as_list(),
                "p": item.p_value,
                "p_holm": adjusted[metric],
                "num_cases": item.num_cases,
                "wins": item.wins,
                "losses": item.losses,
                "ties": item.ties,
                "minimum_detectable": item.minimum_detectable,
                "cases_needed": item.num_cases_for(TARGET_EFFECT),
            }
            for metric, item in paired.items()
        },
        "totals": {"a": dict(a.totals), "b": dict(b.totals)},
        "is_budget_matched": _is_budget_matched(a, b),
        "cases": {
            case_id: {metric: [a.values[metric].get(case_id), b.values[metric].get(case_id)] for metric in shared}
            for case_id in sorted({name for metric in shared for name in a.values[metric]})
        },
    }


def _is_budget_matched(a: ArmResult, b: ArmResult) -> bool | None:
    """Tell whether both arms kept as many papers in every case; None where papers are not what is kept."""
    name = "num_papers"
    return dict(a.values[name]) == dict(b.values[name]) if name in a.values and name in b.values else None


def run_ab(
    a: Path,
    b: Path,
    golden: Fixture | Path,
    generation: Generation,
    *,
    settings: Settings,
    embedder: Embedder | None = None,
    language_model: LanguageModel | None = None,
    bundle_path: Path | None = None,
) -> dict[str, Any]:
    """Freeze one bundle, run both arms on it, and return the comparison.

    Raises BadInputError when the arms are of different kinds, when an arm needs a language model and there is none
    (before anything is run), or when no case is about this corpus; GateFailedError when a case fails.
    """
    from evaluation.ab_arms import collect_evidence, require_model, run_arm
    from evaluation.bench import open_embedder

    arms = (load_arm(a), load_arm(b))
    if arms[0].kind != arms[1].kind:
        raise BadInputError(f"Arm A is about {arms[0].kind}, arm B about {arms[1].kind}: they read different inputs.")
    for arm in arms:
        require_model(arm, language_model)
    fixture = load_fixture(golden) if isinstance(golden, Path) else golden
    bound = bind_fixture(fixture, generation).require_complete()
    if not bound.cases:
        raise no_case_error(fixture, generation.id)
    model = embedder or open_embedder(generation, settings)
    evidence = collect_evidence(arms[0], bound, generation, settings=settings, embedder=model)
    bundle = freeze_bundle(arms[0].kind, bound, generation, evidence)
    if bundle_path is not None:
        write_bundle(bundle, bundle_path)
    results = [
        run_arm(arm, bundle, generation, settings=settings, embedder=model, language_model=language_model)
        for arm in arms
    ]
    return compare_arms(*results)
