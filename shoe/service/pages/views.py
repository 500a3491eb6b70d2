"""Template and values of each page, for the server and for the exported site."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from csv import reader
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Any, NamedTuple, get_args

from shoe.comparison.compare import heading_with_arrow
from shoe.diagnosis.error_types import ERRORS
from shoe.report.page import svg
from shoe.service import boards, runs
from shoe.service.folder import Folder
from shoe.service.pages import playground
from shoe.service.pages.run import comparison_values, first_exact, plot, read_output, row, run_values, short_signature
from shoe.service.runs import command_of
from shoe.service.submissions import quota_of
from shoe.service.tokens import ADMIN
from shoe.service.truths import Truth, loaded, truths
from shoe.service.types import Run, Standing, State
from shoe.similarity import SimilarityMap


@lru_cache(maxsize=8)
def map_values(name: str, place: str) -> dict[str, Any]:
    """Return the values of ``map.html``; `place` is the name of a built-in map, or the folder of a registered map."""
    from shoe.maps.info import describe

    similarity = loaded(place)
    assert isinstance(similarity, SimilarityMap)  # noqa: S101 - for the type checker
    info = describe(similarity)
    names = [rater.name for rater in similarity.raters]
    return {
        "name": name,
        "map": similarity,
        "info": info,
        "coverage": {f"{part}s": _coverage(of) for part, of in info.parts.items()},
        "histograms": {
            (rater.name, part): svg.histogram(
                rater.part(part).histogram, f"how often {rater.name} gave each rating to {part}s"
            )
            for rater in info.raters
            for part in info.parts
        },
        "agreement": {
            f"{part}s": svg.matrix(
                names,
                [
                    (names.index(first), names.index(second), two.quadratic_weighted_kappa)
                    for two in of.agreement
                    for first, second in [two.raters]
                ],
                f"agreement of raters on {part}s, as quadratic weighted kappa",
            )
            for part, of in info.parts.items()
            if of.agreement
        },
    }


@lru_cache(maxsize=32)
def map_row(name: str, place: str) -> dict[str, Any]:
    """Return the row of a map in the list of maps; `place` is a built-in name, or the folder of a registered map."""
    similarity = loaded(place)
    assert isinstance(similarity, SimilarityMap)  # noqa: S101 - for the type checker
    pairs = {part: len(table) for part, table in similarity.tables.items()}
    counts = {"raters": len(similarity.raters), "verbs": pairs.get("verb", 0), "objects": pairs.get("object", 0)}
    return {"name": name, "digest": similarity.digest, "dataset": similarity.dataset} | counts


def _coverage(info: Any) -> list[str]:
    """Return a map's table row: pairs, rated pairs, class senses, and statistics of rated pairs per class sense."""
    spread = ["–"] * 4
    if info.coverage:
        rated = list(info.coverage.values())
        with_any = f"{sum(number > 0 for number in rated)} of {len(rated)}"
        spread = [with_any, *(f"{int(statistic(rated)):,}" for statistic in (min, median, max))]
    return [*(f"{count:,}" for count in (info.pairs, info.rated_pairs, info.class_senses)), *spread]


PAGE = 50
"""Number of runs on a page of the list."""


