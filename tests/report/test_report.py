"""From predictions to the words on the screen and the JSON in the file."""

import math
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from msgspec import structs
from rich.console import Console

from shoe import GroundTruth, Interactions, Metric, Report, concatenate, read_ground_truth, read_predictions, score
from shoe.demo import TRUTH
from shoe.predictions.notes import ReadNotes
from shoe.report.score import Score, as_json, comparison_table, print_report, wordings_table
from shoe.scoring.evidence.facts import PartReading, Wording
from tests.errors import input_error, option_error, says
from tests.oracles.model import to_tables
from tests.oracles.scenes import random_scenes, small_classes
from tests.present import present
from tests.tables import one_triplet

Tables = tuple[GroundTruth, Interactions]


@pytest.fixture(scope="module")
def tables() -> Tables:
    scenes = random_scenes(np.random.default_rng(3), 30, n_predictions=20, open_words=True)
    return to_tables(scenes, small_classes())


@pytest.fixture(scope="module")
def report(tables: Tables) -> Report:
    truth, predictions = tables
    return score(predictions, truth)


def text_of(report: Report) -> str:
    console = Console(width=200, record=True, file=StringIO())
    print_report(report, console, verbose=True)
    return console.export_text()


def values(tree: Any) -> Iterator[Any]:
    if isinstance(tree, dict | list):
        for child in tree.values() if isinstance(tree, dict) else tree:
            yield from values(child)
    else:
        yield tree


def test_json_has_the_documented_keys_and_no_null(report: Report) -> None:
    found = orjson.loads(as_json(report))
    assert {"signature", "dataset", "images", "ground_truths", "predictions", "strict", "semantic"} <= set(found)
    assert {"protocol", "map", "max_recall", "classes"} <= set(found["strict"])
    assert {"map", "mf1", "gt_miss_rate", "prediction_miss_rate", "classes"} <= set(found["semantic"])
    assert {"verbs", "objects", "rated_share", "fallback_share", "unrated_share"} <= set(found["resolution"])
    assert {"words", "unresolved"} <= set(found["resolution"]["verbs"])
    assert all(math.isfinite(value) if isinstance(value, float) else value is not None for value in values(found))

    # Shares of what the similarities rest on sum to one.
    for shares in (
        [found["resolution"][f"{kind}_share"] for kind in ("rated", "fallback", "unrated")],
        found["resolution"]["basis"].values(),
    ):
        assert sum(shares) == pytest.approx(1)


def test_terminal_shows_every_figure_and_the_signature(report: Report) -> None:
    text = text_of(report)
    semantic = present(report.semantic)
    for value in (present(report.strict).map, semantic.map, semantic.mf1, semantic.gt_miss_rate):
        assert f"{100 * present(value):.2f}" in text
    assert report.signature.short() in text
    assert "ties " not in text
    assert comparison_table({"a [b]": report, "c": report}).row_count == 2  # a row a file


def test_all_protocols_are_signed_one_by_one(tables: Tables) -> None:
    truth, predictions = tables
    found = Score.from_report(score(predictions, truth, protocols=["all"])).to_dict()
    assert [entry["protocol"] for entry in found["protocols"]][:2] == ["hico-det", "hico-det-known-object"]
    assert len({entry["signature"] for entry in found["protocols"]}) == len(truth.benchmark.protocols)
    assert all("map:" not in entry["signature"] for entry in found["protocols"])
    assert "strict.known-object:boxes" in found["protocols"][1]["signature"]


def test_what_cannot_be_measured_is_left_out_and_the_text_says_why(tables: Tables) -> None:
    truth, predictions = tables
    nothing = score(to_tables([], small_classes())[1], truth)
    assert "prediction_miss_rate" not in Score.from_report(nothing).to_dict()["semantic"]
    assert "confident (tau = " in text_of(nothing)
    sums = score(replace(predictions, score=predictions.score + 1), truth)
    found = Score.from_report(sums).to_dict()
    assert ("semantic" in found, "strict" in found) == (False, True)
    assert says(found["absent"]["semantic"], "SHOE", "0..1")
    assert found["absent"]["semantic"] in text_of(sums)


