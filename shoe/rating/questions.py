"""What a rater is asked: pairs of senses in words, put into requests, each with the key under which its answer is kept.

A key is a digest of everything that can change the answer: the rater (:func:`shoe.rating.config.identity_of`), the
prompt's text, both senses as they are shown, and the number of the repeat.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from shoe.lexicon.store import lexicon
from shoe.lexicon.wordnet import glosses
from shoe.llm.ledger import canonical
from shoe.llm.request import KEY_BYTES, Recorder, Request
from shoe.llm.states import Keys, States, as_keys
from shoe.rating.planning import Plan, Subject

if TYPE_CHECKING:
    from shoe.rating.prompts import Prompts

_MOST_SHORT_IDS = 100


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


class Group(Request):
    """The questions of one request, all of one part. Answers are joined to them by id, never by index.

    Attributes:
        questions: one or more.
    """

    __slots__ = ("_prompts", "_several", "questions")

    def __init__(self, questions: Sequence[Question], prompts: Prompts | None = None, *, several: bool = False) -> None:
        """Put questions together.

        Args:
            questions: one or more, of one part and attempt.
            prompts: put them into words; None for a rater that reads no prompts.
            several: whether to ask in the form for several pairs, even for one.
        """
        super().__init__(b"".join(question.key for question in questions), {}, attempt=questions[0].attempt)
        self.questions = questions
        self._prompts = prompts
        self._several = several

    @property
    def part(self) -> Subject:
        """Part of speech of its questions."""
        return self.questions[0].part

    @property
    def ids(self) -> tuple[str, ...]:
        """One per question; see :func:`ids_of`."""
        return ids_of(self.keys)

    def payload(self) -> Mapping[str, Any]:
        """Return the messages that ask."""
        assert self._prompts is not None, "who reads no prompts asks no endpoint"  # noqa: S101
        return {"messages": self._prompts.messages(self.questions, several=self._several)}

    def about(self) -> Mapping[str, Any]:
        """Return ids, pairs and the digest of the prompt, for the reader of the answer."""
        return {
            "ids": self.ids,
            "part": self.part,
            "pairs": [(question.first.name, question.second.name) for question in self.questions],
            "prompt": self._prompts.of(self.part).digest if self._prompts else "",
        }

    def characters(self) -> int:
        """Return at least as many characters as the messages have, without writing them."""
        return self._prompts.length(self.questions, several=self._several) if self._prompts else 0

    def parts(self) -> Sequence[Group]:
        """Return a group for each question."""
        if len(self.questions) == 1:
            return [self]
        return [Group([question], self._prompts, several=self._several) for question in self.questions]

    def joined(self, others: Sequence[Request]) -> Group:
        """Return one group of its questions and others'."""
        groups = [self, *cast("Sequence[Group]", others)]
        questions = [question for group in groups for question in group.questions]
        return Group(questions, self._prompts, several=self._several)


class Backend(Protocol):
    """One rater at work."""

    def rate(self, groups: Iterator[Group], recorder: Recorder) -> None:
        """Ask every group, in any order and with any parallelism, taking groups from the iterator only as needed.

        Returns when all groups were answered or given up, or when the recorder says to stop.

        Raises:
            ShoeError: when no further question makes sense (a wrong key, an unknown model): one line.
        """

    def parse(self, ids: Sequence[str], raw: Mapping[str, Any]) -> list[int]:
        """Read ratings out of what ``Recorder.answer`` was given; a pure function of its arguments.

        Returns:
            Per id, one per question of the group, a rating 0 to 4; ``State.REFUSED``, or ``State.REFUSED_TOGETHER`` if
            there are several ids; or ``State.UNPARSED_ONCE`` where there is none to be found.
        """


def ids_of(keys: Sequence[bytes]) -> tuple[str, ...]:
    """Give each question of a request a number by which its answer is told from the others'; never a rating.

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
    """Return the words and definitions of synsets, by name.

    Raises:
        MissingExtraError: if WordNet's files are not there.
    """
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


SenseTexts = Mapping[int, tuple[SenseText, bytes]]
"""By synset: its words, and those as keys take them in."""


def texts_of(plan: Plan) -> SenseTexts:
    """Describe all senses of a plan.

    Raises:
        MissingExtraError: if WordNet's glosses cannot be read.
    """
    if plan.described is not None:
        return {number: (one, one.encoded()) for number, one in enumerate(plan.described)}
    synsets = np.unique(np.concatenate([plan.first, plan.second])).tolist()
    senses = describe([lexicon().name(synset) for synset in synsets])
    return {synset: (sense, sense.encoded()) for synset, sense in zip(synsets, senses, strict=True)}


@dataclass(frozen=True, slots=True)
class Questions:
    """n questions of one part of speech for one rater, asked for one repeat; put into words only as they are needed.

    Attributes:
        part: of the questions.
        first, second: (n,) synsets, in the plan's order.
        joined: the n keys, one after the other.
        texts: of the senses.
    """

    part: Subject
    first: Sequence[int]
    second: Sequence[int]
    joined: bytes
    texts: SenseTexts

    def __len__(self) -> int:
        """Number of questions."""
        return len(self.first)

    @property
    def keys(self) -> Keys:
        """(n, 2) the keys."""
        return as_keys(self.joined)

    def groups(self, wanted: States, size: int, attempt: int) -> Iterator[list[Question]]:
        """Make groups of the questions that are wanted, cut from all questions, whatever was answered before.

        Args:
            wanted: (n,) true for questions that are to be asked.
            size: questions of a whole group.
            attempt: 1 for the first, 2 for the second.
        """
        rows = np.flatnonzero(wanted)
        bounds = np.append(np.flatnonzero(np.diff(rows // size, prepend=-1)), len(rows)).data
        for start, end in pairwise(bounds):
            yield [self._question(row, attempt) for row in rows[start:end].tolist()]

    def _question(self, row: int, attempt: int) -> Question:
        key = self.joined[row * KEY_BYTES : (row + 1) * KEY_BYTES]
        first, second = self.texts[self.first[row]][0], self.texts[self.second[row]][0]
        return Question(key, self.part, first, second, attempt)
