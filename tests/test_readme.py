"""Generated parts of the documentation are fresh, its examples work, and its links have a target."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
import typer

import shoe
from shoe.benchmarks.signature import OF_PREDICTIONS
from shoe.cli.app import app
from shoe.demo import TRUTH
from shoe.maps.raters_toml import read_raters
from shoe.report.schemas import SCHEMAS, json_schema
from shoe.report.score import _semantic_table, _strict_table
from tests.present import present
from tests.scripts.conftest import loaded

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import generated  # noqa: E402

DETECTOR = TRUTH.with_name("detector.json")
_FILES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
PAGES = {str(page.relative_to(ROOT)): page.read_text("utf-8") for page in _FILES}
README = PAGES["README.md"]


def fences(kind: str) -> Iterator[tuple[str, str]]:
    for page, text in PAGES.items():
        for body in re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL):
            yield page, body


def shown_commands() -> list[tuple[str, str]]:
    """Page and line of every ``shoe`` command that is shown or run."""
    lines = [(page, line) for page, body in fences("sh") for line in body.replace("\\\n", " ").splitlines()]
    lines += [(page, line) for page, text in PAGES.items() for line in re.findall(r"<!-- run: (.+?) -->", text)]
    return [(page, line) for page, line in lines if line.startswith("shoe ")]


def test_generated_parts_of_the_readme_are_fresh() -> None:
    assert generated.filled(README) == README, "run scripts/update-readme"


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if "<!-- end -->" in text])
def test_generated_parts_of_a_page_are_fresh(page: str) -> None:
    assert generated.filled(PAGES[page]) == PAGES[page], "run scripts/update-readme"


def test_a_check_of_generated_parts_names_what_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    script = loaded("update-readme")
    (stale := tmp_path / "stale.md").write_text("old")
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "contents", lambda: iter([(stale, "new"), (tmp_path / "absent.json", "new")]))
    monkeypatch.setattr(sys, "argv", ["update-readme", "--check"])
    with pytest.raises(SystemExit, match=r"stale.md, absent.json"):
        script.main()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("stale.md", "old")]
    monkeypatch.setattr(sys, "argv", ["update-readme"])
    script.main()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"stale.md": "new", "absent.json": "new"}


def test_generated_tables_the_help_and_pages_name_everything() -> None:
    named = {name for text in PAGES.values() for name in re.findall(r"<!-- table: (.+?) -->", text)}
    assert named == set(generated.TABLES)
    for name in named:
        assert generated.TABLES[name]().strip()
    names = set(re.findall(r"^\| `([^`]+)`", generated.TABLES["protocols"](), re.MULTILINE))
    assert names - set(re.findall(r"[\w-]+", generated.output("shoe score --help"))) == set()
    pages = PAGES["docs/reference/python.md"] + PAGES["docs/reference/errors.md"]
    assert {*re.findall(r"<!-- api: shoe\.(\w+) -->", pages), "__version__"} == set(shoe.__all__)
    page = generated.json_keys()
    for command in SCHEMAS:
        keys = {key for each in json_schema(command)["$defs"].values() for key in each["properties"]}
        section = page.split(f"## shoe {command}\n")[1].split("\n## ")[0]
        assert set(re.findall(r"^\| `([^`]+)`", section, re.MULTILINE)) == keys, command


@pytest.fixture(scope="module")
def command_line() -> Any:
    return typer.main.get_command(app())


@pytest.mark.parametrize(("page", "line"), shown_commands())
def test_commands_that_are_shown_have_these_options(page: str, line: str, command_line: Any) -> None:
    """Looks at names of commands and options, not at what they do: files are the reader's."""
    command = command_line
    words = shlex.split(line, comments=True)[1:]
    words = words[2:] if words[:1] == ["--lexicon"] else words
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        _, command, words = command.resolve_command(click.Context(command), words)
    known = {name for parameter in command.params for name in parameter.opts} | {"--help", "--version"}
    for word in words:
        if re.match(r"-{1,2}[a-z]", word):
            assert word.partition("=")[0] in known, (page, line)
    if not any(word.isupper() or word == "..." for word in words):
        with click.Context(command) as context:  # arguments are complete, and values are of their kind
            command.make_parser(context).parse_args(list(words))


