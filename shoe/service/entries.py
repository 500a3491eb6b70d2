"""What was submitted to a leaderboard, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from shoe.service.folder import Folder
from shoe.service.jobs import Output

DRAWS = "draws.npz"
"""What a job of kind board makes: each figure under resampled images."""
_ERROR = "error:"


@dataclass(frozen=True, slots=True)
class Entry:
    """A run that was submitted; its figures, and the file of their draws, once they are there."""

    run: str
    team: str
    name: str
    created: float
    state: str
    signature: str
    figures: Mapping[str, float]
    draws: str | None
    why: Mapping[str, float]

    def missing(self, figure: str) -> str:
        """Why it cannot be ranked by a figure."""
        if self.state != "done":
            return self.state
        return "it is being ranked" if self.draws is None else f"it has no {figure}"


def entries(folder: Folder, name: str) -> list[Entry]:
    """The runs that were submitted to a board, in their order."""
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
        outputs = msgspec.json.decode(ranked["outputs"], type=dict[str, Output]) if ranked else {}
        found.append(
            Entry(
                run=row["id"],
                team=row["team"],
                name=row["name"],
                created=row["created"],
                state=row["state"],
                signature=row["signature"] or "",
                figures=msgspec.json.decode(ranked["figures"]) if ranked else {},
                draws=outputs[DRAWS].sha256 if ranked else None,
                why=_costs(msgspec.json.decode(diagnosed["figures"])) if diagnosed else {},
            )
        )
    return found


def _costs(figures: Mapping[str, float]) -> dict[str, float]:
    """Error types of a diagnosis by what they cost, the costliest first."""
    costs = {key.removeprefix(_ERROR): value for key, value in figures.items() if key.startswith(_ERROR)}
    return dict(sorted(costs.items(), key=lambda cost: -cost[1]))
