"""Who may see and change which run."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from shoe.service import runs
from shoe.service.callers import demand
from shoe.service.folder import Folder
from shoe.service.refusals import NotFoundError, Refused
from shoe.service.tokens import Identity
from shoe.service.types import Run

AGGREGATES = frozenset(
    {"result.json", "report.txt", "classes.csv", "words.csv", "table.tex", "table.md", "diagnosis.json", "report.html"}
    | {f"comparison.{ending}" for ending in ("json", "tex", "md", "csv", "html")}
    | {"ranking.json"}
)
"""Files of a run that hold nothing of single images; all others stay where the ground truth is not shown."""


def visible_run(folder: Folder, identity: Identity, id_: str) -> Run:
    """A run that somebody may see: their team's, a public one, any for who runs the server.

    Raises:
        NotFoundError: where there is none, in the same words as for one that they may not see.
        Refused: 401 for who has shown no token, whether there is one or not.
    """
    try:
        found = runs.run(folder, id_)
        if (
            identity.allows("admin")
            or found.team == identity.team
            or (found.visibility == "public" and (identity.allows("read") or _is_public_board(folder, found.board)))
        ):
            return without_hidden(folder, identity, found)
    except NotFoundError:
        pass
    if identity.team is None:
        demand(identity, "read")
    raise NotFoundError(f"no run {id_}")


def own_run(folder: Folder, identity: Identity, id_: str) -> Run:
    """A run that somebody may change: their team's, any for who runs the server.

    Raises:
        NotFoundError: where they cannot see one.
        Refused: 403 for one that they can only see.
    """
    run = visible_run(folder, identity, id_)
    if run.team != identity.team and not identity.allows("admin"):
        raise Refused(403, f"run {id_} is of another team")
    return run


def is_hidden(folder: Folder, identity: Identity, run: Run) -> bool:
    """Whether a run's results are hidden from somebody, as those of its leaderboard are."""
    return run.board is not None and not identity.allows("admin") and not _is_public_board(folder, run.board)


def without_hidden(folder: Folder, identity: Identity, run: Run) -> Run:
    """A run without results that are hidden from somebody."""
    return run if identity.allows("admin") else for_all(folder, run)


def for_all(folder: Folder, run: Run) -> Run:
    """A run without results that are hidden from everybody but who runs the server."""
    if run.board is None or _is_public_board(folder, run.board):
        return run
    return replace(run, figures={}, outputs={}, signature=None, further={})


def check_results(folder: Folder, identity: Identity, run: Run) -> None:
    """See that the results of a run are not hidden from somebody.

    Raises:
        Refused: 403, saying that they are.
    """
    if is_hidden(folder, identity, run):
        raise Refused(403, f"the results of the leaderboard {run.board} are hidden for now")


def with_results(folder: Folder, identity: Identity, ids: Sequence[str]) -> list[str]:
    """Ids of runs whose results somebody may see.

    Raises:
        NotFoundError, Refused: as :func:`visible_run` and :func:`check_results`.
    """
    for id_ in ids:
        check_results(folder, identity, visible_run(folder, identity, id_))
    return list(ids)


def check_closed(folder: Folder, identity: Identity, truth: str, *, whole: bool) -> None:
    """See that a ground truth may be scored on outside of leaderboards: not where one of them is hidden or has a quota.

    One that is not shown is scored on as a whole: figures of a single image would tell its labels.

    Raises:
        Refused: 403, naming the leaderboards, or that it is not shown.
    """
    if not whole and not identity.allows("admin") and not _is_shown(folder, truth):
        raise Refused(
            403,
            f"images_in_predictions: the ground truth {truth} is not shown, and some of its images would tell of it",
            field="images_in_predictions",
        )
    with folder.database.read() as db:
        closing = db.execute(
            "SELECT name FROM boards WHERE truth = ? AND (hidden OR quota IS NOT NULL) ORDER BY name", (truth,)
        ).fetchall()
    if closing and not identity.allows("admin"):
        names = ", ".join(row["name"] for row in closing)
        raise Refused(
            403, f"truth: {truth} is scored on for leaderboards alone, expected a board: {names}", field="board"
        )


def check_file(folder: Folder, identity: Identity, run: Run, name: str) -> None:
    """See that a file tells nothing of a ground truth that is not shown.

    Raises:
        Refused: 403, saying so.
    """
    if name not in AGGREGATES and not identity.allows("admin") and not _is_shown(folder, run.truth):
        raise Refused(
            403,
            f"{name}: the ground truth {run.truth} is not shown, and this file tells of single images",
            hint="who runs the server can get it",
        )


def _is_public_board(folder: Folder, name: str | None) -> bool:
    with folder.database.read() as db:
        return db.execute("SELECT 1 FROM boards WHERE name = ? AND hidden = 0", (name,)).fetchone() is not None


def _is_shown(folder: Folder, truth: str) -> bool:
    with folder.database.read() as db:
        return db.execute("SELECT 1 FROM truths WHERE name = ? AND shown = 1", (truth,)).fetchone() is not None
