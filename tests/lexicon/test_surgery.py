"""The surgical example of the docs: a domain of its own, from a table to scores, by the commands of the page."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.cli.run import run
from tests.llm.server import Server

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "guides" / "domain.md"


def commands() -> Iterator[list[str]]:
    """The commands of the example, without the one that sets the environment."""
    block = PAGE.read_text("utf-8").partition("export SHOE_BENCHMARKS=benchmarks\n")[2].partition("```")[0]
    for line in block.splitlines():
        if line.startswith("shoe "):
            yield shlex.split(line)[1:]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(DOCS / "examples" / "surgery", tmp_path / "surgery")
    return tmp_path / "surgery"


@pytest.mark.slow
def test_every_command_of_the_page_runs_and_the_figures_are_those_it_says(folder: Path) -> None:
    environment = {"SHOE_BENCHMARKS": str(folder / "benchmarks")}
    said: dict[str, str] = {}
    for words in commands():
        done = run(*words, folder=folder, environment=environment)
        assert done.returncode == 0, (words, done.stderr)
        said.setdefault(words[2] if words[0] == "--lexicon" else words[0], done.stdout)
    assert "clip   ligate" in said["resolve"]
    assert [score in said["score"] for score in ("25.00", "81.88")] == [True, True]
    (about,) = (msgspec.json.decode(path.read_bytes()) for path in folder.glob("surgery-map/map.json"))
    assert about["lexicon"]["name"] == "surgery"
    assert not any(".v.0" in line for line in (folder / "surgery-map" / "verbs.tsv").read_text().splitlines())
    refused = run(
        *("score", "predictions.jsonl", "--ground-truth", "truth.txt", "--dataset", "surgery"),
        *("--similarity", "./surgery-map"),
        folder=folder,
        environment=environment,
    )
    assert refused.returncode == 2
    assert "lexicon: found surgery" in refused.stderr


@pytest.mark.slow
def test_a_local_endpoint_reads_the_names_and_definitions_of_the_table(folder: Path) -> None:
    environment = {"SHOE_BENCHMARKS": str(folder / "benchmarks")}
    build = next(words for words in commands() if words[:2] == ["lexicon", "build"])
    run(*build, folder=folder)
    with Server() as server:
        (folder / "local.toml").write_text(
            f'[[rater]]\nname = "local"\nkind = "openai"\nmodel = "m"\nbase_url = "{server.url}"\n'
        )
        done = run(
            *("--lexicon", "surgery.lexicon", "map", "build", "local-map", "--raters", "local.toml"),
            *("--dataset", "surgery", "--for", "predictions.jsonl", "--yes"),
            folder=folder,
            environment=environment,
        )
    assert done.returncode == 0, done.stderr
    header, *rows = (folder / "local-map" / "verbs.tsv").read_text().splitlines()
    assert header == "class_synset\tsynset\tlocal"
    assert {line.split("\t")[1] for line in rows} >= {"clip", "cut", "coagulate"}


def test_a_source_is_not_written_over(tmp_path: Path) -> None:
    source = tmp_path / "tools.tsv"
    source.write_text("id\tnames\tgloss\tparents\tpart of speech\na\tgrasper\ta tool\t\tnoun\n")
    before = source.read_bytes()
    done = run("lexicon", "build", source, "--from", source)
    assert (done.returncode, source.read_bytes()) == (2, before)
    assert re.search(r"\binput\b.*\boutput\b", done.stderr)
