"""The folder of a service and a client of it, for its tests, which are left out if the service is not installed."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

collect_ignore_glob = [] if find_spec("fastapi") else ["*"]


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A service's folder with one ground truth, "small", shown unless TRUTH_IS_SHOWN of the module is False."""
    from tests.service.calling import made_folder

    made = made_folder(tmp_path, shown=getattr(request.module, "TRUTH_IS_SHOWN", True))
    yield made
    made.close()


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client for all tests of a file that are refused or change nothing."""
    from tests.service.calling import calling, made_folder

    with calling(made_folder(tmp_path_factory.mktemp("lasting"))) as found:
        yield found


@pytest.fixture
def client(folder: Any) -> Iterator[Any]:
    """A client of the folder's application on the loopback address, where no token is needed."""
    from tests.service.calling import calling

    with calling(folder) as found:
        yield found
