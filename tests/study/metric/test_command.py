"""``shoe study metric`` from a table of judgements to figures: what is read, refused, and undefined."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import shoe
from shoe.benchmarks import benchmark
from shoe.benchmarks.truth import GroundTruth
from shoe.core.errors import InputError, OptionError
from shoe.demo import PREDICTIONS, TRUTH
from shoe.scoring.matching.task import Task
from shoe.study.metric.judgements import read_judgements
from shoe.study.metric.measures import measures_of
from tests.cli.run import as_json, refused, run
from tests.errors import input_error, option_error, says
from tests.study.made import written

IMAGE = "HICO_test2015_00000025.jpg"
DETECTOR, FREE_TEXT = PREDICTIONS["detector"], PREDICTIONS["free text"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("image,rater,rating", "a,x,1"), "line 1: verb: found 'image rater rating', expected .*: rater"),
        (("image,prediction,rater,rating", "a,0,x,1"), "line 1: model: found"),
        (("model,image,prediction,rater,rating", "c,a,0,x,1"), "model: found 'c', expected .*: a, b"),
        (("model,image,prediction,rater,rating", "a,a,0,x,5"), "line 2: rating: found '5'"),
        (("image,verb,object,rater,rating", "a,ride,,x,1"), "line 2: object: found ''"),
        (("image,verb,object,rater,rating,gold", "a,ride,b,x,1,1"), "found only gold items"),
    ],
)
def test_tables_that_are_refused(tmp_path: Path, lines: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_judgements(written(tmp_path, *lines), ["a", "b"])


@pytest.mark.slow
def test_predictions_are_found_by_number_words_and_boxes(tmp_path: Path) -> None:
    truth, table = shoe.read_ground_truth(TRUTH), shoe.read_predictions(DETECTOR)
    task = Task(table, truth)
    first = int(table.offsets[table.images.index(IMAGE)])

    def rows_of(header: str, *lines: str) -> Any:
        return read_judgements(written(tmp_path, header, *lines), ["detector"]).rows_of("detector", task).tolist()

    header = "image,prediction,rater,rating"
    assert rows_of(header, f"{IMAGE},2,x,1", f"images/{Path(IMAGE).stem}.png,0,x,1") == [first + 2, first]
    for number in ("99999", "-1", "1.5", "²", "1e2"):
        with input_error(number, "0 to ", field="prediction"):
            rows_of(header, f"{IMAGE},{number},x,1")
    with input_error("prediction '00'", IMAGE, "prediction '0'"):
        rows_of(header, f"{IMAGE},0,x,1", f"{IMAGE},00,x,2")
    row = first + 3
    verb, object_ = table.verbs[table.verb[row]], table.objects[table.object[row]]
    boxes = [" ".join(f"{x:.0f}" for x in each[row]) for each in (table.human_boxes, table.object_boxes)]
    header, line = "image,verb,object,human_box,object_box,rater,rating", f"{IMAGE},{verb.upper()},{object_}"
    assert rows_of(header, f"{line},{boxes[0]},{boxes[1]},x,3") == [row]
    assert rows_of(header, f"{line},1 2 3 4,{boxes[1]},x,3") == [-1]  # another model's, perhaps
    with input_error("'1 2 nan 4'", field="human_box"):
        rows_of(header, f"{line},1 2 nan 4,{boxes[1]},x,3")


@pytest.mark.slow
def test_measures_and_their_names() -> None:
    truth = shoe.read_ground_truth(TRUTH)
    varied = ["combine=minimum, threshold=0.3", "strict.threshold=0.3", "similarity=wup", "protocol=shoe-robust"]
    found = {each.name: each for each in measures_of(truth, (), "dataset", varied)}
    assert list(found) == [
        *("hico-det", "shoe", "shoe combine=minimum threshold=0.3", "hico-det strict.threshold=0.3"),
        *("shoe similarity=wup", "shoe-robust"),
    ]
    assert found["shoe similarity=wup"].similarity == "wup"
    assert [each.threshold for each in found["hico-det strict.threshold=0.3"].options.strict] == [0.3]
    for text, said in (("", "NAME=VALUE"), ("combine=maximum", "combine"), ("combine", "'combine'.*NAME=VALUE")):
        with pytest.raises(OptionError, match=said):
            measures_of(truth, (), "dataset", [text])
    v_coco = cast(GroundTruth, SimpleNamespace(benchmark=benchmark("v-coco"), image_labels=None))
    assert [each.name for each in measures_of(v_coco, (), "dataset", ())] == ["diag", "shoe"]
    with option_error("agent AP"):
        measures_of(v_coco, ["v-coco-s1"], "dataset", ())
    with option_error("--protocol"):
        measures_of(truth, ["qpic"], "dataset", ["combine=minimum"])


def judgements(folder: Path, raters: int, constant: bool = False) -> Path:
    rng = np.random.default_rng(5)
    lines = ["model,image,prediction,rater,rating"]
    for path in (DETECTOR, FREE_TEXT):
        table = shoe.read_predictions(path)
        for image, name in enumerate(table.images[:40]):
            for number in range(min(3, int(np.diff(table.offsets)[image]))):
                lines += [
                    f"{path.stem},{name},{number},r{r},{2 if constant else rng.integers(0, 5)}" for r in range(raters)
                ]
    return written(folder, *lines)


@pytest.mark.slow
def test_the_whole_command(tmp_path: Path) -> None:
    path, models = judgements(tmp_path, 3), (DETECTOR, FREE_TEXT, "-g", TRUTH)
    more = ("--vary", "combine=minimum", "--latex", tmp_path / "t.tex", "--figures", tmp_path / "figures")
    found = as_json("study", "metric", path, *models, *more)
    assert list(found["levels"]) == ["prediction", "image", "model"]
    assert list(found["measures"]) == ["hico-det", "shoe", "shoe combine=minimum"]
    assert set(found["scores"]["shoe: SHOE-mAP"]) == {"detector", "vlm"}
    scored = shoe.score(shoe.read_predictions(DETECTOR), shoe.read_ground_truth(TRUTH))
    assert scored.semantic is not None
    assert found["scores"]["shoe: SHOE-mAP"]["detector"] == pytest.approx(scored.semantic.map)
    assert found["measures"]["shoe"].count("protocol:shoe") == 1
    low, high = found["levels"]["prediction"]["figures"]["shoe"]["spearman"]["interval"]
    assert low < 0.2  # people answered at random
    assert high > -0.2
    differences = found["levels"]["prediction"]["differences"]
    assert not any(each["adjusted"] < 0.01 for each in differences if each["figure"] == "spearman")
    assert "pearson" not in found["levels"]["model"]["nearest"]  # of two models
    assert (tmp_path / "t.tex").read_text().count(r"\midrule") == 5
    assert (tmp_path / "figures" / "metric_against_people.png").stat().st_size > 10_000
    shown = run("study", "metric", path, *models).stdout
    assert says(shown, "\nclosest ", "Kendall", "no metric", "\npeople ", "each rater")
    refused(run("study", "metric", path, DETECTOR, DETECTOR, "-g", TRUTH), "the same file twice")
    refused(run("study", "metric", path, DETECTOR, "-g", TRUTH), "found 'vlm'", ": detector")


@pytest.mark.slow
@pytest.mark.parametrize(("raters", "constant"), [(1, False), (2, True)])
def test_one_rater_and_constants_are_undefined(tmp_path: Path, raters: int, constant: bool) -> None:
    path = judgements(tmp_path, raters, constant)
    done = run("study", "metric", path, DETECTOR, FREE_TEXT, "-g", TRUTH, "--json", tmp_path / "out.json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads((tmp_path / "out.json").read_text())
    figures = [each for level in found["levels"].values() for of in level["figures"].values() for each in of.values()]
    assert not any("interval" in each for each in figures)
    assert any("value" in each for each in figures) is not constant
    assert "undefined" in done.stdout
    assert "nan" not in done.stdout


@pytest.mark.slow
def test_a_sheet_is_drawn_blind_filled_in_and_read(tmp_path: Path) -> None:
    out = tmp_path / "sheet.csv"
    asked = ("study", "sheet", DETECTOR, FREE_TEXT, "-g", TRUTH, "--images", "20", "--raters", "2", "--out", out)
    done = run(*asked)
    assert (done.returncode, done.stderr) == (0, "")
    first = out.read_bytes()
    assert (run(*asked).returncode, out.read_bytes()) == (0, first)
    header, *lines = first.decode().splitlines()
    assert header == "image,verb,object,human_box,object_box,rater,rating"
    both = [{line for line in lines if f",rater-{r}," in line} for r in (1, 2)]
    assert {line.replace("rater-2", "rater-1") for line in both[1]} == both[0]
    assert 40 < len(both[0]) <= 120
    assert "detector" not in first.decode()
    replies = FREE_TEXT.with_name("replies.jsonl")  # its reply "having the ladle" has no words to rate
    assert run("study", "sheet", replies, "-g", TRUTH, "--images", "100", "--out", tmp_path / "s.csv").returncode == 0
    assert ",," not in (tmp_path / "s.csv").read_text()
    rng = np.random.default_rng(0)
    out.write_text("\n".join([header, *(f"{line}{rng.integers(0, 5)}" for line in lines[3:]), *lines[:3]]))
    found = as_json("study", "metric", out, DETECTOR, FREE_TEXT, "-g", TRUTH)
    assert (found["images"], found["raters"], found["holes"]) == (20, 2, 3)
    assert found["levels"]["prediction"]["number"] >= len(both[0])  # some are both models'
    refused(run(*asked[:-4], "--images", "999", *asked[-4:]), "--images: found 999, expected at most ")
