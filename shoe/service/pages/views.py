"""Views: the template and plain values of each page, the same on a server and on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Any, get_args

from shoe.report.page import svg
from shoe.service import boards, runs
from shoe.service.folder import Folder
from shoe.service.pages import playground
from shoe.service.pages.playground import loaded
from shoe.service.pages.run import comparison_values, first_exact, plot, read_output, row, run_values, short_signature
from shoe.service.runs import for_all
from shoe.service.truths import Truth, truths
from shoe.service.types import Run, State

# What the pages of similarity maps say: coverage, raters, and how far they agree.


@lru_cache(maxsize=8)
def map_values(name: str, place: str) -> dict[str, Any]:
    """Collect the values of ``map.html``; `place` is a shipped name or a folder."""
    from shoe.maps.info import describe
    from shoe.similarity import SimilarityMap

    similarity = loaded(place)
    assert isinstance(similarity, SimilarityMap)  # noqa: S101 - of the names of maps
    info = describe(similarity)
    names = [rater.name for rater in similarity.raters]
    return {
        "map": {
            "name": name,
            "digest": similarity.digest,
            "dataset": similarity.dataset,
            "ensemble": similarity.ensemble,
            "raters": names,
            "warnings": info.warnings,
        },
        "coverage": [_coverage(part, of) for part, of in info.parts.items()],
        "raters": [
            {
                "name": rater.name,
                "model": rater.model,
                "parts": [
                    {
                        "rated": rater.part(part).rated,
                        "drawn": svg.histogram(
                            rater.part(part).histogram, f"how often {rater.name} gave each rating to {part}s"
                        ),
                    }
                    for part in info.parts
                ],
            }
            for rater in info.raters
        ],
        "agreement": [
            {
                "name": f"{part}s",
                "drawn": svg.matrix(
                    names,
                    [
                        (names.index(first), names.index(second), two.quadratic_weighted_kappa)
                        for two in of.agreement
                        for first, second in [two.raters]
                    ],
                    f"agreement of raters on {part}s, as quadratic weighted kappa",
                ),
            }
            for part, of in info.parts.items()
            if of.agreement
        ],
    }


@lru_cache(maxsize=32)
def map_row(name: str, place: str) -> dict[str, Any]:
    """Return the row of a map in the list of maps."""
    from shoe.similarity import SimilarityMap

    similarity = loaded(place)
    assert isinstance(similarity, SimilarityMap)  # noqa: S101 - of the names of maps
    pairs = {part: len(table) for part, table in similarity.tables.items()}
    return {
        "name": name,
        "digest": similarity.digest,
        "dataset": similarity.dataset,
        "raters": len(similarity.raters),
        "verbs": pairs.get("verb", 0),
        "objects": pairs.get("object", 0),
    }


def _coverage(part: str, of: Any) -> dict[str, Any]:
    spread = ["–"] * 4
    if of.coverage:
        rated = list(of.coverage.values())
        with_any = f"{sum(number > 0 for number in rated)} of {len(rated)}"
        spread = [with_any, *(f"{int(figure(rated)):,}" for figure in (min, median, max))]
    return {"name": f"{part}s", "pairs": of.pairs, "rated": of.rated_pairs, "senses": of.class_senses, "spread": spread}


PAGE = 50
"""Runs of a list."""
View = tuple[str, dict[str, Any]]
"""A template's name, and what it says."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks.

    Attributes:
        team: whose runs they see beside public ones; None for nobody in particular.
        admin: whether they run the service.
        session: whether they have logged in.
    """

    team: str | None = None
    admin: bool = False
    reader: bool = False
    submitter: bool = False
    session: bool = False

    @property
    def seen(self) -> str | None:
        """The team whose runs lists show beside public ones; None for all, "" for no team's."""
        return None if self.admin else self.team or ""


def rows(viewer: Viewer, folder: Folder, found: Iterable[Run]) -> list[dict[str, Any]]:
    """Return the rows of runs in lists."""
    return [row(run if viewer.admin else for_all(folder, run)) for run in found]


def front(folder: Folder, viewer: Viewer) -> View:
    """The front page."""
    recent = runs.runs(folder, viewer.seen, limit=8) if viewer.reader else []
    return "front.html", {
        "runs": rows(viewer, folder, recent),
        "boards": [each for each in boards.boards(folder) if viewer.admin or not each.hidden],
    }


def run_list(folder: Folder, viewer: Viewer, asked: Mapping[str, str], after: str | None) -> View:
    """Return the list of runs that a filter selects."""
    found = runs.runs(
        folder,
        viewer.seen,
        after,
        PAGE,
        asked["state"] or None,
        name=asked["name"] or None,
        truth=asked["truth"] or None,
    )
    return "runs.html", {
        "runs": rows(viewer, folder, found),
        "asked": asked,
        "states": get_args(State),
        "truths": [each.name for each in truths(folder)],
        "last": found[-1].id if len(found) == PAGE else None,
        "chosen": (),
    }


