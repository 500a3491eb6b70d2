"""The metric of torchmetrics against one call of ``score``: in one process, in two, and where parts are uneven."""

import os
import socket
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
        "shoe_mf1_best_tau": report.semantic.mf1_best_tau or 0,
        "shoe_gt_miss_rate": report.semantic.gt_miss_rate or 0,
        "shoe_prediction_miss_rate": report.semantic.prediction_miss_rate or 0,
        "shoe_no_overlap_rate": report.semantic.no_overlap_rate or 0,
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
    for without in ({name: of for name, of in one.items() if name != "score"}, one | {"score": None}):
        with option_error("key score"):
            metric.update([without])
    with input_error("human_boxes"):
        metric.update([one | {"human_boxes": one["human_boxes"][:, :3]}])
    for image in (None, ["a.jpg", "b.jpg"], torch.tensor([1, 2])):
        with option_error("image", "one image"):
            metric.update([one | {"image": image}])


@pytest.mark.parametrize("name", ["verb", "object"])
def test_indices_are_whole_numbers(name: str) -> None:
    truth, table = read()
    metric, one = metric_of(truth, table), mappings(table)[0]
    metric.update([one | {name: one[name].double()}])
    for values in (one[name] + 0.4, (one[name] + 0.4).numpy(), (one[name] + 0.4).tolist()):
        with option_error(f"{name}: found"):
            metric.update([one | {name: values}])


def test_bad_boxes_and_scores_can_be_left_out_or_kept() -> None:
    truth, table = read()
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
        assert len(metric.report.predictions) == left
        assert metric.report.facts["bad-boxes"] == f"{rule} 2"
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
    truth, table = read()
    metric = metric_of(truth, table)
    metric.update([one | {"image": given(one["image"])} for one in mappings(table)])
    assert float(metric.compute()["hico-det_map"]) == pytest.approx(expected(truth, table)["hico-det_map"], abs=1e-6)


def test_unknown_images_are_an_error_if_all_are_and_reported_if_some_are() -> None:
    truth, table = read()
    metric, every = metric_of(truth, table), mappings(table)
    metric.update([one | {"image": f"wrong{i}.jpg"} for i, one in enumerate(every)])
    with input_error("'wrong0.jpg'", "images"):
        metric.compute()
    metric.reset()
    metric.update([*every, every[0] | {"image": "wrong.jpg"}, every[1] | {"image": 99999999}])
    with pytest.warns(UserWarning, match=r"2 not in the ground truth and left out, with .*: wrong.j") as issued:
        found = metric.compute()
    assert len({str(each.message) for each in issued}) == len(issued)
    assert float(found["hico-det_map"]) == pytest.approx(expected(truth, table)["hico-det_map"], abs=1e-6)
    assert any("2 not in " in line for line in metric.report.warnings)


def test_tensors_of_models_and_words_are_read() -> None:
    """Half precision, gradients and words: boxes of whole pixels below 256 are exact in bfloat16."""
    truth, table = read()
    words: dict[str, Any] = {"verbs": table.verbs, "objects": table.objects}
    one: dict[str, Any] = {
        "image": table.images[0],
        "human_boxes": torch.tensor([[1.0, 2, 9, 20]]),
        "score": torch.tensor([0.5]),
    }
    one |= {"object_boxes": torch.tensor([[3.0, 4, 90, 200]]), "verb": torch.tensor([3]), "object": torch.tensor([2])}
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
    truth, table = read()
    metric, every = metric_of(truth, table), mappings(table)
    for start in range(0, len(shares[rank]), 9):
        metric.update([every[i] for i in shares[rank][start : start + 9]])
    metric.update([every[0] | {"image": f"wrong{rank}.jpg"}])
    torch.save(metric.compute(), f"{folder}/{rank}.pt")
    assert metric.report.task.unknown_images == ("wrong0.jpg", "wrong1.jpg")
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


def test_boxes_in_0_1_and_logits_are_warned_of() -> None:
    """Metrics that cannot be measured are NaN under their names, so that a training log keeps its columns."""
    truth, table = read()
    metric, every = metric_of(truth, table), mappings(table)
    for each in every:
        each["score"] = torch.logit(each["score"])
    metric.update(every)
    with pytest.warns(UserWarning, match=r"a score of .* SHOE needs scores in 0..1"):
        found = metric.compute()
    assert found.keys() == expected(truth, table).keys()
    assert all(torch.isnan(found[name]) == name.startswith("shoe") for name in found)
    metric = metric_of(truth, table)
    for each in every:
        each["score"] = torch.sigmoid(each["score"])
        for name in ("human_boxes", "object_boxes"):
            each[name] = each[name] / 10_000
    metric.update(every)
    with pytest.warns(UserWarning, match=r"boxes: 100% of the triplets have boxes that are less than a pixel"):
        metric.compute()


def test_empty_words_are_counted_in_files_tables_and_the_metric(tmp_path: Path) -> None:
    truth, table = read()
    verb, object_ = table.verb.copy(), table.object.copy()
    verb[:3], object_[2:5] = len(table.verbs), len(table.objects)
    changed = Interactions.from_columns(
        images=table.images, image=table.image, human_boxes=table.human_boxes, object_boxes=table.object_boxes,
        verb=verb, object=object_, score=table.score, sizes=table.sizes, coordinates=table.coordinates,
        verbs=[*table.verbs, ""], objects=[*table.objects, "  "],
    )  # fmt: skip
    line = "words: 5 predictions with an empty verb or object match no class"
    assert line in shoe.score(changed, truth).warnings
    for form in ("csv", "jsonl", "vlm"):
        shoe.write_predictions(changed, tmp_path / "p", form)
        assert line in shoe.score(shoe.read_predictions(tmp_path / "p"), truth).warnings
    metric = metric_of(truth, changed)
    metric.update(mappings(changed))
    with pytest.warns(UserWarning, match=line):
        metric.compute()


def test_the_warning_of_repeated_images_says_that_an_image_must_come_at_once() -> None:
    truth, table = read()
    metric, (one,) = metric_of(truth, table), mappings(table)[:1]
    halves = [{key: value if key == "image" else value[part::2] for key, value in one.items()} for part in (0, 1)]
    metric.update(halves)
    with pytest.warns(UserWarning, match=r"1 image occurred more .* an image must be in one element of `update`"):
        metric.compute()
