"""What gets imported: starting costs time, and scoring must work without any of the extras."""

import json
import subprocess
import sys

HEAVY = {"matplotlib", "nltk", "openai", "pandas", "pyarrow", "scipy.optimize", "scipy.stats", "torch", "transformers"}
PAGES = {"jinja2", "markupsafe"}
COMMAND_LINE = {"rich", "typer"}

_SCORE = """
import shoe
from shoe.demo import PREDICTIONS, TRUTH
truth = shoe.read_ground_truth(TRUTH)
for path in PREDICTIONS.values():
    report = shoe.score(shoe.read_predictions(path), truth, protocols=["all"])
    assert report.semantic is not None and report.strict is not None
"""
_DEMO = """
import contextlib, io, sys
from shoe.cli import main
sys.argv = ["shoe", "demo"]
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
"""

_NOT_UNIX = """
import os, signal, sys
for module in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[module] = None
for name in ("O_CLOEXEC", "O_NONBLOCK", "fchmod", "getuid", "posix_fallocate", "pread", "sched_getaffinity"):
    delattr(os, name)
del signal.SIGHUP, signal.SIGKILL, signal.pthread_sigmask
"""


def modules_after(code: str) -> set[str]:
    """Names of all modules that a fresh interpreter has loaded after running code."""
    show = "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code + show], check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout))


def test_import_shoe_loads_neither_extras_nor_the_command_line() -> None:
    assert not modules_after("import shoe") & (HEAVY | COMMAND_LINE | PAGES | {"scipy"})


def test_scoring_loads_no_extra_no_command_line_and_no_heavy_part_of_scipy() -> None:
    loaded = modules_after(_SCORE)
    assert "shoe.scoring.score" in loaded
    assert not loaded & (HEAVY | COMMAND_LINE | PAGES)


def test_diagnosis_loads_no_scipy() -> None:
    code = _SCORE.replace("shoe.score(", "shoe.diagnose(").replace(', protocols=["all"]', "")
    assert not modules_after(code[: code.rindex("    assert")] + "    report.to_dict()") & (HEAVY | {"scipy"})


def test_scoring_and_the_demo_need_no_extra_and_no_part_of_python_that_only_unix_has() -> None:
    loaded = modules_after(_NOT_UNIX + _SCORE + _DEMO)
    assert "shoe.similarity.map_files" in loaded
    assert not loaded & (HEAVY | PAGES)
