"""``shoe predict --engine ray``: what workers ask is what one process asks, whoever is killed, within one budget."""

import json
import os
import random
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli import run as cli
from tests.cli.run import run
from tests.predict.test_parts import asking, folder, made, start, succeed
from tests.predict.tiny_models import llava
from tests.predict.vlm_server import VlmServer, made_up, without_logprobs
from tests.predictions.reading import missing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.ray,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'shoe-eval[ray]'"),
]
IN_FLIGHT = 4
__all__ = ["folder"]  # a fixture


def test_workers_leave_what_one_process_leaves(folder: Path) -> None:
    llava(folder / "llava")
    model = ("--vlm", "llava", "--way", "letters", "--set", "vlm.batch_size=1", "--set", "vlm.device=cpu")
    words = ("predict", "images", "--detections", "boxes.json", *model, "--out")
    serial = start(folder, words, "serial.jsonl")
    serial.communicate()
    assert serial.returncode == 0
    process = start(folder, words, "spread.jsonl", "--engine", "ray", "--json", "-")
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    assert "seconds_per_question" not in json.loads(out)
    assert made(folder, "spread.jsonl") == made(folder, "serial.jsonl")
    assert not (folder / "spread.parts").exists()


def test_killed_workers_lose_nothing_and_no_budget_is_passed(folder: Path) -> None:
    draw, killed = random.Random(1), 0
    with VlmServer(made_up, seconds=0.05) as server:
        limits = f'vlm.limits={{"concurrency": {2 * IN_FLIGHT}, "timeout": 30}}'
        words = asking(server.url, "--detections", "boxes.json", "--set", limits)
        succeed(folder, words, "--out", "whole.jsonl")
        questions = server.requests
        server.forget()
        process = start(folder, words, "--out", "p.jsonl", "--engine", "ray", "--max-requests", "31")
        assert "31 of" in process.communicate()[1]
        assert process.returncode == 3
        assert server.requests == 31
        process = start(folder, words, "--out", "p.jsonl", "--engine", "ray")
        while process.poll() is None:
            wanted = server.requests + draw.randrange(1, 30)
            while server.requests < wanted and process.poll() is None:
                time.sleep(0.01)
            if killed < 3 and process.poll() is None and (workers := list(workers_of(process.pid))):
                with suppress(ProcessLookupError):
                    os.kill(draw.choice(workers), signal.SIGKILL)
                    killed += 1
        errors = process.communicate()[1]
        assert process.returncode == 0, errors
        assert killed
        assert len(server.generated) == questions
        assert server.requests - questions <= killed * IN_FLIGHT
    assert (folder / "p.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()
    assert not (folder / "p.parts").exists()


def test_a_killed_run_goes_on_with_what_its_workers_kept(folder: Path) -> None:
    with VlmServer(made_up, seconds=0.05) as server:
        words = asking(server.url, "--detections", "boxes.json", "--set", f'vlm.limits={{"concurrency": {IN_FLIGHT}}}')
        succeed(folder, words, "--out", "whole.jsonl")
        questions = server.requests
        server.forget()
        process = start(folder, words, "--out", "p.jsonl", "--engine", "ray", "--shard", "1/1")
        while server.requests < 40:
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.01)
        process.kill()
        process.communicate()
        time.sleep(3)  # workers end a moment after the run that they were of
        succeed(folder, words, "--out", "p.jsonl")
        assert set(server.generated.values()) == {1}
        assert server.requests - questions <= IN_FLIGHT
    assert (folder / "p.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()
    assert not (folder / "p.parts").exists()


def test_an_endpoint_that_cannot_answer_is_one_line(folder: Path) -> None:
    with VlmServer(without_logprobs) as server:
        process = start(folder, asking(server.url, "--detections", "boxes.json"), "-o", "p.jsonl", "--engine", "ray")
        errors = process.communicate()[1]
    assert process.returncode == 2
    assert missing(errors.splitlines()[-1], "without logprobs", "token probabilities") == []
    assert "--ask-again" not in errors


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--engine", "slurm"), ("--engine: found 'slurm'", "serial, ray or ray:ADDRESS")),
        (("--engine", "processes"), ("--engine: found 'processes'", "serial, ray or ray:ADDRESS")),
        (("--engine", "ray:127.0.0.1:9"), ("--engine ray: found '127.0.0.1:9'", "no cluster")),
        (("--gpus", "1"), ("--gpus 1 ", "--engine ray", "--engine serial")),
        (("--gpus", "1", "--engine", "ray"), ("--gpus 1: ", "--backend endpoint", "locally")),
    ],
)
def test_what_cannot_be_is_one_line_before_any_work(
    options: Sequence[str], said: tuple[str, ...], folder: Path
) -> None:
    words = asking("http://127.0.0.1:9/v1", "--detections", "boxes.json", "-o", "p.jsonl", *options)
    done = run(*words, folder=folder)
    for value in said:
        cli.refused(done, value)
    assert not list(folder.glob("p.*"))


def workers_of(above: int) -> Iterator[int]:
    """Processes that descend from one, and are workers of Ray at work."""
    parents = {}
    for place in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
    for process in parents:
        ancestor = process
        while ancestor in parents and ancestor != above:
            ancestor = parents[ancestor]
        with suppress(OSError):
            title = Path(f"/proc/{process}/cmdline").read_bytes()
            if ancestor == above and title.startswith((b"ray::Worker", b"ray::m:")):
                yield process
