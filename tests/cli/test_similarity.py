"""``shoe similarity`` as a user runs it."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from shoe.cli.similarity import similarity
from shoe.core.errors import OptionError

APP = typer.Typer()
APP.command()(similarity)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(APP, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def as_json(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments, "--json", "-"))
    return found


def test_a_word_of_several_class_senses_is_explained_for_each() -> None:
    text = run("ride", "straddling")
    assert "hico-det (ef142440), mean of the ratings" in text
    assert "verb ride (ride.v.01) and straddling: 0.625 (rated, by straddle.v.01)" in text
    assert "verb ride (ride.v.02) and straddling: 0.417 (rated, by straddle.v.01)" in text
    assert "2 of 3 senses " in text
    lines = [line.split() for line in text.splitlines() if "straddle.v.01  0.625" in line]
    assert lines[0][:6] == ["*", "straddle.v.01", "0.625", "2", "2", "3"]


def test_json_of_a_synset_and_a_word() -> None:
    found = as_json("horse.n.01", "ponies")
    assert found["similarity"] == {"name": "hico-det", "digest": "ef142440", "ensemble": "mean"}
    (part,) = found["parts"]
    candidates = part.pop("candidates")
    assert part == {
        "part": "object",
        "class_word": "horse",
        "class_synset": "horse.n.01",
        "word": "ponies",
        "value": 0.75,
        "basis": "rated",
        "sense": "pony.n.01",
    }
    by_name = {candidate["synset"]: candidate for candidate in candidates}
    assert by_name["pony.n.01"]["ratings"] == {"pass_a": 3, "pass_b": 3}
    assert by_name["shot_glass.n.01"]["ratings"] == {"extension": 0}


def test_what_was_never_rated_has_no_value() -> None:
    (part,) = as_json("ride.v.02", "straddling")["parts"]
    assert ["value" in candidate for candidate in part["candidates"]] == [True, False, False]
    assert ["predicted" in candidate for candidate in part["candidates"]] == [False, True, True]


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ([], 0.5 * 0.625 + 0.5 * 0.75),
        (["--weight", "0.25"], 0.25 * 0.625 + 0.75 * 0.75),
        (["--combine", "minimum"], 0.625),
        (["--combine", "geometric"], (0.625 * 0.75) ** 0.5),
        (["--ensemble", "majority-mean"], 0.6875),
    ],
)
def test_two_interactions(options: list[str], value: float) -> None:
    found = as_json("ride horse", "a man is straddling a pony", *options)
    assert [(part["part"], part["value"]) for part in found["parts"]] == [("verb", 0.625), ("object", 0.75)]
    assert found["interaction"]["value"] == pytest.approx(value, rel=1e-12)
    assert f"interaction: {value:.3f}" in run("ride horse", "straddle pony", *options)


def test_no_interaction_and_words_without_a_sense() -> None:
    text = run("no_interaction", "ride")
    assert "verb no_interaction and ride: 0.000 (zero)" in text
    assert "by rule" in text
    assert "the word has no sense in WordNet" in run("ride.v.01", "xqzt")


@pytest.mark.parametrize("name", ["identity", "path", "wup"])
def test_wordnet_measures(name: str) -> None:
    found = as_json("horse", "zebra", "--similarity", name)
    assert found["similarity"]["name"] == name
    assert 0 <= found["parts"][0]["value"] < 1
    assert "ratings" not in found["parts"][0]["candidates"][0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hors", "pony"], "unknown verb or object of hico-det 'hors'; nearest: horse"),
        (["train", "bus"], "'train' is both a verb and an object of hico-det: add `--pos"),
        (
            ["ride.v.01", "pony", "--pos", "object"],
            "'ride.v.01' is the sense of a verb, expected the sense of an object",
        ),
        (["ride", "pony", "--pos", "noun"], "unknown part of speech 'noun'"),
        (["fly horse", "ride pony"], "hico-det has no class 'fly horse'; its classes with this object: feed horse, "),
        (["ride horse", "ride pony", "--combine", "mean"], "unknown way to combine"),
        (["ride horse", "ride pony", "--weight", "2"], "weight: found 2, expected 0 to 1"),
        (["ride", "mount", "--similarity", "hico"], "unknown similarity 'hico' .did you mean hico-det"),
        (["ride", "mount", "--ensemble", "modus"], "unknown ensemble 'modus'"),
    ],
)
def test_mistakes_are_answered(arguments: list[str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        run(*arguments)


def test_the_part_of_speech_may_be_said() -> None:
    assert as_json("train", "bus", "--pos", "object")["parts"][0]["part"] == "object"
    assert {part["part"] for part in as_json("train", "bus", "--pos", "verb")["parts"]} == {"verb"}


def test_json_to_a_file_beside_the_text(tmp_path: Path) -> None:
    target = tmp_path / "why.json"
    assert "verb ride" in run("ride", "mount", "--json", str(target))
    assert json.loads(target.read_text())["parts"][0]["class_word"] == "ride"


def test_hostile_words_are_shown_harmless() -> None:
    text = run("ride.v.01", "\x1b[31mred\u202e")
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_what_counts_less_than_its_rating_says_so() -> None:
    place = run("stand_under", "standing near")
    assert "standing near: 0.500 (rated, by stand.v.01)" in place
    assert "other relation: counts 0.5" in place
    assert "counts 0.75" in run("motorcycle", "harley", "--pos", "object")
