"""Fixtures that all tests share."""

import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# No test reads or fills the cache of answers of the user who runs it.
os.environ["SHOE_CACHE"] = "off"

# Timing is the benchmark's business: a slow machine is no failure. By default a property sees the same few examples in
# every run (a failure is then no accident of the day), as in CI, whose SHOE_TESTS=many has twice as many.
# SHOE_TESTS=search draws new ones each time, and goes on from what failed before.
_QUIET = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large)
settings.register_profile("few", max_examples=10, derandomize=True, deadline=None, suppress_health_check=_QUIET)
settings.register_profile("many", max_examples=20, derandomize=True, deadline=None, suppress_health_check=_QUIET)
settings.register_profile("search", max_examples=100, print_blob=True, deadline=None, suppress_health_check=_QUIET)
settings.load_profile(os.environ.get("SHOE_TESTS", "few"))

_ROOT = Path(__file__).resolve().parent.parent
_SHARED = _ROOT.parent / "shared" / "data"

# A shell's background jobs ignore Ctrl-C, and so would every program that they start: not one that a test interrupts.
for _ended_by in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(_ended_by) is signal.SIG_IGN:
        signal.signal(_ended_by, lambda *_: None)


_ALL_SLOW = re.compile(r"^pytestmark = (\[[^\]]*)?pytest\.mark\.slow\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files with only slow tests if slow tests are not wanted: some import torch, which takes seconds."""
    is_fast_suite = config.option.markexpr == "not slow" and collection_path.suffix == ".py"
    return True if is_fast_suite and _ALL_SLOW.search(collection_path.read_text("utf-8")) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what reads all of WordNet as slow, before slow tests are left out, and put files with slow tests first.

    So no process of `scripts/test --slow` waits at the end for another one in the middle of a slow file.
    """
    slow_files = set()
    for item in items:
        if "reader" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("slow"):
            slow_files.add(item.path)
    items.sort(key=lambda item: item.path not in slow_files)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exempt the collected tests from garbage collection, which would visit them for seconds of a run."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.enable()
    return found


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real annotation files; tests that need it are left out, and named, where it is absent."""
    if not _SHARED.is_dir():
        pytest.skip("real annotation files are not beside the checkout")
    return _SHARED


@pytest.fixture(scope="session")
def reader() -> Any:
    """WordNet as nltk reads it, which takes seconds: tests that compare with it are ``slow`` by that.

    They are left out, and named, where it is absent.
    """
    nltk = pytest.importorskip("nltk")
    nltk.data.path.append(str(_ROOT / ".wordnet" / "nltk_data"))
    try:
        nltk.corpus.wordnet.ensure_loaded()
    except LookupError:
        pytest.skip("WordNet's files are not in place: scripts/setup-wordnet puts them there")
    return nltk.corpus.wordnet


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, driven by playwright; what needs it is left out where either is not there."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("chromium is not installed")
    with api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root, folder = Path(__file__).resolve().parent.parent, tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(root)]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` folder of an environment that has the wheel and, read in place, the dependencies of this one."""
    home = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "-qq", "--no-deps", str(wheel)], check=True)
    site = sysconfig.get_path("purelib", vars={"base": str(home)})
    # A folder named in a .pth file is searched, but its own .pth files are not read: the checkout stays out of sight.
    (Path(site) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python.parent
