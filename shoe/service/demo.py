"""Demo content for a server, from the packaged sample: a ground truth, scored runs and a leaderboard."""

import time
from collections.abc import Callable

from shoe.core.errors import ShoeError
from shoe.demo import PREDICTIONS, REPLIES, TRUTH
from shoe.service import boards, runs, submissions
from shoe.service.folder import Folder
from shoe.service.tokens import LOCAL
from shoe.service.truths import add_truth, truths
from shoe.service.types import Request
from shoe.service.worker import Worker

NAME = "demo"
"""Name of the ground truth and of the leaderboard."""
_TITLE = "200 images of HICO-DET, synthetic predictions"


def fill(folder: Folder, progress: Callable[[str], None]) -> None:
    """Add the demo content to a data folder if needed, and wait until its runs are ranked; ShoeError if a run fails."""
    if not any(truth.name == NAME for truth in truths(folder)):
        add_truth(folder, NAME, TRUTH, shown=True)
    if not any(board.name == NAME for board in boards.boards(folder)):
        boards.add_board(folder, NAME, Request(truth=NAME), title=_TITLE)
    made = []
    for name, path in {**PREDICTIONS, "raw replies": REPLIES}.items():
        stored = folder.files.put(path)
        runs.add_file(folder, LOCAL, path.name, stored)
        request = Request(truth=NAME)
        run = submissions.submit(folder, LOCAL, f"{name} (synthetic)", stored.sha256, request, "public", NAME)
        made.append(run.id)
    worker = Worker(folder)
    worker.start()
    try:
        while (left := sum(not _is_ready(folder, id_) for id_ in made)) > 0:
            progress(f"scoring the sample: {len(made) - left} of {len(made)} runs")
            time.sleep(0.1)
    finally:
        worker.stop()


def _is_ready(folder: Folder, id_: str) -> bool:
    run = runs.run(folder, id_)
    if run.state in ("failed", "cancelled"):
        raise ShoeError(f"{run.name}: {run.state}: {run.reason}")
    return run.state == "done" and run.further.get("board") not in ("queued", "running")
