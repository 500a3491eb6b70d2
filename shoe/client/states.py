"""What a metric service says of what it has; fields that a newer one adds are passed over."""

from __future__ import annotations

from typing import Any

import msgspec

ENDED = ("done", "failed", "cancelled")
"""States after which a run changes no more by itself."""


class File(msgspec.Struct, frozen=True):
    """A file that a run has made.

    Attributes:
        sha256: of its content.
        size: in bytes.
        media: its media type.
    """

    sha256: str
    size: int
    media: str = "application/octet-stream"


class RunState(msgspec.Struct, frozen=True, kw_only=True):
    """A run as its service says it is.

    Attributes:
        id: by which it is asked for.
        name: what its predictions are called.
        state: queued, running, done, failed or cancelled.
        kind: score, or what was made of finished runs: compare, diagnose, page.
        team: whose it is.
        reason: why it failed; None for others.
        position: how many stand before it in the queue, from 1; None once it runs.
        stage: what it is doing.
        progress: how much of that is done, 0 to 1.
        attempt: how often it was begun.
        created, started, ended: seconds since 1970.
        prediction: SHA-256 of the prediction file.
        truth: name of the ground truth.
        request: what was asked for.
        signature: how its figures came about, once there are any.
        figures: the main ones, as fractions, by their key.
        outputs: what it has made, by name.
        further: states of the jobs that follow a scoring, by their kind.
        visibility: who may see it, team or public.
        board: the leaderboard that it was submitted to.
    """

    id: str
    state: str
    name: str = ""
    kind: str = "score"
    team: str = ""
    reason: str | None = None
    position: int | None = None
    stage: str | None = None
    progress: float | None = None
    attempt: int = 0
    created: float | None = None
    started: float | None = None
    ended: float | None = None
    prediction: str | None = None
    truth: str | None = None
    request: Any = None
    signature: str | None = None
    figures: Any = None
    outputs: dict[str, File] | None = None
    further: dict[str, str] | None = None
    visibility: str = "team"
    board: str | None = None

    @property
    def ended_well(self) -> bool:
        """Whether it is done, and has results."""
        return self.state == "done"


class Version(msgspec.Struct, frozen=True):
    """What a service runs.

    Attributes:
        shoe: version of shoe, by whose rules it scores.
        api: versions of the interface that it speaks.
    """

    shoe: str
    api: tuple[int, ...] = (1,)
