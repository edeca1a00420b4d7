"""A small, storable signature of a text: finds texts that share most of their words, and says how much they share."""

from __future__ import annotations

import hashlib
import re
import struct
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHINGLE_WORDS = 5  # long enough that a stock phrase rarely makes one, short enough to survive a moved line break
NUM_PERMUTATIONS = 128
SCHEME = "affine32"  # named, because stored values are only comparable within one
# Bands of 3 rows: 42 of them find 99 % of the pairs that share half of their shingles (Jaccard .5), and 4 % of those
# that share a tenth: 1 - (1 - j^3)^42.
LSH_BANDS, LSH_ROWS = 42, 3
SKETCH_SIZE = 2048  # smallest hashes kept: exact for papers up to some 2,000 words, within 1 to 2 % for longer ones
_MAGIC = b"MH1\0"
_BATCH = 4096


@dataclass(frozen=True)
class Signature:
    """Number of distinct shingles, their MinHash, and the ``SKETCH_SIZE`` smallest of their hashes, ascending."""

    num_shingles: int
    minhash: NDArray[np.uint32]
    sketch: NDArray[np.uint32]


def compute_signature(text: str) -> bytes:
    """Return the signature of a text, the same on every machine and run; about 9 kB for a paper.

    Words count without case, accents' spelling and punctuation, so line breaks and ligatures do not matter.
    """
    import numpy as np
    from datasketch import MinHash

    hashes = np.fromiter(_shingle_hashes(text), dtype=np.uint32)
    hashes = np.unique(hashes)
    minhash = MinHash(num_perm=NUM_PERMUTATIONS, seed=1, hashfunc=int, scheme=SCHEME)
    for start in range(0, len(hashes), _BATCH):
        minhash.update_batch(hashes[start : start + _BATCH].tolist())
    header = _MAGIC + struct.pack("<I", len(hashes))
    arrays = (minhash.hashvalues, hashes[:SKETCH_SIZE])
    return header + b"".join(array.astype("<u4").tobytes() for array in arrays)


def read_signature(data: bytes) -> Signature:
    """Return a stored signature.

    Raises:
        ValueError: the bytes are of another kind; compute it again.
    """
    import numpy as np

    body = len(_MAGIC) + 4
    if not data.startswith(_MAGIC) or len(data) < body + 4 * NUM_PERMUTATIONS:
        raise ValueError("not a text signature of this version")
    values = np.frombuffer(data, dtype="<u4", offset=body).astype(np.uint32)
    (num_shingles,) = struct.unpack_from("<I", data, len(_MAGIC))
    return Signature(num_shingles, values[:NUM_PERMUTATIONS], values[NUM_PERMUTATIONS:])


def containment(part: Signature, whole: Signature) -> float:
    """Return the share (0..1) of ``part``'s shingles that ``whole`` has, estimated from the smallest hashes of both."""
    import numpy as np

    if not part.num_shingles or not whole.num_shingles:
        return 0.0
    limit = min(_reach(part), _reach(whole))
    mine = part.sketch[part.sketch <= limit]
    theirs = whole.sketch[whole.sketch <= limit]
    return len(np.intersect1d(mine, theirs, assume_unique=True)) / len(mine) if len(mine) else 0.0


def candidate_pairs(signatures: Sequence[Signature]) -> Iterator[tuple[int, int]]:
    """Yield index pairs ``(i, j)``, ``i < j``, that may share half of their shingles; empty texts never do.

    Locality-sensitive hashing by bands (Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, 3.4). datasketch's own
    index does the same, but importing it loads scipy, which an ingest that has nothing new to read does not need.
    """
    buckets: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    for index, signature in enumerate(signatures):
        if not signature.num_shingles:
            continue
        rows = signature.minhash.tobytes()
        width = LSH_ROWS * signature.minhash.itemsize
        found: set[int] = set()
        for band in range(LSH_BANDS):
            bucket = buckets[band, rows[band * width : (band + 1) * width]]
            found.update(bucket)
            bucket.append(index)
        for other in sorted(found):
            yield other, index


def _reach(signature: Signature) -> int:
    """Return the largest hash up to which the sketch is complete."""
    is_complete = len(signature.sketch) == signature.num_shingles
    return 0xFFFFFFFF if is_complete else int(signature.sketch[-1])


def _shingle_hashes(text: str) -> Iterator[int]:
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
    for start in range(max(1, len(words) - SHINGLE_WORDS + 1) if words else 0):
        shingle = " ".join(words[start : start + SHINGLE_WORDS]).encode("utf-8", "surrogatepass")
        yield int.from_bytes(hashlib.blake2b(shingle, digest_size=4).digest(), "little")
