"""Every page of runs in which something is undefined: nothing predicted, nothing above tau, one image, no result."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shoe.core.errors import ShoeError
from shoe.service import jobs, runs, submissions
from shoe.service.backup import export
from shoe.service.boards import add_board
from shoe.service.job_process import do
from shoe.service.process import DONE, Failed, Limits, Task
from shoe.service.truths import add_truth
from shoe.service.types import Request
from shoe.service.worker import Worker
from tests.service.calling import DATA, TRUTH, calling, made_folder, queued
from tests.service.site import fail_one

pytestmark = pytest.mark.slow
LINE = json.loads((DATA / "predictions" / "flat.jsonl").read_text().splitlines()[0])
LINE["image"] = "HICO_test2015_00000001.jpg"
PER_IMAGE = ("annotation", "filenames", "size")
BOARDS = {"board": "small", "secret": "small", "board-one": "one"}
ABOVE = ("tau-by=score", "tau=0.9")
FILES = {"nothing": [], "one line": [LINE], "no class": [LINE | {"verb": "qqq", "object": "zzz"}]}
HOW: dict[str, dict[str, Any]] = {
    "usual": {},
    "all below tau": {"options": ABOVE},
    "strict alone": {"protocols": ("hico-det",)},
    "semantic alone": {"protocols": ("shoe",)},
    "all below the tau of mAP": {"options": ("map-tau=0.9",)},
    "images that have predictions": {"images_in_predictions": True},
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, dict[tuple[str, ...], str]]]:
    """The folder of a service, and its runs by what they are: every file under all options, and every state."""
    path = tmp_path_factory.mktemp("degenerate")
    folder = made_folder(path)
    document = json.loads(TRUTH.read_text())
    (path / "one.json").write_text(json.dumps(document | {name: document[name][:1] for name in PER_IMAGE}))
    add_truth(folder, "one", path / "one.json", shown=True)
    for name, truth in BOARDS.items():
        add_board(folder, name, Request(truth=truth), hidden=name == "secret")
    ids = {}

    def submit(*name: str, **how: Any) -> str:
        data, file = "\n".join(map(json.dumps, FILES[name[0]])).encode() or b"[]", f"{name[0]}.jsonl"
        ids[name] = queued(folder, " ".join(name), data, file=file, visibility="public", **how).id
        return ids[name]

    for file in FILES:
        for how, options in HOW.items():
            submit(file, how, "one", truth="one", **options)
        submit(file, "usual", "small")
        for board, truth in BOARDS.items():
            submit(file, board, truth=truth, board=board)
    do_really(folder)
    for truth in ("small", "one"):
        same = [ids[file, "usual", truth] for file in FILES]
        ids["compare", truth] = submissions.compare(folder, "local", same, resamples=100, visibility="public").id
    unlike = [ids["one line", how, "one"] for how in ("strict alone", "semantic alone", "all below tau")]
    ids["unlike",] = submissions.compare(folder, "local", unlike, resamples=100, allow_different=True).id
    do_really(folder)
    submit("nothing", "failed", options=("delta=0.71",))
    fail_one(folder)
    runs.cancel(folder, submit("nothing", "cancelled", options=("delta=0.72",)))
    submit("nothing", "queued", options=("delta=0.73",))
    yield folder, ids
    folder.close()


def do_really(folder: Any) -> None:
    while (job := jobs.claim(folder)) is not None:
        scratch = folder.jobs / job.key / str(job.attempt)
        scratch.mkdir(parents=True)
        try:
            found: Any = do(Task(job.kind, job.request, str(folder.files.folder), str(folder.maps), Limits()), scratch)
        except ShoeError as error:
            found = Failed(str(error))
        (scratch / DONE).write_bytes(msgspec.json.encode(found))
        assert Worker(folder)._store_results(job, [])


def test_every_page_is_shown(site: Any) -> None:
    folder, ids = site
    with calling(folder) as client:
        for name, id_ in ids.items():
            assert client.get(f"/runs/{id_}").status_code == 200, name
            if "classes.csv" in client.get(f"/v1/runs/{id_}").json().get("outputs", {}):
                assert client.get(f"/runs/{id_}/classes").status_code == 200, name
        outputs = [client.get(f"/v1/runs/{id_}/result") for id_ in ids.values()]
        empty = sum(each.json().get("predictions") == 0 for each in outputs)
        assert client.get("/runs").text.count("no predictions</small>") == empty > 0
        for path in ("/", "/runs", "/compare", "/boards", "/submit", *(f"/boards/{name}" for name in BOARDS)):
            assert client.get(path).status_code == 200, path


def test_the_site_is_exported(site: Any, tmp_path: Path) -> None:
    folder, ids = site
    export(folder, tmp_path / "site")
    assert (tmp_path / "site" / "runs" / f"{ids['nothing', 'usual', 'small']}.html").exists()