class View(NamedTuple):
    """A page: template and its values; `derive` computes further values from `values` and stored files only."""

    template: str
    values: dict[str, Any]
    derive: Callable[[], dict[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Viewer:
    """User who views a page.

    Attributes:
        team: team whose runs the user sees in addition to public runs; None without a token.
        admin, reader, submitter: whether the user has the permission `admin`, `read` and `submit`.
        session: whether the user has logged in.
    """

    team: str | None = None
    admin: bool = False
    reader: bool = False
    submitter: bool = False
    session: bool = False

    @property
    def seen(self) -> str | None:
        """Argument `team` of :func:`shoe.service.runs.runs`: team, None for all runs, or "" for public runs only."""
        return None if self.admin else self.team or ""


def rows(viewer: Viewer, folder: Folder, found: Iterable[Run]) -> list[dict[str, Any]]:
    """Return the rows of a table of the runs `found`, without results that are hidden from the viewer."""
    return [row(run) for run in runs.all_without_hidden(folder, list(found), admin=viewer.admin)]


def front(folder: Folder, viewer: Viewer) -> View:
    """Return the front page: leaderboards, hidden ones only for viewers with a token, and the latest 8 runs.

    Viewers without the permission to read see only the latest public runs on leaderboards.
    """
    known = open_boards(folder, viewer)
    names = {each["board"].name for each in known}
    recent = runs.runs(folder, viewer.seen, limit=8 if viewer.reader else 200, state=None if viewer.reader else "done")
    recent = recent if viewer.reader else [run for run in recent if run.board in names][:8]
    return View("front.html", {"runs": rows(viewer, folder, recent), "boards": known})


def open_boards(folder: Folder, viewer: Viewer) -> list[dict[str, Any]]:
    """Return the leaderboards that a viewer may submit to, each with the number of "left" submissions, None if any."""
    team = viewer.team
    with folder.database.read() as db:
        known = [each for each in boards.boards(folder) if team is not None or not each.hidden]
        left = [quota_of(db, team, each.name, each.truth).left if team else each.quota for each in known]
    return [{"board": each, "left": number} for each, number in zip(known, left, strict=True)]


def run_list(folder: Folder, viewer: Viewer, filters: Mapping[str, str], after: str | None) -> View:
    """Return a page of the list of runs, with at most 50 runs, the latest first.

    Args:
        filters: "name", "state" and "truth" of the listed runs; "" for no restriction.
        after: ID of the last run of the previous page; None for the first page.
    """
    name, state, truth = (filters[key] or None for key in ("name", "state", "truth"))
    found = runs.runs(folder, viewer.seen, after, PAGE, state, name=name, truth=truth)
    values = {
        "runs": rows(viewer, folder, found),
        "asked": filters,
        "states": get_args(State),
        "truths": [each.name for each in truths(folder)],
        "last": found[-1].id if len(found) == PAGE else None,
        "chosen": (),
    }
    return View("runs.html", values)


def run_page(folder: Folder, viewer: Viewer, run: Run, *, images: bool = False) -> View:
    """Return the page of a run, or of a comparison: values from its output files, and the first 1,000 log lines.

    There are no log lines if the results of the run are hidden from the viewer. With `images`, the server has
    the images of the dataset, which examples then show.
    """
    truth, lines = _truth(folder, run.truth), runs.visible_log(folder, run, admin=viewer.admin)
    actions = {"queued": ("cancel",), "running": ("cancel",), "failed": ("retry",), "cancelled": ("retry",)}
    values = {
        "run": run,
        "truth": truth,
        "images": images,
        "mine": viewer.submitter and (viewer.admin or viewer.team == run.team),
        "actions": actions.get(run.state, ()),
        "command": command_of(folder, run.id),
        "log": [line.line for line in lines if line.line != f"failed: {run.reason}"],
        "hidden": runs.is_hidden(folder, run, admin=viewer.admin),
        "board": next((each for each in boards.boards(folder) if each.name == run.board), None),
    }

    def derive() -> dict[str, Any]:
        found = run_values(folder, run, truth, all_files=viewer.admin, images=images)
        if run.kind == "compare":
            compared = read_output(folder, run, "comparison.json")
            found |= comparison_values(compared, run.request["runs"]) if compared else {"result": None}
        return found

    return View("comparison.html" if run.kind == "compare" else "run.html", values, derive)


def classes_page(folder: Folder, run: Run) -> View | None:
    """Return the page of metrics by class, in percent; None if the run has no file ``classes.csv``."""
    output = run.outputs.get("classes.csv")
    if output is None:
        return None

    headings, *rows = reader(folder.files.path(output.sha256).read_text("utf-8").splitlines())
    columns = [number for number, name in enumerate(headings) if name not in ("verb", "object")]
    is_percentage = [name.endswith(("_ap", "_recall", "_f1")) for name in headings]
    shown = [[f"{100 * float(row[n]):.2f}" if is_percentage[n] and row[n] else row[n] for n in columns] for row in rows]
    names = [headings[number].replace("_", " ") for number in columns]
    return View("classes.html", {"run": run, "headings": names, "rows": shown})


def board_list(folder: Folder, viewer: Viewer) -> View:
    """Return the list of leaderboards; hidden leaderboards are listed only for viewers with a token."""
    known = [each for each in boards.boards(folder) if viewer.team is not None or not each.hidden]
    return View("boards.html", {"boards": known})


def board_page(folder: Folder, viewer: Viewer, name: str, *, best: bool = False) -> View:
    """Return the page of a leaderboard, with "hidden": True if its results must not be shown to the viewer.

    With `best`, the table has only the best run of each team, and the baselines.
    """
    found = boards.standing(folder, name)
    truth, hidden = _truth(folder, found.board.truth), found.board.hidden and not viewer.admin
    with folder.database.read() as db:
        quota = quota_of(db, viewer.team, name, found.board.truth) if viewer.team else None
    values = {"quota": quota, "best": best, "board": found.board, "hidden": hidden, "standing": found, "truth": truth}
    return View("board.html", values, lambda: _board_values(found, truth, hidden=hidden, best=best))


def _board_values(found: Standing, truth: Truth | None, *, hidden: bool, best: bool) -> dict[str, Any]:
    ranked = found.board.figure
    strict = first_exact(*(each.figures for each in found.rows)) if ranked.startswith("semantic:") else ranked
    keys = (strict, "semantic:map", "semantic:mf1")
    table, drawn, teams = [], [], Counter[str]()
    for each in found.rows:
        baseline = each.team == ADMIN
        teams[each.team] += not baseline
        if best and teams[each.team] > 1:
            continue
        cells = {key: {"value": each.figures.get(key), "interval": each.intervals.get(key)} for key in keys}
        gain, why = _gain(each.figures, strict), _largest_loss(each.why)
        table.append({"run": each, "cells": cells.values(), "gain": gain, "why": why, "baseline": baseline})
        drawn.append((each.name, cells))
    return {
        "ranked_by": heading_with_arrow(ranked),
        "rounded": truth is not None and not truth.shown,
        "several": max(teams.values(), default=0) > 1,
        "rows": table,
        "left_out": [] if hidden else found.left_out,
        "plot": plot(drawn) if table else None,
        "signature": found.signature,
        "short_signature": short_signature(found.signature, truth),
    }


def map_list(folder: Folder) -> View:
    """Return the list of built-in and registered similarity maps."""
    return View("maps.html", {"maps": [map_row(name, place) for name, place in playground.places(folder).items()]})


def truth_list(folder: Folder) -> View:
    """Return the list of ground truths: their metadata, without boxes and labels."""
    return View("truths.html", {"truths": truths(folder)})


def _truth(folder: Folder, name: str) -> Truth | None:
    return next((each for each in truths(folder) if each.name == name), None)


def _gain(figures: Mapping[str, float], strict: str) -> float | None:
    semantic_map, strict_map = figures.get("semantic:map"), figures.get(strict)
    return None if semantic_map is None or strict_map is None else semantic_map - strict_map


def _largest_loss(why: Mapping[str, float]) -> tuple[str, float] | None:
    labels = {error.name: error.label for error in ERRORS}
    return next(((labels[name], delta) for name, delta in why.items() if name in labels and delta), None)
