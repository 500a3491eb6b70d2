"""The metric of torchmetrics against one call of ``score``: in one process, in two, and where parts are uneven."""

import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoe
from shoe.core.interactions import Interactions
from shoe.demo import PREDICTIONS, TRUTH
from tests.errors import input_error, option_error

torch = pytest.importorskip("torch", reason="torch not installed: pip install 'shoe-eval[torch]'")
pytest.importorskip("torchmetrics", reason="torchmetrics not installed: pip install 'shoe-eval[torch]'")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


truth, table = shoe.read_ground_truth(TRUTH), shoe.read_predictions(PREDICTIONS["detector"])


def mappings(table: Interactions) -> list[dict[str, Any]]:
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
    frame = shoe.Coordinates(int(coordinates))
    return HoiMetric(truth, verbs=table.verbs, objects=table.objects, coordinates=frame, **more)


def expected(truth: shoe.GroundTruth, table: Interactions) -> dict[str, float]:
    report = shoe.score(table, truth)
    strict = {f"hico-det_{name}": getattr(report.strict, name) or 0 for name in ("map", "map_rare", "map_non_rare")}
    names = ("map", "mf1", "mf1_best_tau", "gt_miss_rate", "prediction_miss_rate", "no_overlap_rate")
    return strict | {f"shoe_{name}": getattr(report.semantic, name) or 0 for name in names}


def test_batches_give_what_score_gives_and_reset_forgets_them() -> None:
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


def test_images_that_are_none_unknown_or_repeated() -> None:
    metric, one = metric_of(truth, table), mappings(table)[0]
    for without in ({name: of for name, of in one.items() if name != "score"}, one | {"score": None}):
        with option_error("key score"):
            metric.update([without])
    with input_error("human_boxes"):
        metric.update([one | {"human_boxes": one["human_boxes"][:, :3]}])
    for image in (None, ["a.jpg", "b.jpg"], torch.tensor([1, 2])):
        with option_error("image", "one image"):
            metric.update([one | {"image": image}])
    # Unknown images are an error if all are, and reported if some are.
    metric, every = metric_of(truth, table), mappings(table)
    metric.update([one | {"image": f"wrong{i}.jpg"} for i, one in enumerate(every)])
    with input_error("'wrong0.jpg'", "images"):
        metric.compute()
    metric.reset()
    metric.update([*every, every[0] | {"image": "wrong.jpg"}, every[1] | {"image": 99999999}])
    with pytest.warns(UserWarning, match=r"2 not in .*: wrong.j") as issued:
        found = metric.compute()
    assert len({str(each.message) for each in issued}) == len(issued)
    assert float(found["hico-det_map"]) == pytest.approx(expected(truth, table)["hico-det_map"], abs=1e-6)
    assert any("2 not in " in line for line in metric.report.warnings)


@pytest.mark.parametrize("name", ["verb", "object"])
def test_indices_are_whole_numbers(name: str) -> None:
    metric, one = metric_of(truth, table), mappings(table)[0]
    metric.update([one | {name: one[name].double()}])
    for values in (one[name] + 0.4, (one[name] + 0.4).numpy(), (one[name] + 0.4).tolist()):
        with option_error(f"{name}: found"):
            metric.update([one | {name: values}])


def test_bad_boxes_and_scores_can_be_left_out_or_kept() -> None:
    every = mappings(table)
    one = {name: of.clone() if torch.is_tensor(of) else of for name, of in every[0].items()}
    one["human_boxes"][0], one["score"][1] = torch.tensor([5.0, 5, 5, 9]), torch.nan
    with input_error("human box"):
        metric_of(truth, table).update([one])
    with option_error("count, drop, refuse"):
        metric_of(truth, table, bad_boxes="keep")
    for rule, left in (("drop", len(table) - 2), ("count", len(table))):
        metric = metric_of(truth, table, bad_boxes=rule)
        metric.update([one, *every[1:]])
        found = metric.compute()
        assert (len(metric.report.predictions), metric.report.facts["bad-boxes"]) == (left, f"{rule} 2")
        if rule == "drop":
            same = expected(truth, table.select(np.arange(len(table)) > 1))
            assert float(found["shoe_map"]) == pytest.approx(same["shoe_map"], abs=1e-6)
            assert float(found["hico-det_map"]) == pytest.approx(same["hico-det_map"], abs=1e-6)


def number(name: str) -> int:
    return int(name.removesuffix(".jpg")[-8:])


@pytest.mark.parametrize(
    "given",
    [
        *(number, lambda name: torch.tensor(number(name)), lambda name: np.int64(number(name)), lambda name: [name]),
        *(lambda name: torch.tensor([number(name)]), lambda name: str(number(name)), lambda name: f"folder/{name}"),
    ],
)
def test_images_are_named_as_in_files(given: Any) -> None:
    metric = metric_of(truth, table)
    metric.update([one | {"image": given(one["image"])} for one in mappings(table)])
    assert float(metric.compute()["hico-det_map"]) == pytest.approx(expected(truth, table)["hico-det_map"], abs=1e-6)


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
    metric = metric_of(truth, table, protocols=["hico-det"])
    metric.update([each | {name: change(each[name]) for name in names} for each in mappings(table)])
    assert float(metric.compute()["hico-det_map"]) == pytest.approx(0.67984, abs=1e-4)


