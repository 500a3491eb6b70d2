"""Leaderboards: tables of runs that were scored with equal settings, with rank intervals.

A job of kind "board" computes the metrics of a run on bootstrap samples of images; all runs have the same samples. The
table is computed from these metrics on each request, so that it is always up to date.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from shoe.benchmarks.signature import OF_PREDICTIONS, Signature
from shoe.comparison.run import PARTS, SEMANTIC
from shoe.comparison.significance import LOWER_IS_BETTER, Estimate, rank_intervals
from shoe.core.errors import OptionError, quote, unknown_name
from shoe.service.database import read_row, to_json
from shoe.service.errors import NotFoundError
from shoe.service.folder import Folder
from shoe.service.truths import Truth, check_name, insert_named, options_of, similarity, truth
from shoe.service.types import Board, File, LeftOut, Request, Row, Standing

FIGURE = "semantic:map"


def add_board(
    folder: Folder,
    name: str,
    request: Request,
    *,
    title: str | None = None,
    figure: str = FIGURE,
    quota: int | None = None,
    hidden: bool = False,
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
    row = (name, title or name, target.name, to_json(request), figure, quota, hidden, time.time())
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
    found = next((each for each in boards(folder) if each.name == name), None)
    if found is None:
        raise NotFoundError(f"no leaderboard {quote(name)}")
    return found


def standing(folder: Folder, name: str) -> Standing:
    """Return a leaderboard with its table, even if it is hidden; raise NotFoundError if the leaderboard is unknown.

    The ranked runs have the same signature (scoring settings and versions) as the latest ranked run; only fields about
    how predictions were read may differ. Other runs are in `left_out` with the reason, such as an older version of
    shoe. Neither list contains cancelled or deleted runs.
    """
    own = board(folder, name)
    found = _entries(folder, name)
    ready = [each for each in found if own.figure in each.row.figures and each.draws]
    shared = _items(ready[-1].signature) if ready else {}
    ranked, left_out = [], []
    for each in found:
        if each in ready:
            why = _differences(_items(each.signature), shared)
        elif each.state != "done":
            why = each.state
        else:
            why = f"the run has no metric {own.figure}" if each.draws else "ranking is in progress"
        if why:
            left_out.append(LeftOut(run=each.row.run, team=each.row.team, name=each.row.name, why=why))
        else:
            ranked.append(each)
    signature = "|".join(f"{name}:{value}" for name, value in shared.items()) or None
    return Standing(board=own, rows=_ranked(folder, own.figure, ranked), left_out=left_out, signature=signature)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A run submitted to a leaderboard."""

    row: Row  # row of the run in the table, still without rank and intervals
    state: str
    signature: str
    draws: str  # SHA-256 of the file with bootstrap values of the metrics; "" if the values are not computed yet


def _entries(folder: Folder, name: str) -> list[_Entry]:
    """Return the runs that were submitted to a leaderboard, the earliest first."""
    with folder.database.read() as db:
        rows = db.execute(
            "SELECT runs.id AS run, team, name, link, runs.created, state, signature FROM runs JOIN jobs USING (key) "
            "WHERE board = ? AND cancelled = 0 AND deleted = 0 ORDER BY number",
            (name,),
        ).fetchall()
        further = {
            (row["run"], row["kind"]): row
            for row in db.execute(
                "SELECT further.run, jobs.kind, jobs.figures, jobs.outputs FROM further JOIN jobs USING (key) "
                "JOIN runs ON runs.id = further.run "
                "WHERE board = ? AND state = 'done' AND kind IN ('board', 'diagnose')",
                (name,),
            )
        }
    found = []
    for row in rows:
        ranked, diagnosed = further.get((row["run"], "board")), further.get((row["run"], "diagnose"))
        draws = msgspec.json.decode(ranked["outputs"], type=dict[str, File])["draws.npz"].sha256 if ranked else ""
        errors = msgspec.json.decode(diagnosed["figures"]) if diagnosed else {}
        why = {key.removeprefix("error:"): cost for key, cost in errors.items() if key.startswith("error:")}
        why = dict(sorted(why.items(), key=lambda cost: -cost[1]))
        figures = msgspec.json.decode(ranked["figures"]) if ranked else {}
        made = read_row(row, Row, lowest=0, highest=0, intervals={}, figures=figures, why=why)
        found.append(_Entry(made, row["state"], row["signature"] or "", draws))
    return found


@lru_cache(maxsize=4096)
def _items(signature: str) -> Mapping[str, str]:
    return {k: v for k, v in Signature.parse(signature).items if k not in OF_PREDICTIONS} if signature else {}


def _differences(own: Mapping[str, str], shared: Mapping[str, str]) -> str:
    """Return the differences between signatures as "NAME: found VALUE, expected VALUE; ..."; "" if there are none."""
    return "; ".join(
        f"{name}: found {own.get(name, 'nothing')}, expected {shared.get(name, 'nothing')}"
        for name in dict.fromkeys([*shared, *own])
        if own.get(name) != shared.get(name)
    )


def _ranked(folder: Folder, figure: str, entries: Sequence[_Entry]) -> list[Row]:
    ranks = _ranks(folder, figure, tuple((each.draws, each.row.figures[figure]) for each in entries))
    rows = []
    for each, (lowest, highest) in zip(entries, ranks, strict=True):
        intervals = _intervals(folder, each.draws, tuple(each.row.figures.items()))
        rows.append(replace(each.row, lowest=lowest, highest=highest, intervals=intervals))
    sign = 1 if figure.endswith(LOWER_IS_BETTER) else -1
    return sorted(rows, key=lambda row: (row.lowest, row.highest, sign * row.figures[figure], row.created))


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
