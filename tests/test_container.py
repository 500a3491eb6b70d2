"""deploy/Dockerfile: its steps run in an empty environment, from what the image gets of the checkout."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
STEPS = re.sub(r"\\\n", " ", (ROOT / "deploy" / "Dockerfile").read_text("utf-8"))
KEPT = re.findall("^!(.*)$", (ROOT / "deploy" / "Dockerfile.dockerignore").read_text("utf-8"), re.MULTILINE)


def step(name: str) -> str:
    return str(re.findall(rf"^{name} (.+)$", STEPS, re.MULTILINE)[-1])


def test_the_service_of_the_image_starts_and_is_healthy(tmp_path: Path) -> None:
    source, home, data = tmp_path / "src", tmp_path / "python", tmp_path / "data"
    for name in KEPT:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name)
        else:
            shutil.copy(ROOT / name, source / name)
    data.mkdir()
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PATH"] = f"{home / 'bin'}{os.pathsep}{environment['PATH']}"
    subprocess.run(["sh", "-euc", step("RUN").replace("/src", str(source))], check=True, env=environment)
    assert not source.exists()
    command = json.loads(step("ENTRYPOINT")) + json.loads(step("CMD"))
    port = int(step("EXPOSE"))
    here = [str(data) if word == "/data" else "127.0.0.1" if word == "0.0.0.0" else word for word in command]
    check = json.loads(step("HEALTHCHECK CMD"))
    assert str(port) in check[-1]
    server = subprocess.Popen([home / "bin" / here[0], *here[1:]], cwd=tmp_path, env=environment)
    try:
        for _ in range(60):
            time.sleep(0.5)
            done = subprocess.run([home / "bin" / check[0], *check[1:]], env=environment, capture_output=True)
            if done.returncode == 0:
                break
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/health", timeout=5) as answer:
            assert answer.status == 200
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0