def test_tensors_of_models_and_words_are_read() -> None:
    """Half precision, gradients and words: boxes of whole pixels below 256 are exact in bfloat16."""
    words: dict[str, Any] = {"verbs": table.verbs, "objects": table.objects}
    one: dict[str, Any] = {"image": table.images[0], "human_boxes": torch.tensor([[1.0, 2, 9, 20]])}
    one |= {"object_boxes": torch.tensor([[3.0, 4, 90, 200]]), "score": torch.tensor([0.5])}
    one |= {"verb": torch.tensor([3]), "object": torch.tensor([2])}
    columns = {name: of for name, of in one.items() if name != "image"}
    plain = Interactions.from_columns(images=[table.images[0]], image=[0], **columns, **words)
    numbers = ("human_boxes", "object_boxes", "score")
    for change in ("bfloat16", "requires_grad_", "half"):
        changed = columns | {name: getattr(columns[name].clone(), change)() for name in numbers}
        assert Interactions.from_columns(images=[table.images[0]], image=[0], **changed, **words).equals(plain)
        metric = metric_of(truth, table)
        metric.update([changed | {"image": one["image"], "verb": [table.verbs[3]], "object": [table.objects[2]]}])
        metric.compute()
        assert metric.report.predictions.human_boxes.tolist() == plain.human_boxes.tolist()
        assert metric.report.predictions.verb.tolist() == [3]
    with option_error("verb 'fly to'"):
        metric.update([one | {"verb": ["fly to"]}])


def worker(rank: int, port: int, shares: list[list[int]], folder: str) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.distributed.init_process_group("gloo", rank=rank, world_size=len(shares))
    metric, every = metric_of(truth, table), mappings(table)
    for start in range(0, len(shares[rank]), 9):
        metric.update([every[i] for i in shares[rank][start : start + 9]])
    metric.update([every[0] | {"image": f"wrong{rank}.jpg"}])
    torch.save(metric.compute(), f"{folder}/{rank}.pt")
    assert metric.report.task.unknown_images == ("wrong0.jpg", "wrong1.jpg")
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("how", ["even, one image twice", "one process without images"])
def test_two_processes_give_what_one_gives(how: str, tmp_path: Path) -> None:
    images = list(range(len(table.images)))
    shares = [images[::2], [*images[1::2], images[0]]] if how.startswith("even") else [images, []]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(worker, (port, shares, str(tmp_path)), nprocs=2)
    for rank in range(2):
        found = {name: float(of) for name, of in torch.load(tmp_path / f"{rank}.pt").items()}
        assert found == pytest.approx(expected(truth, table), abs=1e-6)


def test_boxes_in_0_1_and_logits_are_warned_of() -> None:
    """Metrics that cannot be measured are NaN under their names, so that a training log keeps its columns."""
    metric, every = metric_of(truth, table), mappings(table)
    for each in every:
        each["score"] = torch.logit(each["score"])
    metric.update(every)
    with pytest.warns(UserWarning, match=r"a score of .* 0[.]{2}1"):
        found = metric.compute()
    assert found.keys() == expected(truth, table).keys()
    assert all(torch.isnan(found[name]) == name.startswith("shoe") for name in found)
    metric = metric_of(truth, table)
    for each in every:
        each["score"] = torch.sigmoid(each["score"])
        for name in ("human_boxes", "object_boxes"):
            each[name] = each[name] / 10_000
    metric.update(every)
    with pytest.warns(UserWarning, match=r"boxes: 100% .*less than a pixel"):
        metric.compute()


def test_empty_words_are_counted_in_files_tables_and_the_metric(tmp_path: Path) -> None:
    verb, object_ = table.verb.copy(), table.object.copy()
    verb[:3], object_[2:5] = len(table.verbs), len(table.objects)
    words = {"verbs": (*table.verbs, ""), "objects": (*table.objects, "  ")}
    changed = replace(table, verb=verb, object=object_, **words)  # type: ignore[arg-type]
    (line,) = (line for line in shoe.score(changed, truth).warnings if line.startswith("words: 5 "))
    for form in ("csv", "jsonl", "vlm"):
        shoe.write_predictions(changed, tmp_path / "p", form)
        assert line in shoe.score(shoe.read_predictions(tmp_path / "p"), truth).warnings
    metric = metric_of(truth, changed)
    metric.update(mappings(changed))
    with pytest.warns(UserWarning, match=line):
        metric.compute()


def test_the_warning_of_repeated_images_says_that_an_image_must_come_at_once() -> None:
    metric, (one,) = metric_of(truth, table), mappings(table)[:1]
    halves = [{key: value if key == "image" else value[part::2] for key, value in one.items()} for part in (0, 1)]
    metric.update(halves)
    with pytest.warns(UserWarning, match=r"1 image occurred .*`update`"):
        metric.compute()
