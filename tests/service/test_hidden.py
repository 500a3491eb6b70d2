"""What a team can learn about a ground truth that is not shown: attacks that decoded labels, and what they decode."""

import csv
import json
import random
import re
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from shoe.service.access import AGGREGATES
from shoe.service.boards import _intervals
from shoe.service.errors import QuotaError
from shoe.service.folder import Folder
from shoe.service.job_process import LEAST_TRUTHS, decimals, do, reduce_classes
from shoe.service.process import Limits, Task
from shoe.service.runs import tidy
from shoe.service.submissions import DAILY, _follow_done, _scoring
from shoe.service.truths import add_truth, truth
from shoe.service.types import Request
from tests.service.calling import bearer, done_by_hand, outside, packed, queued, received, sent, submitted
from tests.service.client.serving import TRUTH, rows

TRUTH_IS_SHOWN = False
CLASS, OTHER, GUESSES = 245, 244, 20
DOCUMENT = json.loads(TRUTH.read_text("utf-8"))


def labelled(path: Path, right: set[int]) -> Path:
    pairs = {hoi: (verb, object_) for hoi, object_, verb in DOCUMENT["correspondence"]}
    boxes = {"boxes_h": [[10.0, 10.0, 100.0, 100.0]], "boxes_o": [[50.0, 50.0, 200.0, 200.0]]}
    classes = [CLASS if image in right else OTHER for image in range(GUESSES)]
    found = [{**boxes, "hoi": [hoi], "verb": [pairs[hoi][0]], "object": [pairs[hoi][1]]} for hoi in classes]
    names = [f"HICO_test2015_{n + 1:08}.jpg" for n in range(GUESSES)]
    changes = {"filenames": names, "annotation": found, "size": [[640, 480]] * GUESSES, "empty": []}
    path.write_text(json.dumps(DOCUMENT | changes), "utf-8")
    return path


def guesses(order: list[int]) -> bytes:
    ((object_, verb),) = (parts for hoi, *parts in DOCUMENT["correspondence"] if hoi == CLASS)
    names = [f"{side}_{end}" for side in ("person", "object") for end in ("xmin", "ymin", "xmax", "ymax")]
    row = f"10,10,100,100,50,50,200,200,{DOCUMENT['verbs'][verb]},{DOCUMENT['objects'][object_]}"
    lines = [f"HICO_test2015_{image + 1:08}.jpg,{row},{0.9 - rank / 100}" for rank, image in enumerate(order)]
    return "\n".join([",".join(["image", *names, "verb", "object", "score"]), *lines]).encode()


def outputs(folder: Any, tmp_path: Path, order: list[int], *, shown: bool) -> dict[str, bytes]:
    """What a team gets for guesses: all output files of the scoring and the diagnosis that are not withheld."""
    stored = received(folder.files, [guesses(order)], free_below=0)
    request = Request(truth="shown" if shown else "hidden", protocols=("hico-det",), options=("strict.ap=trapezoid",))
    new = _scoring(folder, truth(folder, request.truth), stored.sha256, request)
    found: dict[str, bytes] = {}
    for kind in ("score", "diagnose"):
        place = tmp_path / f"{kind}-{shown}-{order[0]}-{order[1]}"
        place.mkdir()
        asked = json.loads(msgspec.json.encode(new.request))
        done = do(Task(kind, asked, str(folder.files.folder), str(folder.maps), Limits()), place)
        found |= {p.name: p.read_bytes() for p in (place / "out").iterdir() if p.name in AGGREGATES}
        found[f"{kind} metrics"] = msgspec.json.encode(done.figures)
    return found


def decoded(orders: list[list[int]], maps: list[float], digits: int) -> list[tuple[int, ...]]:
    """All sets of 10 right images under which the mAP of two classes, rounded to some digits, is as reported."""
    sets = np.array(list(combinations(range(GUESSES), 10)))
    hits = np.zeros((len(sets), GUESSES))
    np.put_along_axis(hits, sets, 1, axis=1)
    is_left = np.ones(len(sets), dtype=bool)
    for order, found in zip(orders, maps, strict=True):
        ranked = hits[:, order]
        hits_before, ranks = ranked.cumsum(axis=1) - ranked, np.arange(1, GUESSES + 1)
        precision = (hits_before + ranked) / ranks
        previous = np.where(ranks == 1, precision, hits_before / np.maximum(ranks - 1, 1))
        mean = (ranked * (precision + previous) / 2).sum(axis=1) / 10 / 2
        is_left &= np.abs(mean - found) <= 0.5 * 10.0**-digits + 1e-9
    return [tuple(each) for each in sets[is_left].tolist()]


