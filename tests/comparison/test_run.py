"""Runs say what their reports say, and their files give it back, to the bit; anything else is one clear line."""

from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

import shoe
from shoe.benchmarks.scoring_options import settings
from shoe.comparison import run_file
from shoe.comparison.run import SEMANTIC, Run, digest_of
from shoe.comparison.run_file import is_run, read_run, write_run
from shoe.core.errors import InputError
from shoe.demo import PREDICTIONS, TRUTH
from shoe.scoring.evidence.draws import Interval
from shoe.scoring.evidence.facts import Spread
from shoe.scoring.score import Report
from tests.cli.run import refused, run
from tests.comparison.samples import OPTIONS, report_of, run_of, scenes_of
from tests.comparison.test_hostile import edited
from tests.damage import damaged_bytes
from tests.errors import input_error
from tests.examples import examples
from tests.present import present


def same(a: Any, b: Any) -> bool:
    """Whether two values, or all their fields, are equal."""
    if hasattr(a, "__dataclass_fields__") and type(a) is type(b):
        return all(same(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    if isinstance(a, np.ndarray):
        return bool(np.array_equal(a, b))
    return len(a) == len(b) and all(map(same, a, b)) if isinstance(a, tuple) else bool(a == b)


@pytest.mark.parametrize("options", OPTIONS)
def test_what_was_written_is_read(tmp_path: Path, options: tuple[str, ...]) -> None:
    spread, interval = Spread({"one": 0.25, "two": 0.5}), Interval((0.1, 0.2), None, 3)
    once = Run.from_report(report_of(scenes_of(4), options), "my model", spread, interval)
    write_run(once, tmp_path / "a.shoe")
    again = read_run(tmp_path / "a.shoe")
    assert again.figures() == once.figures()
    parts = ("name", "signature", "facts", "images", "strict", "semantic", "notes", "spread", "interval")
    assert [name for name in parts if not same(getattr(once, name), getattr(again, name))] == []
    assert (again.classes.labels, again.classes.digest) == (once.classes.labels, once.classes.digest)
    assert (again.classes.verb_synsets, again.classes.gerunds) == (once.classes.verb_synsets, once.classes.gerunds)
    write_run(again, tmp_path / "b.shoe")
    assert (tmp_path / "a.shoe").read_bytes() == (tmp_path / "b.shoe").read_bytes()


@given(
    st.lists(st.integers(-(1 << 62), 1 << 62), max_size=9).map(np.array)
    | st.lists(st.sampled_from([0.0, -0.0, 0.1, 0.5, 1 / 3, 1e300]), min_size=1, max_size=40).map(np.array)
    | st.lists(st.floats(allow_nan=False), min_size=1, max_size=9).map(np.array)
)
def test_columns_are_kept_to_the_bit(column: NDArray[Any]) -> None:
    writer = run_file.ColumnWriter()
    number = writer.add(column)
    assert writer.add(column.copy()) == number
    again = run_file.read_column(writer.columns[number], writer.contents[number])
    assert again.tolist() == column.tolist()
    assert np.signbit(again.astype(float)).tolist() == np.signbit(column.astype(float)).tolist()


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"", "not a run"), (b'{"some": "json"}', "not a run"), (b"PK\x05\x06" + bytes(18), "an archive")],
)
def test_what_is_no_run_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "x.shoe").write_bytes(content)
    with input_error(says, source=str(tmp_path / "x.shoe")):
        read_run(tmp_path / "x.shoe")


