"""What a rater is asked: pairs of senses in words, each with the key under which its answer is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from shoe.lexicon.expressions import Part

KEY_BYTES = 16


@dataclass(frozen=True, slots=True)
class Sense:
    """One synset in words.

    Attributes:
        name: "ride.v.01".
        lemmas: its words, WordNet's order, spaces for underscores.
        gloss: WordNet's definition.
    """

    name: str
    lemmas: tuple[str, ...]
    gloss: str


@dataclass(frozen=True, slots=True)
class Question:
    """One pair for one rater.

    Attributes:
        key: 16 bytes that stand for everything that can change the answer (see ``keys``).
        part: "verb" or "object".
        first: the sense whose name comes first in the alphabet.
        second: the other.
        asking: 1, or 2 where the answer to the first asking held no rating; the same for all of a group.
    """

    key: bytes
    part: Part
    first: Sense
    second: Sense
    asking: int = 1


Group = Sequence[Question]
"""The questions of one request, all of one part. Answers are joined to them by id, never by place."""


class Recorder(Protocol):
    """Where a rater puts what happened, as it happens; safe to call from several threads."""

    def answer(self, group: Group, raw: Mapping[str, Any]) -> None:
        """Keep one raw answer, JSON as it came, before anything reads it: it outlives this process from here on.

        Raises:
            InputError: if the ledger cannot be written.
        """
        ...

    def failure(self, group: Group, kind: str, detail: str = "") -> None:
        """Keep one attempt that brought no answer: "429", "timeout", "dropped", ...; it counts in requests and cost."""
        ...

    def may_ask(self, group: Group) -> bool:
        """Reserve one request in the budget; False when the budget has no room for it: ask nothing more then."""
        ...

    def remember(self, event: Mapping[str, Any]) -> None:
        """Keep something that is no answer and must outlive the process, durably: the id of a started batch."""
        ...

    def remembered(self) -> list[Mapping[str, Any]]:
        """Return all events of this rater, oldest first, those of earlier runs included."""
        ...

    @property
    def stopping(self) -> bool:
        """Whether the job is to end: finish what is in flight, start nothing."""
        ...


class Backend(Protocol):
    """One rater at work."""

    def rate(self, groups: Iterator[Group], recorder: Recorder) -> None:
        """Ask every group, in any order and with any parallelism, taking groups from the iterator only as needed.

        Returns when all groups were answered or given up, or when the recorder says to stop.

        Raises:
            ShoeError: when no further question makes sense (a wrong key, an unknown model): one line.
        """
        ...

    def parse(self, part: Part, ids: Sequence[str], raw: Mapping[str, Any]) -> list[int]:
        """Read ratings out of one raw answer; a pure function of its arguments.

        Args:
            part: of the questions.
            ids: one per question of the group, as they stood in the request.
            raw: what ``Recorder.answer`` was given.

        Returns:
            Per id a rating 0 to 4; ``State.REFUSED``, or ``State.REFUSED_TOGETHER`` if there are several ids; or
            ``State.UNPARSED_ONCE`` where there is none to be found.
        """
        ...
