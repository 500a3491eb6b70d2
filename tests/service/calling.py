"""A service to call in tests: its folder with a ground truth, its application, and jobs done by hand or by a worker."""

import hashlib
import io
import pickle
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from starlette.testclient import TestClient

from shoe.service import jobs, runs, submissions
from shoe.service.app import make_app
from shoe.service.folder import Folder
from shoe.service.process import Executor, Limits
from shoe.service.settings import Settings
from shoe.service.tokens import new_token
from shoe.service.truths import add_truth
from shoe.service.types import File, Request, Run, Visibility
from shoe.service.worker import Worker

DATA = Path(__file__).parent.parent / "data"
TRUTH = DATA / "hico_det" / "instances_test2015.json"
PREDICTIONS = DATA / "predictions" / "hoidet.json"
HOST = "http://127.0.0.1:8000"
PUBLIC = "shoe.example"
_MEDIA = {".json": "application/json", ".html": "text/html", ".csv": "text/csv"}


def made_folder(path: Path, *, shown: bool = True) -> Folder:
    folder = Folder.open(path / "service")
    add_truth(folder, "small", TRUTH, shown=shown)
    return folder


@contextmanager
def calling(
    folder: Folder, base: str = HOST, raises: bool = True, executor: Executor | None = None, **settings: Any
) -> Iterator[Any]:
    """A client of the folder's application, on the loopback address unless the settings say otherwise."""
    app = make_app(folder, Settings(**settings), executor)
    with TestClient(app, base, client=("127.0.0.1", 50000), raise_server_exceptions=raises) as client:
        yield client


def outside(folder: Folder, **settings: Any) -> Any:
    return calling(folder, f"https://{PUBLIC}", names=(PUBLIC,), **settings)


def bearer(folder: Folder, team: str = "a", *scopes: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {new_token(folder, 'test', team, scopes or ('read', 'submit'))}"}


def statuses(answers: Iterable[Any]) -> list[int]:
    return [answer.status_code for answer in answers]


def sent(client: Any, headers: Mapping[str, str] | None = None, data: bytes | None = None) -> str:
    """Send predictions; their hash."""
    data = PREDICTIONS.read_bytes() if data is None else data
    answer = client.put("/v1/predictions?name=mine.json", content=data, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.json()["sha256"] == hashlib.sha256(data).hexdigest()
    return str(answer.json()["sha256"])


def submitted(client: Any, headers: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
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


def queued(
    folder: Folder,
    name: str,
    data: bytes | None = None,
    team: str = "local",
    *,
    file: str | None = None,
    truth: str = "small",
    visibility: Visibility = "team",
    board: str | None = None,
    **options: Any,
) -> Run:
    """A run, submitted without a client; its predictions and their file are the name, unless they are given."""
    stored = received(folder.files, [name.encode() if data is None else data], free_below=0)
    runs.add_file(folder, team, name if file is None else file, stored)
    request = Request(truth=truth, **options)
    return submissions.submit(folder, team, name, stored.sha256, request, visibility, board)


def stored_files(folder: Folder, files: Mapping[str, bytes]) -> dict[str, File]:
    found = {}
    for name, data in files.items():
        stored = received(folder.files, [data])
        found[name] = File(stored.sha256, stored.size, _MEDIA.get(Path(name).suffix, "application/octet-stream"))
    return found


def done_by_hand(folder: Folder, files: Mapping[str, bytes]) -> None:
    assert jobs.finish(folder, claimed(folder), stored_files(folder, files), {"semantic:map": 0.5}, "shoe|1")


def claimed(folder: Folder, **how: Any) -> jobs.Job:
    job = jobs.claim(folder, **how)
    assert job is not None
    return job


def packed(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


@contextmanager
def working(folder: Folder, executor: Executor | None = None, children: int = 1, **limits: Any) -> Iterator[None]:
    worker = Worker(folder, children, Limits(**limits), executor)
    worker.start()
    try:
        yield
    finally:
        worker.stop()


class _Touching:
    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self.path, "w")


def hostile_pickle(path: Path) -> bytes:
    """Predictions that make a file when they are unpickled."""
    return pickle.dumps({"prediction": _Touching(path)})


def one_value(folder: Folder, query: str, *values: object) -> Any:
    with folder.database.read() as db:
        return db.execute(query, values).fetchone()[0]


def execute(folder: Folder, query: str, *values: object) -> None:
    with folder.database.write() as db:
        db.execute(query, values)
