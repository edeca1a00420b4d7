"""One settings model. Nothing else in the project reads the environment (the Anthropic SDK's own variables aside).

Every field can be set as ``RESEARCH_COPILOT_<GROUP>__<FIELD>``, e.g. ``RESEARCH_COPILOT_CHUNKS__MAX_TOKENS=200``.
The groups ``parse``, ``chunks``, ``embedding``, ``index``, ``clusters`` and ``cards`` shape a generation and enter its
fingerprint; ``embedding_api``, ``retrieval``, ``llm``, ``run`` and ``gates`` do not.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

PROJECT_ROOT = Path(__file__).resolve().parent.parent

RetrievalMode = Literal["fts_only", "embedding_only", "hybrid"]
AnswerMode = Literal["brief", "standard", "detailed", "ideas"]


class Group(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ParseSettings(Group):
    ocr: Literal["auto", "off", "tesseract", "vision"] = Field(
        "auto", description="How pages without readable text are read: auto uses tesseract when it is installed."
    )
    ocr_language: str = Field("eng", description="Tesseract language codes, joined by +.")
    ocr_dpi: int = Field(200, ge=72, le=600, description="Resolution pages are rendered at for OCR.")
    min_page_quality: float = Field(
        0.5, ge=0, le=1, description="Below this share of readable text a page goes to OCR or is unreadable."
    )
    max_file_mb: int = Field(500, gt=0, description="Larger files are refused.")
    max_pages: int = Field(5000, gt=0, description="Files with more pages are refused (never cut).")
    timeout_seconds: int = Field(600, gt=0, description="Wall time one file may take before it is failed.")
    memory_mb: int = Field(3000, gt=0, description="Address space one worker may use beyond what it starts with.")
    passwords_path: Path | None = Field(
        None, description="Text file of passwords to try on encrypted files, one a line."
    )
    retractions_path: Path | None = Field(
        None, description="CSV in Retraction Watch's column layout; default: retractions.csv in the papers folder."
    )


class ChunkSettings(Group):
    max_tokens: int = Field(
        256, ge=32, description="Hard limit in word pieces, special tokens and title included; never above the model's."
    )
    target_tokens: int = Field(200, ge=16, description="A chunk is closed at the next sentence past this size.")
    overlap_sentences: int = Field(1, ge=0, le=5, description="Sentences repeated from the end of the chunk before.")
    max_chars: int = Field(4000, ge=200, description="Hard limit in characters, for text without spaces.")


class EmbeddingSettings(Group):
    model: str = Field(
        "default",
        description="default (all-MiniLM-L6-v2 from its PyPI package), hash (no model), bge-small (optional extra), "
        "or a sentence-transformers model by name or folder.",
    )
    batch_size: int = Field(32, ge=1, description="Texts embedded at a time.")
    include_title: bool = Field(True, description="Put the paper's title before each chunk's text when embedding it.")


class EmbeddingApiSettings(Group):
    """An embedding API for the bench's shadow tier: its own address, key and model, whatever answers questions."""

    base_url: str = Field(
        "",
        description="Address of an OpenAI-compatible API, up to and with /v1; empty: none.",
    )
    model: str = Field("", description="The model's name, as the API calls it.")
    key: SecretStr = Field(
        SecretStr(""),
        exclude=True,
        description="Sent as a bearer token; leave it unset for a server that asks for none. Never written or shown.",
    )
    dimension: int = Field(0, ge=0, le=65536, description="Length asked of the API; 0: the model's own.")
    query_prompt: str = Field("", description="Put before each question, for models that want it.")
    document_prompt: str = Field("", description="Put before each passage, for models that want it.")
    batch_size: int = Field(64, ge=1, le=2048, description="Texts a request.")
    timeout_seconds: float = Field(30.0, gt=0, description="Per request.")
    max_retries: int = Field(4, ge=0, le=20, description="Per request, on 429, 5xx and broken connections.")

    @field_validator("base_url")
    @classmethod
    def _is_plain_address(cls, value: str) -> str:
        address = value.strip().rstrip("/")
        if not address:
            return ""
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("not an address that begins with https:// or http:// and names a host")
        if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
            raise ValueError("an address with a user, password, query or fragment in it (the key has its own setting)")
        _ = parts.port  # raises ValueError when it is no number
        return address


