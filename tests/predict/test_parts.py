"""``shoe predict --shard``: parts of one run, killed or not, leave what an undivided run leaves, byte for byte."""

import json
import multiprocessing
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.cli import run as cli
from tests.cli.run import run
from tests.mentions import mentions
from tests.predict.made import made_pictures
from tests.predict.tiny_detectors import detr
from tests.predict.vlm_server import VlmServer, made_up

pytestmark = pytest.mark.slow
PARTS, PICTURES = 4, 14
NAMES = [f"HICO_test2015_{number:08d}.png" for number in range(1, PICTURES + 1)]
LABELS = ["person", "bicycle", "person", "N/A", "dog", "person", "horse"]
BOXES = [
    {"image_id": number, "category_id": category, "bbox": [2 * number, 2, 20, 30], "score": 0.3 + 0.04 * number}
    for number in range(1, PICTURES + 1)
    for category in (1, 19)
]
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "scale.md"
SHIPPED = "--detector facebook/detr-resnet-50 --vlm Qwen/Qwen3-VL-8B-Instruct"


@pytest.fixture(scope="module")
def detector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return detr(tmp_path_factory.mktemp("detr"), LABELS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made_pictures(tmp_path / "images", NAMES)
    (tmp_path / "boxes.json").write_text(json.dumps(BOXES))
    return tmp_path


def asking(url: str, *more: object) -> list[object]:
    """Options of a run that asks an endpoint whether each verb is done."""
    endpoint = ("--backend", "endpoint", "--vlm", "m", "--set", f"vlm.base_url={url}", "--way", "yes-no")
    return ["predict", "images", *endpoint, "--set", "detector.batch_size=1", *more]


def made(folder: Path, out: str) -> dict[str, bytes]:
    """The files of a run, but for the order of the answers, and their durations."""
    name = Path(out).stem
    files = {path.name.removeprefix(name): path.read_bytes() for path in folder.glob(f"{name}.*") if path.is_file()}
    answers = re.sub(rb',"(?:seconds|checksum)":[^,}]*', b"", files.pop(".answers.jsonl")).splitlines()
    return {**files, ".answers.jsonl": b"\n".join(sorted(answers))}


def succeed(folder: Path, words: Sequence[object], *more: object) -> CompletedProcess[str]:
    found = run(*words, *more, folder=folder)
    assert found.returncode == 0, found.stderr
    return found


def parts(count: int, seed: int) -> list[str]:
    order = [f"{number}/{count}" for number in range(1, count + 1)]
    random.Random(seed).shuffle(order)
    return order


def test_parts_leave_what_an_undivided_run_leaves(folder: Path, detector: Path) -> None:
    with VlmServer(made_up) as server:
        words = asking(server.url, "--detector", detector, "--pair-rule", "all", "--set", "pairs.pairs=2")
        succeed(folder, words, "--out", "whole.jsonl")
        asked = server.requests
        shards = parts(PARTS, 5)
        for shard in shards:
            last = succeed(folder, words, "--out", "parts.jsonl", "--shard", shard, "--json", "-")
            assert json.loads(last.stdout)["part"] == shard
            assert f"part {shard}: " in last.stderr.splitlines()[-1]
            assert not (folder / "parts.jsonl").exists()
            if shard == shards[1]:  # the answers of the first two count, and nothing is merged
                last = succeed(folder, words, "--out", "parts.jsonl", "--dry-run", "--json", "-")
                assert json.loads(last.stdout)["questions"]["known"] == server.requests - asked
                assert not list(folder.glob("parts.jsonl.answers*"))
        assert server.requests == 2 * asked
        for _ in range(2):
            succeed(folder, words, "--out", "parts.jsonl")
            assert made(folder, "parts.jsonl") == made(folder, "whole.jsonl")
        assert server.requests == 2 * asked
    assert not (folder / "parts.parts").exists()


def test_more_parts_than_pictures_and_missing_parts(folder: Path) -> None:
    with VlmServer(made_up) as server:
        words = asking(server.url, "--detections", "boxes.json")
        succeed(folder, words, "--out", "whole.jsonl")
        for shard in [*(("--shard", shard) for shard in parts(3 * PICTURES, 1)[::2]), ()]:
            succeed(folder, words, "--out", "parts.jsonl", *shard)
        assert made(folder, "parts.jsonl") == made(folder, "whole.jsonl")
        assert server.requests == 2 * len(server.generated)


def test_killed_parts_ask_nothing_twice(folder: Path) -> None:
    with VlmServer(made_up, seconds=0.02) as server:
        words = [*asking(server.url, "--detections", "boxes.json"), "--set", 'vlm.limits={"concurrency": 2}']
        succeed(folder, words, "--out", "whole.jsonl")
        server.forget()
        for killed in (True, False):
            started = [start(folder, words, "--out", "parts.jsonl", "--shard", shard) for shard in parts(2, 2)]
            while killed and server.requests < 10:
                assert None in [one.poll() for one in started]
                time.sleep(0.005)
            for one in started:
                if killed:
                    one.send_signal(signal.SIGKILL)
                one.communicate()
                assert (one.returncode == 0) != killed
        assert not (folder / "parts.jsonl").exists()
        succeed(folder, words, "--out", "parts.jsonl")
        assert (folder / "parts.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()
        assert set(server.generated.values()) == {1}


def start(folder: Path, words: Sequence[object], *more: object) -> "subprocess.Popen[str]":
    env = {**os.environ, "OMP_NUM_THREADS": "1"}  # as workers of Ray have it: sums of more threads are others
    command, pipe = [*cli.COMMAND, *map(str, [*words, *more])], subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, env=env, stdout=pipe, stderr=pipe, text=True)


def test_a_merge_that_dies_anywhere_loses_nothing(folder: Path, detector: Path) -> None:
    with VlmServer(made_up) as server:
        words = [*asking(server.url, "--detector", detector, "--pair-rule", "all"), "--set", "pairs.pairs=2"]
        for shard in parts(2, 0):
            succeed(folder, words, "--out", "p.jsonl", "--shard", shard)
        succeed(folder, words, "--out", "whole.jsonl")
        asked, steps = server.requests, 0
        while True:
            once = folder / str(steps)
            shutil.copytree(folder / "p.parts", once / "p.parts")
            (once / "images").symlink_to(folder / "images")
            dying = multiprocessing.get_context("fork").Process(target=_die_at, args=(once, words, steps))
            dying.start()
            dying.join()
            if dying.exitcode == 0:
                break
            assert dying.exitcode == 9
            succeed(once, words, "--out", "p.jsonl")
            assert made(once, "p.jsonl") == made(folder, "whole.jsonl")
            assert not (once / "p.parts").exists()
            steps += 1
        assert steps > 10
        assert server.requests == asked


def _die_at(folder: Path, words: Sequence[object], step: int) -> None:
    """Run, and die before a file is brought to the disk, put in another's place, or removed for the n-th time."""
    done = 0

    def dying(real: Callable[..., Any]) -> Callable[..., Any]:
        def one_step(*given: Any, **named: Any) -> Any:
            nonlocal done
            if done == step:
                os._exit(9)
            done += 1
            return real(*given, **named)

        return one_step

    for name in ("fsync", "replace", "unlink", "rmdir"):
        setattr(os, name, dying(getattr(os, name)))
    os._exit(run(*words, "--out", "p.jsonl", folder=folder).returncode)


def test_the_guides_line_for_xargs(folder: Path) -> None:
    (folder / "bin").mkdir()
    (folder / "bin" / "shoe").write_text(f'#!/bin/sh\nexec {sys.executable} -P -m shoe "$@"\n')
    (folder / "bin" / "shoe").chmod(0o755)
    lines = GUIDE.read_text().splitlines()
    [parallel] = [line for line in lines if line.startswith("seq ") and "shoe predict" in line]
    merging = lines[lines.index(parallel) + 1]
    assert merging == parallel.partition("-I{} ")[2].removesuffix(" --shard {}/16")
    with VlmServer(made_up) as server:
        ours = shlex.join(map(str, asking(server.url, "--detections", "boxes.json")[2:]))
        succeed(folder, asking(server.url, "--detections", "boxes.json"), "-o", "whole.jsonl")
        asked = server.requests
        server.forget()
        path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        for line in (parallel.replace("16", str(PARTS)), merging):
            assert SHIPPED in line
            command = ["sh", "-c", line.replace(SHIPPED, ours)]
            subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, check=True)
        assert server.requests == asked
        assert set(server.generated.values()) == {1}
    assert made(folder, "predictions.jsonl") == made(folder, "whole.jsonl")


