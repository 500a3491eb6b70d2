"""Jobs on a cluster: the same bytes as here, the same limits, and nothing lost by what is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from shoe.core.errors import ServiceError, ShoeError
from shoe.core.io.files import data_folder
from shoe.demo import PREDICTIONS, TRUTH
from shoe.service import boards, runs, submissions
from shoe.service.client import Client
from shoe.service.cluster_jobs import Host, RayExecutor
from shoe.service.folder import Folder
from shoe.service.process import Executor
from shoe.service.truths import add_map, add_truth
from shoe.service.types import Request
from shoe.version import __version__
from tests.cli import run as cli
from tests.engines.heads import NO_RAY
from tests.service.calling import calling, hostile_pickle, working
from tests.service.processes import (
    Machines,
    below,
    child_of,
    children_of,
    command_of,
    is_alive,
    machines,
    serve,
    waited,
)
from tests.service.test_worker import ended, see_limits, submitted, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.ray,
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Machines]:
    if find_spec("ray") is None:
        pytest.skip(NO_RAY)
    with machines(1) as made:
        yield made


@pytest.fixture(scope="module")
def executor(cluster: Machines) -> Iterator[Any]:
    made = RayExecutor(cluster.address)
    yield made
    made.stop()


def state_of(folder: Folder, place: Executor) -> str:
    with calling(folder, executor=place) as client:
        said = client.get("/v1/health").json()
    assert said["engine"] == place.name
    return str(said["engine_state"])


@pytest.fixture
def folder(tmp_path: Path, cluster: Machines) -> Iterator[Folder]:
    waited(lambda: not child_of(cluster.hosts()))  # of another test
    opened = made_folder(tmp_path)
    yield opened
    opened.close()


def made_folder(path: Path) -> Folder:
    folder = Folder.open(path / "service")
    add_truth(folder, "demo", TRUTH, shown=True)
    add_truth(folder, "hidden", TRUTH)
    add_map(folder, "own", data_folder("similarity_maps") / "hico-det")
    boards.add_board(folder, "board", Request(truth="demo"))
    return folder


def outputs(folder: Folder, place: Executor) -> dict[str, str]:
    with working(folder, place):
        free_text, detector = PREDICTIONS["free text"], PREDICTIONS["detector"]
        ids = [submitted(folder, free_text, "demo"), submitted(folder, detector, "hidden")]
        ids.append(submitted(folder, detector, "demo", similarity="own", protocols=("qpic", "shoe")))
        stored = runs.run(folder, ids[0]).prediction
        ids.append(submissions.submit(folder, "local", None, str(stored), Request(truth="demo"), board="board").id)
        for id_ in ids:
            until(folder, id_, lambda run: set(run.further.values()) == {"done"})
        ids.append(submissions.compare(folder, "local", [ids[0], ids[2]], allow_different=True, resamples=100).id)
        ended(folder, ids[-1])
    with folder.database.read() as db:
        kinds = {row["kind"] for row in db.execute("SELECT kind FROM jobs WHERE state = 'done'")}
    assert kinds == {"score", "diagnose", "page", "board", "compare"}
    return {f"{n} {name}": of.sha256 for n, id_ in enumerate(ids) for name, of in runs.run(folder, id_).outputs.items()}


def test_files_of_all_kinds_of_jobs_are_those_of_this_machine(executor: Any, tmp_path: Path) -> None:
    made = []
    for place in (Executor(), executor):
        folder = made_folder(tmp_path / place.name)
        made.append(outputs(folder, place))
        folder.close()
    assert made[0] == made[1]
    assert len(made[0]) > 20


@pytest.mark.parametrize("victim", ["host", "child", "connection", "machine"])
def test_whatever_is_killed_costs_nothing_but_time(
    victim: str, folder: Folder, executor: Any, cluster: Machines
) -> None:
    with working(folder, executor):
        id_ = submitted(folder, PREDICTIONS["detector"])
        child, host = next(iter(waited(lambda: child_of(cluster.hosts())).items()))
        if victim == "machine":
            cluster.kill(cluster.hosts()[host])
            cluster.add()
        elif victim == "connection":
            (process,) = (of for of in children_of(os.getpid()) if "shoe.service.cluster_jobs" in command_of(of))
            os.kill(process, signal.SIGKILL)
            waited(lambda: state_of(folder, executor) == "lost")
            waited(lambda: state_of(folder, executor) == "working")
        else:
            os.kill({"host": host, "child": child}[victim], signal.SIGKILL)
        waited(lambda: not is_alive(child))
        run = ended(folder, id_)
        assert (run.state, run.reason) == ("done", None)
        # Ray may start the second host on the machine, or for the connection, whose death it has not noticed.
        assert run.attempt in ((2, 3) if victim in ("machine", "connection") else (2,))
    lines = [line.line for line in runs.log(folder, id_)]
    assert lines.count("finished") == 1
    said = {"child": "signal 9", "connection": "cluster was lost", "host": "of the job", "machine": "lost"}[victim]
    assert any(said in line for line in lines), lines
    assert not any(word in line for line in lines for word in ("pid:", "ip:", str(folder.path)))


def test_machines_that_are_lost_while_they_have_nothing_to_do_are_no_deaths_of_the_next_job(folder: Folder) -> None:
    with machines(2) as several:
        executor = RayExecutor(several.address)
        try:
            with working(folder, executor, 2):
                ids = [submitted(folder, PREDICTIONS[name]) for name in ("detector", "free text")]
                for id_ in ids:
                    until(folder, id_, lambda run: set(run.further.values()) == {"done"})
                hosts = several.hosts()
                assert hosts
                for host in hosts:
                    os.kill(host, signal.SIGKILL)
                waited(lambda: not any(map(is_alive, hosts)))
                run = ended(folder, submitted(folder, PREDICTIONS["detector"], protocols=("shoe", "qpic")))
                assert (run.state, run.reason) == ("done", None)
        finally:
            executor.stop()


def test_jobs_wait_while_a_whole_cluster_is_lost(folder: Folder) -> None:
    before = below(os.getpid())
    own = RayExecutor("")  # which is started again when it is lost
    try:
        with working(folder, own):
            id_ = submitted(folder, PREDICTIONS["detector"])
            until(folder, id_, lambda run: run.stage in ("reading", "scoring"))
            (part,) = (pid for pid in below(os.getpid()) - before if "gcs_server" in command_of(pid).partition(" ")[0])
            os.kill(part, signal.SIGKILL)
            waited(lambda: state_of(folder, own) == "lost")
            run = ended(folder, id_)
            waited(lambda: state_of(folder, own) == "working")
            other = submitted(folder, PREDICTIONS["free text"])
            assert ended(folder, other).state == "done"
        assert (run.state, run.reason) == ("done", None)
        lines = [line.line for line in runs.log(folder, id_)]
        assert not any("of the job" in line for line in lines)  # which would count as a death
    finally:
        own.stop()
    waited(lambda: not any(map(is_alive, below(os.getpid()) - before)))


def test_limits_hold_on_the_cluster(folder: Folder, executor: Any, tmp_path: Path, cluster: Machines) -> None:
    see_limits(folder, tmp_path, executor, {})
    assert not child_of(cluster.hosts())


def test_a_cancelled_job_ends_there(folder: Folder, executor: Any, cluster: Machines) -> None:
    with working(folder, executor):
        id_ = submitted(folder, PREDICTIONS["detector"])
        child = waited(lambda: next(iter(child_of(cluster.hosts())), 0))
        runs.cancel(folder, id_)
        waited(lambda: not is_alive(child))
        other = submitted(folder, PREDICTIONS["free text"])
        assert ended(folder, other).state == "done"
    assert runs.run(folder, id_).state == "cancelled"


def test_what_comes_by_token_runs_nothing_there_and_hears_no_secret(
    folder: Folder, executor: Any, tmp_path: Path, cluster: Machines
) -> None:
    (tmp_path / "evil.pkl").write_bytes(hostile_pickle(tmp_path / "was here"))
    with working(folder, executor):
        run = ended(folder, submitted(folder, tmp_path / "evil.pkl"))
        assert (run.state, str(run.reason)[:10], "/" in str(run.reason)) == ("failed", "evil.pkl: ", False)
        submitted(folder, PREDICTIONS["detector"])
        child = waited(lambda: next(iter(child_of(cluster.hosts())), 0))
        names = {line.partition("=")[0] for line in Path(f"/proc/{child}/environ").read_text().split("\0") if line}
    assert not (tmp_path / "was here").exists()
    assert names <= {"HOME", "TMPDIR", "PATH", "PYTHONPATH", "OPENBLAS_NUM_THREADS", "LANG", "LC_ALL"} | {
        name for name in os.environ if name.startswith("PYTHON")
    }


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_scores_there_what_comes_by_token_and_takes_all_that_it_started_along(
    how: int, tmp_path: Path, cluster: Machines
) -> None:
    folder = made_folder(tmp_path)
    options = ("--engine", f"ray:{cluster.address}", "--tokens")
    with serve(folder.path, 0, *options, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        try:
            said = [server.stdout.readline() for _ in range(3)]
            address, token = said[0].split()[-1], said[2].split()[-1]
            with Client(address) as nobody, pytest.raises(ServiceError, match="token"):
                nobody.submit(PREDICTIONS["free text"], "demo")
            with Client(address, token=token) as client:
                done = client.wait(client.submit(PREDICTIONS["free text"], "demo"))
                cli.run("score", PREDICTIONS["free text"], "-g", TRUTH, "--json", tmp_path / "here.json")
                assert client.file(done, "result.json") == (tmp_path / "here.json").read_bytes()
                made = client.submit(PREDICTIONS["detector"], "demo").id
                waited(lambda: client.run(made).state == "running")
            child, host = next(iter(waited(lambda: child_of(cluster.hosts())).items()))
        finally:
            server.send_signal(how)
        waited(lambda: not is_alive(child) and not is_alive(host))
        assert server.wait(120) == (0 if how == signal.SIGTERM else -how)
        assert server.stderr.read() == ""
    waited(lambda: not cluster.hosts())
    assert runs.run(folder, made).state == ("queued" if how == signal.SIGTERM else "running")
    folder.close()


@pytest.mark.parametrize(
    ("engine", "found"),
    [
        ("ray:127.0.0.1:9", "--engine ray: found '127.0.0.1:9',"),
        ("ray:", "--engine: found 'ray:', expected processes"),
        ("serial", "--engine: found 'serial', expected processes"),
    ],
)
def test_no_cluster_is_one_line_before_anything_is_served(tmp_path: Path, engine: str, found: str) -> None:
    cli.refused(cli.run("serve", tmp_path / "lab", "--port", "0", "--engine", engine), found)


def test_a_machine_with_another_version_does_nothing() -> None:
    with pytest.raises(ShoeError, match=r"install shoe 0\.0\.0,"):
        Host("0.0.0")


def test_a_host_removes_what_killed_ones_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "from shoe.service.cluster_jobs import Host; from shoe.version import __version__; import os\n"
    program += "h = Host(__version__); print('there', flush=True); input()"
    above = tmp_path / f"shoe-hosts-{os.getuid()}"
    hosts = []
    for number in range(3):
        words, home = [sys.executable, "-P", "-c", program], {"TMPDIR": str(tmp_path)}
        host = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | home)
        assert host.stdout is not None
        assert host.stdout.readline() == b"there\n"
        assert len(list(above.glob("host-*"))) == 1 + bool(number)  # the first one's stays, the killed one's goes
        hosts.append(host)
        if number:
            host.kill()
            host.wait()
    hosts[0].kill()
    for host in hosts:
        host.communicate()
    above.chmod(0o755)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ShoeError, match="mode 0700"):
        Host(__version__)
