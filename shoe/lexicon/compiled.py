"""A lexicon: lemmas, senses, hypernyms and inflection, compiled into one file that loads in milliseconds.

A synset is a number: the nouns first, then the verbs, in the order of the source. The file is mapped into memory and
read on use; lemmas are found by hash bucket. ``scripts/build-lexicon`` writes WordNet's, ``shoe lexicon build`` others.
"""

from __future__ import annotations

import mmap
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any, Literal
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.lexicon.text import substitutions

# Names of senses (``ride.v.01``) as 64-bit keys, computed for tens of thousands of names at once.
#
# Keys of all names of WordNet 3.0 differ (a test says so), so that equal keys mean equal names.

Keys = NDArray[np.uint64]

_WORD = 8
_SHORT = 2 * _WORD
LONGEST_NAME = 128
"""Bytes of the longest name."""
# Odd multipliers, one per 8 bytes of a name, and one for the final mix: odd multiples of 2**64 / golden ratio.
_MULTIPLIERS = np.array(
    [0x9E3779B97F4A7C15 * odd % 2**64 for odd in range(1, 2 * (LONGEST_NAME // _WORD + 1), 2)], np.uint64
)
_SHIFT = np.uint64(32)
_SLOT_BITS = 18
# Row n keeps the first n of LONGEST_NAME bytes.
_MASKS = np.where(np.arange(LONGEST_NAME) < np.arange(LONGEST_NAME + 1)[:, None], 255, 0).astype(np.uint8).view("<u8")


def keys_in(text: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Keys:
    """Compute the keys of names that stand inside a file.

    Args:
        starts: (n,) where each name begins.
        lengths: (n,) bytes of each name, at most 128; what is longer is cut (no synset name is).

    Returns:
        (n,) keys.
    """
    lengths = np.minimum(lengths, LONGEST_NAME)
    keys = np.zeros(len(starts), np.uint64)
    # Most names are short, and a name costs as much as the longest of those that are taken together.
    short = lengths <= _SHORT
    padded = text + bytes(LONGEST_NAME)
    for rows in (np.flatnonzero(short), np.flatnonzero(~short)):
        if not len(rows):
            continue
        width = -(-max(int(lengths[rows].max()), 1) // _WORD) * _WORD
        # One window per byte of the file, overlapping, and one after it, as an empty name may end it.
        windows: NDArray[np.void] = np.ndarray(len(text) + 1, f"V{width}", padded, strides=(1,))
        words = windows[starts[rows]].view("<u8").reshape(len(rows), -1)
        words &= _MASKS[lengths[rows], : words.shape[1]]
        total = np.zeros(len(rows), np.uint64)
        for column, multiplier in zip(words.T, _MULTIPLIERS[:-1], strict=False):
            # A word of zeros adds nothing, so that a key does not depend on how far its name was padded.
            product = column * multiplier
            product ^= product >> _SHIFT
            product *= _MULTIPLIERS[-1]
            total += product
        keys[rows] = total
    return keys


def keys_of(names: Sequence[str]) -> Keys:
    """Compute the keys of names, (n,), equal to what :func:`keys_in` gives for the same names."""
    encoded = [name.encode() for name in names]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    return keys_in(b"".join(encoded), np.cumsum(lengths) - lengths, lengths)


class KeyTable:
    """A hash table of fixed, distinct keys that finds thousands at once, several times faster than a binary search."""

    def __init__(self, keys: Keys) -> None:
        """Put (n,) keys into slots; a key whose slot is taken goes to the next table."""
        self._keys = keys
        self._tables: list[NDArray[np.int32]] = []
        left = np.arange(len(keys), dtype=np.int32)
        while len(left):
            slots = self._slots(keys[left], len(self._tables))
            table = np.full(1 << _SLOT_BITS, -1, np.int32)
            table[slots] = left
            left = left[table[slots] != left]
            self._tables.append(table)

    def find(self, wanted: Keys) -> NDArray[np.int32]:
        """Return (m,) index of each wanted key among the n; -1 where it is not among them."""
        found = np.full(len(wanted), -1, np.int32)
        left = np.arange(len(wanted))
        for level, table in enumerate(self._tables):
            candidate = table[self._slots(wanted[left], level)]
            hit = (candidate >= 0) & (self._keys[candidate] == wanted[left])
            found[left[hit]] = candidate[hit]
            left = left[~hit]
        return found

    def _slots(self, keys: Keys, level: int) -> NDArray[np.int64]:
        slots: NDArray[np.int64] = (keys * _MULTIPLIERS[level] >> np.uint64(64 - _SLOT_BITS)).astype(np.int64)
        return slots


Pos = Literal["n", "v"]

_PARTS: tuple[Pos, Pos] = ("n", "v")


class Lexicon:
    """Lemmas, senses, hypernyms and inflection of nouns and verbs.

    Lemmas are lower-case with underscores ("hot_dog"). Synset numbers run from 0 to ``len(lexicon) - 1``.

    Attributes:
        label: short name for signatures and messages.
        title: full name with version.
        language: code of two or three letters.
        about: source, licence, and what was left out.
        digest: 8 hex digits of the content.
        spaced: whether blanks separate words in this language.
        passed_over: words without a meaning of their own, as articles.
        concepts: the lexicon that numbers the concepts: itself, or WordNet 3.0 for other words for its synsets.
        nouns: number of noun synsets, and of the first verb synset.
        keys: (synsets,) uint64 key of each synset's name; see :mod:`shoe.lexicon.compiled`.
        caches: results of functions decorated with :func:`per_lexicon`.
    """

    def __init__(self, content: bytes | memoryview | mmap.mmap, wordnet: Lexicon | None = None) -> None:
        """Open the content of a compiled file; a file of words alone uses WordNet's concepts."""
        self.content = content
        start = 16 + int.from_bytes(content[8:16], "little")
        header = msgspec.json.decode(content[16:start])
        arrays = {
            name: np.frombuffer(content, dtype, length, start + offset)
            for name, dtype, offset, length in header["arrays"]
        }
        self.digest: str = header["digest"]
        self.label: str = header.get("name", "wordnet-3.0")
        self.title: str = header.get("title", "WordNet 3.0")
        self.language: str = header.get("language", "en")
        self.about: dict[str, Any] = header.get("about", {})
        self.spaced: bool = header.get("spaced", True)
        self.passed_over = frozenset[str](header.get("passed_over", ()))
        self.caches: dict[Any, Any] = {}
        self.concepts = self
        if wordnet and header.get("concepts") == wordnet.digest:
            self.concepts, arrays = wordnet, wordnet.arrays | arrays
        self._endings: dict[Pos, list[list[str]]] | None = header.get("endings")
        self._kinds: dict[str, Callable[[int], str]] = {}
        self.arrays: dict[str, NDArray[Any]] = arrays
        self.nouns = int(arrays["nouns"][0])
        self._bucket = arrays["bucket"].data
        self._text = arrays["lemma_text"].data
        self._text_end = _ends(arrays["lemma_length"])
        self._sense = arrays["sense"]
        self._sense_end = _ends(arrays["sense_length"])
        self._tag_count = arrays["tag_count"]
        self._member = arrays["member"]
        self._member_end = _ends(arrays["member_length"])
        self._hypernym = arrays["hypernym"]
        self._hypernym_end = _ends(arrays["hypernym_length"])
        self._doing = arrays["doing"].data
        self._doing_verb = arrays["doing_verb"].data
        self._definition = arrays["definition"].data
        self._definition_sense = arrays["definition_sense"].data
        self._lexname = arrays["lexname"]
        self._lexnames: list[str] = arrays["lexnames"].tobytes().decode().split(" ")
        self._adjective_first = arrays["adjective_first"]
        self._names: dict[int, str] = {}
        self.keys = arrays["key"]
        self._exception_text = {pos: arrays[f"exceptions_{pos}"] for pos in _PARTS}

    @property
    def is_wordnet(self) -> bool:
        """Whether the concepts are those of WordNet 3.0, with its names, definitions and relations."""
        return "name_text" not in self.arrays

    def __len__(self) -> int:
        return len(self._lexname)

    def has(self, lemma: str, pos: Pos) -> bool:
        """Return whether the lexicon has a lemma as that part of speech."""
        group = 2 * self._find(lemma) + (pos == "v")
        return group >= 0 and self._sense_end[group] < self._sense_end[group + 1]

    def senses(self, lemma: str, pos: Pos) -> NDArray[np.int32]:
        """Return the synsets of a lemma, most frequent sense first; empty if WordNet has none."""
        number = self._find(lemma)
        return self._sense[:0] if number < 0 else self._sense[self._group(number, pos)]

    def tag_count(self, lemma: str, pos: Pos) -> NDArray[np.int32]:
        """Return, per sense of a lemma, how often WordNet's tagged texts use it."""
        number = self._find(lemma)
        counts = self._tag_count[:0] if number < 0 else self._tag_count[self._group(number, pos)]
        return counts.astype(np.int32)

    def adjective_first(self, lemma: str) -> bool:
        """Return whether a lemma is an adjective at least as often as a noun in WordNet's tagged texts ("brown")."""
        number = self._find(lemma)
        return number >= 0 and bool(self._adjective_first[number >> 3] >> (7 - (number & 7)) & 1)

    def pos(self, synset: int) -> Pos:
        """Part of speech of a synset."""
        return "n" if synset < self.nouns else "v"

    def lemmas(self, synset: int) -> list[str]:
        """Return the lemmas of a synset in WordNet's order, lower-case."""
        return [self._lemma(int(m)) for m in self._member[self._member_end[synset] : self._member_end[synset + 1]]]

    def hypernyms(self, synset: int) -> NDArray[np.int32]:
        """Return the direct hypernyms of a synset; for an instance (a person, a place), its classes."""
        return self._hypernym[self._hypernym_end[synset] : self._hypernym_end[synset + 1]]

    def verbs_of(self, noun: str) -> list[str]:
        """Return the verbs that an action noun is derived from ("conversation": "converse")."""
        number, doings = self._find(noun), self._doing
        found = range(bisect_left(doings, number), bisect_right(doings, number)) if number >= 0 else ()
        return [self._lemma(self._doing_verb[place]) for place in found]

    def defined(self, phrase: str) -> list[int]:
        """Return the verb synsets whose definition contains an expression or a noun, in canonical words."""
        key, definitions = definition_key(phrase), self._definition
        found = range(bisect_left(definitions, key), bisect_right(definitions, key))
        return [self._definition_sense[place] for place in found]

    def lexname(self, synset: int) -> str:
        """Lexicographer file of a synset, as "noun.animal"."""
        return self._lexnames[int(self._lexname[synset])]

    def name(self, synset: int) -> str:
        """Return the name of a synset: its id in the source; in WordNet "ride.v.01" (lemma, part of speech, number)."""
        if synset not in self._names and self.concepts is not self:
            self._names[synset] = self.concepts.name(synset)
        elif synset not in self._names and not self.is_wordnet:
            self._names[synset] = self._texts("name")(synset)
        elif synset not in self._names:
            pos = self.pos(synset)
            first = int(self._member[self._member_end[synset]])
            number = self._sense[self._group(first, pos)].tolist().index(synset) + 1
            self._names[synset] = f"{self._lemma(first)}.{pos}.{number:02d}"
        return self._names[synset]

    def example(self, pos: Pos = "v") -> str:
        """Return some name of a synset, for messages."""
        if self.is_wordnet:
            return "ride.v.01" if pos == "v" else "horse.n.01"
        return self.name(min(self.nouns, len(self) - 1) if pos == "v" else 0)

    def synset(self, name: str) -> int:
        """Return the synset of a name, in WordNet by any of its lemmas ("ride.v.01"); -1 if there is none."""
        if self.concepts is not self:
            return self.concepts.synset(name)
        if not self.is_wordnet:
            found = int(self.key_table.find(keys_of([name]))[0])
            return found if found >= 0 and self.name(found) == name else -1
        lemma, _, rest = name.lower().rpartition(".")
        lemma, _, pos = lemma.rpartition(".")
        if pos not in _PARTS or not (rest.isascii() and rest.isdigit() and len(rest) < 4):
            return -1
        senses = self.senses(lemma, pos)
        return int(senses[int(rest) - 1]) if 1 <= int(rest) <= len(senses) else -1

    def gloss(self, synset: int) -> str | None:
        """Definition of a synset; None where the file has no definitions, as WordNet's has none."""
        return self._texts("gloss")(synset) if "gloss_text" in self.arrays else None

    def links(self, synset: int) -> list[str]:
        """Return the ids of a synset in other lexicons, each with its kind ("ili:i35545")."""
        return self._texts("link")(synset).split() if "link_text" in self.arrays else []

    def base_forms(self, word: str, pos: Pos) -> list[str]:
        """Return every lemma that a word can be a form of, by WordNet's morphy or the rules of the file.

        The word itself comes first, then its irregular bases; suffix rules apply only to words without irregular bases.
        """
        if not word:
            return []
        bases = self.exceptions[pos].get(word)
        if bases is None and self._endings is None:
            bases = substitutions(word, pos)
        elif bases is None and self._endings is not None:
            bases = [word.removesuffix(old) + new for old, new in self._endings[pos] if word.endswith(old)]
        return [form for form in dict.fromkeys([word, *(bases or ())]) if self.has(form, pos)]

    @cached_property
    def exceptions(self) -> dict[Pos, dict[str, list[str]]]:
        """Irregular forms per part of speech: form to its bases ("rode": ["ride"])."""
        lines = {pos: text.tobytes().decode().splitlines() for pos, text in self._exception_text.items()}
        return {pos: {form: bases for form, *bases in map(str.split, of_pos)} for pos, of_pos in lines.items()}

    @cached_property
    def key_table(self) -> KeyTable:
        """Table of the keys of synset names."""
        return KeyTable(self.keys)

    def _texts(self, kind: str) -> Callable[[int], str]:
        found = self._kinds.get(kind)
        if found is None:
            text, ends = self.arrays[f"{kind}_text"].data, _ends(self.arrays[f"{kind}_length"])
            found = self._kinds[kind] = lambda synset: str(text[ends[synset] : ends[synset + 1]], "utf-8")
        return found

    def _find(self, lemma: str) -> int:
        wanted = lemma.encode("utf-8", "replace")
        bucket = crc32(wanted) & 0xFFFF
        ends, text = self._text_end, self._text
        for number in range(self._bucket[bucket], self._bucket[bucket + 1]):
            if text[ends[number] : ends[number + 1]] == wanted:
                return number
        return -1

    def _group(self, lemma: int, pos: Pos) -> slice:
        group = 2 * lemma + (pos == "v")
        return slice(self._sense_end[group], self._sense_end[group + 1])

    def _lemma(self, number: int) -> str:
        return str(self._text[self._text_end[number] : self._text_end[number + 1]], "utf-8")


def definition_key(phrase: str) -> int:
    """Return the 64-bit key of an expression in WordNet's definitions."""
    return int.from_bytes(blake2b(phrase.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def _ends(lengths: NDArray[np.uint8]) -> memoryview:
    """Turn group lengths into boundaries: group i lies from ends[i] to ends[i + 1]."""
    ends = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=ends[1:])
    return ends.data
