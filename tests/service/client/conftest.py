"""A service for the tests of its clients; one server for each file of tests."""

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.service.client.serving import served, worked_on


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A service's folder with one ground truth, "small"."""
    from tests.service.calling import made_folder

    return made_folder(tmp_path_factory.mktemp("service"))


@pytest.fixture(scope="module")
def server(folder: Any) -> Iterator[str]:
    """Its address; jobs are done at once, by hand."""
    with served(folder) as address, worked_on(folder):
        yield address


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits of clients take a hundredth of their time."""
    clock = SimpleNamespace(sleep=lambda seconds: time.sleep(seconds / 100), monotonic=time.monotonic)
    monkeypatch.setattr("shoe.service.client.time", clock)


@pytest.fixture
def predictions(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A prediction file of the test's own, of some kilobytes."""
    path = tmp_path / "mine.json"
    path.write_bytes(b"".join(b"%d %s\n" % (number, request.node.name.encode()) for number in range(400)))
    return path
