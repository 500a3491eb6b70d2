"""What the tests of tasks and replies share: recorded replies, ground truth, and programs of the page."""

import json
import os
import re
import subprocess
from pathlib import Path

from shoe.demo import TRUTH
from shoe.frameworks import cached_truth

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "frameworks"
REPLIES = json.loads((DATA / "replies.json").read_text())
GROUND_TRUTH = cached_truth(TRUTH, "hico-det")
TABLE = GROUND_TRUTH.interactions
EMPTY = next(name for i, name in enumerate(TABLE.images) if TABLE.offsets[i] == TABLE.offsets[i + 1])


def program(word: str) -> str:
    """The first program of the page about frameworks that has a word."""
    page = (ROOT / "docs" / "guides" / "frameworks.md").read_text("utf-8")
    programs: list[str] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    return next(code for code in programs if word in code)


def succeeded(command: list[str], folder: Path, **variables: object) -> str:
    """What a program writes, in a folder and with more variables of the environment."""
    environment = os.environ | {name: str(value) for name, value in variables.items()}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