def test_python_that_the_readme_shows_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "instances_test2015.json").write_bytes(TRUTH.read_bytes())
    (tmp_path / "predictions.json").write_bytes(DETECTOR.read_bytes())
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 2
    scope: dict[str, Any] = {}
    exec(blocks[0], scope)
    seen, one_by_one = scope["predictions"], []
    for half in np.array_split(np.arange(len(seen.images)), 2):
        part = seen.select_images(half)
        boxes = part.human_boxes, part.object_boxes
        one_by_one.append((part.images, *boxes, part.image, part.verb, part.object, part.score))
    scope |= {"batches": one_by_one, "VERBS": seen.verbs, "OBJECTS": seen.objects}
    exec(blocks[1], scope)
    assert scope["metric"].compute().strict.map == scope["report"].strict.map


@pytest.mark.slow
def test_python_for_a_detector_of_ones_own_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """NumPy arrays, own class IDs and a torch dump give the score of the file with the same predictions."""
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'shoe-eval[torch]'")
    monkeypatch.chdir(tmp_path)
    Path("instances_test2015.json").write_bytes(TRUTH.read_bytes())
    seen = shoe.read_predictions(DETECTOR)
    columns: dict[str, Any] = {name: getattr(seen, name) for name in ("image", "verb", "object", "score")}
    columns |= {name: np.array(getattr(seen, name)) for name in ("images", "verbs", "objects")}
    boxes: dict[str, Any] = {"human_boxes": seen.human_boxes, "object_boxes": seen.object_boxes}
    number = seen.verb * len(seen.objects) + seen.object
    np.savez("detections.npz", class_id=1000 - number, **columns, **boxes)
    with open("my_classes.csv", "w") as table:
        table.write("class_id,verb,object\n")
        for each in np.unique(number):
            verb, category = divmod(int(each), len(seen.objects))
            table.write(f"{1000 - each},{seen.verbs[verb]},{seen.objects[category]}\n")
    records = []
    for place, (start, end) in enumerate(zip(seen.offsets[:-1], seen.offsets[1:], strict=True)):
        scores = torch.zeros(end - start, len(seen.verbs), dtype=torch.float64)
        verbs = torch.from_numpy(seen.verb[start:end]).long()
        scores[torch.arange(end - start), verbs] = torch.from_numpy(seen.score[start:end].copy())
        of_pairs = {name: torch.from_numpy(values[start:end].copy()) for name, values in boxes.items()}
        labels = torch.from_numpy(seen.object[start:end].copy())
        records.append({"file_name": seen.images[place], "scores": scores, "labels": labels, **of_pairs})
    torch.save(records, "dump.pt")
    scope: dict[str, Any] = {"VERBS": seen.verbs, "OBJECTS": seen.objects}
    expected = present(shoe.score(seen, shoe.read_ground_truth(TRUTH)).strict)
    blocks = re.findall(r"```python\n(.*?)```", PAGES["docs/start/detector.md"], re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        own = dict(scope)  # each program is complete
        exec(block, own)
        assert present(shoe.score(own["predictions"], own["truth"]).strict).map == expected.map
    assert shoe.read_predictions("predictions.jsonl").score.tolist() == seen.score.tolist()


def test_raters_and_answers_that_are_shown_can_be_read(tmp_path: Path) -> None:
    kinds: dict[str, list[str]] = {}
    for page, example in fences("toml"):
        (tmp_path / "raters.toml").write_text(example)
        kinds.setdefault(page, []).extend(rater.kind for rater in read_raters(tmp_path / "raters.toml").raters)
    assert kinds == {
        "docs/maps.md": ["openai", "openai-batch", "transformers", "openai", "openai", "openai-batch"],
        "docs/guides/rate-hico-det.md": ["openai", "openai-batch", "openai-batch", "openai", "openai", "transformers"],
        "docs/guides/study.md": ["people"],
    }
    for page, lines in fences("json"):
        (tmp_path / "answers.jsonl").write_text(lines)
        table = shoe.read_predictions(tmp_path / "answers.jsonl")
        assert len(table) == lines.count("human_b"), page
        assert all(table.verbs), page


@pytest.mark.real_data
def test_answers_that_are_shown_fit_the_annotations(tmp_path: Path, shared_data: Path) -> None:
    truth = shoe.read_ground_truth(shared_data / "hico_det" / "instances_test2015.json", dataset="hico-det")
    examples = [(page, "thousand", lines) for page, lines in fences("json") if page in ("README.md", "docs/vlm.md")]
    table = present(re.search(r"```text\n(image,.*?)```", PAGES["docs/start/detector.md"], re.DOTALL))
    for number, (page, boxes, text) in enumerate([*examples, ("detector", None, table[1])]):
        path = tmp_path / f"{number}.{'jsonl' if boxes else 'csv'}"
        path.write_text(text)
        predictions = shoe.read_predictions(path, boxes=boxes, truth=truth)
        report = shoe.score(predictions, truth.within(predictions.images), options=["tau=0"])
        strict, semantic = present(report.strict), present(report.semantic)
        assert semantic.prediction_miss_rate == 0, page
        if len(predictions) > 1:
            scores = f"mAP {100 * present(strict.map):.2f} and SHOE-mAP {100 * present(semantic.map):.2f}"
            assert scores in PAGES[page], scores


def test_pages_explain_headings_and_signatures() -> None:
    report = shoe.score(shoe.read_predictions(DETECTOR), shoe.read_ground_truth(TRUTH))
    tables = _strict_table(report), _semantic_table(present(report.semantic))
    headings = [str(column.header) for table in tables for column in table.columns[1:]]
    assert len(headings) == 12
    for heading in headings:
        plain = heading.replace("-\n", "").replace("\n", " ").removeprefix("SHOE-mF1 ")
        assert re.search(rf"^\| [^|]*`{re.escape(plain)}`", README, re.MULTILINE), heading
    section = PAGES["docs/explanation/evidence.md"].split("## The sig")[1]
    rows = re.findall(r"^\| (`.*?) \|.*\| (yes|no)\b", section, re.MULTILINE)
    fields = {name: answer for names, answer in rows for name in re.findall(r"`([^`]+)`", names)}
    assert {name for name, answer in fields.items() if answer == "no"} == set(OF_PREDICTIONS)
    report = shoe.score(shoe.read_predictions(DETECTOR), shoe.read_ground_truth(TRUTH))
    names = [name for name, _ in report.signature.items]
    assert set(names[: names.index("strict.protocol") + 1]) <= set(fields)


def test_the_readme_is_short_and_files_that_are_pointed_to_exist() -> None:
    assert len(README.splitlines()) <= 160
    named = re.findall(r"`(tests/[\w/.]+)`", README)
    assert len(named) == 8
    assert all((ROOT / name).exists() for name in named)
    sources = PAGES["docs/protocols.md"].split('id="0.2"')[0]
    commits = set(re.findall(r"\b[0-9a-f]{7}\b", README))
    assert len(commits) == 9
    assert all(commit in sources for commit in commits)
    for page, text in PAGES.items():
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (ROOT / page).parent.joinpath(target).exists(), (page, target)
        for script in re.findall(r"\bscripts/[\w-]+", text):
            assert (ROOT / script).exists(), (page, script)


@pytest.mark.slow
def test_pictures_show_the_report_of_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    source = loaded("readme-pictures").shown(tmp_path / "report.html").encode()
    stale = [name for name in ("report.png", "errors.png") if source not in (ROOT / "docs/assets" / name).read_bytes()]
    assert stale == [], "run scripts/readme-pictures"


SECTION = r"(?:A?\d+(?:\.\d+)?)"
LIST = rf"{SECTION}(?:(?:, | and | to |, and ){SECTION})*"


def sections_pointed_to() -> Iterator[tuple[str, str]]:
    """File and section of the protocols page, wherever code, tests or scripts point to one."""
    files = [path for folder in ("shoe", "tests", "scripts") for path in (ROOT / folder).rglob("*") if path.is_file()]
    for path in files:
        if path.suffix not in (".py", "") or path == Path(__file__):
            continue
        name, text = str(path.relative_to(ROOT)), path.read_text("utf-8", errors="replace")
        found = re.findall(rf"\bprotocols(?:\.md)?,?\s(?:sections?\s)?({LIST})", re.sub(r"\n\s*#?\s*", " ", text))
        if ("protocols.md" in text and re.search("protocols|protocol_options", name)) or name.endswith("variants.py"):
            found += re.findall(rf"\(({LIST})\)", text)
        for section in {each for several in found for each in re.findall(SECTION, several)}:
            yield name, section


def test_sections_that_code_points_to_exist() -> None:
    there = set(re.findall(r'<a id="([^"]+)"></a>', PAGES["docs/protocols.md"]))
    pointers = list(sections_pointed_to())
    assert {"0.3", "8.2", "8.9", "10.5", "10.7", "A7"} <= {section for _, section in pointers}
    assert [(file, section) for file, section in pointers if section not in there] == []


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="mkdocs-material is not installed: pip install 'shoe-eval[docs]'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        loaded = re.findall(r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=\"?(https?:[^\"\s>]+)", page.read_text())
        assert loaded == [], page
