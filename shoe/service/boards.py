"""Leaderboards: tables of runs that were scored with equal settings, with rank intervals.

A job of kind "board" computes the metrics of a run on bootstrap samples of images; all runs have the same samples. The
table is computed from these metrics on each request, so that it is always up to date.
"""

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from shoe.benchmarks.signature import OF_PREDICTIONS, Signature
from shoe.comparison.run import PARTS, SEMANTIC
from shoe.comparison.significance import LOWER_IS_BETTER, Estimate, rank_intervals
from shoe.core.errors import OptionError, quote, unknown_name
from shoe.service import runs
from shoe.service.database import read_row, to_json
from shoe.service.errors import NotFoundError
from shoe.service.folder import Folder
from shoe.service.truths import Truth, check_name, insert_named, options_of, similarity, truth
from shoe.service.types import Board, LeftOut, Request, Row, Run, Standing

FIGURE = "semantic:map"
_DRAWS = "draws.npz"  # output file with a run's metrics on bootstrap samples, once they are computed


def add_board(
    folder: Folder,
    name: str,
    request: Request,
    *,
    title: str | None = None,
    figure: str = FIGURE,
    quota: int | None = None,
    hidden: bool = False,
    ends: float | None = None,
) -> Board:
    """Create a leaderboard, and return it; the arguments are the fields of :class:`Board`.

    Raise OptionError if the name is taken or not valid, the ground truth, protocol, option or similarity is unknown,
    the protocols do not compute the metric `figure`, or the quota is below 1.
    """
    check_name("board", name)
    target = truth(folder, request.truth)
    similarity(folder, request.similarity, target.dataset)
    figures = _metric_keys(target, request)
    if figure not in figures:
        raise unknown_name("figure", figure, figures)
    if quota is not None and quota < 1:
        raise OptionError(f"quota: found {quota}, expected 1 or more submissions per day")
    row = (name, title or name, target.name, to_json(request), figure, quota, hidden, time.time(), ends)
    insert_named(folder, "board", name, row)
    return board(folder, name)


def show_board(folder: Folder, name: str, *, hidden: bool = False) -> Board:
    """Publish (or hide, if `hidden`) the results of a leaderboard; return the leaderboard, or raise NotFoundError."""
    with folder.database.write() as db:
        db.execute("UPDATE boards SET hidden = ? WHERE name = ?", (hidden, name))
    return board(folder, name)


def boards(folder: Folder) -> list[Board]:
    """Return all leaderboards, sorted by name."""
    with folder.database.read() as db:
        return [read_row(row, Board) for row in db.execute("SELECT * FROM boards ORDER BY name")]


