"""A service for the tests of its clients; one server for each file of tests."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.service.client.serving import TRUTH, served, worked_on


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A service's folder with one ground truth, "small"."""
    pytest.importorskip("fastapi", reason="the service is not installed: pip install 'shoe-eval[serve]'")
    from shoe.service.folder import Folder
    from shoe.service.truths import add_truth

    made = Folder.open(tmp_path_factory.mktemp("service") / "lab")
    add_truth(made, "small", TRUTH, shown=True)
    return made


@pytest.fixture(scope="module")
def server(folder: Any) -> Iterator[str]:
    """Its address; jobs are done at once, by hand."""
    with served(folder) as address, worked_on(folder):
        yield address


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits of clients take a hundredth of their time."""
    import time

    from shoe.service import client

    clock = SimpleNamespace(sleep=lambda seconds: time.sleep(seconds / 100), monotonic=time.monotonic)
    monkeypatch.setattr(client, "time", clock)


@pytest.fixture
def predictions(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A prediction file of the test's own, of some kilobytes."""
    path = tmp_path / "mine.json"
    path.write_bytes(b"".join(b"%d %s\n" % (number, request.node.name.encode()) for number in range(400)))
    return path