class IndexSettings(Group):
    exact_up_to: int = Field(50_000, ge=0, description="Up to this many vectors the FAISS index is exact.")
    bm25_k1: float = Field(1.2, ge=0, description="BM25 term saturation.")
    bm25_b: float = Field(0.75, ge=0, le=1, description="BM25 length normalisation.")


class ClusterSettings(Group):
    min_k: int = Field(2, ge=1, description="Fewest clusters tried.")
    max_k: int = Field(12, ge=1, description="Most clusters tried (also at most a third of the papers).")
    seed: int = Field(13, description="Seed of k-means.")


class CardSettings(Group):
    writer: Literal["auto", "extractive"] = Field(
        "auto",
        description="auto has the small model write the cards when a key is set; its cost is counted and capped.",
    )
    summary_sentences: int = Field(3, ge=1, le=10, description="Sentences in an extractive summary.")


class RetrievalSettings(Group):
    mode: Literal["auto", "fts_only", "embedding_only", "hybrid"] = Field(
        "auto", description="auto obeys the stored decision for the published corpus, hybrid when there is none."
    )
    fusion: Literal["scores", "ranks"] = Field(
        "scores", description="How hybrid joins its legs: weighted scores, or reciprocal ranks (RRF)."
    )
    dense_share: float = Field(
        0.65, ge=0, le=1, description="Weight of the cosine in score fusion; the rest is BM25 over the question's idf."
    )
    rrf_k: int = Field(60, ge=1, description="Reciprocal rank fusion constant (Cormack et al. 2009).")
    depth: int = Field(100, ge=10, description="Candidates taken from each leg before fusion.")
    paper_weight: float = Field(
        1.0,
        ge=0,
        description="What a question's match with a paper's title, authors, year or DOI adds to its passages.",
    )
    k_retrieve: int = Field(20, ge=1, description="Candidates kept for reranking.")
    k_rerank: int = Field(8, ge=1, description="Passages kept as evidence.")
    pool_per_paper: int = Field(
        6, ge=1, description="Most candidates one paper may bring to reranking, unless places are left over."
    )
    max_per_paper: int = Field(3, ge=1, description="Most passages one paper may bring to the evidence.")
    shortlist_min_papers: int = Field(40, ge=1, description="Corpora with fewer papers skip the shortlist.")
    shortlist_size: int = Field(17, ge=1, description="Papers picked from their cards.")
    min_silhouette: float = Field(
        0.05, ge=-1, le=1, description="Under this the cluster map means nothing: the shortlist is not widened by it."
    )
    reranker: str = Field(
        "off",
        description="off (first-stage order), sentences (fused with the similarity of a passage's best one), lexical "
        "(with the words in common), auto (a cross-encoder if one is installed, else sentences), or a cross-encoder by "
        "name or folder. Off by default: none was significantly better on judged questions (docs/retrieval_tuning.md).",
    )
    stance_model: str = Field("rules", description="rules, or an NLI cross-encoder by name or folder.")
    names_path: Path | None = Field(
        None,
        description="Other names of one thing, beside the medicines' that come with the program: one thing a line, its "
        "names separated by tabs. A name no paper holds is read as another on its line that one does.",
    )
    include_retracted: bool = Field(False, description="Let retracted papers be evidence (they are marked).")
    use_answer_cache: bool = Field(True, description="Answer a repeated question from state.duckdb.")


class LlmSettings(Group):
    enabled: Literal["auto", "off"] = Field("auto", description="auto uses a model when ANTHROPIC_API_KEY is set.")
    small_model: str = Field("claude-haiku-5-5", description="Planning, pre-filtering, stances.")
    large_model: str = Field("claude-sonnet-5-5", description="Writing and judging.")
    timeout_seconds: float = Field(60.0, gt=0, description="Per call.")
    max_retries: int = Field(3, ge=0, description="Per call, on 429, 5xx and broken connections.")
    small_usd_per_million_input: float = Field(1.0, ge=0, description="List price; check it for the model you set.")
    small_usd_per_million_output: float = Field(5.0, ge=0, description="List price; check it for the model you set.")
    large_usd_per_million_input: float = Field(3.0, ge=0, description="List price; check it for the model you set.")
    large_usd_per_million_output: float = Field(15.0, ge=0, description="List price; check it for the model you set.")
    budget_usd_per_question: float = Field(0.50, ge=0, description="Hard limit; a call that could pass it is not made.")
    budget_usd_per_ingest: float = Field(5.00, ge=0, description="Hard limit for cards and vision pages of one ingest.")