def test_damage_is_one_line_or_harmless(tmp_path: Path, whole: Path) -> None:
    data, path, once = whole.read_bytes(), tmp_path / "x.shoe", read_run(whole).figures()
    for seed in range(60):
        path.write_bytes(data[: seed * len(data) // 60] if seed % 3 == 0 else damaged_bytes(data, seed))
        with suppress(InputError):  # which is one line
            assert read_run(path).figures() == once  # dates and such carry nothing


def test_a_later_version_and_unknown_options_are_said(tmp_path: Path, whole: Path) -> None:
    with input_error("3", "2", "`shoe score --save`", field="shoe_run"):
        read_run(edited(whole, tmp_path / "later.shoe", lambda head, _: head.update(shoe_run=3)))
    red = {"strict.colour": "red"}
    with input_error("strict.colour"):
        read_run(edited(whole, tmp_path / "option.shoe", lambda head, _: head["strict"][0]["options"].update(red)))


def test_score_saves_what_it_measured(tmp_path: Path) -> None:
    path = tmp_path / "run.shoe"
    words = ("score", PREDICTIONS["free text"], "-g", TRUTH, "--save")
    done = run(*words, path, "-p", "qpic", "-p", "shoe", "-o", "delta=0.25")
    assert (done.returncode, done.stderr) == (0, "")
    found = read_run(path)
    assert (is_run(path), is_run(path.rename(tmp_path / "other.zip")), is_run(TRUTH)) == (True, True, False)
    assert (found.name, settings(present(found.semantic).options)["delta"]) == ("vlm", "0.25")
    assert f"signature  {found.signature.short()}" in done.stdout
    refused(run(*words, TRUTH), "an input")


def figures_of(report: Report) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for each in report.strict_results:
        values = {"full": each.map, "rare": each.map_rare, "non_rare": each.map_non_rare}
        found |= {f"strict:{each.options.protocol}:{part}": value for part, value in values.items()}
    if (result := report.semantic) is not None:
        found |= {f"semantic:{name}": getattr(result, name) for name in SEMANTIC}
    return found


def test_its_figures_are_the_reports() -> None:
    truth = shoe.read_ground_truth(TRUTH)
    report = shoe.score(shoe.read_predictions(PREDICTIONS["free text"]), truth, protocols=["all"])
    run = Run.from_report(report, "free text")
    expected = (figures_of(report), report.signature, truth.interactions.images)
    assert (run.figures(), run.signature, run.images) == expected
    assert present(run.semantic).above_delta.figures() == present(report.semantic).above_delta
    assert list(run.figures())[:3] == ["strict:hico-det:full", "strict:hico-det:rare", "strict:hico-det:non_rare"]


@pytest.mark.slow
@given(st.integers(0, 1 << 32), st.sampled_from(OPTIONS))
@examples(0.3)
def test_so_they_are_under_any_options(seed: int, options: tuple[str, ...]) -> None:
    report = report_of(scenes_of(seed), options)
    assert Run.from_report(report, "model").figures() == figures_of(report)


@pytest.mark.slow
@given(st.integers(0, 1 << 32), st.sampled_from(OPTIONS[:3]))
@examples(0.3)
def test_counts_of_drawn_images_are_those_of_the_images_under_new_names(seed: int, options: tuple[str, ...]) -> None:
    found, options = scenes_of(seed), (*options, "tau-by=image")
    index = np.random.default_rng(seed).integers(0, len(found), len(found))
    named = [replace(found[i], name=f"HICO_test2015_{n + 1:08d}.jpg") for n, i in enumerate(index.tolist())]
    once, again = (present(run_of(scenes, options).semantic) for scenes in (found, named))
    assert once.f1.take_images(index).figures() == pytest.approx(again.f1.figures(), abs=1e-12)


@given(st.integers(0, 1 << 32))
@examples(0.1)
def test_images_split_and_put_together_in_any_order_are_the_whole(seed: int) -> None:
    whole = present(run_of(scenes_of(seed, 6), ["ties=input"]).semantic).f1
    order = np.random.default_rng(seed).permutation(6)
    assert whole.take_images(order).figures() == pytest.approx(whole.figures(), abs=1e-12)
    parts = [whole.take_images(part) for part in np.split(order, [2])]
    assert sum(len(part.category) for part in parts) == len(whole.category)
    assert sum(part.sigma.sum() for part in parts) == pytest.approx(whole.sigma.sum())
    assert sum(part.truths for part in parts).tolist() == whole.truths.tolist()  # type: ignore[union-attr]


def test_what_changes_a_score_changes_the_digest_of_predictions() -> None:
    table = shoe.read_predictions(PREDICTIONS["free text"])
    again = replace(table, score=table.score.copy())
    assert digest_of(again) == digest_of(table)
    again.score[3] -= 1e-9
    assert digest_of(table) not in (digest_of(again), digest_of(replace(table, verbs=(*table.verbs[:-1], "other"))))
