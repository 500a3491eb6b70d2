"""Commands and Python programs of README.md and docs/ run as they are shown, each page in a folder of its own.

The environment has the wheel, and HOME is empty. tests/data/pages.toml lists files, set-up, what is not run, and why.
"""

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
PLAN = tomllib.loads((ROOT / "tests" / "data" / "pages.toml").read_text("utf-8"))
GENERATED = re.compile(r"<!-- (?:run|table|api): .*?<!-- end -->", re.DOTALL)  # scripts/update-readme runs these parts
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
NOT_RUN = {pattern: reason for reason, patterns in PLAN["not_run"].items() for pattern in patterns}
DRIVER = """
import json, subprocess, sys
scope, assigned = {}, []
for kind, code in json.load(open("steps.json")):
    print("+", code, flush=True)
    if kind == "python":
        exec(code, scope)
        continue
    assigned += [line for line in code.splitlines() if line.startswith(("export ", "PLAN="))]
    done = subprocess.run(["bash", "-euc", "\\n".join([*assigned, code])]).returncode
    if done != int(kind):
        sys.exit(f"exit code {done}, expected {kind}: {code}")
"""


def shown(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Each command and Python program that a page shows as (kind, code); kind is sh or python."""
    for kind, body in FENCE.findall(GENERATED.sub("", text)):
        assert kind, f"{name}: a fence without a language: {body}"
        if kind in ("sh", "bash", "console"):
            lines = body.replace("\\\n", " ").splitlines()
            yield from (("sh", line.removeprefix("$ ")) for line in lines if line.strip())
        elif kind == "python":
            yield kind, body
        elif kind in ("toml", "make"):
            yield "sh", ("cat >> raters.toml" if kind == "toml" else "make -f -") + f" <<'END'\n{body}END"


def steps(name: str, text: str) -> list[tuple[str, str]]:
    """Each command and program of a page that is run: python, or the expected exit code, and the code."""
    absent = [pattern for pattern, module in PLAN["optional"].items() if not find_spec(module)]
    planned: list[tuple[str, str]] = []
    for kind, code in shown(name, text):
        at = f"{name}: {code}"
        if any(re.search(pattern, at) for pattern in [*NOT_RUN, *absent]):
            continue
        planned += [("0", before) for pattern, before in PLAN["before"].items() if re.search(pattern, at)]
        fails = any(re.search(pattern, at) for pattern in PLAN["exit_code_2"])
        planned.append((kind if kind == "python" else "2" if fails else "0", code))
    if any(kind == "python" for kind, _ in planned):
        planned.insert(0, ("python", PLAN["python"]))
    return planned


PAGES = {str(page.relative_to(ROOT)): page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))}
STEPS = {name: planned for name, page in PAGES.items() if (planned := steps(name, page.read_text("utf-8")))}


@pytest.mark.parametrize("page", STEPS)
def test_everything_that_a_page_shows_runs(page: str, installed: Path, tmp_path: Path) -> None:
    for name, source in PLAN["files"].items():
        (shutil.copytree if (ROOT / source).is_dir() else shutil.copy)(ROOT / source, tmp_path / name)
    (tmp_path / "steps.json").write_text(json.dumps(STEPS[page]))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"HOME": str(tmp_path / "home"), "PATH": f"{installed}{os.pathsep}{os.environ['PATH']}"}
    command: list[str | Path] = [installed / "python", "-c", DRIVER]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def test_every_row_of_the_plan_is_of_use() -> None:
    texts = [f"{name}: {code}" for name, page in PAGES.items() for _, code in shown(name, page.read_text("utf-8"))]
    patterns = [*NOT_RUN, *PLAN["before"], *PLAN["optional"], *PLAN["exit_code_2"]]
    assert [pattern for pattern in patterns if not any(re.search(pattern, text) for text in texts)] == []