def test_parts_that_are_damaged_or_made_in_another_way_are_one_line(folder: Path, detector: Path) -> None:
    with VlmServer(made_up) as server:
        words = asking(server.url, "--detector", detector, "--pair-rule", "all", "--set", "pairs.pairs=1")
        words += ["--out", "p.jsonl"]
        succeed(folder, words, "--shard", "1/1")
        asked = server.requests
        for name, *more, found in (
            ("detections.jsonl", "--set", "detector.threshold=0.9", ": line 1: … threshold"),
            *(("detections.jsonl", ": line 3"), ("answers.jsonl", ": line 3")),
        ):
            part = folder / "p.parts" / "1-of-1" / name
            whole = part.read_bytes()
            lines = whole.splitlines(keepends=True)
            if not more:
                part.write_bytes(b"".join([*lines[:2], lines[2][:20] + b"\n", *lines[3:]]))
            done = run(*words, *more, folder=folder)
            assert done.returncode == 2
            assert re.search(mentions(f"p.parts/1-of-1/{name}{found}"), done.stderr.splitlines()[-1])
            assert part.exists()
            part.write_bytes(whole)
        succeed(folder, words)
        assert server.requests == asked


@pytest.mark.parametrize("shard", ["0/4", "5/4", "1", "a/b"])
def test_what_is_no_part_is_one_line(folder: Path, shard: str) -> None:
    words = asking("http://127.0.0.1:9/v1", "--detections", "boxes.json", "--out", "p.jsonl", "--shard", shard)
    cli.refused(run(*words, folder=folder), "3/16")
    assert not (folder / "p.parts").exists()