class RunSettings(Group):
    workers: int = Field(0, ge=0, description="Parsing processes; 0 means one a core.")
    threads: int = Field(0, ge=0, description="Threads for bulk embedding; 0 means one a core.")
    follow_links: bool = Field(True, description="Follow symbolic links to folders outside the papers folder.")
    settle_seconds: float = Field(5.0, ge=0, description="The sensor waits until a file has not changed for this long.")
    keep_generations: int = Field(5, ge=1, description="Older generations beyond these are pruned after publishing.")


class GateSettings(Group):
    """Floors and budgets a candidate generation is measured against; they judge a corpus and never shape one."""

    golden_path: Path | None = Field(
        None,
        description="Golden set of this corpus (docs/golden_set.md). Default: the sample corpus' own, which counts "
        "only when at least half of its papers are in the corpus.",
    )
    k: int = Field(10, ge=1, le=100, description="Depth of recall, hit rate and nDCG in the gates.")
    # The three floors are fitted by benchmarks/fit_floors.py on half of the sample corpus' cases.
    recall_floor: float = Field(0.52, ge=0, le=1, description="Least mean recall@k of the served mode.")
    hit_rate_floor: float = Field(0.78, ge=0, le=1, description="Least share of cases with any hit within k.")
    ndcg_floor: float = Field(0.46, ge=0, le=1, description="Least mean nDCG@k of the served mode.")
    regression_alpha: float = Field(
        0.05, gt=0, lt=1, description="A fall against the published generation counts at this one-sided significance."
    )
    max_drop: float = Field(
        0.05, ge=0, le=1, description="A fall of mean nDCG@k beyond this fails without any test, at any sample size."
    )
    max_latency_ratio: float = Field(3.0, ge=1, description="Most the p95 may grow against the published generation.")
    latency_grace_ms: float = Field(100.0, ge=0, description="A p95 below this never fails: timer noise is larger.")
    faiss_recall_floor: float = Field(0.95, ge=0, le=1, description="Least overlap of FAISS' top 10 with exact search.")
    max_cluster_share: float = Field(0.6, gt=0, le=1, description="Above this share of one cluster the check warns.")
    faithfulness_floor: float = Field(
        0.9, ge=0, le=1, description="Least mean faithfulness of answers to golden cases."
    )
    honesty_floor: float = Field(1.0, ge=0, le=1, description="Least share of the honesty questions answered honestly.")
    num_answers: int = Field(6, ge=1, description="Golden cases that are asked in full for the faithfulness gate.")
    min_gain: float = Field(
        0.01, ge=0, le=1, description="Least nDCG@10 gain for which a slower mode is worth serving."
    )
    alpha: float = Field(0.05, gt=0, lt=1, description="Significance for serving another mode than fts_only (Holm).")
    max_p95_ms: float = Field(1500.0, gt=0, description="Latency budget of the served mode, 95th percentile.")


class Settings(BaseSettings):
    """Everything a person can set; unknown fields are refused."""

    model_config = SettingsConfigDict(
        env_prefix="RESEARCH_COPILOT_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,  # a key under a misspelt name would be shown
    )

    home: Path = Field(PROJECT_ROOT / ".copilot", description="Where stores and generations live.")
    papers_dir: Path = Field(PROJECT_ROOT / "sample_corpus" / "papers", description="The folder of papers.")
    models_dir: Path | None = Field(
        None,
        description="Where exported models are cached (one export serves every home); default: models in the home.",
    )
    parse: ParseSettings = ParseSettings()
    chunks: ChunkSettings = ChunkSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    embedding_api: EmbeddingApiSettings = EmbeddingApiSettings()
    index: IndexSettings = IndexSettings()
    clusters: ClusterSettings = ClusterSettings()
    cards: CardSettings = CardSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    llm: LlmSettings = LlmSettings()
    run: RunSettings = RunSettings()
    gates: GateSettings = GateSettings()

    @property
    def models_path(self) -> Path:
        """Return the folder of exported models."""
        return self.models_dir or self.home / "models"

    def corpus_fingerprint(self) -> str:
        """Return the digest of every setting that shapes a generation."""
        groups = ("parse", "chunks", "embedding", "index", "clusters", "cards")
        shaping = {name: getattr(self, name).model_dump(mode="json") for name in groups}
        return fingerprint(shaping)


def fingerprint(value: object) -> str:
    """Return a 16-hex-digit digest of a JSON-able value (sha256 of its canonical JSON)."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
