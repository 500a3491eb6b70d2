"""The metric of torchmetrics against one call of ``score``: in one process, in two, and where parts are uneven."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoe
from shoe.core.interactions import Interactions
from shoe.demo import PREDICTIONS, TRUTH

torch = pytest.importorskip("torch", reason="torch not installed: pip install 'shoe-eval[torch]'")
pytest.importorskip("torchmetrics", reason="torchmetrics not installed: pip install 'shoe-eval[torch]'")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


def read() -> tuple[shoe.GroundTruth, Interactions]:
    return shoe.read_ground_truth(TRUTH), shoe.read_predictions(PREDICTIONS["detector"])


def mappings(table: Interactions) -> list[dict[str, Any]]:
    """One mapping of tensors an image."""
    columns = {name: torch.from_numpy(getattr(table, name)) for name in ("human_boxes", "object_boxes", "score")}
    columns |= {name: torch.from_numpy(getattr(table, name)) for name in ("verb", "object")}
    ends = table.offsets.tolist()
    return [
        {"image": image, **{name: of[a:b] for name, of in columns.items()}}
        for image, a, b in zip(table.images, ends[:-1], ends[1:], strict=True)
    ]


def metric_of(truth: shoe.GroundTruth, table: Interactions, **more: Any) -> Any:
    from shoe.torchmetrics import HoiMetric

    (coordinates,) = np.unique(table.coordinates)
    return HoiMetric(
        truth, verbs=table.verbs, objects=table.objects, coordinates=shoe.Coordinates(int(coordinates)), **more
    )


def expected(truth: shoe.GroundTruth, table: Interactions) -> dict[str, float]:
    report = shoe.score(table, truth)
    assert report.strict is not None
    assert report.semantic is not None
    return {
        "hico-det_map": report.strict.map or 0,
        "hico-det_map_rare": report.strict.map_rare or 0,
        "hico-det_map_non_rare": report.strict.map_non_rare or 0,
        "shoe_map": report.semantic.map or 0,
        "shoe_mf1": report.semantic.mf1 or 0,
        "shoe_gt_miss_rate": report.semantic.gt_miss_rate or 0,
        "shoe_prediction_miss_rate": report.semantic.prediction_miss_rate or 0,
    }


def test_batches_give_what_score_gives_and_reset_forgets_them() -> None:
    truth, table = read()
    metric = metric_of(truth, table)
    for _ in range(2):
        every = mappings(table)
        for start in range(0, len(every), 7):
            metric.update(every[start : start + 7])
        found = {name: float(of) for name, of in metric.compute().items()}
        assert found == pytest.approx(expected(truth, table), abs=1e-6)
        assert metric.report.predictions.equals(table) or len(metric.report.predictions) == len(table)
        metric.reset()
    assert float(metric.compute()["hico-det_map"]) == 0


def test_what_is_no_image_is_refused_in_one_line() -> None:
    truth, table = read()
    metric, one = metric_of(truth, table), mappings(table)[0]
    with pytest.raises(shoe.OptionError, match="expected score, too"):
        metric.update([{name: of for name, of in one.items() if name != "score"}])
    with pytest.raises(shoe.InputError, match="human_boxes"):
        metric.update([one | {"human_boxes": one["human_boxes"][:, :3]}])
    metric.update([one | {"image": "unknown.jpg"}])
    assert sum(map(len, metric.image)) == 0


def worker(rank: int, port: int, shares: list[list[int]], folder: str) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.distributed.init_process_group("gloo", rank=rank, world_size=len(shares))
    truth, table = read()
    metric, every = metric_of(truth, table), mappings(table)
    for start in range(0, len(shares[rank]), 9):
        metric.update([every[i] for i in shares[rank][start : start + 9]])
    torch.save(metric.compute(), f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("how", ["even, one image twice", "one process without images"])
def test_two_processes_give_what_one_gives(how: str, tmp_path: Path) -> None:
    truth, table = read()
    images = list(range(len(table.images)))
    shares = [images[::2], [*images[1::2], images[0]]] if how.startswith("even") else [images, []]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(worker, (port, shares, str(tmp_path)), nprocs=2)
    for rank in range(2):
        found = {name: float(of) for name, of in torch.load(tmp_path / f"{rank}.pt").items()}
        assert found == pytest.approx(expected(truth, table), abs=1e-6)
