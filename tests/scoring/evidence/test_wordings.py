"""What each wording earns and costs: two images worked by hand, and what has to hold of every listing."""

import csv
from pathlib import Path

import pytest

import shoe
import shoe.demo
from shoe.predictions import read_predictions_with_notes
from shoe.report.score import write_wordings
from shoe.scoring.evidence.facts import wordings
from tests.cli import run as cli
from tests.diagnosis.by_hand import O1, O2, P1, P2, diagnosed, image
from tests.diagnosis.meanings import write_hand_map
from tests.oracles.model import Triplet
from tests.tables import one_triplet


def test_by_hand(tmp_path: Path) -> None:
    # ride horse is rated 2 of 4 for "gallop", and 3 for "pony": (0.5 + 0.75) / 2 = 0.625 of full credit.
    truth = [Triplet(P1, O1, "ride", "horse"), Triplet(P2, O2, "ride", "horse")]
    said = [Triplet(P1, O1, "galloping", "pony", 0.9), Triplet(P2, O2, "riding", "horses", 0.8)]
    task = diagnosed(image(truth, said)).task
    report = shoe.score(task.predictions, task.truth, similarity=write_hand_map(tmp_path / "map"))
    galloping, riding = wordings(report)
    verb, noun = galloping.verb, galloping.object
    assert (verb.word, verb.sense, verb.similarity) == ("galloping", "gallop.v.01", 0.5)
    assert (noun.word, noun.sense, noun.similarity) == ("pony", "pony.n.05", 0.75)
    assert (galloping.count, galloping.matched, galloping.earned, galloping.lost) == (1, 1, 0.625, 0.375)
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
    sigma = free_text.semantic.matches.sigma[free_text.semantic.matches.prediction >= 0]
    sums = tuple(sum(getattr(wording, name) for wording in listed) for name in ("count", "matched", "lost"))
    assert sums == (len(free_text.predictions), len(sigma), pytest.approx((1 - sigma).sum()))
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
    truth = free_text.truth
    odd = one_triplet(images=[truth.interactions.images[0]], verbs=['a "x",\n\x1b[31m'], objects=["=1+1"], score=[1.0])
    write_wordings(wordings(shoe.score(odd, truth)), {"the \x1b ship": 3}, tmp_path / "w.csv")
    with (tmp_path / "w.csv").open(newline="") as stream:
        row, unread = csv.DictReader(stream)
    assert (row["verb"], row["object"]) == ('a "x", \ufffd[31m', "'=1+1")
    said = {name: value for name, value in unread.items() if value}
    assert said == {"phrases": "the \ufffd ship", "count": "3", "matched": "0"}
