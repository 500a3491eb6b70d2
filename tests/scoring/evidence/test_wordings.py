"""What each wording earns and costs: two images worked by hand, and what has to hold of every listing."""

import csv
from pathlib import Path

import pytest

import shoe
import shoe.demo
from shoe.predictions import read_predictions_with_notes
from shoe.report.score_files import write_wordings
from shoe.scoring.evidence.facts import wordings
from tests.cli import run as cli
from tests.diagnosis.by_hand import O1, O2, P1, P2, diagnosed, image
from tests.diagnosis.meanings import write_hand_map
from tests.oracles.model import Triplet


def test_by_hand(tmp_path: Path) -> None:
    # ride horse is rated 2 of 4 for "gallop", and 3 for "pony": (0.5 + 0.75) / 2 = 0.625 of full credit.
    truth = [Triplet(P1, O1, "ride", "horse"), Triplet(P2, O2, "ride", "horse")]
    said = [Triplet(P1, O1, "galloping", "pony", 0.9), Triplet(P2, O2, "riding", "horses", 0.8)]
    task = diagnosed(image(truth, said)).task
    report = shoe.score(task.predictions, task.truth, similarity=write_hand_map(tmp_path / "map"))
    galloping, riding = wordings(report)
    assert (galloping.verb.word, galloping.object.word) == ("galloping", "pony")
    assert (galloping.verb.sense, galloping.object.sense) == ("gallop.v.01", "pony.n.05")
    assert (galloping.verb.similarity, galloping.object.similarity) == (0.5, 0.75)
    assert (galloping.count, galloping.matched) == (1, 1)
    assert (galloping.earned, galloping.lost) == (0.625, 0.375)
    assert galloping.nearest_class == galloping.compared_with == "ride horse"
    # Labels of the dataset are full credit, which exact labels earn as well: nothing is at stake.
    assert (riding.earned, riding.lost, riding.similarity) == (0, 0, 1)
    assert wordings(report, 20) == (galloping,)


@pytest.fixture(scope="module")
def free_text() -> shoe.Report:
    predictions, notes = read_predictions_with_notes(shoe.demo.PREDICTIONS["free text"])
    return shoe.score(predictions, shoe.read_ground_truth(shoe.demo.TRUTH), notes=notes)


def test_every_prediction_and_match_is_counted_once(free_text: shoe.Report) -> None:
    listed = wordings(free_text)
    assert free_text.semantic is not None
    matches = free_text.semantic.matches
    assert sum(wording.count for wording in listed) == len(free_text.predictions)
    assert sum(wording.matched for wording in listed) == (matches.prediction >= 0).sum()
    assert sum(wording.lost for wording in listed) == pytest.approx((1 - matches.sigma[matches.prediction >= 0]).sum())
    stakes = [max(wording.earned, wording.lost) for wording in listed]
    assert stakes == sorted(stakes, reverse=True)
    assert all(0 <= wording.similarity <= 1 for wording in listed)


def test_the_file_holds_all_and_the_report_what_lost_and_what_earned_most(
    free_text: shoe.Report, tmp_path: Path
) -> None:
    target = tmp_path / "words.csv"
    files = (shoe.demo.PREDICTIONS["free text"], "-g", shoe.demo.TRUTH)
    found = cli.as_json("score", *files, "--words", target)
    with target.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(wordings(free_text))
    assert [(w["verb"]["word"], w["object"]["word"]) for w in found["wordings"]] == [
        (w.verb.word, w.object.word) for w in wordings(free_text, 20)
    ]
    lost, earned = ([w[stake] for w in found["wordings"]] for stake in ("lost", "earned"))
    assert len(lost) == 20
    assert lost[:10] == sorted(lost[:10], reverse=True)
    assert min(lost[:10]) >= max(lost[10:])
    assert earned[10:] == sorted(earned[10:], reverse=True)
    assert min(earned[10:]) >= 1
    assert "chewing pizza" in cli.run("score", *files, "--verbose").stdout
    assert "chewing pizza" not in cli.run("score", *files).stdout


def test_a_phrase_stands_beside_its_reading(free_text: shoe.Report) -> None:
    by_phrase = {phrase: wording for wording in wordings(free_text) for phrase in wording.phrases}
    read = by_phrase["a man is getting onto a bus"]
    assert (read.verb.word, read.object.word) == ("getting onto", "bus")


def test_labels_alone_are_not_listed() -> None:
    assert "wordings" not in cli.as_json("score", shoe.demo.PREDICTIONS["detector"], "-g", shoe.demo.TRUTH)


def test_words_of_a_file_stay_text(free_text: shoe.Report, tmp_path: Path) -> None:
    table = free_text.predictions
    odd = table.from_columns(
        images=["a.jpg"], image=[0], human_boxes=[[0, 0, 5, 5]], object_boxes=[[0, 0, 5, 5]],
        verb=[0], object=[0], verbs=['say "x", then\n\x1b[31m'], objects=["=1+1"], score=[1.0],
    )  # fmt: skip
    truth = free_text.truth
    named = type(odd).from_columns(
        images=[truth.interactions.images[0]], image=[0], human_boxes=odd.human_boxes, object_boxes=odd.object_boxes,
        verb=[0], object=[0], verbs=odd.verbs, objects=odd.objects, score=[1.0],
    )  # fmt: skip
    write_wordings(wordings(shoe.score(named, truth)), {"the \x1b ship": 3}, tmp_path / "w.csv")
    with (tmp_path / "w.csv").open(newline="") as stream:
        row, unread = csv.DictReader(stream)
    assert (row["verb"], row["object"]) == ('say "x", then \ufffd[31m', "'=1+1")
    said = {name: value for name, value in unread.items() if value}
    assert said == {"phrases": "the \ufffd ship", "count": "3", "matched": "0"}