@pytest.mark.slow
def test_two_runs_in_two_orders_do_not_decode_the_answers_to_twenty_guesses(tmp_path: Path) -> None:
    draw = random.Random(3)
    right = set(draw.sample(range(GUESSES), 10))
    folder = Folder.open(tmp_path / "lab")
    path = labelled(tmp_path / "truth.json", right)
    add_truth(folder, "shown", path, shown=True)
    add_truth(folder, "hidden", path)
    orders = [draw.sample(range(GUESSES), GUESSES) for _ in range(2)]
    left = {}
    for shown, digits in ((True, 9), (False, decimals(20))):
        got = [outputs(folder, tmp_path, order, shown=shown) for order in orders]
        maps = [json.loads(each["result.json"])["strict"]["map"] for each in got]
        left[shown] = decoded(orders, maps, digits)
        assert tuple(sorted(right)) in left[shown]
        if not shown:
            for each in got:
                numbers = {n for name in each for n in re.findall(rb"(?<![\w.])\d\.\d{2,}", unsigned(each[name]))}
                assert numbers == set()
                assert not {"run.shoe", "report.html", "words.csv"} & each.keys()
                assert len(each["classes.csv"].splitlines()) == 1
                counts = [error["count"] for error in json.loads(each["diagnosis.json"])["errors"].values()]
                assert all(count % 2 == 0 for count in counts)  # a tenth of 20
    folder.close()
    assert left[True] == [tuple(sorted(right))]  # the attack works on metrics in full precision
    learned = np.log2(184_756 / len(left[False]))
    assert learned < 2 * np.log2(11)
    assert len(left[False]) > 1_000


def unsigned(data: bytes) -> bytes:
    return re.sub(rb"shoe:[^\"\n]*|signature +[^\n]*", b"", data)


def test_a_hidden_ground_truth_is_scored_as_a_whole_a_few_times_a_day_and_never_compared(folder: Folder) -> None:
    add_truth(folder, "open", TRUTH, shown=True)
    a, admin = bearer(folder), bearer(folder, "root", "admin")
    with outside(folder) as client:
        again = {"prediction": sent(client, a), "truth": "small"}

        def post(**more: Any) -> Any:
            return client.post("/v1/runs", json=again | more, headers=a)

        few: tuple[tuple[str, dict[str, Any]], ...] = (
            ("subset", {"subset": "single-hoi"}), ("subset", {"subset": "single-pair"}),
            ("images_in_predictions", {"images_in_predictions": True}),
            ("options", {"options": ["strict.zero-tp=skip"]}), ("options", {"protocols": ["diag"]}),
        )  # fmt: skip
        for field, more in few:
            refused = post(**more)
            assert (refused.status_code, refused.json()["field"]) == (403, field)
            assert post(**more, truth="open").status_code == 200
        runs = [submitted(client, a, options=[f"weight={n / 100}"]) for n in range(DAILY)]
        assert post(options=["weight=0"]).json()["id"] == runs[0]["id"]
        client.delete(f"/v1/runs/{runs.pop()['id']}", headers=a)
        tidy(folder)
        sent(client, a)
        add_truth(folder, "again", TRUTH)
        for name in ("small", "again"):
            assert post(truth=name, options=["weight=0.99"]).status_code == 429, name
        assert post(truth="open", options=["weight=0.99"]).json()["state"] == "queued"
        for _ in range(15):
            done_by_hand(folder, {"result.json": b"{}", "run.shoe": b"x"})
        done = [run["id"] for run in runs if client.get(f"/v1/runs/{run['id']}", headers=a).json()["state"] == "done"]
        for who, files in ((a, {"result.json"}), (admin, {"result.json", "run.shoe"})):  # size and SHA-256 tell labels
            listed = client.get("/v1/runs", headers=who).json()["runs"]
            assert next(set(run["outputs"]) for run in listed if run["id"] == done[0]) == files
            assert set(client.get(f"/v1/runs/{done[0]}", headers=who).json()["outputs"]) == files
        compared = [client.post("/v1/compare", json={"runs": done[:2]}, headers=who).status_code for who in (a, admin)]
        assert compared == [403, 200]
        for name in ("comparison.json", "report.html", "table.tex"):
            assert client.get(f"/v1/runs/{done[0]}/files/{name}", headers=a).status_code == 403