def board(folder: Folder, name: str) -> Board:
    """Return a leaderboard by its name, or raise NotFoundError."""
    with folder.database.read() as db:
        row = db.execute("SELECT * FROM boards WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise NotFoundError(f"no leaderboard {quote(name)}")
    return read_row(row, Board)


def standing(folder: Folder, own: Board) -> Standing:
    """Return a leaderboard with its table, even if it is hidden.

    The ranked runs have the same signature (scoring settings and versions) as the latest ranked run; only fields about
    how predictions were read may differ. Other runs are in `left_out` with the reason, such as an older version of
    shoe. Neither list contains cancelled or deleted runs.
    """
    found = runs.runs(folder, "runs.board = :board AND runs.cancelled = 0", {"board": own.name})[::-1]
    ready = [run for run in found if own.figure in run.figures and _DRAWS in run.outputs]
    shared = _items(ready[-1].signature) if ready else {}
    ranked, left_out = [], []
    for run in found:
        if run.state != "done":
            why: str = run.state
        elif _DRAWS not in run.outputs:
            why = "ranking is in progress"
        elif own.figure not in run.figures:
            why = f"the run has no metric {own.figure}"
        else:  # comparing them as a whole first takes a tenth of the time
            why = "" if _items(run.signature) == shared else _differences(_items(run.signature), shared)
        if why:
            left_out.append(LeftOut(run=run.id, team=run.team, name=run.name, why=why))
        else:
            ranked.append(run)
    signature = "|".join(f"{name}:{value}" for name, value in shared.items()) or None
    return Standing(board=own, rows=_ranked(folder, own, ranked), left_out=left_out, signature=signature)


@lru_cache(maxsize=4096)
def _items(signature: str | None) -> Mapping[str, str]:
    return {k: v for k, v in Signature.parse(signature).items if k not in OF_PREDICTIONS} if signature else {}


def _differences(own: Mapping[str, str], shared: Mapping[str, str]) -> str:
    return "; ".join(
        f"{name}: found {own.get(name, 'nothing')}, expected {shared.get(name, 'nothing')}"
        for name in dict.fromkeys([*shared, *own])
        if own.get(name) != shared.get(name)
    )


def _ranked(folder: Folder, own: Board, ranked: Sequence[Run]) -> list[Row]:
    draws = [(run.outputs[_DRAWS].sha256, run.figures[own.figure]) for run in ranked]
    losses, rows = _losses(folder, own.name), []
    for run, (sha256, _), (lowest, highest) in zip(
        ranked, draws, _ranks(folder, own.figure, tuple(draws)), strict=True
    ):
        intervals, why = _intervals(folder, sha256, tuple(run.figures.items())), losses.get(run.id, {})
        rows.append(Row(
            lowest=lowest, highest=highest, run=run.id, team=run.team, name=run.name, created=run.created,
            figures=run.figures, intervals=intervals, why=why, link=run.link,
        ))  # fmt: skip
    sign = 1 if own.figure.endswith(LOWER_IS_BETTER) else -1
    return sorted(rows, key=lambda row: (row.lowest, row.highest, sign * row.figures[own.figure], row.created))


def _losses(folder: Folder, name: str) -> dict[str, dict[str, float]]:
    """Return {run ID: {error type: mAP lost}}, the largest loss first, of the diagnosed runs of a leaderboard."""
    query = """SELECT further.run, jobs.figures FROM further JOIN jobs USING (key) JOIN runs ON runs.id = further.run
      WHERE board = ? AND state = 'done' AND kind = 'diagnose'"""
    found = {}
    with folder.database.read() as db:
        for row in db.execute(query, (name,)):
            errors = sorted(msgspec.json.decode(row["figures"]).items(), key=lambda error: -error[1])
            found[row["run"]] = {key.removeprefix("error:"): loss for key, loss in errors if key.startswith("error:")}
    return found


@lru_cache(maxsize=64)
def _ranks(folder: Folder, figure: str, runs: tuple[tuple[str, float], ...]) -> list[tuple[int, int]]:
    draws = [_draws(folder, sha256)[figure] for sha256, _ in runs]
    return rank_intervals(figure, [value for _, value in runs], np.stack(draws)) if runs else []


@lru_cache(maxsize=4096)
def _intervals(folder: Folder, sha256: str, figures: tuple[tuple[str, float], ...]) -> dict[str, tuple[float, float]]:
    draws = _draws(folder, sha256)
    found = {key: Estimate.from_resamples(value, draws[key]).within(0.0) for key, value in figures if key in draws}
    digits = int(draws["decimals"]) if "decimals" in draws else None
    # Of a ground truth that is not shown, the absence of an interval would tell that a metric is exactly 0 or 1.
    ends = {key: (each.low, each.high) for key, each in found.items() if each.varies or digits is not None}
    return ends if digits is None else {key: (round(a, digits), round(b, digits)) for key, (a, b) in ends.items()}


def _draws(folder: Folder, sha256: str) -> dict[str, Any]:
    with np.load(folder.files.path(sha256), allow_pickle=False) as found:
        return {key: found[key] for key in found.files}


def _metric_keys(target: Truth, request: Request) -> list[str]:
    asked = options_of(target, request)
    semantic = [f"semantic:{name}" for name in SEMANTIC] if asked.semantic else []
    by_person = [f"roles:{each.protocol}:{PARTS[0]}" for each in asked.roles]
    return [*(f"strict:{each.protocol}:{part}" for each in asked.strict for part in PARTS), *by_person, *semantic]
