"""Run a BERT encoder as an ONNX graph, in OpenVINO or onnxruntime: no torch, starts in a fraction of a second."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.embedding.folders import Pooling, Runtime
from corpus_assets.embedding.openvino_session import OpenVinoSession

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_BATCH_TOKENS = 4096  # more at once is slower on a CPU: the activations leave its caches


class BertTokenizer:
    """A ``tokenizer.json`` with truncation set by us; the packaged ones carry limits of their own (128, padded)."""

    def __init__(self, path: Path, max_tokens: int, strategy: str = "longest_first") -> None:
        self.path = path
        self.max_tokens = max_tokens
        self.strategy = strategy

    @cached_property
    def whole(self) -> Any:
        """The tokeniser without truncation or padding."""
        return self._load()

    @cached_property
    def truncating(self) -> Any:
        tokenizer = self._load()
        tokenizer.enable_truncation(self.max_tokens, strategy=self.strategy)
        return tokenizer

    @cached_property
    def num_special_tokens(self) -> int:
        return int(self.whole.num_special_tokens_to_add(False))

    def token_starts(self, text: str) -> list[int]:
        """Return the character offset of each word piece, without specials."""
        return [start for start, _ in self.whole.encode(text, add_special_tokens=False).offsets]

    def _load(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self.path))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer


class OnnxEmbedder:
    """Embed with OpenVINO or onnxruntime. The session starts with the first text: counting word pieces stays cheap.

    In onnxruntime, texts are sorted by length and padded only to the longest of their batch. With ``one_by_one`` every
    text is a batch of its own, for graphs whose arithmetic depends on the rest of the batch (dynamic int8).
    """

    def __init__(
        self,
        name: str,
        fingerprint: str,
        model_path: Path,
        tokenizer_path: Path,
        *,
        dimension: int,
        max_tokens: int,
        pooling: Pooling,
        query_prompt: str = "",
        document_prompt: str = "",
        threads: int = 1,
        batch_size: int = 32,
        one_by_one: bool = False,
        runtime: Runtime = "onnxruntime",
    ) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self.model_path = model_path
        self.dimension = dimension
        self.max_tokens = max_tokens
        self.pooling = pooling
        self.query_prompt = query_prompt
        self.document_prompt = document_prompt
        self.threads = threads
        self.batch_size = 1 if one_by_one else batch_size
        self.runtime = runtime
        self.degraded = ""
        self.tokenizer = BertTokenizer(tokenizer_path, max_tokens)
        self.num_special_tokens = self.tokenizer.num_special_tokens + len(self.tokenizer.token_starts(document_prompt))

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors in the order of ``texts``; what lies past ``max_tokens`` is not read."""
        return self._embed([self.document_prompt + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of questions, each after the model's query prompt."""
        return self._embed([self.query_prompt + text for text in texts])

    def token_starts(self, text: str) -> list[int]:
        """Return the character offset at which each word piece of ``text`` starts."""
        return self.tokenizer.token_starts(text)

    @cached_property
    def session(self) -> OnnxSession | OpenVinoSession:
        session = OpenVinoSession if self.runtime == "openvino" else OnnxSession
        return session(self.model_path, self.threads)

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        if not texts:
            return vectors
        encodings = self.tokenizer.truncating.encode_batch(list(texts))
        if isinstance(self.session, OpenVinoSession):
            return _normalise(self.session.embed(encodings, self.pooling, self.dimension))
        for batch in length_sorted_batches([len(encoding.ids) for encoding in encodings], self.batch_size):
            ids, mask, types = pad_batch([encodings[i] for i in batch])
            hidden = self.session.run(ids, mask, types)
            vectors[batch] = _normalise(_pool(hidden, mask, self.pooling))
        return vectors


class OnnxSession:
    """An onnxruntime session for ``(input_ids, attention_mask, token_type_ids)``; graphs without types may be given."""

    def __init__(self, path: Path, threads: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Idle threads that spin steal the cores from whatever else is at work.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0" if threads == 1 else "1")
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._inputs = {node.name for node in self._session.get_inputs()}

    def run(self, ids: NDArray[np.int64], mask: NDArray[np.int64], types: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the graph's first output."""
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        output: NDArray[np.float32] = self._session.run(None, {k: v for k, v in feed.items() if k in self._inputs})[0]
        return output


def length_sorted_batches(lengths: Sequence[int], batch_size: int) -> list[list[int]]:
    """Return batches of positions, longest texts first, within ``batch_size`` and ``MAX_BATCH_TOKENS``."""
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    batches: list[list[int]] = []
    start = 0
    while start < len(order):
        longest = max(1, lengths[order[start]])
        size = max(1, min(batch_size, MAX_BATCH_TOKENS // longest))
        batches.append(order[start : start + size])
        start += size
    return batches


def pad_batch(encodings: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return ids, attention mask and token types, padded with zeros to the longest of the batch."""
    import numpy as np

    shape = (len(encodings), max(len(encoding.ids) for encoding in encodings))
    ids, mask, types = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    for row, encoding in enumerate(encodings):
        size = len(encoding.ids)
        ids[row, :size] = encoding.ids
        mask[row, :size] = 1
        types[row, :size] = encoding.type_ids
    return ids, mask, types


def _pool(hidden: NDArray[np.float32], mask: NDArray[np.int64], pooling: Pooling) -> NDArray[np.float32]:
    import numpy as np

    if pooling == "cls":
        return hidden[:, 0]
    weights = mask[:, :, None].astype(np.float32)
    pooled: NDArray[np.float32] = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    return pooled


def _normalise(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: NDArray[np.float32] = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return unit
