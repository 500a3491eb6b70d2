"""Parts of a class split, from one scoring to a file, a comparison and a verdict."""

from pathlib import Path

import numpy as np
import orjson
import pytest

from shoe.benchmarks.classes import ClassSplit
from shoe.comparison.resampling import Resampler
from shoe.comparison.run import Run
from shoe.comparison.run_file import read_run, write_run
from shoe.demo import PREDICTIONS, TRUTH
from tests.cli import run as cli
from tests.comparison.samples import CLASSES, OPTIONS, report_of, scenes_of
from tests.comparison.test_hostile import edited
from tests.errors import input_error
from tests.present import present

SPLIT = ClassSplit.of_unseen("odd", np.arange(1, len(CLASSES), 2), len(CLASSES), "made for these tests")


def parted(options: tuple[str, ...] = ()) -> Run:
    return Run.from_report(report_of(scenes_of(4), options, SPLIT), "model")


@pytest.mark.parametrize("options", [OPTIONS[0], OPTIONS[-1]])
def test_figures_are_means_over_the_parts_and_survive_a_file(tmp_path: Path, options: tuple[str, ...]) -> None:
    run, plain = parted(options), Run.from_report(report_of(scenes_of(4), options), "model")
    figures = run.figures()
    for kind, entries in (("strict:qpic", run.strict[0].entries), ("semantic", run.semantic.entries)):  # type: ignore[union-attr]
        scores = entries.scores()
        means: dict[str, float] = {}
        for part, mask in SPLIT.parts.items():
            means[part] = float(scores.ap[scores.in_parts & mask].mean())
            assert figures.pop(f"{kind}:part-{part}") == pytest.approx(means[part])
        a, b = means.values()
        assert figures.pop(f"{kind}:harmonic-mean") == pytest.approx(2 / (1 / a + 1 / b) if a * b else 0)
    assert figures == plain.figures()  # all else is as without a split
    write_run(run, tmp_path / "a.shoe")
    again = read_run(tmp_path / "a.shoe")
    assert again.figures() == run.figures()
    assert (present(again.class_split).digest, again.facts["class-split"]) == (SPLIT.digest, "odd")
    drawn = Resampler(again).under(np.ones((len(run.images), 1), np.int32)).figures()
    assert {key: float(value[0]) for key, value in drawn.items()} == pytest.approx(run.figures())


def test_an_edited_split_is_refused(tmp_path: Path) -> None:
    write_run(parted(), tmp_path / "a.shoe")
    for number, edit in enumerate(
        (
            lambda head, _: head["class_split"]["parts"]["unseen"].pop(),
            lambda head, _: head.pop("class_split"),
            lambda head, _: head["class_split"]["parts"]["unseen"].append(10_000),
        )
    ):
        with input_error("edited run", source=str(tmp_path / f"{number}.shoe")):
            read_run(edited(tmp_path / "a.shoe", tmp_path / f"{number}.shoe", edit))


@pytest.mark.slow
def test_a_split_goes_through_all_commands(tmp_path: Path) -> None:
    files = [PREDICTIONS["detector"], PREDICTIONS["free text"]]
    split = ("--ground-truth", TRUTH, "--split", "rf-uc")
    done = cli.run("score", files[0], *split, "--save", tmp_path / "a.shoe", "--json", "-")
    scored = orjson.loads(done.stdout)
    strict, semantic = scored["strict"], scored["semantic"]
    assert [part["classes"] for part in strict["parts"].values()] == [58, 286]
    assert "|class-split:rf-uc|class-split-sha:" in scored["signature"]
    total = sum(part["map"] * part["classes"] for part in strict["parts"].values())
    assert total / strict["classes"] == pytest.approx(strict["map"])
    shown = cli.run("score", files[0], *split).stdout
    assert f"  unseen         {100 * strict['parts']['unseen']['map']:.2f}" in shown
    assert f"{100 * semantic['harmonic_mean']:.2f}" in shown
    assert cli.run("verify", tmp_path / "a.shoe", files[0], "--ground-truth", TRUTH).returncode == 0
    done = cli.run("compare", *files, *split, "--resamples", "0", "--latex", tmp_path / "t.tex", "--json", "-")
    figures = orjson.loads(done.stdout)["models"][0]["figures"]
    assert figures["strict:hico-det:part-unseen"]["value"] == strict["parts"]["unseen"]["map"]
    assert figures["semantic:harmonic-mean"]["value"] == semantic["harmonic_mean"]
    assert "SHOE-mAP unseen" in (tmp_path / "t.tex").read_text()
    assert cli.run("compare", tmp_path / "a.shoe", files[1], "--ground-truth", TRUTH).stderr.count("\n") == 1