def test_words_of_the_predictions_cannot_steer_the_terminal() -> None:
    truth, predictions = to_tables(random_scenes(np.random.default_rng(3), 3, n_predictions=4), small_classes())
    words: dict[str, Any] = dict.fromkeys(("verb", "object"), np.zeros_like(predictions.verb))
    words |= {"verbs": ("\x1b[31mzzqx\u202e[bold]",), "objects": ("[red]\x07qqzzk",)}
    text = text_of(score(replace(predictions, **words), truth))
    assert set("\x1b\u202e\x07").isdisjoint(text)
    assert "[bold]" in text


def test_figures_of_wordings_are_whole_on_a_narrow_terminal() -> None:
    def part(word: str) -> PartReading:
        return PartReading(word=word, sense="", found_by="", similarity=0.62, basis="zero")

    told = Wording(
        phrases=[], verb=part("interacting with"), object=part("musical instrument"), count=1234, matched=99,
        earned=61.5, lost=37.5, nearest_class="a b", similarity=0.5, compared_with="no_interaction sports_ball",
    )  # fmt: skip
    console = Console(width=80, record=True, file=StringIO())
    console.print(wordings_table([told, structs.replace(told, verb=part(""), object=part(""))]))
    text = console.export_text()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert " ".join(text.split()).count("0.62 0.62 1,234 61.5 37.5") == 2
    assert "phrases" in text


def test_boxes_that_leave_their_image_are_counted() -> None:
    scenes = random_scenes(np.random.default_rng(3), 2, n_predictions=4)
    truth, predictions = to_tables([replace(scene, size=(2000, 2000)) for scene in scenes], small_classes())
    boxes = predictions.human_boxes.copy()
    boxes[0, 2] = 2001.5
    moved = replace(predictions, human_boxes=boxes)
    assert Score.from_report(score(predictions, truth)).profile.outside_share == 0
    assert Score.from_report(score(moved, truth)).profile.outside_share == pytest.approx(1 / len(predictions))
    assert f"{100 / len(predictions):.2f} % of predictions" in text_of(score(moved, truth))


def test_how_a_file_was_read_is_in_the_signature(tables: Tables) -> None:
    truth, predictions = tables
    ways = (("xyxy", 0), ("thousand", 0), ("xyxy", 4), ("xyxy", 3))
    notes = [ReadNotes(boxes=boxes, triplets=4, scores_defaulted=number) for boxes, number in ways]
    assert len({str(score(predictions, truth, notes=each).signature) for each in notes}) == 4


def test_unknown_names_and_predictions_of_another_dataset_are_refused(tables: Tables) -> None:
    truth, predictions = tables
    for said, protocols, options in (
        (["unknown protocol 'qpci'", "qpic?"], ["qpci"], []),
        (["shoe and shoe-literal"], ["shoe", "shoe-literal"], []),
        (["unknown option", "thetta"], ["qpic"], ["thetta=0.4"]),
    ):
        with option_error(*said):
            score(predictions, truth, protocols=protocols, options=options)
    with input_error("such as 'HICO_test2015_"):
        score(one_triplet(images=["COCO_val2014_000000000042.jpg"]), truth)


@pytest.mark.parametrize("batches", [1, 3, 30])
def test_a_metric_fed_in_batches_and_merged_gives_the_score(tables: Tables, report: Report, batches: int) -> None:
    truth, predictions = tables
    metric, other = Metric(truth), Metric(truth)
    order = np.random.default_rng(batches).permutation(len(predictions.images))
    for number, part in enumerate(np.array_split(order, batches)):
        (metric if number % 2 else other).update(predictions.select_images(np.sort(part)))
    metric.merge(other)
    found, expected = (Score.from_report(each).to_dict() for each in (metric.compute(), report))
    assert found["semantic"]["map"] == pytest.approx(expected["semantic"]["map"], abs=1e-12)
    assert found["strict"] == pytest.approx(expected["strict"], abs=1e-12)
    assert found["signature"] == expected["signature"]


