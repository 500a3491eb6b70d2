"""The raters of raters.toml, each with its ledger, ready to rate."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices, Mask
from shoe.core.errors import OptionError, quote
from shoe.engines.base import Shard
from shoe.engines.ray_cluster import Cluster
from shoe.lexicon.expressions import POS
from shoe.llm.budget import Budget, usage_of
from shoe.llm.ledger import (
    ASK_AGAIN,
    ASKED_AGAIN,
    Keys,
    Ledger,
    Parse,
    State,
    States,
    answers,
    as_keys,
    canonical,
    event_line,
    pending,
)
from shoe.llm.ledger_writer import merge, writing
from shoe.llm.recorder import LedgerRecorder, Tally
from shoe.llm.workers import Ask, Job, Spread
from shoe.maps.config import Backend, RaterConfig, RatersFile, identity_of, reading_of
from shoe.maps.planning import Plan
from shoe.maps.prompts import Group, Prompts, Question, Subject, describe, key_maker

LOCAL_GROUP = 1024
"""Questions of a group for raters that answer no prompts."""
_HINT = " (--ask-again unparsable,refused asks again what was kept)"
_LATEST = 1 << 18
"""Bytes of a ledger's end by which tokens are measured."""


class _Column(NamedTuple):
    """Questions about rows of a plan, for one repeat, with their (n, 2) keys."""

    plan: Plan
    rows: Indices
    keys: Keys


