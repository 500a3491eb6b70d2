"""The packaged sample as a service's content: its ground truth, its runs, all scored, and a leaderboard."""

from __future__ import annotations

import time
from collections.abc import Callable

from shoe.core.errors import ShoeError
from shoe.demo import PREDICTIONS, REPLIES, TRUTH
from shoe.service import runs, submissions
from shoe.service.boards import add_board
from shoe.service.boards import boards as all_boards
from shoe.service.folder import Folder
from shoe.service.tokens import LOCAL
from shoe.service.truths import add_truth, truths
from shoe.service.types import Request
from shoe.service.worker import Worker

NAME = "demo"
"""Of the ground truth and of the leaderboard."""
_TITLE = "200 images of HICO-DET, synthetic predictions"
_LOOK = 0.1


def fill(folder: Folder, tell: Callable[[str], None]) -> None:
    """Put the sample into a folder, unless it is there, and wait until its runs are scored and ranked.

    Raises:
        ShoeError: if one of them fails.
    """
    if not any(of.name == NAME for of in truths(folder)):
        add_truth(folder, NAME, TRUTH, shown=True)
    if not any(of.name == NAME for of in all_boards(folder)):
        add_board(folder, NAME, Request(truth=NAME), title=_TITLE)
    made = []
    for name, path in {**PREDICTIONS, "raw replies": REPLIES}.items():
        stored = folder.files.put(path)
        runs.add_file(folder, LOCAL, path.name, stored)
        of = submissions.submit(
            folder, LOCAL, f"{name} (synthetic)", stored.sha256, Request(truth=NAME), "public", NAME
        )
        made.append(of.id)
    worker = Worker(folder)
    worker.start()
    try:
        while (left := sum(not _is_ready(folder, id_) for id_ in made)) > 0:
            tell(f"scoring the sample: {len(made) - left} of {len(made)} runs")
            time.sleep(_LOOK)
    finally:
        worker.stop()


def _is_ready(folder: Folder, id_: str) -> bool:
    """Whether a run is scored and stands in the leaderboard; its page and diagnosis may come while it is looked at."""
    of = runs.run(folder, id_)
    if of.state in ("failed", "cancelled"):
        raise ShoeError(f"{of.name}: {of.state}: {of.reason}")
    return of.state == "done" and of.further.get("board") not in ("queued", "running")