def run_page(folder: Folder, viewer: Viewer, run: Run) -> View:
    """The page of a run."""
    values = run_values(folder, run, _truth(folder, run.truth), all_files=viewer.admin)
    values |= {
        "mine": viewer.submitter and (viewer.admin or viewer.team == run.team),
        "actions": _actions(run),
        "log": [line.line for line in runs.log(folder, run.id)],
    }
    if run.kind != "compare":
        return "run.html", values
    found = read_output(folder, run, "comparison.json")
    return "comparison.html", values | (comparison_values(found, run.request["runs"]) if found else {"result": None})


def classes_page(folder: Folder, run: Run) -> View | None:
    """Return the page of figures by class; None for a run without any."""
    output = run.outputs.get("classes.csv")
    if output is None:
        return None
    from csv import reader

    with folder.files.open(output.sha256) as stream:
        headings, *rows = reader(stream.read().decode().splitlines())
    kept = [number for number, name in enumerate(headings) if name not in ("verb", "object")]
    shares = [name.endswith(("_ap", "_recall", "_f1")) for name in headings]
    return "classes.html", {
        "run": run,
        "headings": [headings[number].replace("_", " ") for number in kept],
        "rows": [[f"{100 * float(of[n]):.2f}" if shares[n] and of[n] else of[n] for n in kept] for of in rows],
    }


def board_list(folder: Folder, viewer: Viewer) -> View:
    """Return the list of leaderboards."""
    known = [each for each in boards.boards(folder) if viewer.reader or not each.hidden]
    return "boards.html", {"boards": known, "viewer": viewer}


def board_page(folder: Folder, viewer: Viewer, name: str) -> View:
    """A leaderboard."""
    found = boards.standing(folder, name)
    ranked = found.board.figure
    strict = first_exact(*(each.figures for each in found.rows)) if ranked.startswith("semantic:") else ranked
    keys = (strict, "semantic:map", "semantic:mf1")
    table = [
        {
            "low": each.lowest,
            "high": each.highest,
            "run": each.run,
            "name": each.name,
            "team": each.team,
            "cells": [{"value": each.figures.get(key), "interval": each.intervals.get(key)} for key in keys],
            "gain": _gain(each.figures, strict),
            "why": _costs_most(each.why),
        }
        for each in found.rows
    ]
    drawn = [
        (each.name, {key: _with_interval(each, key) for key in keys if key in each.figures}) for each in found.rows
    ]
    return "board.html", {
        "board": found.board,
        "hidden": found.board.hidden and not viewer.admin,
        "rows": table,
        "left_out": found.left_out if viewer.admin or not found.board.hidden else [],
        "plot": plot(drawn) if table else None,
        "signature": found.signature,
        "short_signature": short_signature(found.signature, _truth(folder, found.board.truth)),
    }


def map_list(folder: Folder) -> View:
    """Return the list of similarity maps."""
    return "maps.html", {"maps": [map_row(name, place) for name, place in playground.places(folder).items()]}


def map_page(folder: Folder, name: str) -> View | None:
    """Return the page of a similarity map; None for an unknown one."""
    place = playground.places(folder).get(name)
    return None if place is None else ("map.html", map_values(name, place))


def truth_list(folder: Folder) -> View:
    """Return the list of ground truths, without their content."""
    found = [
        {
            "name": each.name,
            "dataset": " ".join(filter(None, (each.dataset, each.facts.get("split")))),
            "images": int(each.facts["images"]),
            "triplets": int(each.facts["truths"]),
            "sha256": each.sha256,
            "shown": each.shown,
        }
        for each in truths(folder)
    ]
    return "truths.html", {"truths": found}


def _truth(folder: Folder, name: str) -> Truth | None:
    return next((each for each in truths(folder) if each.name == name), None)


def _actions(run: Run) -> Sequence[str]:
    if run.state in ("queued", "running"):
        return ("cancel",)
    return ("retry",) if run.state in ("failed", "cancelled") else ()


def _gain(figures: Mapping[str, float], strict: str) -> float | None:
    ends = (figures.get("semantic:map"), figures.get(strict))
    return None if ends[0] is None or ends[1] is None else ends[0] - ends[1]


def _costs_most(why: Mapping[str, float]) -> str | None:
    from shoe.diagnosis.error_types import ERRORS

    labels = {error.name: error.label for error in ERRORS}
    return next((f"{labels[name]} {100 * delta:+.2f}" for name, delta in why.items() if name in labels), None)


def _with_interval(of: Any, key: str) -> dict[str, Any]:
    return {"value": of.figures[key], **({"interval": of.intervals[key]} if key in of.intervals else {})}
