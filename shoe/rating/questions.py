"""What a rater is asked: pairs of senses in words, each with the key under which its answer is kept.

A key is a digest of everything that can change the answer: the rater (:func:`shoe.rating.config.identity_of`), the
prompt's text, both senses as they are shown, and the number of the repeat.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shoe.lexicon.expressions import Part
from shoe.lexicon.store import lexicon
from shoe.lexicon.wordnet import glosses
from shoe.llm.ledger import canonical
from shoe.llm.request import KEY_BYTES

_MOST_SHORT_IDS = 100
Subject = Part | Literal["interaction"]
"""What a rater is asked about: senses of verbs, senses of objects, or whole interactions."""


@dataclass(frozen=True, slots=True)
class SenseText:
    """One synset in words: its name ("ride.v.01"), lemmas (spaces for underscores) and definition."""

    name: str
    lemmas: tuple[str, ...]
    gloss: str

    def encoded(self) -> bytes:
        """Write it as keys take it in."""
        return canonical({"gloss": self.gloss, "lemmas": self.lemmas, "name": self.name})


@dataclass(frozen=True, slots=True)
class Interaction(SenseText):
    """A whole interaction; its name, words and definition are those of its two senses.

    Attributes:
        verb: what is done.
        object: and with what.
    """

    verb: SenseText
    object: SenseText

    @classmethod
    def of(cls, verb: SenseText, object: SenseText) -> Interaction:  # noqa: A002 - the field's word
        """Put two senses together."""
        return cls(
            f"{verb.name} {object.name}", verb.lemmas + object.lemmas, f"{verb.gloss} {object.gloss}", verb, object
        )

    def encoded(self) -> bytes:
        """Write it as keys take it in."""
        return b"[%b,%b]" % (self.verb.encoded(), self.object.encoded())


@dataclass(frozen=True, slots=True)
class Question:
    """One pair for one rater.

    Attributes:
        key: 16 bytes that stand for everything that can change the answer.
        part: "verb", "object" or "interaction".
        first: the sense whose name comes first in the alphabet; of interactions, the class.
        second: the other.
        attempt: 1, or 2 where the answer to the first held no rating; the same for all of a group.
    """

    key: bytes
    part: Subject
    first: SenseText
    second: SenseText
    attempt: int = 1


def ids_of(keys: Sequence[bytes]) -> tuple[str, ...]:
    """Return an ID per question of a request, by which answers are matched to questions; an ID is never a rating.

    It is made from the question's key and not from its index: a model that drops a pair and counts on cannot give a
    pair the answer of its neighbour.
    """
    least = 100 if len(keys) <= _MOST_SHORT_IDS else 100_000_000
    taken: dict[int, None] = {}
    for key in keys:
        number = int.from_bytes(key[:8], "big") % (9 * least)
        while number in taken:
            number = (number + 1) % (9 * least)
        taken[number] = None
    return tuple(str(least + number) for number in taken)


def describe(names: Sequence[str]) -> list[SenseText]:
    """Return the words and definitions of synsets, by name."""
    store, definitions = lexicon(), glosses(sorted(set(names)), "asking about synsets")
    sense = {
        name: SenseText(name, tuple(lemma.replace("_", " ") for lemma in store.lemmas(store.synset(name))), gloss)
        for name, gloss in definitions.items()
    }
    return [sense[name] for name in names]


def key_maker(
    identity: Mapping[str, Any], prompt_digest: str, part: Subject, repeat: int = 1
) -> Callable[[bytes, bytes], bytes]:
    """Return the function that makes a pair's key of its two senses, each as :meth:`SenseText.encoded`.

    The key is a digest of ``{"part", "prompt", "rater", "repeat", "senses": [first, second]}`` as canonical JSON, of
    which all but the senses is hashed once.

    Args:
        identity: of the rater, see :func:`shoe.rating.config.identity_of`.
        prompt_digest: of the prompt's text; empty for a rater that reads none.
        part: "verb", "object" or "interaction".
        repeat: 1 for the first time that a pair is asked.
    """
    before = canonical({"part": part, "prompt": prompt_digest, "rater": identity, "repeat": repeat})
    begun = hashlib.blake2b(before[:-1] + b',"senses":[', digest_size=KEY_BYTES)

    def key(first: bytes, second: bytes) -> bytes:
        digest = begun.copy()
        digest.update(b"%b,%b]}" % (first, second))
        return digest.digest()

    return key
