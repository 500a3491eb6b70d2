"""The queue: each job to one worker, each end once, and nothing kept of who comes too late."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoe.service import jobs, runs, submissions
from shoe.service.errors import ConflictError, NotFoundError
from shoe.service.folder import Folder
from shoe.service.runs import tidy
from shoe.service.truths import add_truth, similarity
from shoe.service.types import Request, Run
from tests.service.calling import received

TRUTH = Path(__file__).parent.parent / "data" / "hico_det" / "instances_test2015.json"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    opened = Folder.open(tmp_path / "service")
    yield opened
    opened.close()


def submitted(folder: Folder, team: str, content: bytes, **how: object) -> Run:
    stored = received(folder.files, [content], free_below=0)
    runs.add_file(folder, team, "mine.json", stored)
    return submissions.submit(folder, team, None, stored.sha256, Request(truth="t", **how))  # type: ignore[arg-type]


def key_of(folder: Folder, run: Run) -> str:
    with folder.database.read() as db:
        return str(db.execute("SELECT key FROM runs WHERE id = ?", (run.id,)).fetchone()["key"])


def test_claims_of_many_threads_are_distinct(folder: Folder) -> None:
    with folder.database.write() as db:
        for number in range(60):
            jobs.add(db, jobs.NewJob("score", {"number": number}))
            jobs.add(db, jobs.NewJob("score", {"number": number}))
    claimed: list[jobs.Job] = []

    def claim() -> None:
        while (job := jobs.claim(folder)) is not None:
            claimed.append(job)

    threads = [threading.Thread(target=claim) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(job.request["number"] for job in claimed) == list(range(60))


def test_only_who_holds_the_attempt_says_how_it_ended(folder: Folder) -> None:
    with folder.database.write() as db:
        jobs.add(db, jobs.NewJob("score", {}))
    first = jobs.claim(folder, lease=-1)
    assert first is not None
    assert jobs.requeue_lost(folder) == 1
    second = jobs.claim(folder)
    assert second is not None
    assert (second.key, second.attempt) == (first.key, 2)
    assert not jobs.beat(folder, first, "scoring", 0.5)
    assert not jobs.finish(folder, first, {})
    assert not jobs.fail(folder, first, "too late")
    assert jobs.beat(folder, second, "scoring", 0.5)
    assert jobs.finish(folder, second, {})
    assert not jobs.finish(folder, second, {})
    with folder.database.read() as db:
        lines = [row["line"] for row in db.execute("SELECT line FROM log ORDER BY number")]
    assert lines.count("finished") == 1


def test_a_job_whose_children_die_fails_in_the_end(folder: Folder) -> None:
    with folder.database.write() as db:
        jobs.add(db, jobs.NewJob("score", {}))
    for _ in range(jobs.MOST_DEATHS):
        job = jobs.claim(folder)
        assert job is not None
        jobs.give_up(folder, job, "killed by signal 9")
    assert jobs.claim(folder) is None
    with folder.database.read() as db:
        row = db.execute("SELECT state, reason FROM jobs").fetchone()
    assert tuple(row) == ("failed", "killed by signal 9, 3 times")


def test_teams_take_turns_however_much_one_has_sent(folder: Folder) -> None:
    add_truth(folder, "t", TRUTH)
    sent = [submitted(folder, team, b"[%d]" % number) for number, team in enumerate("aaabbc")]
    positions = [runs.run(folder, run.id).position for run in sent]
    assert positions == [1, 4, 6, 2, 5, 3]
    team_of = {key_of(folder, run): run.team for run in sent}
    served = []
    while (job := jobs.claim(folder)) is not None:
        served.append(team_of[job.key])
        if len(served) == 2:
            submitted(folder, "d", b"[6]")
            team_of |= {key_of(folder, run): run.team for run in runs.runs(folder, team="d")}
    assert "".join(served) == "abcdaba"


def test_equal_work_is_one_job_whose_runs_are_their_teams_own(folder: Folder) -> None:
    add_truth(folder, "t", TRUTH)
    a, b = (submitted(folder, team, b"[1]") for team in ("a", "b"))
    assert submitted(folder, "a", b"[1]", protocols=("hico-det", "shoe")).id == a.id  # the defaults, named
    other = submitted(folder, "a", b"[1]", protocols=("qpic",))
    assert (key_of(folder, a), a.position, other.position) == (key_of(folder, b), 1, 2)
    assert len({a.id, b.id, other.id}) == 3
    assert a.state == "queued"
    runs.cancel(folder, a.id)
    assert (runs.run(folder, a.id).state, runs.run(folder, b.id).state) == ("cancelled", "queued")
    job = jobs.claim(folder)
    assert job is not None
    jobs.fail(folder, job, f"{runs.THE_FILE}: found x")
    assert runs.run(folder, b.id).reason == "mine.json: found x"
    assert submissions.retry(folder, b.id).state == "queued"
    with pytest.raises(ConflictError):
        submissions.retry(folder, b.id)
    with pytest.raises(NotFoundError):
        submissions.submit(folder, "c", None, str(a.prediction), Request(truth="t"))
    assert [run.id for run in runs.runs(folder, "a")] == [other.id, a.id]


def submissions_today(folder: Folder) -> int:
    with folder.database.read() as db:
        return int(db.execute("SELECT count(*) FROM runs").fetchone()[0])


def test_what_is_deleted_is_gone_unless_somebody_else_has_it(folder: Folder) -> None:
    add_truth(folder, "t", TRUTH)
    a, b = (submitted(folder, team, b"[1]") for team in ("a", "b"))
    runs.delete(folder, a.id)
    with pytest.raises(NotFoundError):
        runs.run(folder, a.id)
    assert runs.file_name(folder, "a", str(a.prediction)) is None
    tidy(folder)
    assert runs.run(folder, b.id).state == "queued"
    runs.delete(folder, b.id)
    tidy(folder)
    assert submissions_today(folder) == 2  # for a daily quota
    with folder.database.write() as db:
        db.execute("UPDATE runs SET created = created - 86401")
    tidy(folder)
    with folder.database.read() as db:
        left = [db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("jobs", "runs", "predictions")]
    assert left == [0, 0, 0]


def test_the_map_of_a_dataset_is_the_one_that_it_names(folder: Folder) -> None:
    add_truth(folder, "t", TRUTH)
    own, named = (submitted(folder, "a", b"[1]", **how) for how in ({}, {"similarity": "hico-det"}))
    assert key_of(folder, own) == key_of(folder, named)
    assert similarity(folder, "dataset", "v-coco") == {"name": "v-coco"}
