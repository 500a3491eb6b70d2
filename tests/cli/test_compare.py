"""``shoe compare`` and ``shoe verify``: what they print and write, and what they refuse."""

import csv
import io
import re
import zipfile
from pathlib import Path
from shutil import copyfile

import pytest

from shoe.demo import PREDICTIONS, REPLIES, TRUTH
from shoe.report.comparison import escaped
from tests.cli.run import as_json, output, refused, run

DETECTOR, TEXT = PREDICTIONS["detector"], PREDICTIONS["free text"]
WORDS = ("-g", TRUTH, "--resamples", "100")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("runs")
    for name, path in (("detector", DETECTOR), ("free text", TEXT)):
        assert run("score", path, "-g", TRUTH, "--save", folder / f"{name}.shoe").returncode == 0
    return folder / "detector.shoe", folder / "free text.shoe"


def test_runs_need_no_ground_truth_and_give_every_kind_of_table(runs: tuple[Path, Path], tmp_path: Path) -> None:
    written = [tmp_path / name for name in ("a.tex", "a.md", "a.csv", "a.json")]
    options = zip(("--latex", "--markdown", "--csv", "--json"), written, strict=True)
    words = ("compare", *runs, "--resamples", "100", *(word for pair in options for word in pair))
    shown = output(*words, environment={"COLUMNS": "140"})
    assert "free text: mAP +52.07" in shown
    assert re.search(r"SHOE-mAP is 1\.00: no ", shown)
    latex, markdown, table = (path.read_text("utf-8") for path in written[:3])
    assert all(part in latex for part in (r"\textbf{67.98}\textsuperscript{2}", r"\underline{15.91}"))
    body = [line for line in latex.splitlines() if line.endswith(r"\\")]
    assert ({line.replace(r"\&", "").count("&") for line in body[1:]}, latex.count("{")) == ({11}, latex.count("}"))
    for text in (shown, latex, markdown, written[3].read_text("utf-8")):
        assert "free text: 155 of 200" in text
    assert "**67.98**<sup>2</sup>" in markdown
    assert len({line.count("|") for line in markdown.splitlines() if line.startswith("|")}) == 1
    rows = list(csv.DictReader(io.StringIO(table)))
    assert (len(rows), rows[0]["figure"]) == (18, "strict:hico-det:full")
    assert float(rows[0]["low"]) < float(rows[0]["value"]) < float(rows[0]["high"])


def test_classes_that_set_models_apart_have_the_means_compared(runs: tuple[Path, Path], tmp_path: Path) -> None:
    found = as_json("compare", *runs, "--resamples", "0", "--per-class", tmp_path / "classes.csv")
    assert [each["figure"] for each in found["apart"]] == found["ranking"]["figures"]
    rows = list(csv.DictReader(io.StringIO((tmp_path / "classes.csv").read_text("utf-8"))))
    assert len(rows) == 600
    for each in found["apart"]:
        for model, side in zip(found["models"], ("before", "after"), strict=True):
            column = f"{model['name']} {each['figure']}"
            values = [float(row[column]) for row in rows if row[column]]
            mean = model["figures"][each["figure"]]["value"]
            assert sum(values) / len(values) == pytest.approx(mean, abs=1e-6)
            assert sum(c[side] for c in each["classes"]) / len(values) == pytest.approx(mean)
            assert sum(v["classes"] for v in each["verbs"]) == len(values)
        gains = [moved["after"] - moved["before"] for moved in each["objects"]]
        assert gains == sorted(gains, reverse=True)


@pytest.mark.slow
def test_a_sweep_says_whether_rankings_survive(runs: tuple[Path, Path]) -> None:
    words = ("compare", *PREDICTIONS.values(), *WORDS, "--sweep")
    assert re.search(r"SHOE-mAP no two.* 23 ", output(*words))
    assert len(as_json(*words)["sweep"]["points"]) == 32
    refused(run("compare", *runs, *WORDS, "--sweep"), "--sweep", "saved run")


@pytest.mark.slow
def test_who_resamples_and_sweeps_changes_no_byte(tmp_path: Path) -> None:
    words = ("compare", *PREDICTIONS.values(), *WORDS[:2], "--resamples", "251", "--sweep")
    made = []
    for engine in ("serial", "processes:1", "processes:3"):
        (tmp_path / engine).mkdir()
        written = {f"--{name}": tmp_path / engine / f"a.{name}" for name in ("json", "csv", "latex")}
        shown = output(*words, "--engine", engine, *(word for pair in written.items() for word in pair))
        made.append([shown, *(path.read_bytes() for path in written.values())])
    assert made[0] == made[1] == made[2]


@pytest.mark.slow
def test_predictions_say_what_their_runs_say(runs: tuple[Path, Path]) -> None:
    of_runs, of_files = (as_json("compare", *files, *WORDS) for files in (runs, (DETECTOR, TEXT)))
    for here, there in zip(of_runs["models"], of_files["models"], strict=True):
        assert (here["figures"], here["signature"]) == (there["figures"], there["signature"])
        assert len(there["raters"]) == 8
    unnamed = [[{**each, "models": 0} for each in found["differences"]] for found in (of_runs, of_files)]
    assert unnamed[0] == unnamed[1]


