"""Write the ratings of a run as a map, whose map.json records their provenance. Equal answers give equal files."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np
from msgspec import structs

from shoe.core.documents import Count, Document, Span
from shoe.core.errors import InputError, OptionError, quote
from shoe.lexicon.senses import POS
from shoe.llm.budget import Budget
from shoe.llm.ledger import State, canonical, pending
from shoe.maps.config import conversion_settings, identity_of
from shoe.maps.job import PAPER, Outcome, Rated, rated_pairs
from shoe.maps.planning import Rules, WholePlan
from shoe.maps.session import Raters
from shoe.similarity import RatedPairs, Rater, SimilarityMap, write_map
from shoe.similarity.ensemble import MISSING, Ratings
from shoe.similarity.map_files import ABOUT, clear_leftovers
from shoe.similarity.whole_interactions import WholeRatings

WHOLE_MARK = "whole"
"""Key in map.json for the provenance of ratings of whole interactions."""


def check_interaction_raters(raters: Raters) -> None:
    """Raise OptionError if a rater can only compare senses, not whole interactions (verb and object together)."""
    for config in raters.file.raters:
        if not (config.prompted or config.interactions):
            raise OptionError(
                f"--whole-interactions: rater {quote(config.name)} ({config.kind}) can only compare senses: use raters "
                "that read prompts, or human raters (kind people)"
            )


def write_whole(folder: Path, similarity: SimilarityMap, raters: Raters, outcome: Outcome, planned: WholePlan) -> None:
    """Write a copy of the similarity map ``similarity`` with the ratings of interactions in ``outcome``.

    An earlier map in the folder is replaced, and so are ratings in the map of pairs that are rated now. A rater of the
    run gets a new column if the map has no rater of its name. Raise OptionError if the map has a rater of its name with
    another model, and InputError if the folder cannot be written.
    """
    new, old_columns = list(raters_of(raters, outcome)), range(len(similarity.raters))
    columns = all_columns(similarity, new)
    names = [rater.name for rater in columns]
    pairs = rated_pairs(outcome.parts["interaction"])
    rated = np.flatnonzero(pairs.rated)
    ratings = in_columns(pairs.ratings[rated], [names.index(rater.name) for rater in new], len(columns))
    old = similarity.whole_ratings or WholeRatings([], np.zeros((0, len(old_columns)), np.int8))
    new_rows = [planned.rows[row] for row in rated.tolist()]
    replaced = set(new_rows)
    kept = [row for row, pair in enumerate(old.rows) if tuple(pair) not in replaced]
    old_ratings = in_columns(old.ratings[kept], old_columns, len(columns))
    about: dict[str, Any] = {"from": {"name": similarity.name, "digest": similarity.digest}}
    about |= account(raters, outcome, {"interaction": planned.rule}).to_dict()
    about |= {"raters": [rater.entry() for rater in new], "prompts": prompts_of(raters, outcome)}
    about |= {"refused_words": list(planned.refused)}
    write_map(
        folder,
        dataset=similarity.dataset,
        raters=columns,
        pairs={part: widen(similarity.tables[part], old_columns, len(columns)) for part in POS},
        ensemble=similarity.about["ensemble"],
        prose=similarity.provenance | {WHOLE_MARK: about},
        learned=similarity.predictions_file,
        whole=WholeRatings(new_rows + [old.rows[row] for row in kept], np.concatenate([ratings, old_ratings])),
    )


MARK = "built"
"""Key in map.json for the plan and completeness of a run (:class:`Account`)."""


class PartPlan(Document, frozen=True):
    """Number of pairs and questions in one part of a run: verbs, objects or whole interactions.

    Attributes:
        rule: description of the rule by which the pairs were selected.
        rows: number of ordered (class sense, sense) pairs.
        questions: number of questions for a rater: unordered pairs; (a, b) and (b, a) of two class senses are one
            question.
        unanswered: number of questions that still have to be answered, summed over the raters (columns of the map).
    """

    rule: str
    rows: Count
    questions: Count
    unanswered: Count


class Prefilter(Document, frozen=True):
    """Test of a prefilter, which skips pairs rated 0 by the first rater: how often other raters rate them above 0.

    Attributes:
        rater: name of the first rater.
        zeros: number of questions that the first rater rated 0; the other raters skip them, except for a sample.
        sample: number of questions in the sample.
        seed: random seed of the sample.
        disagreement: for each column of the other raters, number of sampled questions with a rating (rated), number
            rated 1 or more (not_zero), their ratio (share) and its interval_95; columns without ratings are left out.
        share_in_the_paper: lowest and highest ``share`` of the raters in the SHOE paper.
    """

    rater: str
    zeros: Count
    sample: Count
    seed: int
    disagreement: dict[str, dict[str, Any]]
    share_in_the_paper: Span


class Account(Document, frozen=True, kw_only=True):
    """Planned pairs of a run, and whether they are rated.

    Attributes:
        complete: whether all questions have a final answer.
        plan: planned pairs by part: "verbs", "objects" or "interactions".
        prefilter: test of the prefilter by part; absent if no prefilter was used.
    """

    complete: bool
    plan: dict[str, PartPlan]
    prefilter: dict[str, Prefilter] | None = None


class Column(Document, frozen=True):
    """Number of questions to one rater of a map, by state (rated, refused, unparsable, unrated, not_asked) and part."""

    name: str
    verbs: dict[str, Count] | None = None
    objects: dict[str, Count] | None = None
    interactions: dict[str, Count] | None = None


class RaterRun(Document, frozen=True):
    """Counts of one rater in this run: requests, retries, tokens, cost, answers, and failures per kind of failure.

    Attributes:
        cached: number of questions with an answer that this run found in the user's cache of answers.
    """

    name: str
    requests: Count
    retries: Count
    input_tokens: Count
    output_tokens: Count
    cost: float
    answers: Count
    failures: dict[str, Count]
    cached: Count = 0


class BuildRun(Document, frozen=True):
    """Number of requests of one ``shoe map build`` and their cost in ``currency``, in total and per rater.

    Attributes:
        stopped_by: reason for an early end: "requests", "cost", "interrupted" or "failed"; absent if there was none.
    """

    requests: Count
    cost: float
    currency: str
    raters: list[RaterRun]
    stopped_by: str | None = None


class MapBuilt(Account, frozen=True, kw_only=True):
    """Result of ``shoe map build``: planned pairs, number of questions to each rater by state, requests and cost."""

    columns: list[Column]
    run: BuildRun

    @classmethod
    def from_outcome(cls, raters: Raters, outcome: Outcome, budget: Budget, rules: Rules) -> Self:
        """Return the result of a run; ``rules`` describe how the pairs of each part were selected."""
        columns = [
            Column(name, **{f"{part}s": states_of(rated, column) for part, rated in outcome.parts.items()})
            for column, name in enumerate(raters.columns)
        ]
        names, runs = ("name", "requests", "retries", "input_tokens", "output_tokens", "cost", "cached"), []
        for tally in outcome.tallies:
            counts, failures = {name: getattr(tally, name) for name in names}, dict(sorted(tally.failures.items()))
            runs.append(RaterRun(**counts, answers=tally.done, failures=failures))
        run = BuildRun(budget.requests, budget.spent, raters.file.currency, runs, budget.reason)
        return cls(**structs.asdict(account(raters, outcome, rules)), columns=columns, run=run)


def check_place(folder: Path, mark: str = MARK) -> None:
    """Raise InputError if ``folder`` is neither new nor empty, nor a map of an earlier run (key ``mark`` in map.json).

    Unfinished maps of killed processes are moved or deleted first. Raise OptionError if the name is not printable.
    """
    name = Path(os.path.realpath(folder)).name
    if not name or not name.isprintable():
        raise OptionError(f"OUT: found {quote(str(folder))}, expected a folder with a printable name")
    clear_leftovers(folder)
    if not os.path.lexists(folder) or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        about = msgspec.json.decode((folder / ABOUT).read_bytes())
    except (OSError, ValueError, RecursionError):
        about = None
    if not (isinstance(about, dict) and mark in about):
        found = "a folder with other files" if folder.is_dir() else "a file"
        raise InputError(folder, found=found, expected="a new folder, or a map of an earlier run of `shoe map build`")


def write_built(folder: Path, dataset: str, raters: Raters, outcome: Outcome, rules: Rules) -> None:
    """Write the rated pairs of a run as a similarity map; an earlier map in the folder is replaced.

    ``rules`` describe how the pairs of each part were selected. Raise InputError if the folder cannot be written.
    """
    empty = RatedPairs.empty(len(raters.columns))
    pairs = {part: rated_pairs(outcome.parts[part]) if part in outcome.parts else empty for part in POS}
    *most, last = dict.fromkeys(session.config.model for session in raters.sessions)
    models = f"{', '.join(most)} and {last}" if most else last
    prose: dict[str, Any] = {"provenance": f"Rated pair by pair by {models} (shoe map build)."}
    prose |= {"prompts": prompts_of(raters, outcome), MARK: account(raters, outcome, rules).to_dict()}
    rated = {part: table[table.rated] for part, table in pairs.items()}
    write_map(folder, dataset=dataset, raters=list(raters_of(raters, outcome)), pairs=rated, prose=prose)


def account(raters: Raters, outcome: Outcome, rules: Rules) -> Account:
    """Return whether a run is complete, its planned pairs, and the test of its prefilter."""
    plan, prefilter = {}, {}
    for part, rated in outcome.parts.items():
        plan[f"{part}s"] = PartPlan(rules[part], len(rated.plan.synset), len(rated.plan), int(unanswered(rated).sum()))
        if rated.sampled is not None:
            disagreement = {column: found._asdict() for column, found in rated.disagreements.items()}
            first, seed = raters.sessions[0].config.name, raters.file.ensemble.seed
            prefilter[f"{part}s"] = Prefilter(first, rated.zeros, len(rated.sampled), seed, disagreement, PAPER)
    return Account(complete=is_complete(outcome), plan=plan, prefilter=prefilter or None)


def unanswered(rated: Rated) -> np.typing.NDArray[np.int64]:
    """Return the (C,) number of questions to each of C raters (columns) without a final answer."""
    return np.asarray((rated.asked & pending(rated.states)).sum(axis=0))


def is_complete(outcome: Outcome) -> bool:
    """Return whether the raters have answered all questions, with a rating or a final failure."""
    return not any(unanswered(rated).any() for rated in outcome.parts.values())


def states_of(rated: Rated, column: int) -> dict[str, int]:
    """Return the number of one rater's questions per state: no final answer is "unrated", prefiltered "not_asked"."""
    asked, states = rated.asked[:, column], rated.states[:, column]
    counts = {"rated": states >= 0, "refused": states == State.REFUSED, "unparsable": states == State.UNPARSABLE}
    counts |= {"unrated": asked & pending(states), "not_asked": ~asked}
    return {name: int(np.count_nonzero(mask)) for name, mask in counts.items()}


