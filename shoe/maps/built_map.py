"""The map that a run makes: ratings as columns, and in map.json how they came about; equal answers make equal bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import structs

from shoe.core.documents import Count, Document, Span
from shoe.core.errors import InputError, OptionError, quote
from shoe.lexicon.expressions import POS
from shoe.llm.budget import Budget
from shoe.llm.ledger import State, canonical, pending
from shoe.maps.config import reading_of
from shoe.maps.growing_map import all_columns, in_columns, widened
from shoe.maps.job import PAPER, Outcome, Rated, rated_pairs
from shoe.maps.planning import Rules, WholePlan
from shoe.maps.session import Raters
from shoe.similarity import RatedPairs, Rater, SimilarityMap, write_map
from shoe.similarity.maps import ABOUT, clear_leftovers
from shoe.similarity.whole_interactions import WholeRatings

# Similarity maps with ratings of whole interactions.

WHOLE_MARK = "whole"
"""What map.json calls the account of the interactions that were rated."""


def check_asked(raters: Raters) -> None:
    """See that all raters can be asked about interactions.

    Raises:
        OptionError: naming one that reads no prompts.
    """
    for config in raters.file.raters:
        if not (config.prompted or config.interactions):
            raise OptionError(
                f"rater {quote(config.name)} ({config.kind}) reads no prompts and compares senses alone; "
                "--whole-interactions needs raters that read prompts, or people"
            )


def write_whole(folder: Path, similarity: SimilarityMap, raters: Raters, outcome: Outcome, planned: WholePlan) -> None:
    """Write a map with its verbs and objects as they are, and what raters said of whole interactions.

    Args:
        folder: where to; an earlier map there is replaced.
        similarity: the map whose verbs, objects and predictions are taken over.
        raters: who was asked; columns of their own unless the map has them.

    Raises:
        InputError: if the folder cannot be written to.
        OptionError: if a rater has the name of another one of the map.
    """
    asked = list(raters_of(raters, outcome))
    columns = all_columns(similarity, asked)
    names = [rater.name for rater in columns]
    given = rated_pairs(outcome.parts["interaction"])
    rated = np.flatnonzero(given.rated)
    ratings = in_columns(given.ratings[rated], [names.index(rater.name) for rater in asked], len(columns))
    told = account(raters, outcome, {"interaction": planned.rule})
    write_map(
        folder,
        dataset=similarity.dataset,
        raters=columns,
        pairs={part: widened(similarity.tables[part], range(len(similarity.raters)), len(columns)) for part in POS},
        ensemble=similarity.about["ensemble"],
        prose=similarity.provenance
        | {
            WHOLE_MARK: {
                "from": {"name": similarity.name, "digest": similarity.digest},
                **told.to_dict(),
                "raters": [rater.entry() for rater in asked],
                "prompts": prompts_of(raters, outcome),
            }
        },
        learned=similarity.lesson,
        whole=WholeRatings([planned.rows[row] for row in rated.tolist()], ratings),
    )


MARK = "built"
"""What map.json calls the account of a run."""


class PartPlan(Document, frozen=True):
    """What was planned for one part: the rule, rows of the map, questions, and questions without an answer."""

    rule: str
    rows: Count
    questions: Count
    unanswered: Count


class Prefilter(Document, frozen=True):
    """Pairs that the first rater rated 0, and how often other raters disagree on a sample of them."""

    rater: str
    zeros: Count
    sample: Count
    seed: int
    disagreement: dict[str, dict[str, Any]]
    share_in_the_paper: Span


class Account(Document, frozen=True, kw_only=True):
    """What was planned, how much of it is answered, and how the prefilter fared."""

    complete: bool
    plan: dict[str, PartPlan]
    prefilter: dict[str, Prefilter] | None = None


class Column(Document, frozen=True):
    """Number of one rater's questions in each state, by part."""

    name: str
    verbs: dict[str, Count] | None = None
    objects: dict[str, Count] | None = None
    interactions: dict[str, Count] | None = None


class RaterRun(Document, frozen=True):
    """Requests, tokens and answers of one rater in this run, and failed attempts by kind."""

    name: str
    requests: Count
    retries: Count
    input_tokens: Count
    output_tokens: Count
    cost: float
    answers: Count
    failures: dict[str, Count]


class BuildRun(Document, frozen=True):
    """Requests and cost of this run, and why the run ended early, if it did."""

    requests: Count
    cost: float
    currency: str
    raters: list[RaterRun]
    stopped_by: str | None = None


class MapBuilt(Account, frozen=True, kw_only=True):
    """A map whose ratings are complete or incomplete, and the run that added the latest ones."""

    columns: list[Column]
    run: BuildRun

    @classmethod
    def from_outcome(cls, raters: Raters, outcome: Outcome, budget: Budget, rules: Rules) -> MapBuilt:
        """Return the account of a map and of the run with this budget."""
        columns = [
            Column(name, **{f"{part}s": states_of(rated, column) for part, rated in outcome.parts.items()})
            for column, name in enumerate(raters.columns)
        ]
        runs = [
            RaterRun(
                name=tally.name,
                requests=tally.requests,
                retries=tally.retries,
                input_tokens=tally.input_tokens,
                output_tokens=tally.output_tokens,
                cost=tally.cost,
                answers=tally.done,
                failures=dict(sorted(tally.failures.items())),
            )
            for tally in outcome.tallies
        ]
        run = BuildRun(budget.requests, budget.spent, raters.file.currency, runs, budget.reason)
        return cls(**structs.asdict(account(raters, outcome, rules)), columns=columns, run=run)


