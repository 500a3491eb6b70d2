"""What the README shows is what the commands print, and what it lists is what exists."""

import re
import subprocess
import sys
from pathlib import Path

from shoe.predictions.formats import FORMATS
from shoe.protocols.named import ABOUT
from shoe.protocols.options import describe
from shoe.rating.kinds import KINDS, kind_of
from shoe.rating.raters_toml import read_raters

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
MAPS = (ROOT / "docs" / "maps.md").read_text("utf-8")


def test_generated_parts_are_fresh() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts/update-readme", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_protocol_option_and_format_has_its_line() -> None:
    for name in [*ABOUT, *FORMATS, *(row[0] for row in describe())]:
        assert f"| `{name}` |" in README


def test_every_kind_of_rater_and_its_settings_have_their_line() -> None:
    for name in [*KINDS, *(setting for kind in KINDS for setting in kind_of(kind).settings)]:
        assert f"| `{name}` |" in MAPS


def test_the_raters_that_are_shown_can_be_read(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", MAPS, re.DOTALL)
    (tmp_path / "raters.toml").write_text(example)
    assert [rater.kind for rater in read_raters(tmp_path / "raters.toml").raters] == ["openai", "openai-batch"]


def test_files_that_it_points_to_exist() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
    for script in re.findall(r"^scripts/\S+", README, re.MULTILINE):
        assert (ROOT / script).exists(), script