def raters_of(raters: Raters, outcome: Outcome) -> Iterator[Rater]:
    """Yield one rater per column of a similarity map, with its settings and counts of questions as details."""
    for session in raters.sessions:
        identity: dict[str, Any] = msgspec.json.decode(canonical(identity_of(session.config)))
        prompts = {f"{part}s": digest for part in outcome.parts if (digest := session.prompt_digest(part))}
        settings = identity["settings"] | conversion_settings(session.config)
        about = {"kind": identity["kind"], "revision": identity["revision"], "settings": settings}
        about |= {name: identity[name] for name in ("sampling", "pairs_per_request")} if prompts else {}
        about = {name: value for name, value in (about | {"prompts": prompts}).items() if value not in ("", {})}
        for repeat, name in enumerate(session.config.columns):
            column = session.columns.start + repeat
            states = {f"{part}s": states_of(rated, column) for part, rated in outcome.parts.items()}
            index = {"repeat": repeat + 1} if session.config.repeats > 1 else {}
            cached = {f"{part}s": int(n) for part, of in outcome.parts.items() if (n := of.cached[column])}
            counts = {"states": states} | ({"from_cache": cached} if cached else {})
            yield Rater(name, session.config.model, details={**about, **index, **counts})


def prompts_of(raters: Raters, outcome: Outcome) -> dict[str, str]:
    """Return {digest: text} of the prompts that raters got."""
    prompted = any(session.config.prompted for session in raters.sessions)
    prompts = [raters.prompts.prompt_for(part) for part in outcome.parts if prompted]
    return {prompt.digest: prompt.text for prompt in prompts}


def all_columns(similarity: SimilarityMap, raters: Sequence[Rater]) -> list[Rater]:
    """Return the map's raters, then new ``raters``; OptionError if a rater has the name of one with another model."""
    known = {rater.name: rater for rater in similarity.raters}
    for rater in raters:
        other = known.setdefault(rater.name, rater)
        if other.model != rater.model:
            raise OptionError(
                f"rater {quote(rater.name)} ({quote(rater.model)}) has the name of another rater of the map "
                f"({quote(other.model)}): change its name in raters.toml"
            )
    return list(known.values())


def widen(pairs: RatedPairs, columns: Sequence[int], raters: int) -> RatedPairs:
    """Return the pairs with ``raters`` columns of ratings, see :func:`in_columns`."""
    return RatedPairs(pairs.class_sense, pairs.sense, in_columns(pairs.ratings, columns, raters))


def in_columns(ratings: Ratings, columns: Sequence[int], raters: int) -> Ratings:
    """Return (n, ``raters``) ratings: the given ratings in ``columns``, and MISSING (-1) in the other columns."""
    wide = np.full((len(ratings), raters), MISSING, np.int8)
    wide[:, columns] = ratings
    return wide