def check_place(folder: Path, mark: str = MARK) -> None:
    """See that a map may be written: where there is nothing, or a map that an earlier run of this job wrote.

    Args:
        mark: what such a map.json has.

    Raises:
        OptionError: if the folder's name can be no map's.
        InputError: if something else is there.
    """
    name = Path(os.path.realpath(folder)).name
    if not name or not name.isprintable():
        raise OptionError(f"OUT: found {quote(str(folder))}, expected a folder whose name can be a map's")
    clear_leftovers(folder)
    if folder.is_dir():
        try:
            about = msgspec.json.decode((folder / ABOUT).read_bytes())
        except (OSError, ValueError, RecursionError):
            about = None
        if not any(folder.iterdir()) or (isinstance(about, dict) and mark in about):
            return
        found = "a folder with something else in it"
    elif folder.exists() or folder.is_symlink():
        found = "a file"
    else:
        return
    raise InputError(folder, found=found, expected="a new folder, or a map of an earlier run of shoe map build")


def write_built(folder: Path, dataset: str, raters: Raters, outcome: Outcome, rules: Rules) -> None:
    """Write what is known as a map; pairs that nobody rated are not in it.

    Args:
        folder: where to; an earlier map there is replaced.
        rules: per part of speech, in words, which pairs were planned.

    Raises:
        InputError: if the folder cannot be written to.
    """
    pairs = {part: RatedPairs.none(len(raters.columns)) for part in POS}
    pairs |= {part: rated_pairs(outcome.parts[part]) for part in POS if part in outcome.parts}
    *most, last = dict.fromkeys(session.config.model for session in raters.sessions)
    models = f"{', '.join(most)} and {last}" if most else last
    prose: dict[str, Any] = {
        "provenance": f"Rated pair by pair by {models} (shoe map build).",
        "prompts": prompts_of(raters, outcome),
        MARK: account(raters, outcome, rules).to_dict(),
    }
    write_map(
        folder,
        dataset=dataset,
        raters=list(raters_of(raters, outcome)),
        pairs={part: some[some.rated] for part, some in pairs.items()},
        prose=prose,
    )


def account(raters: Raters, outcome: Outcome, rules: Rules) -> Account:
    """Return what was planned, how much of it is answered, and how the prefilter fared."""
    plan, prefilter = {}, {}
    for part, rated in outcome.parts.items():
        missing = int(unanswered(rated).sum())
        plan[f"{part}s"] = PartPlan(rules[part], len(rated.plan.synset), len(rated.plan), missing)
        if rated.sampled is not None:
            prefilter[f"{part}s"] = Prefilter(
                rater=raters.sessions[0].config.name,
                zeros=rated.zeros,
                sample=len(rated.sampled),
                seed=raters.file.ensemble.seed,
                disagreement={
                    column: {**asdict(found), "share": found.share, "interval_95": list(found.interval)}
                    for column, found in rated.disagreements.items()
                },
                share_in_the_paper=PAPER,
            )
    return Account(complete=is_complete(outcome), plan=plan, prefilter=prefilter or None)


def unanswered(rated: Rated) -> np.typing.NDArray[np.int64]:
    """(C,) per column, how many questions it has still to answer, as far as is known."""
    count: np.typing.NDArray[np.int64] = (rated.asked & pending(rated.states)).sum(axis=0)
    return count


def is_complete(outcome: Outcome) -> bool:
    """Whether no answer is missing."""
    return not any(unanswered(rated).any() for rated in outcome.parts.values())


def states_of(rated: Rated, column: int) -> dict[str, int]:
    """Count the states of one column's questions."""
    asked, states = rated.asked[:, column], rated.states[:, column]
    counts = {
        "rated": states >= 0,
        "refused": states == State.REFUSED,
        "unparsable": states == State.UNPARSABLE,
        "unrated": asked & pending(states),
        "not_asked": ~asked,
    }
    return {name: int(np.count_nonzero(mask)) for name, mask in counts.items()}


def raters_of(raters: Raters, outcome: Outcome) -> Iterator[Rater]:
    """Describe who rated, as columns of a map: how they were asked, and what became of their questions."""
    for session in raters.sessions:
        identity: dict[str, Any] = msgspec.json.decode(canonical(session.ledger.identity))
        prompts = {f"{part}s": digest for part in outcome.parts if (digest := session.prompt_digest(part))}
        settings = identity["settings"] | reading_of(session.config)
        about = {"kind": identity["kind"], "revision": identity["revision"], "settings": settings}
        about |= {name: identity[name] for name in ("sampling", "pairs_per_request")} if prompts else {}
        about = {name: value for name, value in (about | {"prompts": prompts}).items() if value not in ("", {})}
        for repeat, name in enumerate(session.config.columns):
            column = session.columns.start + repeat
            states = {f"{part}s": states_of(rated, column) for part, rated in outcome.parts.items()}
            which = {"repeat": repeat + 1} if session.config.repeats > 1 else {}
            yield Rater(name, session.config.model, details={**about, **which, "states": states})


def prompts_of(raters: Raters, outcome: Outcome) -> dict[str, str]:
    """Return the prompts in full, by the digest that raters name."""
    used = {part for part in outcome.parts for session in raters.sessions if session.prompt_digest(part)}
    prompts = [raters.prompts.of(part) for part in outcome.parts if part in used]
    return {prompt.digest: prompt.text for prompt in prompts}
