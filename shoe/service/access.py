"""Access to runs: who may see or change a run and its results, and who may score on a ground truth."""

from collections.abc import Sequence
from typing import Any, Literal

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


_VISIBLE = """(:admin OR runs.team = :team OR runs.visibility = 'public'
  AND (:reader OR runs.board IN (SELECT name FROM boards WHERE hidden = 0)))"""
"""SQL condition for the runs that a caller may see.

Callers may see the runs of their team and public runs, and administrators all runs. Callers without the permission to
read may see only public runs on leaderboards that are not hidden."""
_FILTER = """(:after IS NULL OR runs.number < (SELECT number FROM runs WHERE id = :after))
  AND (:state IS NULL OR :state = CASE WHEN runs.cancelled THEN 'cancelled' ELSE jobs.state END)
  AND (:name IS NULL OR instr(lower(runs.name), lower(:name))) AND (:truth IS NULL OR runs.truth = :truth)"""


def visible_run(folder: Folder, identity: Identity, id_: str) -> Run:
    """Return a run if the caller may see it, without results that are hidden from the caller.

    Raise NotFoundError if there is no such run, or the caller may not see it; Refused (401) for an anonymous caller.
    """
    found = runs.runs(folder, f"{_VISIBLE} AND runs.id = :id", _values(identity) | {"id": id_}, limit=1)
    if not found:
        if identity.team is None:
            require_scope(identity, "read")
        raise NotFoundError(f"no run {id_}")
    return without_hidden(folder, identity, found)[0]


def visible_runs(
    folder: Folder,
    identity: Identity,
    after: str | None = None,
    limit: int = 50,
    state: str | None = None,
    *,
    name: str | None = None,
    truth: str | None = None,
) -> list[Run]:
    """Return at most `limit` runs that the caller may see, the latest first, without results hidden from the caller.

    Args:
        after: ID of the last run of the previous page, which the caller must be able to see; None for the first page.
        state, truth: return only runs in this state, or only runs scored on this ground truth; None for all runs.
        name: return only runs whose name contains this text; upper and lower case of ASCII letters are equal.
    """
    values = _values(identity) | {"after": after, "state": state, "name": name, "truth": truth}
    with folder.database.read():
        if after is not None:
            visible_run(folder, identity, after)
        return without_hidden(folder, identity, runs.runs(folder, f"{_VISIBLE} AND {_FILTER}", values, limit))


def visible_ids(folder: Folder, identity: Identity, board: str) -> list[str]:
    """Return the sorted IDs of the runs on a leaderboard that the caller may see."""
    query = f"SELECT id FROM runs WHERE board = :board AND {_VISIBLE} ORDER BY id"  # noqa: S608 - of this file
    with folder.database.read() as db:
        return [row["id"] for row in db.execute(query, _values(identity) | {"board": board})]


def _values(identity: Identity) -> dict[str, Any]:
    return {"admin": identity.allows("admin"), "team": identity.team, "reader": identity.allows("read")}


def own_run(folder: Folder, identity: Identity, id_: str) -> Run:
    """Return a run as :func:`visible_run`; raise Refused (403) if the caller may not change the run."""
    run = visible_run(folder, identity, id_)
    if run.team != identity.team and not identity.allows("admin"):
        raise Refused(403, f"run {id_} belongs to another team")
    return run


def is_hidden(folder: Folder, identity: Identity, run: Run) -> bool:
    """Return whether results of a run are hidden: its leaderboard is hidden, and the caller is not an administrator."""
    return run.board is not None and not identity.allows("admin") and run.board not in _public(folder, "boards")


def without_hidden(folder: Folder, identity: Identity, found: Sequence[Run]) -> list[Run]:
    """Return runs without the results that are hidden from a caller; nothing is hidden from administrators.

    If the leaderboard of a run is hidden, metrics, output files, signature and follow-up jobs are hidden. Otherwise, if
    its ground truth is hidden, output files that reveal it are hidden.
    """
    if identity.allows("admin"):
        return list(found)
    boards, shown = _public(folder, "boards"), _public(folder, "truths")
    hidden: dict[str, Any] = {"figures": {}, "outputs": {}, "signature": None, "further": {}}
    visible = []
    for run in found:
        if run.board is not None and run.board not in boards:
            run = replace(run, **hidden)
        elif run.truth not in shown:  # also size and SHA-256 of a withheld file would reveal labels
            run = replace(run, outputs={name: file for name, file in run.outputs.items() if name in AGGREGATES})
        visible.append(run)
    return visible


def visible_log(folder: Folder, identity: Identity, run: Run, after: int = 0) -> list[Line]:
    """Return the first 1,000 log lines after the line `after`; [] if the run's results are hidden from the caller."""
    return [] if is_hidden(folder, identity, run) else runs.log(folder, run.id, after)


def check_results(folder: Folder, identity: Identity, run: Run) -> None:
    """Raise Refused (403) if the results of a run are hidden from a caller."""
    if is_hidden(folder, identity, run):
        raise Refused(403, f"the results of leaderboard {run.board} are hidden for now")


def with_results(folder: Folder, identity: Identity, ids: Sequence[str]) -> list[str]:
    """Return `ids` as a list if the caller may compare these runs; else raise NotFoundError or Refused.

    The caller must see the runs and their results, and (except administrators) the ground truth must not be hidden,
    because differences of runs in full precision reveal labels.
    """
    for id_ in ids:
        found = visible_run(folder, identity, id_)
        check_results(folder, identity, found)
        if not identity.allows("admin") and found.truth not in _public(folder, "truths"):
            raise Refused(403, f"run {id_} cannot be compared: its ground truth {found.truth} is not shown")
    return list(ids)


def check_closed(folder: Folder, identity: Identity, request: Request) -> None:
    """Check that a caller may score predictions on a ground truth without a leaderboard; administrators always may.

    Raise Refused (403) if a leaderboard of the ground truth is hidden or has a quota, or if metrics are requested of
    only some images or classes although the ground truth is hidden: such metrics would reveal labels.
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
    if name not in AGGREGATES and not identity.allows("admin") and run.truth not in _public(folder, "truths"):
        why = f"{name}: withheld, because the file contains details of single images of ground truth {run.truth}"
        raise Refused(403, why, hint="ask an administrator of the server for the file")


_PUBLIC = {"boards": "SELECT name FROM boards WHERE hidden = 0", "truths": "SELECT name FROM truths WHERE shown = 1"}


def _public(folder: Folder, table: Literal["boards", "truths"]) -> set[str]:
    with folder.database.read() as db:
        return {row["name"] for row in db.execute(_PUBLIC[table])}
