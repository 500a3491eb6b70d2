"""A service to call in tests: its folder with a ground truth, its application, and jobs done by hand.

What takes long to import is imported where it is used: collecting the tests must not cost it.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "data"
TRUTH = DATA / "hico_det" / "instances_test2015.json"
PREDICTIONS = DATA / "predictions" / "hoidet.json"
HOST = "http://127.0.0.1:8000"
PUBLIC = "shoe.example"


def made_folder(path: Path, *, shown: bool = True) -> Any:
    """A service's folder with the ground truth "small"."""
    from shoe.service.folder import Folder
    from shoe.service.truths import add_truth

    folder = Folder.open(path / "service")
    add_truth(folder, "small", TRUTH, shown=shown)
    return folder


@contextmanager
def calling(folder: Any, base: str = HOST, raises: bool = True, **settings: Any) -> Iterator[Any]:
    """A client of the folder's application, on the loopback address unless the settings say otherwise."""
    from starlette.testclient import TestClient

    from shoe.service.app import make_app
    from shoe.service.settings import Settings

    app = make_app(folder, Settings(**settings))
    with TestClient(app, base, client=("127.0.0.1", 50000), raise_server_exceptions=raises) as client:
        yield client


def bearer(folder: Any, team: str = "a", *scopes: str) -> dict[str, str]:
    """Headers with a new token."""
    from shoe.service.tokens import new_token

    return {"Authorization": f"Bearer {new_token(folder, 'test', team, scopes or ('read', 'submit'))}"}


def sent(client: Any, headers: Mapping[str, str] | None = None, data: bytes | None = None) -> str:
    """Send predictions; their hash."""
    data = PREDICTIONS.read_bytes() if data is None else data
    answer = client.put("/v1/predictions?name=mine.json", content=data, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.json()["sha256"] == hashlib.sha256(data).hexdigest()
    return str(answer.json()["sha256"])


def submitted(client: Any, headers: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """A run of the predictions."""
    body = {"prediction": sent(client, headers), "truth": "small", **more}
    answer = client.post("/v1/runs", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def received(store: Any, chunks: Iterable[bytes], *how: Any, **limits: Any) -> Any:
    """Store a file from its pieces; its entry."""
    with store.receiving(*how, **limits) as receiver:
        for chunk in chunks:
            receiver.write(chunk)
        return receiver.finish()


def done_by_hand(folder: Any, files: Mapping[str, bytes]) -> None:
    """Do the first job of the queue without a child: it makes these files."""
    from shoe.service import jobs, types

    media = {".json": "application/json", ".html": "text/html", ".csv": "text/csv"}
    job = jobs.claim(folder)
    assert job is not None
    outputs = {
        name: types.File(stored.sha256, stored.size, media.get(Path(name).suffix, "application/octet-stream"))
        for name, stored in ((name, received(folder.files, [data])) for name, data in files.items())
    }
    assert jobs.finish(folder, job, outputs, {"semantic:map": 0.5}, "shoe|1")
