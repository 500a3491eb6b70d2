"""Leaderboards: runs of equal signature beside each other, and how sure their ranks are.

What a run needs to stand in a table - its figures under the same draws of images as all others' - is made once, by a
job of kind board. The table itself is computed from those when it is asked for, so it is never behind its runs.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from shoe.core.errors import OptionError, quote, unknown_name
from shoe.service.entries import Entry, entries
from shoe.service.errors import NotFoundError
from shoe.service.folder import Folder
from shoe.service.runs import Request
from shoe.service.truths import Truth, check_name, similarity, truth

FIGURE = "semantic:map"
_OF_PREDICTIONS = ("boxes", "scores", "coordinates")
"""What a signature says of how predictions were read, which is each run's own."""


class Board(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A leaderboard.

    Attributes:
        name: by which submissions name it.
        title: what people read.
        truth: name of its ground truth.
        request: how its runs are scored.
        figure: key of the figure that ranks.
        quota: submissions of a team in a day, but for failed ones; None for any number.
        hidden: whether only who runs the service sees its results.
        created: seconds since 1970.
    """

    name: str
    title: str
    truth: str
    request: Request
    figure: str
    created: float
    quota: int | None = None
    hidden: bool = False


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run in a table.

    Attributes:
        lowest, highest: ranks that it may have, from 1: equal where its place is sure.
        run: its id.
        team, name: whose it is, and what it is called.
        created: seconds since 1970.
        figures: fractions by their keys.
        intervals: 95 % over images, of those figures that have one.
        why: error types by what they cost, the costliest first, as fractions of mAP.
    """

    lowest: int
    highest: int
    run: str
    team: str
    name: str
    created: float
    figures: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    why: dict[str, float] = {}


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A run that does not stand in the table, and why."""

    run: str
    team: str
    name: str
    why: str


class Standing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A leaderboard as it stands.

    Attributes:
        board: what it is.
        rows: the best first.
        left_out: runs that cannot stand beside them, or not yet.
        signature: of all in the table, but for how predictions were read.
    """

    board: Board
    rows: list[Row]
    left_out: list[LeftOut] = []
    signature: str | None = None


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
        folder: of the service.
        name: by which submissions name it.
        request: its ground truth, and how its runs are scored.
        title: what people read; the name unless given.
        figure: key of the figure that ranks, as "semantic:map" or "strict:hico-det:full".
        quota: submissions of a team in a day.
        hidden: whether its results are kept back.

    Raises:
        OptionError: for a name that is taken or no name, an unknown ground truth, protocol, option or similarity, or
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
    made = Board(
        name=name,
        title=title or name,
        truth=of.name,
        request=request,
        figure=figure,
        created=time.time(),
        quota=quota,
        hidden=hidden,
    )
    row = (name, made.title, of.name, msgspec.json.encode(request).decode(), figure, quota, hidden, made.created)
    try:
        with folder.database.write() as db:
            db.execute("INSERT INTO boards VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    except sqlite3.IntegrityError:
        raise OptionError(f"board {quote(name)}: found one of this name already, expected another name") from None
    return made


def show_board(folder: Folder, name: str, *, hidden: bool = False) -> Board:
    """Let all see the results of a leaderboard, or keep them back.

    Raises:
        NotFoundError: for an unknown one.
    """
    board(folder, name)
    with folder.database.write() as db:
        db.execute("UPDATE boards SET hidden = ? WHERE name = ?", (hidden, name))
    return board(folder, name)


def boards(folder: Folder) -> list[Board]:
    """All leaderboards, by name."""
    with folder.database.read() as db:
        rows = db.execute("SELECT * FROM boards ORDER BY name").fetchall()
    return [
        Board(
            **{**dict(row), "request": msgspec.json.decode(row["request"], type=Request), "hidden": bool(row["hidden"])}
        )
        for row in rows
    ]


def board(folder: Folder, name: str) -> Board:
    """A leaderboard by its name.

    Raises:
        NotFoundError: for an unknown one.
    """
    found = next((each for each in boards(folder) if each.name == name), None)
    if found is None:
        raise NotFoundError(f"no leaderboard {quote(name)}")
    return found


def standing(folder: Folder, name: str) -> Standing:
    """A leaderboard as it stands.

    The signature that all share is that of the latest run: after a change of version, those before it are left out
    until they are scored again.

    Raises:
        NotFoundError: for an unknown one.
    """
    of = board(folder, name)
    found = entries(folder, name)
    ready = [each for each in found if of.figure in each.figures and each.draws is not None]
    shared = _items(ready[-1].signature) if ready else {}
    apart = {each.run: _unlike(_items(each.signature), shared) for each in ready}
    kept = [each for each in ready if not apart[each.run]]
    left_out = [
        LeftOut(run=each.run, team=each.team, name=each.name, why=apart.get(each.run) or each.missing(of.figure))
        for each in found
        if each not in kept
    ]
    signature = "|".join(f"{name}:{value}" for name, value in shared.items()) or None
    return Standing(board=of, rows=_ranked(folder, of.figure, kept), left_out=left_out, signature=signature)


def _items(signature: str) -> dict[str, str]:
    from shoe.protocols.signature import Signature

    return {k: v for k, v in Signature.parse(signature).items if k not in _OF_PREDICTIONS} if signature else {}


def _unlike(own: Mapping[str, str], shared: Mapping[str, str]) -> str:
    """What differs between signatures; nothing for equal ones."""
    return "; ".join(
        f"{name}: found {own.get(name, 'nothing')}, expected {shared.get(name, 'nothing')}"
        for name in dict.fromkeys([*shared, *own])
        if own.get(name) != shared.get(name)
    )


def _ranked(folder: Folder, figure: str, kept: Sequence[Entry]) -> list[Row]:
    measured = _measured(folder, figure, tuple((str(each.draws), each.figures[figure]) for each in kept))
    rows = []
    for each, (lowest, highest), at in zip(kept, measured, (each.draws for each in kept), strict=True):
        rows.append(
            Row(
                lowest=lowest,
                highest=highest,
                run=each.run,
                team=each.team,
                name=each.name,
                created=each.created,
                figures=dict(each.figures),
                intervals=_intervals(folder, str(at), tuple(each.figures.items())),
                why=dict(each.why),
            )
        )
    from shoe.comparison.ranks import LOWER_IS_BETTER

    sign = 1 if figure.endswith(LOWER_IS_BETTER) else -1
    return sorted(rows, key=lambda row: (row.lowest, row.highest, sign * row.figures[figure], row.created))


@lru_cache(maxsize=64)
def _measured(folder: Folder, figure: str, of: tuple[tuple[str, float], ...]) -> list[tuple[int, int]]:
    import numpy as np

    from shoe.comparison.standing import rank_intervals

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
    """Keys of the figures that a request asks for."""
    from shoe.benchmarks import benchmark
    from shoe.protocols.named import choose
    from shoe.runs.run import PARTS, SEMANTIC

    own, labels = benchmark(of.dataset), of.reading.image_labels is not None
    names = request.protocols or own.usual_protocols
    asked = choose(names, request.options, own.protocols, own.role_protocols, image_labels=labels)
    semantic = [f"semantic:{name}" for name in SEMANTIC] if asked.semantic else []
    by_person = [f"roles:{each.protocol}:{PARTS[0]}" for each in asked.roles]
    return [*(f"strict:{each.protocol}:{part}" for each in asked.strict for part in PARTS), *by_person, *semantic]
