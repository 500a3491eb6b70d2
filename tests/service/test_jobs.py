"""The queue: each job to one worker, each end once, and nothing kept of who comes too late."""

import shlex
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from shoe.demo import PREDICTIONS, TRUTH
from shoe.service import job_process, jobs, runs, submissions
from shoe.service.errors import ConflictError, NotFoundError
from shoe.service.folder import Folder
from shoe.service.process import Limits, Task
from shoe.service.runs import tidy
from shoe.service.truths import add_truth, similarity
from shoe.service.types import Request, Run
from tests.cli.run import run
from tests.service.calling import claimed, execute, one_value, queued
from tests.service.client.serving import rows


def submitted(folder: Folder, team: str, content: bytes = b"[1]", **how: object) -> Run:
    return queued(folder, "mine.json", content, team, **how)  # type: ignore[arg-type]


def queue(folder: Folder, *numbers: int) -> None:
    with folder.database.write() as db:
        for number in numbers:
            jobs.add(db, jobs.NewJob("score", {"number": number}))


def key_of(folder: Folder, run: Run) -> str:
    return str(one_value(folder, "SELECT key FROM runs WHERE id = ?", run.id))


def test_claims_of_many_threads_are_distinct(folder: Folder) -> None:
    queue(folder, *(number for number in range(60) for _ in range(2)))
    found: list[jobs.Job] = []

    def claim() -> None:
        while (job := jobs.claim(folder)) is not None:
            found.append(job)

    threads = [threading.Thread(target=claim) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(job.request["number"] for job in found) == list(range(60))


def test_only_who_holds_the_attempt_says_how_it_ended(folder: Folder) -> None:
    queue(folder, 0)
    first = claimed(folder, lease=-1)
    assert jobs.requeue_lost(folder) == 1
    second = claimed(folder)
    assert (second.key, second.attempt) == (first.key, 2)
    assert not jobs.beat(folder, first, "scoring", 0.5)
    assert not jobs.finish(folder, first, {})
    assert not jobs.fail(folder, first, "too late")
    assert jobs.beat(folder, second, "scoring", 0.5)
    assert jobs.finish(folder, second, {})
    assert not jobs.finish(folder, second, {})
    assert [row["line"] for row in rows(folder, "log")].count("finished") == 1


def test_a_job_whose_children_die_fails_in_the_end(folder: Folder) -> None:
    queue(folder, 0)
    for _ in range(jobs.MOST_DEATHS):
        jobs.give_up(folder, claimed(folder), "signal 9")
    assert jobs.claim(folder) is None
    (row,) = rows(folder, "jobs")
    assert (row["state"], row["reason"]) == ("failed", "signal 9, 3 times")


def test_teams_take_turns_however_much_one_has_sent(folder: Folder) -> None:
    sent = [submitted(folder, team, b"[%d]" % number) for number, team in enumerate("aaabbc")]
    assert [runs.run(folder, run.id).position for run in sent] == [1, 4, 6, 2, 5, 3]
    team_of = {key_of(folder, run): run.team for run in sent}
    served = []
    while (job := jobs.claim(folder)) is not None:
        served.append(team_of[job.key])
        if len(served) == 2:
            submitted(folder, "d", b"[6]")
            team_of |= {key_of(folder, run): run.team for run in runs.runs(folder, "team = 'd'")}
    assert "".join(served) == "abcdaba"


def test_equal_work_is_one_job_whose_runs_are_their_teams_own(folder: Folder) -> None:
    a, b = (submitted(folder, team) for team in ("a", "b"))
    assert submitted(folder, "a", protocols=("hico-det", "shoe")).id == a.id  # the defaults, named
    other = submitted(folder, "a", protocols=("qpic",))
    assert (key_of(folder, a), a.position, other.position) == (key_of(folder, b), 1, 2)
    assert len({a.id, b.id, other.id}) == 3
    assert a.state == "queued"
    runs.cancel(folder, a.id)
    assert (runs.run(folder, a.id).state, runs.run(folder, b.id).state) == ("cancelled", "queued")
    jobs.fail(folder, claimed(folder), f"{runs.THE_FILE}: found x")
    assert runs.run(folder, b.id).reason == "mine.json: found x"
    assert submissions.retry(folder, b.id).state == "queued"
    with pytest.raises(ConflictError):
        submissions.retry(folder, b.id)
    with pytest.raises(NotFoundError):
        submissions.submit(folder, "c", None, str(a.prediction), Request(truth="small"))
    assert [run.id for run in runs.runs(folder, "team = 'a'")] == [other.id, a.id]


def test_what_is_deleted_is_gone_unless_somebody_else_has_it(folder: Folder) -> None:
    a, b = (submitted(folder, team) for team in ("a", "b"))
    runs.delete(folder, a.id)
    with pytest.raises(NotFoundError):
        runs.run(folder, a.id)
    assert runs.file_name(folder, "a", str(a.prediction)) is None
    tidy(folder)
    assert runs.run(folder, b.id).state == "queued"
    runs.delete(folder, b.id)
    tidy(folder)
    assert len(rows(folder, "runs")) == 2  # for a daily quota
    execute(folder, "UPDATE runs SET created = created - 86401")
    tidy(folder)
    assert [rows(folder, table) for table in ("jobs", "runs", "predictions")] == [[], [], []]


def test_the_map_of_a_dataset_is_the_one_that_it_names(folder: Folder) -> None:
    assert similarity(folder, "dataset", "v-coco") == {"name": "v-coco"}


def test_who_has_the_files_of_a_run_gets_the_same_bytes_by_its_command(folder: Folder, tmp_path: Path) -> None:
    add_truth(folder, "demo", TRUTH, shown=True)
    how: dict[str, Any] = {"protocols": ("qpic", "shoe"), "options": ("tau=0.4",)}
    made = queued(folder, "a name", PREDICTIONS["detector"].read_bytes(), file="my file.json", truth="demo", **how)
    job, place = claimed(folder), tmp_path / "job"
    place.mkdir()
    job_process.do(Task("score", job.request, str(folder.files.folder), str(folder.maps), Limits()), place)
    shutil.copy(TRUTH, tmp_path)
    shutil.copy(PREDICTIONS["detector"], tmp_path / "my file.json")
    typed = runs.command_of(folder, made.id)
    assert jobs.command("page", {**job.request, "name": "my file", "file": "my file.json"}) == typed
    done = run(*shlex.split(typed)[1:], folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.encode() == (place / "out" / "result.json").read_bytes()
