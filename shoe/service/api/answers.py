"""What the service has, as answers say it."""

from __future__ import annotations

from shoe.service.api import models
from shoe.service.runs import Run


def run_answer(run: Run) -> models.Run:
    """A run."""
    return models.Run(
        id=run.id,
        kind=run.kind,
        team=run.team,
        name=run.name,
        state=run.state,  # type: ignore[arg-type]
        created=run.created,
        attempt=run.attempt,
        truth=run.truth,
        visibility=run.visibility,  # type: ignore[arg-type]
        request=dict(run.request),
        figures=dict(run.figures),
        outputs={name: models.File(sha256=of.sha256, size=of.size, media=of.media) for name, of in run.outputs.items()},
        further=dict(run.further),
        reason=run.reason,
        position=run.position,
        stage=run.stage,
        progress=run.progress,
        started=run.started,
        ended=run.ended,
        signature=run.signature,
        prediction=run.prediction,
        board=run.board,
    )
