"""Leaderboards: runs of equal signature in one table, with the uncertainty of their ranks.

A job of kind board computes the figures that a run needs for a table, under the same draws of images as for all others.
The table itself is computed from those on each request, so it is never behind its runs.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from shoe.core.errors import OptionError, quote, unknown_name
from shoe.service.contract import NotFoundError
from shoe.service.database import read_row, to_json
from shoe.service.folder import Folder
from shoe.service.truths import Truth, check_name, similarity, truth
from shoe.service.types import Board, File, LeftOut, Request, Row, Standing

FIGURE = "semantic:map"
_OF_PREDICTIONS = ("boxes", "scores", "coordinates")
"""What a signature says of how predictions were read, which is each run's own."""


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
    """Open a leaderboard.

    Args:
        name: its name in submissions.
        request: its ground truth, and how its runs are scored.
        title: title on pages; the name unless given.
        figure: key of the figure that ranks, as "semantic:map" or "strict:hico-det:full".
        quota: submissions of a team per day.
        hidden: whether its results are hidden.

    Raises:
        OptionError: for a name that is taken or not valid, an unknown ground truth, protocol, option or similarity, or
            a figure that the protocols do not have.
    """
    check_name("board", name)
    of = truth(folder, request.truth)
    similarity(folder, request.similarity)
    figures = _figures_of(of, request)
    if figure not in figures:
        raise unknown_name("figure", figure, figures)
    if quota is not None and quota < 1:
        raise OptionError(f"quota: found {quota}, expected 1 or more submissions a day")
    row = (name, title or name, of.name, to_json(request), figure, quota, hidden, time.time())
    try:
        with folder.database.write() as db:
            db.execute("INSERT INTO boards VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    except sqlite3.IntegrityError:
        raise OptionError(f"board {quote(name)}: found one of this name already, expected another name") from None
    return board(folder, name)


def show_board(folder: Folder, name: str, *, hidden: bool = False) -> Board:
    """Publish the results of a leaderboard, or hide them.

    Raises:
        NotFoundError: for an unknown one.
    """
    board(folder, name)
    with folder.database.write() as db:
        db.execute("UPDATE boards SET hidden = ? WHERE name = ?", (hidden, name))
    return board(folder, name)


def boards(folder: Folder) -> list[Board]:
    """Return all leaderboards, by name."""
    with folder.database.read() as db:
        return [read_row(row, Board) for row in db.execute("SELECT * FROM boards ORDER BY name")]


def board(folder: Folder, name: str) -> Board:
    """Return a leaderboard by its name, or raise NotFoundError."""
    found = next((each for each in boards(folder) if each.name == name), None)
    if found is None:
        raise NotFoundError(f"no leaderboard {quote(name)}")
    return found


def standing(folder: Folder, name: str) -> Standing:
    """Return the table of a leaderboard.

    The shared signature is that of the latest run: after a change of version, earlier runs are left out until they are
    scored again.

    Raises:
        NotFoundError: for an unknown leaderboard.
    """
    of = board(folder, name)
    found = _entries(folder, name)
    ready = [each for each in found if of.figure in each.figures and each.draws is not None]
    shared = _items(ready[-1].signature) if ready else {}
    rows, left_out = [], []
    for each in found:
        if each in ready:
            why = _differences(_items(each.signature), shared)
        elif each.state != "done":
            why = each.state
        else:
            why = "it is being ranked" if each.draws is None else f"it has no {of.figure}"
        if why:
            left_out.append(LeftOut(run=each.run, team=each.team, name=each.name, why=why))
        else:
            rows.append(each)
    signature = "|".join(f"{name}:{value}" for name, value in shared.items()) or None
    return Standing(board=of, rows=_ranked(folder, of.figure, rows), left_out=left_out, signature=signature)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A run that was submitted to a leaderboard, with its figures and the hash of their draws once they exist."""

    run: str
    team: str
    name: str
    created: float
    state: str
    signature: str
    figures: dict[str, float]
    draws: str | None
    why: dict[str, float]


def _entries(folder: Folder, name: str) -> list[_Entry]:
    """Return the runs that were submitted to a leaderboard, the first one first."""
    with folder.database.read() as db:
        rows = db.execute(
            "SELECT runs.id, team, name, runs.created, state, signature FROM runs JOIN jobs USING (key) "
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
        ranked, diagnosed = further.get((row["id"], "board")), further.get((row["id"], "diagnose"))
        draws = msgspec.json.decode(ranked["outputs"], type=dict[str, File])["draws.npz"].sha256 if ranked else None
        figures = msgspec.json.decode(ranked["figures"]) if ranked else {}
        errors = msgspec.json.decode(diagnosed["figures"]) if diagnosed else {}
        why = {key.removeprefix("error:"): cost for key, cost in errors.items() if key.startswith("error:")}
        why = dict(sorted(why.items(), key=lambda cost: -cost[1]))
        head = row["id"], row["team"], row["name"], row["created"], row["state"], row["signature"] or ""
        found.append(_Entry(*head, figures, draws, why))
    return found


def _items(signature: str) -> dict[str, str]:
    from shoe.benchmarks.protocols import Signature

    return {k: v for k, v in Signature.parse(signature).items if k not in _OF_PREDICTIONS} if signature else {}


def _differences(own: Mapping[str, str], shared: Mapping[str, str]) -> str:
    """Describe the differences between two signatures; empty if they are equal."""
    return "; ".join(
        f"{name}: found {own.get(name, 'nothing')}, expected {shared.get(name, 'nothing')}"
        for name in dict.fromkeys([*shared, *own])
        if own.get(name) != shared.get(name)
    )


def _ranked(folder: Folder, figure: str, entries: Sequence[_Entry]) -> list[Row]:
    from shoe.comparison.significance import LOWER_IS_BETTER

    ranks = _ranks(folder, figure, tuple((str(each.draws), each.figures[figure]) for each in entries))
    rows = [
        Row(
            lowest=lowest,
            highest=highest,
            run=each.run,
            team=each.team,
            name=each.name,
            created=each.created,
            figures=each.figures,
            intervals=_intervals(folder, str(each.draws), tuple(each.figures.items())),
            why=each.why,
        )
        for each, (lowest, highest) in zip(entries, ranks, strict=True)
    ]
    sign = 1 if figure.endswith(LOWER_IS_BETTER) else -1
    return sorted(rows, key=lambda row: (row.lowest, row.highest, sign * row.figures[figure], row.created))


@lru_cache(maxsize=64)
def _ranks(folder: Folder, figure: str, of: tuple[tuple[str, float], ...]) -> list[tuple[int, int]]:
    import numpy as np

    from shoe.comparison.significance import rank_intervals

    draws = [_draws(folder, sha256)[figure] for sha256, _ in of]
    return rank_intervals(figure, [value for _, value in of], np.stack(draws)) if of else []


@lru_cache(maxsize=4096)
def _intervals(folder: Folder, sha256: str, figures: tuple[tuple[str, float], ...]) -> dict[str, tuple[float, float]]:
    from shoe.comparison.significance import Estimate

    draws = _draws(folder, sha256)
    found = {key: Estimate.of(value, draws[key]).within(0.0) for key, value in figures if key in draws}
    return {key: (each.low, each.high) for key, each in found.items() if each.varies}


def _draws(folder: Folder, sha256: str) -> dict[str, Any]:
    import numpy as np

    with np.load(folder.files.path(sha256), allow_pickle=False) as found:
        return {key: found[key] for key in found.files}


def _figures_of(of: Truth, request: Request) -> list[str]:
    """Return the keys of the figures that a request computes."""
    from shoe.benchmarks import benchmark
    from shoe.benchmarks.protocols import choose
    from shoe.comparison.run import PARTS, SEMANTIC

    own, labels = benchmark(of.dataset), of.reading.image_labels is not None
    names = request.protocols or own.usual_protocols
    asked = choose(names, request.options, own.protocols, own.role_protocols, image_labels=labels)
    semantic = [f"semantic:{name}" for name in SEMANTIC] if asked.semantic else []
    by_person = [f"roles:{each.protocol}:{PARTS[0]}" for each in asked.roles]
    return [*(f"strict:{each.protocol}:{part}" for each in asked.strict for part in PARTS), *by_person, *semantic]