def test_results_from_before_rounding_are_made_again(folder: Folder) -> None:
    """Only those on a ground truth that is not shown; their files may be removed a day later."""
    add_truth(folder, "open", TRUTH, shown=True)
    a = bearer(folder)
    with outside(folder) as client:
        ids = [submitted(client, a, truth=truth)["id"] for truth in ("small", "open")]
        for id_ in ids:
            done_by_hand(folder, {"result.json": b"{}", "run.shoe": b"x"})
            with folder.database.write() as db:
                _follow_done(db, id_)
        states = [client.get(f"/v1/runs/{id_}", headers=a).json() for id_ in ids]
        assert [(state["state"], bool(state["further"])) for state in states] == [("done", True)] * 2
    with folder.database.write() as db:
        db.execute("PRAGMA user_version = 4")
        db.execute("ALTER TABLE boards DROP COLUMN ends")
        db.execute("DELETE FROM deleted_files")
    folder.close()
    folder = Folder.open(folder.path)
    with outside(folder) as client:
        states = [client.get(f"/v1/runs/{id_}", headers=a).json() for id_ in ids]
        assert [(state["state"], bool(state["further"])) for state in states] == [("queued", False), ("done", True)]
        assert states[0]["outputs"] == states[0]["figures"] == {}
    assert len(rows(folder, "deleted_files")) == 2


def test_a_clock_that_was_ahead_does_not_use_up_tomorrows_quota(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = time.time()

    def submit(weight: float, seconds: int) -> None:
        monkeypatch.setattr("time.time", lambda: began + seconds)
        queued(folder, "mine.json", options=(f"weight={weight}",))

    for n in range(DAILY):
        submit(n / 100, 30 * 86400)
    with pytest.raises(QuotaError):
        submit(0.9, 0)
    submit(0.9, 86401)


def test_classes_have_metrics_from_many_ground_truths_on(tmp_path: Path) -> None:
    path = tmp_path / "classes.csv"
    counts = [1, LEAST_TRUTHS - 1, LEAST_TRUTHS, 9_999, 10_000]
    rows = [f"class {count},{count},0.123456,," for count in counts]
    path.write_text("\n".join(["class,ground_truths,hico-det_ap,shoe_ap,nearest_similarity", *rows]), "utf-8")
    reduce_classes(path)
    found = [(row["ground_truths"], row["hico-det_ap"]) for row in csv.DictReader(path.read_text("utf-8").splitlines())]
    assert found == [("100", "0.1"), ("9999", "0.1"), ("10000", "0.12")]


def bits(counts: list[int], guesses: int, samples: int = 4000, seed: int = 0) -> tuple[float, float]:
    """Bits that a submission reveals by its mAP, and at most by its metrics of all classes with so many ground truths.

    In each class, a team makes some guesses that are right with probability 1/2, in ranks of its choice.
    """
    rng = np.random.default_rng(seed)
    mean, of_classes = np.zeros(samples), 0.0
    for count in counts:
        hits = rng.random((samples, min(guesses, count))) < 0.5
        precision = hits.cumsum(axis=1) / np.arange(1, hits.shape[1] + 1)
        ap = (hits * precision).sum(axis=1) / count
        mean += ap / len(counts)
        if count >= LEAST_TRUTHS:
            of_classes += entropy(np.round(ap, decimals(count) - 1))
    return entropy(np.round(mean, decimals(sum(counts)))), of_classes


@pytest.mark.parametrize("value", [0.0, 0.68])
def test_a_metric_that_does_not_vary_has_an_interval_like_any_other(folder: Folder, value: float) -> None:
    stored = received(folder.files, [packed(same=np.full(50, value), decimals=np.array(2))])
    assert _intervals(folder, stored.sha256, (("same", value),)) == {"same": (value, value)}


def test_a_rate_of_predictions_reveals_a_few_bits() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 99, 100, 1_000, 9_999, 10_000, 100_000):
        rates = rng.binomial(size, 0.5, 20_000) / size
        assert entropy(np.round(rates, decimals(size))) < 5


def entropy(values: Any) -> float:
    shares = np.unique(values, return_counts=True)[1] / len(values)
    return float(-(shares * np.log2(shares)).sum())


@pytest.mark.parametrize(
    ("counts", "of_mean", "of_classes"),
    [([10, 10], 2.5, 0.0), ([2] * 300, 3.5, 0.0), ([1000] * 4 + [200] * 100 + [25] * 400, 5.0, 150.0)],
)
def test_a_submission_reveals_a_few_bits(counts: list[int], of_mean: float, of_classes: float) -> None:
    found = [bits(counts, guesses, samples=500) for guesses in (1, 10, 100)]
    assert max(of for of, _ in found) <= of_mean
    assert max(of for _, of in found) <= of_classes


def test_a_ground_truth_both_shown_and_hidden_gets_a_warning(
    folder: Folder, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    add_truth(folder, "again", TRUTH)
    assert caplog.text == ""
    (tmp_path / "open.json").write_bytes(TRUTH.read_bytes() + b"\n")  # other bytes, equal ground truth
    add_truth(folder, "open", tmp_path / "open.json", shown=True)
    assert re.findall(r"truth (\w+)", caplog.text) == ["open", "again", "open", "small"]
