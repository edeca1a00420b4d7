"""What an agent may do with the corpus: search, ask, show a paper, verify an answer. Models and corpus stay loaded."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Literal

from corpus_assets.errors import BadInputError
from retrieval.answer import AnswerRecord

if TYPE_CHECKING:
    from corpus_assets.settings import AnswerMode, Settings
    from corpus_assets.store.generation import Generation
    from retrieval.asking import AskContext
    from retrieval.filters import Filters

NUM_KEPT = 100  # answers of this session that can be verified by their id
LEFT_OUT = {"stages", "evidence", "sub_queries"}  # of an answer: long, and of no use to an agent

Retrieval = Literal["fts_only", "embedding_only", "hybrid"]


class AgentDesk:
    """Serves one home. Reads only, unless ``saves`` is set: then answers are kept and cached as `ask` keeps them.

    Calls come from several threads and are served one after the other. A newly published corpus is taken up at the
    next call.
    """

    def __init__(self, settings: Settings, *, saves: bool = False) -> None:
        self._settings = settings
        self._saves = saves
        self._lock = threading.Lock()
        self._generation: Generation | None = None
        self._context: AskContext | None = None
        self._answers: OrderedDict[str, AnswerRecord] = OrderedDict()

    def search(self, query: str, k: int = 8, retrieval: Retrieval | None = None) -> dict[str, Any]:
        """Return the best passages for a query, each with its most fitting sentence and where that stands."""
        from dagster_project.cli.hits import describe_hits
        from retrieval.plan import check_question

        query = check_question(query)
        if not 1 <= k <= 100:
            raise BadInputError(f"k is {k}.", hint="Use 1 to 100.")
        with self._lock:
            context = self._open()
            found = context.search(query, k, None, retrieval)
            rows = describe_hits(self._published, query, found.hits)
        return {
            "query": query,
            "retrieval": found.mode,
            "generation": self._published.id,
            "hits": rows,
            "degraded": list(found.degraded),
        }

    def ask(self, question: str, mode: AnswerMode = "standard") -> dict[str, Any]:
        """Return an answer whose every statement carries a citation to an exact quote."""
        record = self.answer(question, mode=mode)
        document = record.model_dump(mode="json", exclude=LEFT_OUT)
        document["degraded"] = [f"{stage.name}: {text}" for stage in record.stages for text in stage.degraded]
        return document

    def answer(
        self,
        question: str,
        *,
        mode: AnswerMode = "standard",
        top_k: int | None = None,
        filters: Filters | None = None,
        use_cache: bool = True,
    ) -> AnswerRecord:
        """Return the whole record of an answer, as ``retrieval.copilot.ask`` does."""
        from retrieval.copilot import finish, load_model, start
        from retrieval.pipeline import run_stages

        state = start(question, mode=mode, top_k=top_k, filters=filters)
        with self._lock:
            context = self._open()
            context.use_cache = use_cache
            context.language_model = load_model(self._settings)  # a budget of its own for each question
            record = finish(run_stages(state, context), context, save=self._saves)
            self._answers[record.answer_id] = record
            while len(self._answers) > NUM_KEPT:
                self._answers.popitem(last=False)
        return record

    def show_paper(self, paper_id: str) -> dict[str, Any]:
        """Return a paper's details, pages and sections."""
        from dagster_project.cli.papers import describe_paper

        with self._lock:
            self._open()
            return describe_paper(self._published, paper_id)

    def verify(self, answer_id: str) -> dict[str, Any]:
        """Check every quote of an answer of this session, or of a saved one, against the papers, read anew."""
        from dataclasses import asdict

        from dagster_project.question import built_from
        from retrieval.copilot import load_answer, verify

        if not answer_id.isalnum():
            raise BadInputError(f"{answer_id!r} is no answer_id.", hint="Use the answer_id that ask returned.")
        with self._lock:
            record = self._answers.get(answer_id) or load_answer(answer_id, settings=self._settings)
            report = verify(record, settings=self._settings, papers_dir=built_from(self._settings))
        return {**asdict(report), "passed": report.passed}

    def warm_up(self) -> None:
        """Open the corpus and load the models, so that the first question does not wait. Raises as a call would."""
        with self._lock:
            context = self._open()
            if context.embedder is not None:
                context.embedder.embed_queries(["warm up"])

    def close(self) -> None:
        """Close the corpus."""
        with self._lock:
            self._close()

    @property
    def _published(self) -> Generation:
        if self._generation is None:
            raise RuntimeError("the corpus is not open")
        return self._generation

    def _open(self) -> AskContext:
        """Return the context of the published generation; another one published since is opened in its place."""
        from corpus_assets.store.generation import open_published
        from corpus_assets.store.publish import published_id
        from retrieval.copilot import make_context
        from retrieval.rerank import load_cross_encoder

        current = published_id(self._settings.home)
        if self._context is None or self._generation is None or self._generation.id != current:
            self._close()
            self._generation = open_published(self._settings.home)
            self._context = make_context(self._settings, self._generation, use_cache=True)
            self._context.cross_encoder_override, _ = load_cross_encoder(self._settings.retrieval)
        return self._context

    def _close(self) -> None:
        if self._generation is not None:
            self._generation.close()
        self._generation = self._context = None
