"""HoiMetric reads tensors in sparse layouts and in half precision."""

from typing import Any

import pytest

import shoe
from shoe.demo import PREDICTIONS, TRUTH
from tests.test_torchmetrics import mappings, metric_of

torch = pytest.importorskip("torch", reason="torch not installed: pip install 'shoe-eval[torch]'")
pytest.importorskip("torchmetrics", reason="torchmetrics not installed: pip install 'shoe-eval[torch]'")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.mark.parametrize(
    ("names", "change"),
    [
        (("human_boxes", "object_boxes"), lambda tensor: tensor.to_sparse()),
        (("human_boxes", "object_boxes"), lambda tensor: tensor.to_sparse_csr()),
        (("verb", "score"), lambda tensor: tensor.to_sparse()),
        (("human_boxes", "object_boxes"), lambda tensor: tensor.half()),
    ],
)
def test_sparse_and_half_precision_tensors_give_the_same_map(names: tuple[str, ...], change: Any) -> None:
    truth, table = shoe.read_ground_truth(TRUTH), shoe.read_predictions(PREDICTIONS["detector"])
    metric = metric_of(truth, table, protocols=["hico-det"])
    metric.update([each | {name: change(each[name]) for name in names} for each in mappings(table)])
    assert float(metric.compute()["hico-det_map"]) == pytest.approx(0.67984, abs=1e-4)