def test_rows_of_an_image_may_come_in_several_batches_and_reset_forgets_all(tables: Tables, report: Report) -> None:
    truth, predictions = tables
    metric = Metric(truth)
    for _ in range(2):
        for rows in np.array_split(np.arange(len(predictions)), 7):
            metric.update(predictions.select(rows))
        assert Score.from_report(metric.compute()).to_dict() == Score.from_report(report).to_dict()
        metric.reset()
    assert score(concatenate([]), truth).strict is not None


def test_a_metric_keeps_numbers_to_the_last_bit_in_few_bytes() -> None:
    truth, table = to_tables(random_scenes(np.random.default_rng(5), 30, n_predictions=60), small_classes())
    names = ("human_boxes", "object_boxes", "score")
    table = replace(table, **{name: getattr(table, name).astype(np.float32).astype(float) for name in names})
    metric, number = Metric(truth), 40
    tracemalloc.start()
    for _ in range(number):
        metric.update(table)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert used / (number * len(table)) < 45
    other = Metric(truth)
    other.update(replace(table, score=table.score / 3))  # which single precision does not hold
    assert other.compute().predictions.score.tolist() == (table.score / 3).tolist()


@pytest.mark.parametrize("third", [1 / 3, 1.0])
def test_a_metric_keeps_what_came_when_its_caller_uses_the_arrays_again(tables: Tables, third: float) -> None:
    truth, table = tables
    arrays = [name for name in table.__dataclass_fields__ if isinstance(getattr(table, name), np.ndarray)]
    table = replace(table, score=table.score * third)
    buffers = replace(table, **{name: getattr(table, name).copy() for name in arrays})
    metric = Metric(truth)
    metric.update(buffers)
    expected = Score.from_report(metric.compute()).to_dict()
    for name in arrays:
        getattr(buffers, name)[...] = 0
    assert Score.from_report(metric.compute()).to_dict() == expected


def test_only_metrics_of_the_same_question_and_truth_merge(tables: Tables) -> None:
    truth, _ = tables
    metric = Metric(truth)
    for other, *said in (
        (Metric(truth, protocols=["qpic"]), "protocols: ", "('qpic',)", "()"),
        (Metric(truth, options=["tau=0.3"]), "options: ", "tau=0.3"),
        (Metric(truth, similarity="path"), "similarity: ", "'path'", "'hico-det'"),
        (Metric(read_ground_truth(TRUTH)), "truth: ", "<GroundTruth"),
        (metric, "itself"),
    ):
        with option_error("other: ", *said):
            metric.merge(other)
    metric.merge(Metric(replace(truth)))  # as a worker's own copy


def test_notes_on_batches_of_several_files_are_put_together(tmp_path: Path) -> None:
    truth = read_ground_truth(TRUTH)
    names, metric = truth.interactions.images, Metric(truth)
    boxes = {"human_box": [10, 10, 60, 110], "object_box": [30, 50, 130, 120]}
    for number, phrases in enumerate((["riding a horse", "xyzzy"], ["holding a cup", "xyzzy"])):
        said: list[dict[str, object]] = [{"image": names[number], "phrase": phrase, **boxes} for phrase in phrases]
        said[0] |= {"score": 0.5} if number else {}
        path = tmp_path / f"{number}.jsonl"
        path.write_text("".join(f"{orjson.dumps(record).decode()}\n" for record in said))
        table = read_predictions(path)
        for row in (0, 1):  # two batches of one reading
            metric.update(table.select(np.array([row])))
    found = metric.compute()
    notes = present(found.notes)
    assert any("3 of 4 triplets" in line for line in notes.lines())
    assert notes.remarks["unparsed"].count == 2
    assert any("2 phrases" in line and "'xyzzy'" in line for line in notes.lines())
    assert "scores:partly given" in str(found.signature)
