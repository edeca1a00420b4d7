"""From what ``bench --embedder`` is given to the embedders that are measured side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpus_assets.embedding.api import API, ApiEmbedder, has_api
from corpus_assets.errors import BadInputError

if TYPE_CHECKING:
    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.settings import Settings

LIVE = "live"
OFFLINE, DEFAULT = "hash", "default"


def name_embedders(text: str, settings: Settings, own: str) -> tuple[str, ...]:
    """Return the embedders named in ``text``, comma-separated, each once and in its order.

    ``live`` stands for the real local model (``own``, the corpus', unless that is hash), hash beside it, and the
    embedding API when one is set up. Raises BadInputError when nothing is named.
    """
    names: list[str] = []
    for name in (part.strip() for part in text.split(",")):
        if name == LIVE:
            names += [DEFAULT if own == OFFLINE else own, OFFLINE]
            names += [API] if has_api(settings.embedding_api) else []
        elif name:
            names.append(name)
    if not names:
        raise BadInputError("No embedder is named.", hint="--embedder hash, default, api, live, a name or a path.")
    return tuple(dict.fromkeys(names))


def open_named(name: str, settings: Settings) -> Embedder:
    """Load a local embedder by name, or reach the embedding API for ``api``: its settings, and no chat model's."""
    if name == API:
        return ApiEmbedder(settings.embedding_api)
    from corpus_assets.embedding.registry import load_embedder

    return load_embedder(name, settings.models_path, threads=settings.run.threads or 1)
