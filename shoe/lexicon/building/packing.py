"""The compiled file: what arrays it holds, and in which bytes; :class:`shoe.lexicon.compiled.Lexicon` reads it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from itertools import accumulate, chain
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from shoe.lexicon.compiled import Pos

MAGIC = b"SHOELEX1"
BUCKETS = 1 << 16
Arrays = dict[str, NDArray[Any]]


def bucket(lemma: str) -> int:
    """Return the hash bucket of a lemma, as the store computes it."""
    return crc32(lemma.encode()) % BUCKETS


def in_buckets(lemmas: Iterable[str]) -> list[str]:
    """Sort lemmas as the file has them: by bucket, in a bucket by the alphabet."""
    return sorted(lemmas, key=lambda lemma: (bucket(lemma), lemma))


def word_arrays(senses: Mapping[tuple[str, Pos], Sequence[int]], members: Sequence[Sequence[str]]) -> Arrays:
    """Lay words out: all lemmas with their senses, most frequent first, and all concepts with their lemmas."""
    lemmas = in_buckets({lemma for lemma, _ in senses})
    number = {lemma: index for index, lemma in enumerate(lemmas)}
    groups = [senses.get((lemma, pos), ()) for lemma in lemmas for pos in ("n", "v")]
    sizes = Counter(map(bucket, lemmas))
    flat = np.array(list(chain.from_iterable(groups)), np.int32)
    return {
        "bucket": np.array([0, *accumulate(sizes[index] for index in range(BUCKETS))], np.int32),
        "lemma_length": lengths([lemma.encode() for lemma in lemmas]),
        "lemma_text": text_bytes("".join(lemmas)),
        "adjective_first": np.zeros(-(-len(lemmas) // 8), np.uint8),
        "sense_length": lengths(groups),
        "sense": flat,
        "tag_count": np.zeros(len(flat), np.uint8),
        "member_length": lengths(members),
        "member": np.array([number[lemma] for words in members for lemma in words], np.int32),
    }


def lengths(groups: Iterable[Sized]) -> NDArray[Any]:
    """Return the size of each group, in as few bytes as the largest needs."""
    sizes = np.array([len(group) for group in groups], np.int64)
    return sizes.astype(np.min_scalar_type(int(sizes.max(initial=0))))


def text_bytes(text: str) -> NDArray[np.uint8]:
    """Return text as an array of its UTF-8 bytes."""
    return np.frombuffer(text.encode(), np.uint8)


def texts(kind: str, of: Sequence[str]) -> Arrays:
    """Lay out a text of each concept."""
    return {f"{kind}_length": lengths([text.encode() for text in of]), f"{kind}_text": text_bytes("".join(of))}


def pack(arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any] | None = None) -> bytes:
    """Magic, length of the header, header (name, type, offset, length of each array), then the arrays, 8-aligned.

    The digest is of the arrays, but for keys, which follow from them and stand last, and of all facts but what is
    "about" them.
    """
    table, parts, size, counted = [], [], 0, 0
    for name, array in arrays.items():
        table.append([name, array.dtype.str, size, len(array)])
        parts.append(array.tobytes() + bytes(-array.nbytes % 8))
        size += len(parts[-1])
        counted = counted if name.startswith("key") else size
    body, facts = b"".join(parts), dict(facts or {})
    content = hashlib.sha256(body[:counted])
    said = {name: value for name, value in facts.items() if name not in ("about", "title", "name")}
    if said:
        content.update(json.dumps(said, sort_keys=True).encode())
    header = json.dumps({"digest": content.hexdigest()[:8], "arrays": table, **facts}).encode()
    header += b" " * (-len(header) % 8)
    return MAGIC + len(header).to_bytes(8, "little") + header + body