@pytest.mark.slow
def test_a_copy_differs_by_nothing_and_equal_scores_are_a_model_of_their_own(tmp_path: Path) -> None:
    copy = copyfile(TEXT, tmp_path / "copy.jsonl")
    found = as_json("compare", TEXT, copy, *WORDS, "--no-confidence", "-p", "qpic")
    assert [model["name"] for model in found["models"]] == ["vlm", "vlm, no confidence", "copy", "copy, no confidence"]
    for each in found["differences"]:
        if each["models"] in (["vlm", "copy"], ["vlm, no confidence", "copy, no confidence"]):
            assert (each["value"], "interval" in each) == (0, False)
            assert each["bootstrap"] == each["randomisation"] == {"p": 1, "adjusted": 1}
    assert "ranking" not in found


def test_what_cannot_be_compared_is_said_in_a_line(runs: tuple[Path, Path], tmp_path: Path) -> None:
    detector, text = runs
    (tmp_path / "cut.shoe").write_bytes(detector.read_bytes()[:5000])
    nowhere = tmp_path / "none" / "a.csv"
    truth, subset = ("-g", TRUTH), ("--subset", "single-pair")
    unlike = (detector, TEXT, *WORDS, "-o", "delta=0.25")
    for words, *says in (
        ((detector, detector), "same file twice"),
        ((detector,), "1 model", "two"),
        ((detector, TEXT), "--ground-truth"),
        ((detector, TEXT, *truth, *subset), "ground truth: split", "single-pair"),
        ((detector, TEXT, *truth, "--no-confidence"), "--no-confidence", "saved run"),
        ((text, tmp_path / "cut.shoe"), "cut.shoe: found", "damaged", "run"),
        ((DETECTOR, TEXT, *truth, "--latex", TEXT), "an input"),
        ((DETECTOR, "-g", TRUTH.parent / "none.json"), "1 model"),
        ((*runs, "--resamples", "1e9"), "--resamples: found '1e9'", "from 0 to"),
        ((*runs, "--engine", "dask"), "--engine: found 'dask'", "serial, processes"),
        (unlike, "delta", "0.5 for detector", "0.25 for vlm", "--allow-different"),
    ):
        refused(run("compare", *words), *says)
    for more in (("-p", "qpic"), ("--similarity", "hico-det"), ("-o", "tau=0.3"), subset):
        refused(run("compare", *runs, *more), f"saved run {detector}")
    for option in ("--latex", "--json", "--html"):
        refused(run("compare", *runs, option, nowhere), f"no folder {nowhere.parent}")
    refused(run("score", detector, *truth), "shoe score --save")
    refused(run("score", DETECTOR, *truth, "--save", nowhere), "found no folder")


@pytest.mark.slow
def test_unlike_runs_are_compared_where_that_is_asked_for(runs: tuple[Path, Path]) -> None:
    more = ("-o", "delta=0.25", "-p", "qpic", "-p", "hico-det", "-p", "shoe", "--allow-different")
    found = as_json("compare", runs[0], TEXT, *WORDS, *more)
    assert any(line.startswith("delta ") and "0.5 for detector" in line for line in found["unlike"])
    assert not any("qpic" in figure for figure in found["models"][1]["figures"])


def test_names_that_latex_would_read_as_commands() -> None:
    latex = r"a\_b \& 50\% \#1 \{x\} \$y\$ \textasciitilde{}z \textasciicircum{} \textbackslash{}w -{}-"
    name = r"a_b & 50% #1 {x} $y$ ~z ^ \w --"
    assert escaped(name) == latex


def test_a_run_is_verified(runs: tuple[Path, Path], tmp_path: Path) -> None:
    assert "equal: 9 figures" in output("verify", runs[1], TEXT, "-g", TRUTH)
    changed, elsewhere = tmp_path / "changed.jsonl", tmp_path / "elsewhere.shoe"
    changed.write_text(TEXT.read_text("utf-8").replace("riding", "walking"), "utf-8")
    done = run("verify", runs[1], changed, "-g", TRUTH)
    assert done.returncode == 1
    assert all(part in done.stdout for part in ("different: other predictions", "differs"))
    refused(run("verify", TEXT, TEXT, "-g", TRUTH), "not a run")
    with zipfile.ZipFile(runs[1]) as before, zipfile.ZipFile(elsewhere, "w") as after:
        for name in before.namelist():
            content = before.read(name).replace(b"map:hico-det", b"map:/etc")
            after.writestr(name, content.replace(b'"map":"hico-det"', b'"map":"/etc"'))
    refused(run("verify", elsewhere, TEXT, "-g", TRUTH), "elsewhere.shoe: map: found '/etc'", "shipped map")


@pytest.mark.slow
def test_other_maps_and_raw_replies_are_named(runs: tuple[Path, Path]) -> None:
    done = run("verify", runs[1], REPLIES, "-g", TRUTH, "--similarity", "wup", "--json", "-")
    assert done.returncode == 1
    assert all(part in done.stdout for part in ("another similarity map", "other predictions"))
