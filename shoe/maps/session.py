"""Sessions of the raters in raters.toml: a session sends questions to one rater, and stores answers in its ledger."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, groupby
from pathlib import Path
from statistics import median
from typing import Any, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices, Mask
from shoe.core.errors import OptionError, pluralize, quote
from shoe.engines.base import Shard
from shoe.engines.ray_cluster import Cluster
from shoe.lexicon.senses import POS
from shoe.llm.budget import Budget, Price, usage_of
from shoe.llm.cache import AnswerCache
from shoe.llm.ledger import (
    ASK_AGAIN,
    ASKED_AGAIN,
    Keys,
    Ledger,
    Parse,
    State,
    States,
    address_in,
    answer_line,
    answers,
    as_keys,
    canonical,
    event_line,
    ledgers_of,
    name_of,
    pending,
)
from shoe.llm.ledger_writer import Writer, writing
from shoe.llm.recorder import LedgerRecorder, Tally, Terms
from shoe.llm.workers import Ask, Job, Spread
from shoe.maps.config import Backend, RaterConfig, RatersFile, conversion_settings, identity_of
from shoe.maps.planning import Plan
from shoe.maps.prompts import Group, Prompts, Question, Subject, describe, key_maker

Answered = tuple[NDArray[np.int8], NDArray[np.bool_]]
"""States of n questions in each repeat of a rater, and whether each answer came from the user's cache."""
LOCAL_GROUP = 1024
"""Number of questions per group for raters without prompts."""
_ATTEMPTS = (1, State.UNRATED), (2, State.UNPARSED_ONCE), (2, State.REFUSED_TOGETHER)
"""Attempts of a question, each with the state in which the question is sent."""
_LATEST = 1 << 18
"""Number of bytes at the end of a ledger from which token counts are measured."""


@dataclass(eq=False, slots=True)
class _Column:
    """Questions of one plan for one repeat of a rater.

    Attributes:
        rows, keys: (n,) indices of the questions in the plan, and their (n, 2) answer keys.
        earlier, states: (n,) ratings or negative states in other ledgers of the rater, and in all so far.
        own: (n,) whether the question belongs to this shard.
    """

    plan: Plan
    rows: Indices
    keys: Keys
    earlier: States
    own: Mask
    states: States

    def wanted(self, state: State) -> Mask:
        mask: Mask = (self.states == state) & self.own
        return mask


