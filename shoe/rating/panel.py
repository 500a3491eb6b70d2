"""The raters of raters.toml, each with its ledger, ready to be asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from shoe.core.arrays import Indices
from shoe.core.errors import OptionError, quote
from shoe.lexicon.expressions import Part
from shoe.llm.budget import Budget
from shoe.llm.ledger import Ledger
from shoe.llm.ledger_writer import writing
from shoe.llm.recorder import LedgerRecorder, Tally
from shoe.rating.config import RaterConfig, RatersFile
from shoe.rating.keys import canonical, reading_of
from shoe.rating.kinds import kind_of
from shoe.rating.pairs import Plan
from shoe.rating.prompts import Prompts
from shoe.rating.questions import Group
from shoe.rating.raters_toml import columns_of
from shoe.rating.states import State, States, pending
from shoe.rating.tasks import Task, Words

LOCAL_GROUP = 1024
"""Questions of a group for raters that answer no prompts."""


class Seat:
    """One rater at work.

    Attributes:
        config: of the rater.
        columns: its names in a map, one for each repeat.
        ledger: of its answers; two rounds of one rater never run at the same time.
    """

    def __init__(self, config: RaterConfig, prompts: Prompts, folder: Path) -> None:
        """Take a rater's place.

        Raises:
            ShoeError: for settings that its kind cannot work with.
        """
        kind = kind_of(config.kind)
        self.config = config
        self.columns = columns_of(config)
        self._prompts = prompts
        self._prompted = kind.prompted
        self._backend = kind.backend(config, prompts)
        self._size = config.pairs_per_request if kind.prompted else LOCAL_GROUP
        self.ledger = Ledger(folder, config, self._backend.parse)

    def prompt_digest(self, part: Part) -> str:
        """Digest of the text that asks it; empty if none does."""
        return self._prompts.of(part).digest if self._prompted else ""

    def tasks(self, plan: Plan, rows: Indices, words: Words) -> list[Task]:
        """Make its tasks for rows of a plan: one for each repeat."""
        identity, digest = self.ledger.identity, self.prompt_digest(plan.part)
        return [
            Task.of(plan, rows, words, identity=identity, prompt=digest, repeat=repeat)
            for repeat in range(1, self.config.repeats + 1)
        ]

    def known(self, tasks: Sequence[Task]) -> list[States]:
        """Say what its ledger holds of tasks, asking nobody.

        Raises:
            InputError: if the ledger is damaged.
        """
        self.ledger.refresh()
        return [self.ledger.states(task.keys) for task in tasks]

    def rate(self, tasks: Sequence[Task], budget: Budget, tally: Tally, say: Callable[[str], None]) -> list[States]:
        """Ask what is not known yet, and return what is known then.

        Args:
            tasks: what to ask.
            budget: of the run.
            tally: of the rater in the run.
            say: takes a line for the user.

        Returns:
            Per task (n,) states.

        Raises:
            ShoeError: when no further question makes sense, or the ledger cannot be read or written.
        """
        states = self.known(tasks)
        if budget.stopping or not any(pending(state).any() for state in states):
            tally.known += sum(map(len, tasks))
            return states
        tally.waiting = True
        with writing(self.ledger.path, self.ledger.identity, lambda: budget.stopping, say) as writer:
            tally.waiting = False
            if writer is None:
                return states
            states = self.known(tasks)
            tally.known += sum(int(np.count_nonzero(~pending(state))) for state in states)
            recorder = LedgerRecorder(self.config, self._prompts, self.ledger, writer, budget, tally)
            for asking, wanted, size in (
                (1, State.UNRATED, self._size),
                (2, State.UNPARSED_ONCE, self._size),
                (2, State.REFUSED_TOGETHER, 1),
            ):
                masks = [state == wanted for state in states]
                count = sum(int(np.count_nonzero(mask)) for mask in masks)
                if count and not budget.stopping:
                    tally.total += count
                    self._backend.rate(_groups(tasks, masks, size, asking), recorder)
                    writer.flush()
                    self.ledger.refresh(writer.synced)
                    states = [self.ledger.states(task.keys) for task in tasks]
        return states


def _groups(tasks: Sequence[Task], masks: Sequence[Any], size: int, asking: int) -> Iterator[Group]:
    return chain.from_iterable(task.groups(mask, size, asking) for task, mask in zip(tasks, masks, strict=True))


class Panel:
    """All raters, in the order of raters.toml.

    Attributes:
        raters: as the file has it.
        prompts: what they are asked.
        seats: one for each.
    """

    def __init__(self, raters: RatersFile, prompts: Prompts, folder: Path) -> None:
        """Seat all raters.

        Args:
            raters: as read from raters.toml.
            prompts: what they are asked.
            folder: of the ledgers; made when the first answer comes.

        Raises:
            ShoeError: for settings that a kind cannot work with.
            OptionError: for two raters that would give the same answers.
        """
        self.raters = raters
        self.prompts = prompts
        self.seats = [Seat(config, prompts, folder) for config in raters.raters]
        seen: dict[bytes, str] = {}
        for seat in self.seats:
            other = seen.setdefault(canonical([seat.ledger.identity, reading_of(seat.config)]), seat.config.name)
            if other != seat.config.name:
                raise OptionError(
                    f"rater {quote(seat.config.name)} is {quote(other)} under another name, and would have the same "
                    "answers: use repeats to ask one rater again"
                )

    @property
    def columns(self) -> list[str]:
        """The columns of a map that they fill."""
        return [column for seat in self.seats for column in seat.columns]
