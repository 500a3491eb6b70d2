"""Runs of figures by person: kept, resampled, compared and verified like those of triplets."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoe
from shoe.comparison.compare import compare
from shoe.comparison.resampling import Resampler
from shoe.comparison.run import Run
from shoe.comparison.run_file import read_run, write_run
from shoe.comparison.verify import verify
from shoe.scoring.score import Report
from tests.cli.run import run as shoe_run
from tests.comparison.test_hostile import edited
from tests.errors import input_error
from tests.scoring import v_coco


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """Ground truth of nine images, and what two models say of them."""
    folder = tmp_path_factory.mktemp("by-person")
    truths, said = v_coco.scene(3, images=9, ties=True)
    other = [list(reversed(image))[1:] for image in said]
    models = [v_coco.write_pickle(of, folder / f"{name}.pkl") for name, of in (("all", said), ("few", other))]
    return v_coco.write_everything(truths, folder / "truth.txt"), models


@pytest.fixture(scope="module")
def reports(files: tuple[Path, list[Path]]) -> list[Report]:
    truth = shoe.read_ground_truth(files[0], dataset="v-coco")
    return [shoe.score(shoe.read_predictions(path, dataset="v-coco"), truth) for path in files[1]]


def test_figures_are_those_of_the_report_and_come_back_from_a_file(reports: list[Report], tmp_path: Path) -> None:
    runs = [Run.from_report(report, f"model {number}") for number, report in enumerate(reports)]
    for report, run in zip(reports, runs, strict=True):
        expected = {f"roles:{of.options.protocol}:full": of.map for of in report.role_results}
        parts = [of for of in report.role_results if of.left_out]
        expected |= {f"roles:{of.options.protocol}:part-without-{of.left_out}": of.map_without for of in parts}
        assert run.figures() == expected
        write_run(run, tmp_path / "kept.shoe")
        again = read_run(tmp_path / "kept.shoe")
        assert again.figures() == expected
        assert verify(run, again).equal
    assert runs[0].facts["predictions-sha"] != runs[1].facts["predictions-sha"]


@pytest.mark.slow
def test_resamples_are_what_drawn_images_would_score(tmp_path: Path) -> None:
    truths, said = v_coco.scene(5, images=7)
    truth = shoe.read_ground_truth(v_coco.write_everything(truths, tmp_path / "truth.txt"), dataset="v-coco")
    predictions = shoe.read_predictions(v_coco.write_pickle(said, tmp_path / "said.pkl"), dataset="v-coco")
    run = Run.from_report(shoe.score(predictions, truth), "model")
    weights = np.random.default_rng(0).multinomial(7, [1 / 7] * 7, size=9).T.astype(np.int32)
    found = Resampler(run).under(weights).figures()
    for of in run.by_person:
        drawn = [of.entries.take_images(np.repeat(np.arange(7), column)).means().map for column in weights.T]
        assert found[f"roles:{of.options.protocol}:full"].tolist() == pytest.approx(drawn, abs=1e-12)


@pytest.mark.slow
def test_models_are_compared_from_their_official_files(files: tuple[Path, list[Path]], tmp_path: Path) -> None:
    truth, models = files
    done = shoe_run("compare", *models, "-g", truth, "--dataset", "v-coco", "--resamples", 20, "--html", tmp_path / "a")
    assert done.returncode == 0, done.stderr
    assert all(said in done.stdout for said in ("v-coco-agent", "v-coco-s1", "without point-instr"))
    saved = tmp_path / "all.shoe"
    assert shoe_run("score", models[0], "-g", truth, "--dataset", "v-coco", "--save", saved).returncode == 0
    same, other = (shoe_run("verify", saved, model, "-g", truth) for model in models)
    assert (same.returncode, other.returncode, "other predictions" in other.stdout) == (0, 1, True)


def test_runs_over_other_persons_are_not_compared(reports: list[Report]) -> None:
    a, b = (Run.from_report(report, name) for report, name in zip(reports, ("a", "b"), strict=True))
    first = b.by_person[0]
    columns = {name: getattr(first.entries, name)[1:] for name in ("truth_category", "truth_image")}
    fewer = replace(first.entries, **columns)
    with input_error("different persons", source="b"):
        compare([a, replace(b, by_person=(replace(first, entries=fewer), *b.by_person[1:]))], resamples=0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda of: of["options"].update({"roles.threshold": "0.4"}), "protocol of v-coco"),
        (lambda of: of["names"].pop(), "edited run"),
        (lambda of: of.update(signature="shoe:1"), "a signature"),
        (lambda of: of["names"].__setitem__(0, "x\n"), "plain text"),
    ],
)
def test_edited_runs_are_refused(reports: list[Report], tmp_path: Path, change: Any, said: str) -> None:
    write_run(Run.from_report(reports[0], "model"), tmp_path / "kept.shoe")
    path = edited(tmp_path / "kept.shoe", tmp_path / "edited.shoe", lambda head, _: change(head["by_person"][0]))
    with input_error(said, source=str(path)):
        read_run(path)
