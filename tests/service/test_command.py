"""The command that a run shows: who has its files gets the same bytes by it."""

import shlex
import shutil
from pathlib import Path
from typing import Any

from shoe.demo import PREDICTIONS, TRUTH
from shoe.service import job_process, runs
from shoe.service.folder import Folder
from shoe.service.jobs import command
from shoe.service.process import Limits, Task
from shoe.service.truths import add_truth
from tests.cli.run import run
from tests.service.calling import claimed, queued


def test_the_command_of_a_run_gives_its_result(folder: Folder, tmp_path: Path) -> None:
    add_truth(folder, "demo", TRUTH, shown=True)
    how: dict[str, Any] = {"protocols": ("qpic", "shoe"), "options": ("tau=0.4",)}
    made = queued(folder, "a name", PREDICTIONS["detector"].read_bytes(), file="my file.json", truth="demo", **how)
    job = claimed(folder)
    (tmp_path / "job").mkdir()
    job_process.do(Task("score", job.request, str(folder.files.folder), str(folder.maps), Limits()), tmp_path / "job")
    shutil.copy(TRUTH, tmp_path)
    shutil.copy(PREDICTIONS["detector"], tmp_path / "my file.json")
    typed = runs.command_of(folder, made.id)
    assert command("page", {**job.request, "name": "my file", "file": "my file.json"}) == typed
    done = run(*shlex.split(typed)[1:], folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.encode() == (tmp_path / "job" / "out" / "result.json").read_bytes()
