"""A cluster that cannot be joined, or not be worked with, is one line, within seconds."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

import pytest

import shoe
from shoe.demo import PREDICTIONS, TRUTH
from tests.cli import run as cli
from tests.engines.heads import RAY, TOKEN, head, settings

pytestmark = [pytest.mark.slow, *RAY]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a cluster on loopback that has another version of shoe, and a token."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "shoe").mkdir()
    for path in Path(shoe.__file__).parent.iterdir():
        if path.name != "version.py":
            (folder / "shoe" / path.name).symlink_to(path)
    (folder / "shoe" / "version.py").write_text('__version__ = "0.0.1"\n')
    with head(folder, packages=str(folder)) as address:
        yield address


def refused(engine: str, environment: Mapping[str, str]) -> str:
    command: list[str | Path] = ["score", PREDICTIONS["free text"], "-g", TRUTH, "--results", "r", "--engine", engine]
    done = cli.process(*command, cwd=environment["HOME"], env=dict(environment), timeout=60)
    cli.refused(done)
    return done.stderr


@pytest.mark.parametrize(
    ("token", "found"),
    [
        ("b" * 64, "differs from RAY_AUTH_TOKEN"),
        ("", "differs from RAY_AUTH_TOKEN"),
        (TOKEN, rf"found shoe 0\.0\.1 .*expected {shoe.__version__}"),
    ],
    ids=["wrong token", "no token", "another version of shoe"],
)
def test_a_cluster_that_cannot_be_joined_is_said(cluster: str, token: str, found: str, tmp_path: Path) -> None:
    assert re.search(found, refused(f"ray:{cluster}", settings(token, tmp_path)))


def test_another_version_of_ray_is_said(cluster: str, tmp_path: Path) -> None:
    program = (
        "import ray; ray.__version__ = '1.2.3'; from shoe.core.errors import ShoeError\n"
        "from shoe.engines.ray_cluster import connect\n"
        "try:\n    connect({cluster!r}).__enter__()\nexcept ShoeError as error:\n    print(error)"
    )
    words = [sys.executable, "-c", program.format(cluster=cluster)]
    done = subprocess.run(words, env=settings(TOKEN, tmp_path), capture_output=True, text=True, timeout=60)
    assert done.stdout.count("\n") == 1, done.stdout
    assert re.findall("ersion mismatch|1[.]2[.]3", done.stdout)[:2] == ["ersion mismatch", "1.2.3"]


def test_ray_client_that_is_not_installed_is_said(cluster: str, tmp_path: Path) -> None:
    (tmp_path / "grpc.py").write_text("raise ImportError")
    packages = os.pathsep.join([str(tmp_path), *sys.path])
    assert "ray[client]" in refused(f"ray://{cluster}", settings(TOKEN, tmp_path) | {"PYTHONPATH": packages})


def test_what_is_no_head_is_said(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        said = refused(f"ray:127.0.0.1:{server.server_port}", settings(TOKEN, tmp_path))
        server.shutdown()
        thread.join()
    assert "as the head" in said


@pytest.mark.parametrize("address", ["127.0.0.1:9", "nowhere.invalid:6379", "127.0.0.1", "foo://bar", ":6379"])
def test_an_address_of_nothing_is_said(address: str, tmp_path: Path) -> None:
    assert f"found '{address}', where" in refused(f"ray:{address}", settings(TOKEN, tmp_path))


def test_a_cluster_that_cannot_be_started_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = refused("ray", settings("", tmp_path) | {"RAY_TMPDIR": str(tmp_path / "file")})
    assert "cannot be started" in said


GPUS = """
from ray.cluster_utils import Cluster as Machines
from shoe.core.errors import OptionError
from shoe.engines.ray_cluster import Cluster
from shoe.engines.ray_cluster import connect
machines = Machines()
machines.add_node(num_cpus=1, object_store_memory=100_000_000)
for _ in range(2):
    machines.add_node(num_cpus=1, num_gpus=1, object_store_memory=100_000_000)
with connect(str(machines.address)) as connection:
    print(*(Cluster(connection, gpus).workers(8, is_local=True) for gpus in (0.0, 0.5, 0.6, 1.0)))
    try:
        Cluster(connection, 2.0).workers(8, is_local=True)
    except OptionError as error:
        print(error)
machines.shutdown()
"""


def test_a_worker_has_the_gpus_of_one_machine() -> None:
    environment = os.environ | {"RAY_AUTH_MODE": "disabled", "PYTHONPATH": str(Path(shoe.__file__).parents[1])}
    words = [sys.executable, "-P", "-c", GPUS]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment, timeout=120)
    counts, refusal = done.stdout.splitlines()[-2:]
    assert counts == "3 4 2 2"
    assert re.match("--gpus 2: .* 1 GPUs per", refusal)