class RaterSession:
    """One rater during a run, with the file of its stored answers (ledger).

    Attributes:
        columns: slice of the rater's columns in the map, one for each time that a pair is rated.
        cluster: Ray cluster whose workers send the questions; None if this process sends them.
        ledger: reader of the rater's stored answers.
        cache: the user's cache of answers; None without a cache, or for a rater that reads no prompts.
    """

    cache: AnswerCache | None = None

    def __init__(self, config: RaterConfig, start: int, prompts: Prompts, folder: Path, shard: Shard | None) -> None:
        """Create a session of the rater whose first column in the map is ``start``; no request is sent.

        ``shard`` is the part of the questions that this process sends, and stores in its own ledger; None for all.
        Raise OptionError if there is a shard, and only one process may query the rater.
        """
        if shard and not config.divisible:
            raise OptionError(
                f"--shard: rater {quote(config.name)} is of kind {config.kind}, which only one process may query: "
                "remove the rater or the option"
            )
        self.config, self._shard, self._all_prompts = config, shard, prompts
        self.columns = slice(start, start + config.repeats)
        self.cluster: Cluster | None = None
        self._prompts = prompts if config.prompted else None
        self._backend = backend = config.backend(prompts)
        self._size = config.pairs_per_request if config.prompted else LOCAL_GROUP
        identity = identity_of(config)
        whole = folder / name_of(identity)
        others = ledgers_of(folder.glob("*.jsonl"), identity)
        if others and not whole.exists():  # of an earlier version of shoe, with the address in its header
            whole, identity = others[0]
        self._earlier = [Ledger(path, other, partial(_parsed, backend)) for path, other in others if path != whole]
        self.ledger = Ledger(whole, identity, partial(_parsed, backend))
        if shard:
            self.ledger = replace(self.ledger, path=folder / shard.folder / whole.name, base=self.ledger)

    def ask_again(self, states: Sequence[str], say: Callable[[str], None]) -> None:
        """Discard stored answers without a rating, so that their questions are sent again.

        ``states`` are the states to discard: "unparsable", "refused" or both. Calls with the same ``states`` have no
        effect until a call with empty ``states``, at the end of the run: a resumed run keeps its answers. ``say`` is a
        callback for a message, which is called if another process uses the ledger.
        """
        if not self.ledger.path.exists() or not self.config.prompted:
            return
        with writing(self.ledger.path, self.ledger.identity, lambda: False, say) as writer:
            assert writer is not None, "writing() waits without limit here"  # noqa: S101 - for the type checker
            self.ledger.refresh()
            if set(states) != set(self.ledger.asking_again):
                event = {"event": ASK_AGAIN, "states": list(states)} if states else {"event": ASKED_AGAIN}
                writer.append(event_line(event))
                writer.flush()
                self.ledger.refresh()

    def prompt_digest(self, part: Subject) -> str:
        """Return the digest of the prompt for "verb", "object" or "interaction"; "" if the rater reads no prompts."""
        return self._prompts.prompt_for(part).digest if self._prompts else ""

    def measured(self) -> tuple[float | None, float | None, float | None]:
        """Return input tokens per character of a prompt, output tokens per pair, and median seconds per request.

        They are computed from the latest stored answers to prompts; None if the answers do not report a value.
        """
        entries = list(answers(self.ledger.path, _LATEST)) if self._prompts else []
        times = [entry["answer"]["seconds"] for entry in entries if "seconds" in entry["answer"]]
        seconds = median(times) if times else None
        counted = [(entry, usage) for entry in entries if entry["part"] in POS and (usage := usage_of(entry["answer"]))]
        if not counted or self._prompts is None:
            return None, None, seconds
        pairs = [pair for entry, _ in counted for pair in entry["pairs"]]
        senses = iter(describe([name for pair in pairs for name in pair]))
        characters = 0
        for entry, _ in counted:
            group = [Question(b"", entry["part"], next(senses), next(senses)) for _ in entry["pairs"]]
            characters += self._prompts.length(group, several=self.config.pairs_per_request > 1)
        tokens_in, tokens_out = (sum(getattr(usage, side) for _, usage in counted) for side in ("input", "output"))
        return tokens_in / characters, tokens_out / len(pairs), seconds

    def has_answers(self) -> bool:
        """Return whether answers of the rater may be stored, in a ledger or in the user's cache."""
        return self.ledger.exists() or bool(self._earlier) or (self.cache is not None and self.cache.exists())

    def addresses(self) -> Counter[str]:
        """Return {URL of an endpoint: number of stored answers from it}."""
        ledgers = (self.ledger, *self._earlier)
        return Counter(entry.get("address") or address_in(of.identity) for of in ledgers for entry in answers(of.path))

    def rate(
        self, wanted: Sequence[tuple[Plan, Indices]], budget: Budget, tally: Tally, say: Callable[[str], None]
    ) -> list[Answered]:
        """Copy cached answers into the file of answers (ledger), send unanswered questions, and return all answers.

        ``wanted`` are plans, each with the indices of n of its questions, which are asked ``repeats`` times. Return two
        (n, repeats) arrays per plan: rating 0 to 4 or negative state of each question; and whether the answer came from
        the cache. If ``budget.reason`` is "known" (only stored answers are wanted), no question is sent, and cached
        answers are not copied. Raise ShoeError if the rater cannot continue, or the ledger cannot be read or written.
        """
        for ledger in self._earlier:
            ledger.refresh()
        columns = list(self._columns(wanted))
        self._update(columns)
        if budget.reason == "known":
            for attempt, state in _ATTEMPTS:
                tally.cached += self._take_cached(columns, attempt, state)
        elif self.cache and not budget.stopping:
            self.cache.add_ledger()
        if budget.stopping or not any((pending(column.states) & column.own).any() for column in columns):
            tally.known += sum(len(column.rows) for column in columns)
            return self._by_plan(columns)
        tally.waiting = True
        with writing(self.ledger.path, self.ledger.identity, lambda: budget.stopping, say) as writer:
            tally.waiting = False
            if writer is None:
                return self._by_plan(columns)
            self._update(columns)
            tally.known += sum(int(np.count_nonzero(~pending(column.states))) for column in columns)
            config, hint = self.config, " (--ask-again unparsable,refused sends these questions again)"
            if hasattr(config, "least_mass"):
                hint = f" (mass, the probability of 0 to 4, is below {config.least_mass:g}: set a lower least_mass)"
            names = (config.model, getattr(config, "base_url", "").partition("?")[0]) if config.chats else ()
            terms = Terms(config.price or Price(), config.sampling, config.prompted, hint, *names)
            recorder = LedgerRecorder(self.ledger, writer, budget, tally, terms, say=say, cache=self.cache)
            for attempt, state in _ATTEMPTS:
                tally.cached += self._take_cached(columns, attempt, state, writer)
                count = sum(int(column.wanted(state).sum()) for column in columns)
                if count and not budget.stopping:
                    tally.total += count
                    groups = self._groups(columns, state, attempt)
                    if self.cluster and config.divisible and (config.prompted or config.is_local):
                        self._distribute(self.cluster, groups, recorder)
                    else:
                        self._backend.rate(groups, recorder)
                writer.flush()
                recorder.check()
                self._update(columns, writer.synced)
            if tally.cached:
                say(f"{config.name}: {pluralize(tally.cached, 'answer')} from the cache")
        return self._by_plan(columns)

    def _take_cached(
        self, columns: Sequence[_Column], attempt: int, wanted: State, writer: Writer | None = None
    ) -> int:
        """Replace the states of questions that have a cached answer; return the number of questions with final answers.

        With a ``writer``, the answers are written into the ledger. After --ask-again, only ratings are used. An answer
        to several questions is used only if it does not count as the second answer to a question asked otherwise.
        """
        count, written = 0, set[bytes]()
        if self.cache is None or not self.cache.exists():
            return 0
        is_strict = any(event["event"] == ASK_AGAIN for event in self.ledger.events)
        for column in columns:
            for row in np.flatnonzero(column.wanted(wanted)).tolist():
                key = column.keys[row].astype(">u8").tobytes()
                if (found := self.cache.answer(key, attempt)) is None:
                    continue
                entry, by_key = found
                joined = bytes.fromhex("".join(by_key))
                in_doubt = is_strict or (writer and (self.ledger.states(as_keys(joined)) != wanted).any())
                if min(by_key.values()) < 0 and in_doubt:
                    continue
                if writer and joined not in written:
                    writer.append(answer_line(entry))
                    written.add(joined)
                final = {State.UNPARSED_ONCE: State.UNPARSABLE, State.REFUSED_TOGETHER: State.REFUSED}
                state = by_key[key.hex()]
                column.states[row] = final.get(State(state), state) if state < 0 and attempt > 1 else state
                count += attempt > 1 or state not in final
        return count

    def _columns(self, wanted: Iterable[tuple[Plan, Indices]]) -> Iterator[_Column]:
        for plan, rows in wanted:
            first, second = (
                [plan.texts[synset][1] for synset in side[rows].tolist()] for side in (plan.first, plan.second)
            )
            for repeat in range(1, self.config.repeats + 1):
                about, ledgers = (self.prompt_digest(plan.part), plan.part, repeat), (self.ledger, *self._earlier)
                makers = (key_maker(ledger.identity, *about) for ledger in ledgers)
                keys = [as_keys(b"".join(map(key, first, second))) for key in makers]
                known = [ledger.states(other) for ledger, other in zip(self._earlier, keys[1:], strict=True)]
                unrated = np.full(len(rows), State.UNRATED, np.int8)
                # A request belongs to the shard of its first question.
                first_of_request = np.arange(len(rows)) // self._size * self._size
                own = self._shard.holds(keys[0][first_of_request, 0]) if self._shard else np.ones(len(rows), np.bool_)
                yield _Column(plan, rows, keys[0], np.max([unrated, *known], axis=0), own, unrated)

    def _update(self, columns: Iterable[_Column], end: int | None = None) -> None:
        """Update the states from the ledger, up to byte ``end``, and from the rater's other ledgers."""
        self.ledger.refresh(end)
        for column in columns:
            states = self.ledger.states(column.keys)
            column.states = np.where((states < 0) & (column.earlier >= 0), column.earlier, states)

    def _by_plan(self, columns: Sequence[_Column]) -> list[Answered]:
        states, cached = [one.states for one in columns], [self.ledger.is_cached(one.keys) for one in columns]
        parts = [slice(start, start + self.config.repeats) for start in range(0, len(columns), self.config.repeats)]
        return [(np.stack(states[part], axis=1), np.stack(cached[part], axis=1)) for part in parts]

    def _distribute(self, cluster: Cluster, groups: Iterator[Group], recorder: LedgerRecorder) -> None:
        """Send requests from the workers of a cluster; the endpoint's limits are divided among the workers."""
        config, limits = self.config, self.config.limits
        workers = cluster.workers(limits.concurrency, is_local=config.is_local)
        each = limits.divided(workers)
        make = partial(_client, msgspec.structs.replace(config, limits=each), self._all_prompts)
        settings = self.ledger.identity, recorder.terms, recorder.remembered(), config.is_local
        job = Job(config.name, make, each.concurrency, *settings)
        Spread(cluster, job, workers, recorder, self.ledger.path).run(groups)

    def _groups(self, columns: Iterable[_Column], state: State, attempt: int) -> Iterator[Group]:
        """Yield requests with the questions in ``state``, grouped by their index, the same number of indices each.

        So a question is always together with the same others, whichever questions are already answered.
        """
        size = 1 if state == State.REFUSED_TOGETHER else self._size
        for column in columns:
            plan = column.plan
            for _, group in groupby(np.flatnonzero(column.wanted(state)).tolist(), lambda row: row // size):
                questions = []
                for row in group:
                    index = column.rows[row]
                    first, second = (plan.texts[int(side[index])][0] for side in (plan.first, plan.second))
                    key = column.keys[row].astype(">u8").tobytes()
                    questions.append(Question(key, plan.part, first, second, attempt))
                yield Group(questions, self._prompts, several=self.config.pairs_per_request > 1)


def _parsed(backend: Backend, entry: Mapping[str, Any]) -> list[int]:
    return backend.parse(entry["ids"], entry["answer"])


def _client(config: RaterConfig, prompts: Prompts) -> tuple[Ask, Parse]:
    """Return the function that sends requests to a rater, and the function that parses its answers; for workers."""
    backend = config.backend(prompts)
    return cast("Ask", backend.rate), partial(_parsed, backend)


class Raters:
    """Sessions of all raters in raters.toml; if ``shard`` (part of the questions) is given, only this part is sent."""

    def __init__(self, file: RatersFile, prompts: Prompts, folder: Path, shard: Shard | None = None) -> None:
        """Create the sessions with ledgers in ``folder``; no request is sent.

        Raise OptionError if two raters have the same settings, or there is a shard that a rater does not support.
        """
        self.file, self.prompts, self.shard = file, prompts, shard
        starts = accumulate((config.repeats for config in file.raters), initial=0)
        each = zip(file.raters, starts, strict=False)
        self.sessions = [RaterSession(config, start, prompts, folder, shard) for config, start in each]
        seen: dict[bytes, str] = {}
        for session in self.sessions:
            name = session.config.name
            other = seen.setdefault(canonical([session.ledger.identity, conversion_settings(session.config)]), name)
            if other != name:
                raise OptionError(
                    f"raters {quote(name)} and {quote(other)} have the same settings and would give the same answers: "
                    "set repeats to query a rater more than once"
                )

    def ask_again(self, states: Sequence[str], say: Callable[[str], None]) -> None:
        """Discard stored answers without a rating, of all raters; arguments as for :meth:`RaterSession.ask_again`."""
        for session in self.sessions:
            session.ask_again(states, say)

    @property
    def columns(self) -> list[str]:
        """Names of the columns of all raters in a map; a rater that rates each pair n times has n columns."""
        return [column for session in self.sessions for column in session.config.columns]
