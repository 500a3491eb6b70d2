"""Runs beside each other: marks, ranks, gains, and what is refused."""

from dataclasses import replace

import pytest

from shoe.comparison.compare import compare
from shoe.comparison.run import Run
from shoe.comparison.significance import usual_resamples
from shoe.report.comparison import Compare
from shoe.report.comparison_sentences import sentences
from shoe.scoring.evidence.facts import Spread
from tests.comparison.samples import run_of, scenes_of
from tests.errors import input_error, option_error, says
from tests.present import present


@pytest.fixture(scope="module")
def run() -> Run:
    return run_of(scenes_of(3, 6))


def without_scores(run: Run) -> Run:
    """The same model, had its scores been no confidences."""
    signature = replace(run.signature, items=tuple(item for item in run.signature.items if item[0] != "delta"))
    return replace(run, name="logits", semantic=None, signature=signature, absent={"semantic": "a score of 7"})


def test_one_that_misses_all_is_last_and_marked_by_none(run: Run) -> None:
    strict = run.strict[0]
    nothing = replace(strict, entries=strict.entries.select(strict.entries.credit < 0))
    found = compare([run, replace(run, name="nothing", strict=(nothing,)), replace(run, name="again")], resamples=0)
    cells = found.cells("strict:qpic:full")
    assert [cell[1:4] for cell in cells] == [(1, True, False), (3, False, False), (1, True, False)]
    assert found.cells("semantic:map")[0].best is False
    assert (found.tau, found.discordant_pairs, found.gains[1]) == (None, [], run.figures()["semantic:map"])
    (line,) = sentences(found)
    assert line.startswith("same ")
    assert says(line, "model", "nothing", "again")


def test_what_one_model_has_not_is_left_out(run: Run) -> None:
    found = compare([without_scores(run), run, replace(run, name="again")], resamples=19)
    assert (found.cells("semantic:map")[0].value, found.discordant_pairs) == (None, [])
    assert any(says(line, "logits: semantic: ", "score of 7") for line in sentences(found))
    compared = {(d["figure"], *d["models"]) for d in Compare.from_comparison(found).to_dict()["differences"]}
    assert ("semantic:map", "model", "again") in compared
    assert not any("logits" in of and of[0].startswith("semantic") for of in compared)


def test_few_resamples_and_many_models_are_said_first(run: Run) -> None:
    five = [replace(run_of(scenes_of(3, 9)), name=f"m{number}", facts={}) for number in range(5)]
    few = compare(five[:2], resamples=19)
    assert says(sentences(few)[0], "tests ", "few resamples", "19", "1 pair")
    assert any(says(line, "(p = 1.000)", "few resamples") for line in sentences(few))
    assert Compare.from_comparison(few).to_dict()["models"][0]["figures"]["semantic:map"].keys() == {"value", "rank"}
    assert [usual_resamples(models) for models in (2, 10, 11, 30, 200)] == [1000, 1000, 2000, 9000, 65535]
    told = sentences(compare(five, resamples=20))
    assert "--resamples 200 or more" in told[0]
    assert not any(" - " in line for line in told)


def test_few_images_are_said_first_and_have_no_verdict() -> None:
    one = run_of(scenes_of(3, 1))
    told = sentences(compare([one, replace(one, name="other")], resamples=100))
    assert says(told[0], "tests ", "few images", "1 image", "1 pair")
    assert any(line.startswith("model - other: ") and ": too few images" in line for line in told)
    assert any(line.startswith("images     no interval") and ": mAP" in line for line in told)
    # Models without a metric are said to have none.
    bare = run_of([replace(scene, truth=[]) for scene in scenes_of(3, 6)])
    told = sentences(compare([bare, replace(bare, name="other")], resamples=100))
    (line,) = (line for line in told if line.startswith("model - other: "))
    assert "no metric" in line


def test_which_raters_rank_models_otherwise(run: Run) -> None:
    found = present(run.semantic)
    worse = replace(found, entries=replace(found.entries, credit=found.entries.credit / 2))
    best = replace(run, name="best", spread=Spread({"one": 0.5, "two": 0.1}))
    spread = Spread({"one": 0.4, "two": 0.2})
    other = replace(run, name="other", semantic=worse, spread=spread, notes=("boxes fit xywh",))
    said = sentences(compare([best, other, replace(run, name="unrated")], resamples=0))
    line = next(line for line in said if line.startswith("raters"))
    assert says(line, "2 of 3 models", "two ", "other above best")
    both = compare([replace(best, notes=("boxes fit  xywh",)), other], resamples=0)
    assert f"all models: {other.notes[0]}" in Compare.from_comparison(both).to_dict()["notes"]


def test_what_cannot_be_compared_is_refused_or_left_out(run: Run) -> None:
    for runs, said in (([run], "1 model"), ([run, run], "'model' twice")):
        with option_error(said):
            compare(runs)
    other = replace(run, name="other", facts={**run.facts, "truth-sha": "0" * 8})
    with input_error("truth-sha", "00000000", source="other"):
        compare([run, other])
    changed = run_of(scenes_of(3, 6), ["delta=0.25"], "changed")
    line = "delta is 0.5 for model and 0.25 for changed"
    with input_error(line):
        compare([run, changed], resamples=0)
    assert compare([run, changed], resamples=0, allow_different=True).unlike == (line,)
    # Protocols that not all models have are named and left out.
    strict = run.strict[0]
    unlike = replace(strict, options=replace(strict.options, protocol="upt"))
    found = compare([run, replace(run, name="b", strict=(unlike,))], resamples=0, allow_different=True)
    assert says(found.unlike[0], "model", "qpic", "b ", "upt")
    assert any(says(line, "upt ", "model") for line in found.unlike)


def test_equal_hashes_do_not_hide_another_ground_truth(run: Run) -> None:
    of, strict = run.classes, run.strict[0]
    moved = replace(strict, entries=replace(strict.entries, truth_image=strict.entries.truth_image * 0))
    others = {
        "images": replace(run, images=run.images[::-1]),
        "classes": replace(run, classes=replace(of, rare=~of.rare)),
        "truths": replace(run, strict=(moved,)),
    }
    for what, other in others.items():
        with input_error(f"different {what}", "model", source="other"):
            compare([run, replace(other, name="other")], resamples=0)
