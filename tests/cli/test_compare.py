"""``shoe compare`` and ``shoe verify``: what they print and write, and what they refuse."""

import csv
import io
import zipfile
from pathlib import Path
from shutil import copyfile

import pytest

from shoe.demo import PREDICTIONS, REPLIES, TRUTH
from shoe.report.comparison import escaped
from tests.cli.run import as_json, refused, run

WORDS = ("-g", TRUTH, "--resamples", "100")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("runs")
    for name in ("detector", "free text"):
        done = run("score", PREDICTIONS[name], "-g", TRUTH, "--save", folder / f"{name}.shoe")
        assert done.returncode == 0
    return folder / "detector.shoe", folder / "free text.shoe"


def test_runs_need_no_ground_truth_and_give_every_kind_of_table(runs: tuple[Path, Path], tmp_path: Path) -> None:
    written = [tmp_path / name for name in ("a.tex", "a.md", "a.csv", "a.json")]
    done = run(
        *("compare", *runs, "--resamples", "100"),
        *("--latex", written[0], "--markdown", written[1], "--csv", written[2], "--json", written[3]),
        environment={"COLUMNS": "140"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "detector - free text: mAP +52.07 points" in done.stdout
    assert "Kendall's tau-b between strict mAP and SHOE-mAP is 1.00: no two models change places" in done.stdout
    latex, markdown, table = (path.read_text("utf-8") for path in written[:3])
    assert r"\textbf{67.98}\textsuperscript{2}" in latex
    assert r"\underline{15.91}" in latex
    body = [line for line in latex.splitlines() if line.endswith(r"\\")]
    assert {line.replace(r"\&", "").count("&") for line in body[1:]} == {11}
    assert latex.count("{") == latex.count("}")
    assert "free text: 155 of 200 images have predictions" in done.stdout
    for text in (latex, markdown, written[3].read_text("utf-8")):
        assert "free text: 155 of 200 images have predictions" in text
    assert "**67.98**<sup>2</sup>" in markdown
    assert len({line.count("|") for line in markdown.splitlines() if line.startswith("|")}) == 1
    rows = list(csv.DictReader(io.StringIO(table)))
    assert len(rows) == 18
    assert rows[0]["figure"] == "strict:hico-det:full"
    assert float(rows[0]["low"]) < float(rows[0]["value"]) < float(rows[0]["high"])


def test_classes_that_set_models_apart_have_the_means_that_are_compared(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    found = as_json("compare", *runs, "--resamples", "0", "--per-class", tmp_path / "classes.csv")
    first, second = found["models"]
    assert [each["figure"] for each in found["apart"]] == found["ranking"]["figures"]
    rows = list(csv.DictReader(io.StringIO((tmp_path / "classes.csv").read_text("utf-8"))))
    assert len(rows) == 600
    for each in found["apart"]:
        for model, side in ((first, "before"), (second, "after")):
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
    done = run("compare", *PREDICTIONS.values(), *WORDS, "--sweep")
    assert done.returncode == 0
    assert "by SHOE-mAP no two models change places under any of 23 other settings" in done.stdout
    found = as_json("compare", *PREDICTIONS.values(), *WORDS, "--sweep")["sweep"]
    assert len(found["points"]) == 32
    refused(run("compare", *runs, *WORDS, "--sweep"), "--sweep", "saved run")


@pytest.mark.slow
def test_who_resamples_and_sweeps_changes_no_byte(tmp_path: Path) -> None:
    made = {}
    for engine in ("serial", "processes:1", "processes:3"):
        (tmp_path / engine).mkdir()
        written = [tmp_path / engine / name for name in ("a.json", "a.csv", "a.tex")]
        options = [word for pair in zip(("--json", "--csv", "--latex"), written, strict=True) for word in pair]
        done = run(
            "compare", *PREDICTIONS.values(), *WORDS[:2], "--resamples", "251", "--sweep", "--engine", engine, *options
        )
        assert (done.returncode, done.stderr) == (0, "")
        made[engine] = [done.stdout, *(path.read_bytes() for path in written)]
    assert made["serial"] == made["processes:1"] == made["processes:3"]


@pytest.mark.slow
def test_predictions_say_what_their_runs_say(runs: tuple[Path, Path]) -> None:
    of_runs = as_json("compare", *runs, *WORDS)
    of_files = as_json("compare", PREDICTIONS["detector"], PREDICTIONS["free text"], *WORDS)
    for here, there in zip(of_runs["models"], of_files["models"], strict=True):
        assert here["figures"] == there["figures"]
        assert here["signature"] == there["signature"]
        assert len(there["raters"]) == 8
    assert [{**each, "models": 0} for each in of_runs["differences"]] == [
        {**each, "models": 0} for each in of_files["differences"]
    ]


@pytest.mark.slow
def test_a_copy_differs_by_nothing_and_equal_scores_are_a_model_of_their_own(tmp_path: Path) -> None:
    copyfile(PREDICTIONS["free text"], tmp_path / "copy.jsonl")
    found = as_json(
        "compare", PREDICTIONS["free text"], tmp_path / "copy.jsonl", *WORDS, "--no-confidence", "-p", "qpic"
    )
    assert [model["name"] for model in found["models"]] == ["vlm", "vlm, no confidence", "copy", "copy, no confidence"]
    for each in found["differences"]:
        if each["models"] in (["vlm", "copy"], ["vlm, no confidence", "copy, no confidence"]):
            assert each["value"] == 0
            assert "interval" not in each
            assert each["bootstrap"] == each["randomisation"] == {"p": 1, "adjusted": 1}
    assert "ranking" not in found


def test_what_cannot_be_compared_is_said_in_a_line(runs: tuple[Path, Path], tmp_path: Path) -> None:
    detector, text = PREDICTIONS["detector"], PREDICTIONS["free text"]
    refused(run("compare", runs[0], runs[0]), "the same file twice")
    refused(run("compare", runs[0]), "found 1 model, expected two or more")
    refused(run("compare", runs[0], text), "--ground-truth")
    refused(run("compare", runs[0], text, "-g", TRUTH, "--subset", "single-pair"), "ground truth: split", "single-pair")
    for words in (["-p", "qpic"], ["--similarity", "hico-det"], ["-o", "tau=0.3"], ["--subset", "single-pair"]):
        refused(run("compare", *runs, *words), f"saved run {runs[0]}")
    refused(run("compare", runs[0], text, "-g", TRUTH, "--no-confidence"), "--no-confidence", "saved run")
    refused(run("score", runs[0], "-g", TRUTH), "found a run saved by shoe score --save")
    (tmp_path / "cut.shoe").write_bytes(runs[0].read_bytes()[:5000])
    refused(run("compare", runs[1], tmp_path / "cut.shoe"), "cut.shoe: found a damaged or edited run")
    refused(run("compare", detector, text, "-g", TRUTH, "--latex", text), "an input or another output")
    refused(run("compare", detector, "-g", TRUTH.parent / "none.json"), "found 1 model")
    nowhere = tmp_path / "none" / "a.csv"
    for option in ("--latex", "--json", "--html"):
        refused(run("compare", *runs, option, nowhere), f"found no folder {nowhere.parent}")
    refused(run("score", detector, "-g", TRUTH, "--save", nowhere), "found no folder")
    refused(run("compare", *runs, "--resamples", "1e9"), "--resamples: found '1e9', expected a whole number from 0 to")
    refused(run("compare", *runs, "--engine", "dask"), "--engine: found 'dask', expected serial, processes")
    other = ("compare", runs[0], text, *WORDS, "-o", "delta=0.25")
    refused(run(*other), "delta is 0.5 for detector and 0.25 for vlm", "--allow-different")


@pytest.mark.slow
def test_unlike_runs_are_compared_where_that_is_asked_for(runs: tuple[Path, Path]) -> None:
    text, more = PREDICTIONS["free text"], ("-o", "delta=0.25", "-p", "qpic", "-p", "hico-det", "-p", "shoe")
    found = as_json("compare", runs[0], text, *WORDS, *more, "--allow-different")
    assert any(line.startswith("delta is 0.5 for detector") for line in found["unlike"])
    assert not any("qpic" in figure for figure in found["models"][1]["figures"])


def test_names_that_latex_would_read_as_commands() -> None:
    assert escaped(r"a_b & 50% #1 {x} $y$ ~z ^ \w --") == (
        r"a\_b \& 50\% \#1 \{x\} \$y\$ \textasciitilde{}z \textasciicircum{} \textbackslash{}w -{}-"
    )


def test_a_run_is_verified(runs: tuple[Path, Path], tmp_path: Path) -> None:
    done = run("verify", runs[1], PREDICTIONS["free text"], "-g", TRUTH)
    assert (done.returncode, done.stderr) == (0, "")
    assert "equal: 9 figures, options, version and hashes" in done.stdout
    changed = tmp_path / "changed.jsonl"
    changed.write_text(PREDICTIONS["free text"].read_text("utf-8").replace("riding", "walking"), "utf-8")
    done = run("verify", runs[1], changed, "-g", TRUTH)
    assert done.returncode == 1
    assert "different: other predictions" in done.stdout
    assert "differs" in done.stdout
    refused(run("verify", PREDICTIONS["free text"], PREDICTIONS["free text"], "-g", TRUTH), "not a run")
    elsewhere = tmp_path / "elsewhere.shoe"
    with zipfile.ZipFile(runs[1]) as before, zipfile.ZipFile(elsewhere, "w") as after:
        for name in before.namelist():
            content = before.read(name)
            content = content.replace(b"map:hico-det", b"map:/etc").replace(b'"map":"hico-det"', b'"map":"/etc"')
            after.writestr(name, content)
    done = run("verify", elsewhere, PREDICTIONS["free text"], "-g", TRUTH)
    refused(done, "elsewhere.shoe: map: found '/etc', expected a shipped map")


@pytest.mark.slow
def test_other_maps_and_raw_replies_are_named(runs: tuple[Path, Path]) -> None:
    done = run("verify", runs[1], REPLIES, "-g", TRUTH, "--similarity", "wup", "--json", "-")
    assert done.returncode == 1
    assert "another similarity map" in done.stdout
    assert "other predictions" in done.stdout
