"""What one rater is to be asked: some questions of a plan, put into words only as they are needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from shoe.core.arrays import Indices
from shoe.lexicon.expressions import Part
from shoe.llm.index import Keys, as_keys
from shoe.rating.keys import encoded, key_maker
from shoe.rating.pairs import Plan
from shoe.rating.questions import KEY_BYTES, Group, Question, Sense
from shoe.rating.senses import describe_synsets
from shoe.rating.states import States


@dataclass(frozen=True, slots=True)
class Words:
    """The senses of some plans in words.

    Attributes:
        sense: by synset.
        encoded: by synset, as keys take them in.
    """

    sense: Mapping[int, Sense]
    encoded: Mapping[int, bytes]

    @classmethod
    def of(cls, plans: Sequence[Plan]) -> Words:
        """Describe all senses of some plans.

        Raises:
            MissingExtraError: if WordNet's glosses cannot be read.
        """
        synsets = np.unique(np.concatenate([column for plan in plans for column in (plan.first, plan.second)]))
        sense = describe_synsets(synsets.tolist())
        return cls(sense, {synset: encoded(words) for synset, words in sense.items()})


@dataclass(frozen=True, slots=True)
class Task:
    """n questions of one part of speech for one rater, asked for one repeat.

    Attributes:
        part: of the questions.
        first, second: (n,) synsets, in the plan's order.
        joined: the n keys, one after the other.
        words: of the senses.
    """

    part: Part
    first: Sequence[int]
    second: Sequence[int]
    joined: bytes
    words: Words

    @classmethod
    def of(
        cls, plan: Plan, rows: Indices, words: Words, *, identity: Mapping[str, object], prompt: str, repeat: int
    ) -> Task:
        """Take rows of a plan.

        Args:
            plan: of one part of speech.
            rows: ascending.
            words: of the plan's senses.
            identity: of the rater, see ``keys.identity_of``.
            prompt: digest of the prompt's text; empty for a rater that reads none.
            repeat: from 1.
        """
        first, second = plan.first[rows], plan.second[rows]
        key, text = key_maker(identity, prompt, plan.part, repeat), words.encoded
        texts = [map(text.__getitem__, side.tolist()) for side in (first, second)]
        return cls(plan.part, first.data, second.data, b"".join(map(key, *texts)), words)

    def __len__(self) -> int:
        """Number of questions."""
        return len(self.first)

    @property
    def keys(self) -> Keys:
        """(n, 2) the keys."""
        return as_keys(self.joined)

    def groups(self, wanted: States, size: int, asking: int) -> Iterator[Group]:
        """Make the groups of the questions that are wanted.

        Groups are cut from all questions, whatever was answered before: what is asked together does not depend on
        where an earlier run ended.

        Args:
            wanted: (n,) true for questions that are to be asked.
            size: questions of a whole group.
            asking: 1 for the first asking, 2 for the second.
        """
        rows = np.flatnonzero(wanted)
        bounds = np.append(np.flatnonzero(np.diff(rows // size, prepend=-1)), len(rows)).data
        for start, end in pairwise(bounds):
            yield [self._question(row, asking) for row in rows[start:end].tolist()]

    def _question(self, row: int, asking: int) -> Question:
        sense = self.words.sense
        key = self.joined[row * KEY_BYTES : (row + 1) * KEY_BYTES]
        return Question(key, self.part, sense[self.first[row]], sense[self.second[row]], asking)