class RaterSession:
    """One rater during a run.

    Attributes:
        columns: its columns in the map.
        cluster: cluster whose workers ask, if the rater can be divided; None for this process alone.
        ledger: ledger of its answers; two rounds of one rater never run at the same time.
    """

    def __init__(self, config: RaterConfig, start: int, prompts: Prompts, folder: Path, shard: Shard | None) -> None:
        """Prepare a rater; a shard of the questions has a ledger of its own beside that of all.

        Args:
            start: its first column in the map.
            shard: the part of the questions.
        """
        if shard and not config.divisible:
            found = f"rater {quote(config.name)}: found {config.kind}, which one process asks for all"
            raise OptionError(f"--shard: {found}; expected raters that are asked one request at a time")
        self.config = config
        self.columns = slice(start, start + config.repeats)
        self.cluster: Cluster | None = None
        self._shard = shard
        self._prompts_given = prompts
        self._prompts = prompts if config.prompted else None
        self._backend = backend = config.backend(prompts)
        self._size = config.pairs_per_request if config.prompted else LOCAL_GROUP
        identity = identity_of(config)
        slug = re.sub("[^a-z0-9]+", "-", f"{config.kind} {config.model}".lower()).strip("-")[:60]
        digest = hashlib.blake2b(canonical(identity), digest_size=4).hexdigest()
        name = f"{slug}-{digest}.jsonl"
        self.ledger = Ledger(
            folder / shard.folder / name if shard else folder / name,
            identity,
            partial(_parsed, backend),
            base=folder / name if shard else None,
        )

    def merge(self, say: Callable[[str], None]) -> int:
        """Take over answers that other processes kept for its ledger; see :func:`shoe.llm.ledger_writer.merge`."""
        return merge(self.ledger.path, self.ledger.identity, self.ledger.parse, say)

    def ask_again(self, states: Sequence[str], say: Callable[[str], None]) -> None:
        """Void answers in some states, so that their questions are asked again; not twice if a run is doing so already.

        Args:
            states: "unparsable", "refused"; none of them to end an earlier repetition.
            say: prints a line for the user.
        """
        if not self.ledger.path.exists() or not self.config.prompted:
            return
        with writing(self.ledger.path, self.ledger.identity, lambda: False, say) as writer:
            assert writer is not None, "it waits for as long as it takes"  # noqa: S101 - for the type checker
            self.ledger.refresh()
            if set(states) != set(self.ledger.asking_again):
                event = {"event": ASK_AGAIN, "states": list(states)} if states else {"event": ASKED_AGAIN}
                writer.append(event_line(event))
                writer.flush()
                self.ledger.refresh()

    def prompt_digest(self, part: Subject) -> str:
        """Return the digest of the prompt; empty if the rater reads none."""
        return self._prompts.of(part).digest if self._prompts else ""

    def tokens_used(self) -> tuple[float | None, float | None]:
        """Measure, from its latest answers, input tokens per character of a prompt, and output tokens per pair."""
        entries = answers(self.ledger.path, _LATEST)
        told = [(entry, usage) for entry in entries if entry["part"] in POS and (usage := usage_of(entry["answer"]))]
        if not told or self._prompts is None:
            return None, None
        pairs = [pair for entry, _ in told for pair in entry["pairs"]]
        senses = iter(describe([name for pair in pairs for name in pair]))
        characters = 0
        for entry, _ in told:
            group = [Question(b"", entry["part"], next(senses), next(senses)) for _ in entry["pairs"]]
            characters += self._prompts.length(group, several=self.config.pairs_per_request > 1)
        used = [sum(getattr(usage, of) for _, usage in told) for of in ("input", "output")]
        return used[0] / characters, used[1] / len(pairs)

    def rate(
        self,
        wanted: Sequence[tuple[Plan, Indices]],
        budget: Budget,
        tally: Tally,
        say: Callable[[str], None],
    ) -> list[NDArray[np.int8]]:
        """Ask the questions that have no answer yet, and return all answers.

        Args:
            wanted: plans, and the wanted rows of each.
            tally: counts of the rater in the run.
            say: prints a line for the user.

        Returns:
            Per plan (n, repeats) states of its rows.

        Raises:
            ShoeError: when no further question makes sense, or the ledger cannot be read or written.
        """
        columns = list(self._columns(wanted))
        states, ours = self._known(columns), [self._ours(column.keys) for column in columns]
        if budget.stopping or not any((pending(state) & own).any() for state, own in zip(states, ours, strict=True)):
            tally.known += sum(map(len, states))
            return self._by_plan(states)
        tally.waiting = True
        with writing(self.ledger.path, self.ledger.identity, lambda: budget.stopping, say) as writer:
            tally.waiting = False
            if writer is None:
                return self._by_plan(states)
            states = self._known(columns)
            tally.known += sum(int(np.count_nonzero(~pending(state))) for state in states)
            config = self.config
            recorder = LedgerRecorder(
                self.ledger,
                writer,
                budget,
                tally,
                price=config.price,
                sampling=config.sampling,
                asks=config.prompted,
                hint=_HINT,
            )
            for attempt, state_wanted, size in (
                (1, State.UNRATED, self._size),
                (2, State.UNPARSED_ONCE, self._size),
                (2, State.REFUSED_TOGETHER, 1),
            ):
                masks = [(state == state_wanted) & own for state, own in zip(states, ours, strict=True)]
                count = sum(int(np.count_nonzero(mask)) for mask in masks)
                if count and not budget.stopping:
                    tally.total += count
                    groups = self._groups(columns, masks, size, attempt)
                    if self.cluster and config.divisible and (config.prompted or config.is_local):
                        self._spread(self.cluster, groups, recorder)
                    else:
                        self._backend.rate(groups, recorder)
                    writer.flush()
                    recorder.check()
                    self.ledger.refresh(writer.synced)
                    states = [self.ledger.states(column.keys) for column in columns]
        return self._by_plan(states)

    def _columns(self, wanted: Iterable[tuple[Plan, Indices]]) -> Iterator[_Column]:
        for plan, rows in wanted:
            first, second = (
                [plan.texts[synset][1] for synset in side[rows].tolist()] for side in (plan.first, plan.second)
            )
            for repeat in range(1, self.config.repeats + 1):
                key = key_maker(self.ledger.identity, self.prompt_digest(plan.part), plan.part, repeat)
                yield _Column(plan, rows, as_keys(b"".join(map(key, first, second))))

    def _known(self, columns: Iterable[_Column]) -> list[States]:
        self.ledger.refresh()
        return [self.ledger.states(column.keys) for column in columns]

    def _by_plan(self, states: Sequence[States]) -> list[NDArray[np.int8]]:
        repeats = self.config.repeats
        return [np.stack(states[start : start + repeats], axis=1) for start in range(0, len(states), repeats)]

    def _spread(self, cluster: Cluster, groups: Iterator[Group], recorder: LedgerRecorder) -> None:
        """Have the workers of a cluster ask, each within its share of the endpoint's limits."""
        config, limits = self.config, self.config.limits
        workers = cluster.workers(limits.concurrency, is_local=config.is_local)
        each = limits.divided(workers)
        make = partial(_client, msgspec.structs.replace(config, limits=each), self._prompts_given)
        job = Job.from_recorder(recorder, config.name, make, each.concurrency, is_local=config.is_local)
        Spread(cluster, job, workers, recorder, self.ledger.path).run(groups)

    def _ours(self, keys: Keys) -> Mask:
        """Return (n,) which questions this process asks: those of whole requests, by the key of each one's first."""
        if self._shard is None:
            return np.ones(len(keys), np.bool_)
        row = np.arange(len(keys))
        return self._shard.holds(keys[row - row % self._size, 0])

    def _groups(self, columns: Sequence[_Column], masks: Sequence[Mask], size: int, attempt: int) -> Iterator[Group]:
        """Group the masked questions into requests, cut from all questions whatever is answered."""
        for column, mask in zip(columns, masks, strict=True):
            plan = column.plan
            for _, group in groupby(np.flatnonzero(mask).tolist(), lambda row: row // size):
                questions = []
                for row in group:
                    place = column.rows[row]
                    first, second = (plan.texts[int(side[place])][0] for side in (plan.first, plan.second))
                    key = column.keys[row].astype(">u8").tobytes()
                    questions.append(Question(key, plan.part, first, second, attempt))
                yield Group(questions, self._prompts, several=self.config.pairs_per_request > 1)


def _parsed(backend: Backend, entry: Mapping[str, Any]) -> list[int]:
    return backend.parse(entry["ids"], entry["answer"])


def _client(config: RaterConfig, prompts: Prompts) -> tuple[Ask, Parse]:
    """Return a worker's version of a rater."""
    backend = config.backend(prompts)
    return cast("Ask", backend.rate), partial(_parsed, backend)


class Raters:
    """All raters, in the order of raters.toml.

    Attributes:
        shard: the part of the questions that is asked; None for all.
    """

    def __init__(self, file: RatersFile, prompts: Prompts, folder: Path, shard: Shard | None = None) -> None:
        """Prepare all raters; the folder of their ledgers is made when the first answer comes."""
        self.file = file
        self.prompts = prompts
        self.shard = shard
        starts = accumulate((config.repeats for config in file.raters), initial=0)
        self.sessions = [
            RaterSession(config, start, prompts, folder, shard)
            for config, start in zip(file.raters, starts, strict=False)
        ]
        seen: dict[bytes, str] = {}
        for session in self.sessions:
            name = session.config.name
            other = seen.setdefault(canonical([session.ledger.identity, reading_of(session.config)]), name)
            if other != name:
                raise OptionError(
                    f"rater {quote(name)} is {quote(other)} under another name, and would have the same "
                    "answers: use repeats to ask one rater again"
                )

    def spread_over(self, cluster: Cluster | None) -> None:
        """Have the workers of a cluster ask, where raters can be divided; None: this process."""
        for session in self.sessions:
            session.cluster = cluster

    def merge(self, say: Callable[[str], None]) -> int:
        """Merge what other processes kept for these ledgers, and return the number of added lines."""
        return sum(session.merge(say) for session in self.sessions)

    def ask_again(self, states: Sequence[str], say: Callable[[str], None]) -> None:
        """Have questions without a rating asked again; see :meth:`RaterSession.ask_again`."""
        for session in self.sessions:
            session.ask_again(states, say)

    @property
    def columns(self) -> list[str]:
        """Columns of a map that the raters fill."""
        return [column for session in self.sessions for column in session.config.columns]
