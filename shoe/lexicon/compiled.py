"""Compiled lexicon: lemmas, senses, hypernyms and inflection, in one file that loads in milliseconds.

The ID of a synset is an integer: noun synsets come first, then verb synsets, each in the order of the source. The file
is memory-mapped; lemmas are found by hash bucket. ``scripts/build-lexicon`` compiles WordNet, ``shoe lexicon build``
other lexicons.
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

from shoe.lexicon.text import ENDINGS

# Names of senses (``ride.v.01``) as 64-bit keys, computed for tens of thousands of names at once. The keys of all names
# of WordNet 3.0 are distinct (checked by a test), so equal keys mean equal names.

Keys = NDArray[np.uint64]

_WORD = 8
LONGEST_NAME = 128
"""Length of the longest name in bytes."""
# Odd multipliers, one per 8 bytes of a name, and one for the final mix: odd multiples of 2**64 / golden ratio.
_MULTIPLIERS = np.array(
    [0x9E3779B97F4A7C15 * odd % 2**64 for odd in range(1, 2 * (LONGEST_NAME // _WORD + 1), 2)], np.uint64
)
_SHIFT = np.uint64(32)
_SLOT_BITS = 18
# Row n keeps the first n of LONGEST_NAME bytes.
_MASKS = np.where(np.arange(LONGEST_NAME) < np.arange(LONGEST_NAME + 1)[:, None], 255, 0).astype(np.uint8).view("<u8")


def keys_in(text: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Keys:
    """Return the (n,) 64-bit keys (hashes) of n names in ``text``, given the byte offset and length of each name.

    Names are cut at 128 bytes (no synset name is that long).
    """
    lengths = np.minimum(lengths, LONGEST_NAME)
    keys = np.zeros(len(starts), np.uint64)
    # Most names are short, and the cost of a name is that of the longest name in its batch.
    short = lengths <= 2 * _WORD
    padded = text + bytes(LONGEST_NAME)
    for rows in filter(len, (np.flatnonzero(short), np.flatnonzero(~short))):
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
    """Return the (n,) 64-bit keys (hashes) of n names."""
    encoded = [name.encode() for name in names]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    return keys_in(b"".join(encoded), np.cumsum(lengths) - lengths, lengths)


class KeyTable:
    """Hash table from distinct 64-bit keys to their indices; it looks up thousands of keys at once."""

    def __init__(self, keys: Keys) -> None:
        """Insert (n,) keys into slots; if a slot is occupied, the key is inserted into the next table."""
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
        """Return the (m,) index of each of the m keys ``wanted``; -1 for a key that is not in the table."""
        found = np.full(len(wanted), -1, np.int32)
        left = np.arange(len(wanted))
        for level, table in enumerate(self._tables):
            candidate = table[self._slots(wanted[left], level)]
            hit = (candidate >= 0) & (self._keys[candidate] == wanted[left])
            found[left[hit]] = candidate[hit]
            left = left[~hit]
        return found

    def _slots(self, keys: Keys, level: int) -> NDArray[np.int64]:
        return np.asarray(keys * _MULTIPLIERS[level] >> np.uint64(64 - _SLOT_BITS), np.int64)


Pos = Literal["n", "v"]

PARTS: tuple[Pos, Pos] = ("n", "v")


class Lexicon:
    """Lemmas, senses, hypernyms and inflection of nouns and verbs.

    Lemmas are lower-case with underscores ("hot_dog"). Synset IDs are the integers from 0 to ``len(lexicon) - 1``. The
    lexicon that defines the synsets, ``concepts``, is this lexicon itself, or WordNet 3.0 if this lexicon only has
    other words for its synsets. ``nouns`` is the number of noun synsets, which is also the ID of the first verb synset.
    """

    def __init__(self, content: bytes | memoryview | mmap.mmap, wordnet: Lexicon | None = None) -> None:
        """Open the content of a compiled file; if the file defines no synsets, it uses the synsets of ``wordnet``."""
        self.content = content
        start = 16 + int.from_bytes(content[8:16], "little")
        header = msgspec.json.decode(content[16:start])
        table = header["arrays"]
        arrays = {name: np.frombuffer(content, dtype, size, start + offset) for name, dtype, offset, size in table}
        self.digest: str = header["digest"]  # 8 hex digits of a hash of the content
        self.label: str = header.get("name", "wordnet-3.0")  # short name for signatures and messages
        self.title: str = header.get("title", "WordNet 3.0")
        self.language: str = header.get("language", "en")  # code of two or three letters
        self.about: dict[str, Any] = header.get("about", {})  # source, licence, and number of records left out
        self.spaced: bool = header.get("spaced", True)  # whether blanks separate words in this language
        # Function words, such as articles, that are not looked up as single words.
        self.passed_over = frozenset[str](header.get("passed_over", ()))
        self.caches: dict[Any, Any] = {}  # results of functions decorated with per_lexicon
        self.concepts = self
        if wordnet and header.get("concepts") == wordnet.digest:
            self.concepts, arrays = wordnet, wordnet.arrays | arrays
        self.is_wordnet = "name_text" not in arrays  # whether the synsets are those of WordNet 3.0
        self._endings: dict[str, list[list[str]]] = header.get("endings") or ENDINGS
        self._kinds: dict[str, Callable[[int], str]] = {}
        self.arrays: dict[str, NDArray[Any]] = arrays
        self.nouns, self.keys = int(arrays["nouns"][0]), arrays["key"]
        self._bucket, self._tag_count = arrays["bucket"].data, arrays["tag_count"]
        self._text, self._text_end = arrays["lemma_text"].data, _ends(arrays["lemma_length"])
        self._sense, self._sense_end = arrays["sense"], _ends(arrays["sense_length"])
        self._member, self._member_end = arrays["member"], _ends(arrays["member_length"])
        self._hypernym, self._hypernym_end = arrays["hypernym"], _ends(arrays["hypernym_length"])
        self._doing, self._doing_verb = arrays["doing"].data, arrays["doing_verb"].data
        self._definition, self._definition_sense = arrays["definition"].data, arrays["definition_sense"].data
        self._lexname = arrays["lexname"]
        self._lexnames: list[str] = arrays["lexnames"].tobytes().decode().split(" ")
        self._adjective_first = arrays["adjective_first"]
        self._names: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._lexname)

    def has(self, lemma: str, pos: Pos) -> bool:
        """Return whether a lemma has a sense with the given part of speech."""
        group = 2 * self._find(lemma) + (pos == "v")
        return group >= 0 and self._sense_end[group] < self._sense_end[group + 1]

    def senses(self, lemma: str, pos: Pos) -> NDArray[np.int32]:
        """Return the IDs of a lemma's noun or verb synsets, most frequent sense first; empty if there are none."""
        number = self._find(lemma)
        return self._sense[slice(0) if number < 0 else self._group(number, pos)]

    def tag_count(self, lemma: str, pos: Pos) -> NDArray[np.int32]:
        """Return how often a lemma has each of its :meth:`senses` in WordNet's tagged texts; 0 in other lexicons."""
        number = self._find(lemma)
        return self._tag_count[slice(0) if number < 0 else self._group(number, pos)].astype(np.int32)

    def adjective_first(self, lemma: str) -> bool:
        """Return whether a lemma is at least as often an adjective as a noun in WordNet's tagged texts ("brown")."""
        number = self._find(lemma)
        return number >= 0 and bool(self._adjective_first[number >> 3] >> (7 - (number & 7)) & 1)

    def pos(self, synset: int) -> Pos:
        """Return the part of speech of a synset: "n" or "v"."""
        return "n" if synset < self.nouns else "v"

    def lemmas(self, synset: int) -> list[str]:
        """Return the lower-case lemmas of a synset, in the order of the source."""
        return [self._lemma(int(m)) for m in self._member[self._member_end[synset] : self._member_end[synset + 1]]]

    def hypernyms(self, synset: int) -> NDArray[np.int32]:
        """Return the IDs of the direct hypernyms of a synset, including WordNet's instance hypernyms."""
        return self._hypernym[self._hypernym_end[synset] : self._hypernym_end[synset + 1]]

    def verbs_of(self, noun: str) -> list[str]:
        """Return the verbs that an action noun is derived from ("conversation": ["converse"]); [] for other nouns."""
        number, doings = self._find(noun), self._doing
        found = range(bisect_left(doings, number), bisect_right(doings, number)) if number >= 0 else ()
        return [self._lemma(self._doing_verb[place]) for place in found]

    def defined(self, phrase: str) -> list[int]:
        """Return the IDs of verb synsets whose definition is ``phrase`` (2 to 5 words) or has the noun ``phrase``.

        [] if none, or for a noun in over 100 definitions. ``phrase`` is in the form of :func:`.resolve.canonical`.
        """
        key, definitions = definition_key(phrase), self._definition
        found = range(bisect_left(definitions, key), bisect_right(definitions, key))
        return [self._definition_sense[place] for place in found]

    def lexname(self, synset: int) -> str:
        """Return the lexicographer file of a synset ("noun.animal"), or the semantic type that another source gives."""
        return self._lexnames[int(self._lexname[synset])]

    def name(self, synset: int) -> str:
        """Return a synset's name: "ride.v.01" for WordNet 3.0's synsets, whatever the language; else the source ID."""
        if self.concepts is not self:
            return self.concepts.name(synset)
        if synset not in self._names and not self.is_wordnet:
            self._names[synset] = self._texts("name")(synset)
        elif synset not in self._names:
            pos, first = self.pos(synset), int(self._member[self._member_end[synset]])
            number = self._sense[self._group(first, pos)].tolist().index(synset) + 1
            self._names[synset] = f"{self._lemma(first)}.{pos}.{number:02d}"
        return self._names[synset]

    def example(self, pos: Pos = "v") -> str:
        """Return the name of an example synset with the given part of speech, for messages."""
        if self.is_wordnet:
            return "ride.v.01" if pos == "v" else "horse.n.01"
        return self.name(min(self.nouns, len(self) - 1) if pos == "v" else 0)

    def synset(self, name: str) -> int:
        """Return the ID of the synset with a name; -1 if unknown. A WordNet synset has one valid name per lemma."""
        if self.concepts is not self:
            return self.concepts.synset(name)
        if not self.is_wordnet:
            found = int(self.key_table.find(keys_of([name]))[0])
            return found if found >= 0 and self.name(found) == name else -1
        lemma, _, rest = name.lower().rpartition(".")
        lemma, _, pos = lemma.rpartition(".")
        if pos not in PARTS or not (rest.isascii() and rest.isdigit() and len(rest) < 4):
            return -1
        senses = self.senses(lemma, pos)
        return int(senses[int(rest) - 1]) if 1 <= int(rest) <= len(senses) else -1

    def gloss(self, synset: int) -> str | None:
        """Return the definition of a synset; None if the lexicon file has no definitions (WordNet's has none)."""
        return self._texts("gloss")(synset) if "gloss_text" in self.arrays else None

    def links(self, synset: int) -> list[str]:
        """Return the IDs of a synset in other lexicons, with their type as a prefix ("ili:i35545"); [] for WordNet."""
        return self._texts("link")(synset).split() if "link_text" in self.arrays else []

    def base_forms(self, word: str, pos: Pos) -> list[str]:
        """Return all lemmas that a word can be a form of, by WordNet's morphy or the lexicon's own suffix rules.

        The word itself comes first if it is a lemma. Suffix rules are not applied to irregular forms.
        """
        if not word:
            return []
        if (bases := self.exceptions[pos].get(word)) is None:
            bases = [word.removesuffix(old) + new for old, new in self._endings[pos] if word.endswith(old)]
        return [form for form in dict.fromkeys([word, *bases]) if self.has(form, pos)]

    @cached_property
    def exceptions(self) -> dict[Pos, dict[str, list[str]]]:
        """Irregular forms with their base forms, per part of speech: {"v": {"rode": ["ride"], ...}, ...}."""
        lines = {pos: self.arrays[f"exceptions_{pos}"].tobytes().decode().splitlines() for pos in PARTS}
        return {pos: {form: bases for form, *bases in map(str.split, of_pos)} for pos, of_pos in lines.items()}

    @cached_property
    def key_table(self) -> KeyTable:
        """Hash table of the keys of synset names."""
        return KeyTable(self.keys)

    def _texts(self, kind: str) -> Callable[[int], str]:
        if kind not in self._kinds:
            text, ends = self.arrays[f"{kind}_text"].data, _ends(self.arrays[f"{kind}_length"])
            self._kinds[kind] = lambda synset: str(text[ends[synset] : ends[synset + 1]], "utf-8")
        return self._kinds[kind]

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
    """Return the 64-bit key of a definition, or of a noun in definitions, in the index of :meth:`Lexicon.defined`."""
    return int.from_bytes(blake2b(phrase.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def _ends(lengths: NDArray[np.uint8]) -> memoryview:
    ends = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=ends[1:])
    return ends.data
