"""What the README shows is what the commands print, and what it lists is what exists."""

import re
import subprocess
import sys
from pathlib import Path

from shoe.predictions.formats import FORMATS
from shoe.scoring.options import describe
from shoe.scoring.protocols import ABOUT

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def test_generated_parts_are_fresh() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts/update-readme", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_protocol_option_and_format_has_its_line() -> None:
    for name in [*ABOUT, *FORMATS, *(row[0] for row in describe())]:
        assert f"| `{name}` |" in README


def test_files_that_it_points_to_exist() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
    for script in re.findall(r"^scripts/\S+", README, re.MULTILINE):
        assert (ROOT / script).exists(), script
