"""Access to runs: who may see or change a run and its results, and who may score on a ground truth."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from shoe.service import runs, truths
from shoe.service.callers import require_scope
from shoe.service.contract import Refused
from shoe.service.errors import NotFoundError
from shoe.service.folder import Folder
from shoe.service.tokens import Identity
from shoe.service.types import Line, Request, Run

AGGREGATES = frozenset({"result.json", "report.txt", "classes.csv", "diagnosis.json"})
"""Names of output files that reveal nothing about single images.

All other output files are withheld if boxes and labels of the ground truth must not leave the server."""


def visible_run(folder: Folder, identity: Identity, id_: str) -> Run:
    """Return a run if the caller may see it, without results that are hidden from the caller.

    Callers may see the runs of their team and public runs, and administrators all runs. Callers without the permission
    to read may see only public runs on leaderboards that are not hidden.

    Raises:
        NotFoundError: with the same message if the run does not exist and if the caller may not see the run.
        Refused: 401 instead, if the caller is anonymous.
    """
    with suppress(NotFoundError):
        found = runs.run(folder, id_)
        if (
            identity.allows("admin")
            or found.team == identity.team
            or (found.visibility == "public" and (identity.allows("read") or _is_public_board(folder, found.board)))
        ):
            return without_hidden(folder, found, admin=identity.allows("admin"))
    if identity.team is None:
        require_scope(identity, "read")
    raise NotFoundError(f"no run {id_}")


def own_run(folder: Folder, identity: Identity, id_: str) -> Run:
    """Return a run if the caller may change it: it is a run of the caller's team, or the caller is an administrator.

    Raises:
        NotFoundError: if there is no such run, or the caller may not see it.
        Refused: 403 if the caller may see but not change the run; 401 if an anonymous caller may not see it.
    """
    run = visible_run(folder, identity, id_)
    if run.team != identity.team and not identity.allows("admin"):
        raise Refused(403, f"run {id_} belongs to another team")
    return run


def is_hidden(folder: Folder, run: Run, *, admin: bool) -> bool:
    """Return whether results of a run are hidden: its leaderboard is hidden, and the caller is not an administrator."""
    return run.board is not None and not admin and not _is_public_board(folder, run.board)


def without_hidden(folder: Folder, run: Run, *, admin: bool = False) -> Run:
    """Return a run without the results that are hidden from a caller.

    If its leaderboard is hidden, metrics, output files, signature and follow-up jobs are hidden. Otherwise, if its
    ground truth is hidden, output files that reveal it are hidden. Nothing is hidden from administrators.
    """
    return all_without_hidden(folder, [run], admin=admin)[0]


def all_without_hidden(folder: Folder, found: Sequence[Run], *, admin: bool = False) -> list[Run]:
    """Return several runs without the results that are hidden from a caller, with two database queries in all."""
    if admin:
        return list(found)
    with folder.database.read() as db:
        public = {row["name"] for row in db.execute("SELECT name FROM boards WHERE hidden = 0")}
        shown = {row["name"] for row in db.execute("SELECT name FROM truths WHERE shown = 1")}
    hidden: dict[str, Any] = {"figures": {}, "outputs": {}, "signature": None, "further": {}}
    visible = []
    for run in found:
        if run.board is not None and run.board not in public:
            run = replace(run, **hidden)
        elif run.truth not in shown:  # also size and SHA-256 of a withheld file would reveal labels
            run = replace(run, outputs={name: file for name, file in run.outputs.items() if name in AGGREGATES})
        visible.append(run)
    return visible


def visible_log(folder: Folder, run: Run, after: int = 0, *, admin: bool) -> list[Line]:
    """Return the first 1,000 log lines after the line `after`; [] if the run's results are hidden from the caller."""
    return [] if is_hidden(folder, run, admin=admin) else runs.log(folder, run.id, after)


def check_results(folder: Folder, identity: Identity, run: Run) -> None:
    """Raise Refused (403) if the results of a run are hidden from a caller."""
    if is_hidden(folder, run, admin=identity.allows("admin")):
        raise Refused(403, f"the results of leaderboard {run.board} are hidden for now")


def with_results(folder: Folder, identity: Identity, ids: Sequence[str]) -> list[str]:
    """Return `ids` as a list if the caller may compare these runs; else raise NotFoundError or Refused.

    The caller must see the runs and their results, and (except administrators) the ground truth must not be hidden,
    because differences of runs in full precision reveal labels.
    """
    for id_ in ids:
        found = visible_run(folder, identity, id_)
        check_results(folder, identity, found)
        if not identity.allows("admin") and not _is_shown(folder, found.truth):
            raise Refused(403, f"run {id_} cannot be compared: its ground truth {found.truth} is not shown")
    return list(ids)


def check_closed(folder: Folder, identity: Identity, request: Request) -> None:
    """Check that a caller may score predictions on a ground truth without a leaderboard; administrators always may.

    Raises:
        Refused: 403 if a leaderboard of the ground truth is hidden or has a quota, or if metrics are requested of only
            some images or classes although the ground truth is hidden: such metrics would reveal labels.
    """
    if identity.allows("admin"):
        return
    target, truth = truths.truth(folder, request.truth), request.truth
    if not target.shown:
        few = [field for field in ("images_in_predictions", "subset") if getattr(request, field)]
        strict = truths.options_of(target, request).strict
        few += ["options"] * any((each.zero_tp, each.unpredicted) != ("zero", "zero") for each in strict)
        if few:
            why = f"metrics of few images, or only of classes with predictions, would reveal labels of {truth}"
            raise Refused(403, f"{few[0]}: {why}", field=few[0])
    if closing := closed_truths(folder).get(truth):
        why = f"{truth} can be used only through a leaderboard: set board to one of {', '.join(closing)}"
        raise Refused(403, f"truth: {why}", field="board")


def closed_truths(folder: Folder) -> dict[str, list[str]]:
    """Return {ground truth: leaderboards with hidden results or a quota}; runs on it must be for a leaderboard."""
    found: dict[str, list[str]] = {}
    with folder.database.read() as db:
        for row in db.execute("SELECT name, truth FROM boards WHERE hidden OR quota IS NOT NULL ORDER BY name"):
            found.setdefault(row["truth"], []).append(row["name"])
    return found


def check_file(folder: Folder, identity: Identity, run: Run, name: str) -> None:
    """Raise Refused (403), except for administrators, if an output file would reveal a hidden ground truth."""
    if name not in AGGREGATES and not identity.allows("admin") and not _is_shown(folder, run.truth):
        why = f"{name}: withheld, because the file contains details of single images of ground truth {run.truth}"
        raise Refused(403, why, hint="ask an administrator of the server for the file")


def _is_public_board(folder: Folder, name: str | None) -> bool:
    with folder.database.read() as db:
        return db.execute("SELECT 1 FROM boards WHERE name = ? AND hidden = 0", (name,)).fetchone() is not None


def _is_shown(folder: Folder, truth: str) -> bool:
    with folder.database.read() as db:
        return db.execute("SELECT 1 FROM truths WHERE name = ? AND shown = 1", (truth,)).fetchone() is not None
