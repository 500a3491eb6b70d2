"""``shoe similarity`` and ``shoe resolve`` as a user runs them."""

import json
import re
from functools import partial
from pathlib import Path

import pytest

from tests.cli import run as cli

shown, as_json = partial(cli.output, "similarity"), partial(cli.as_json, "similarity")
resolved = partial(cli.output, "resolve")


def test_a_word_of_several_class_senses_is_explained_for_each(tmp_path: Path) -> None:
    text = shown("ride", "straddling", "--json", str(tmp_path / "why.json"))
    assert "hico-det (ef142440), mean" in text
    values = re.findall(r"^verb ride \((\S+)\) .*straddling: (\S+) \(rated, .*straddle.v.01\)", text, re.MULTILINE)
    assert {("ride.v.01", "0.625"), ("ride.v.02", "0.417")} <= set(values)
    assert "2 of 3 senses " in text
    lines = [line.split() for line in text.splitlines() if "straddle.v.01  0.625" in line]
    assert lines[0][:6] == ["*", "straddle.v.01", "0.625", "2", "2", "3"]
    assert json.loads((tmp_path / "why.json").read_text())["parts"][0]["class_word"] == "ride"


def test_json_of_a_synset_and_a_word() -> None:
    found = as_json("horse.n.01", "ponies")
    assert found["similarity"] == {"name": "hico-det", "digest": "ef142440", "ensemble": "mean"}
    (part,) = found["parts"]
    candidates = part.pop("candidates")
    words = {"part": "object", "class_word": "horse", "class_synset": "horse.n.01", "word": "ponies"}
    assert part == words | {"value": 0.75, "basis": "rated", "sense": "pony.n.01"}
    by_name = {candidate["synset"]: candidate for candidate in candidates}
    assert by_name["pony.n.01"]["ratings"] == {"pass_a": 3, "pass_b": 3}
    assert by_name["shot_glass.n.01"]["ratings"] == {"extension": 0}


def test_what_was_never_rated_has_no_value_and_the_part_of_speech_may_be_said() -> None:
    (part,) = as_json("ride.v.02", "straddling")["parts"]
    assert ["value" in candidate for candidate in part["candidates"]] == [True, False, False]
    assert ["predicted" in candidate for candidate in part["candidates"]] == [False, True, True]
    assert as_json("train", "bus", "--pos", "object")["parts"][0]["part"] == "object"
    assert {part["part"] for part in as_json("train", "bus", "--pos", "verb")["parts"]} == {"verb"}


@pytest.mark.parametrize(
    ("options", "value"),
    [
        *(("", 0.5 * 0.625 + 0.5 * 0.75), ("--weight 0.25", 0.25 * 0.625 + 0.75 * 0.75), ("--combine minimum", 0.625)),
        *(("--combine geometric", (0.625 * 0.75) ** 0.5), ("--ensemble majority-mean", 0.6875)),
    ],
)
def test_two_interactions(options: str, value: float) -> None:
    found = as_json("ride horse", "a man is straddling a pony", *options.split())
    assert [(part["part"], part["value"]) for part in found["parts"]] == [("verb", 0.625), ("object", 0.75)]
    assert found["interaction"]["value"] == pytest.approx(value, rel=1e-12)
    assert f"interaction: {value:.3f}" in shown("ride horse", "straddle pony", *options.split())


def test_special_words_say_what_they_are() -> None:
    text = shown("no_interaction", "ride")
    assert all(part in text for part in ("ride: 0.000 (zero)", "by rule"))
    assert "no sense in" in shown("ride.v.01", "xqzt")
    assert not {"\x1b", "\u202e"} & set(shown("ride.v.01", "\x1b[31mred\u202e"))
    place = shown("stand_under", "standing near")
    assert all(part in place for part in ("standing near: 0.500 (rated,", "relation: counts 0.5"))
    assert "counts 0.75" in shown("motorcycle", "harley", "--pos", "object")


@pytest.mark.parametrize("name", ["identity", "path", "wup"])
def test_wordnet_measures(name: str) -> None:
    found = as_json("horse", "zebra", "--similarity", name)
    assert found["similarity"]["name"] == name
    assert 0 <= found["parts"][0]["value"] < 1
    assert "ratings" not in found["parts"][0]["candidates"][0]


def test_parts_are_shown_with_reasons_or_one_of_them_on_request() -> None:
    both, one = resolved("riding"), resolved("hot dogs", "mice", "--pos", "object")
    assert "riding as object" in both
    (line,) = [line for line in both.splitlines() if "ride.v.01" in line]
    assert 'form of "riding"' in line
    assert ("riding as verb" in both, "as verb" in one) == (True, False)
    assert all(sense in one for sense in ("hotdog.n.02", "mouse.n.04"))
    assert re.match("blorft .*verb: unresolved,", resolved("blorft", "--pos", "verb"))
    text = resolved("\x1b[31mhorse\u202e [bold]", "--pos", "verb")
    assert [part in text for part in ("\x1b", "\u202e", "[bold]")] == [False, False, True]
    assert "small brush; has" in resolved("toothbrush", "--pos", "object", "--glosses")


@pytest.mark.parametrize(
    ("phrase", "says", "senses"),
    [
        (
            "a man wearing a helmet rides a brown horse",
            ["read as   rides · brown horse", "could be  wearing · helmet"],
            ["ride.v.01", "horse.n.01"],
        ),
        ("eating pizza with a fork", ["read as  eating · pizza / fork"], ["eat.v.01", "pizza.n.01", "fork.n.01"]),
        ("man on a horse", ["read as   being on · horse", "doubtful  "], ["be.v.01"]),
        ("riding and holding a horse", ["read as  riding · horse", "read as  holding · horse"], ["hold.v.02"]),
        *(("a man is not riding a horse", ["denied  "], []), ("the \x1b white ship", ["not read  "], [])),
    ],
)
def test_a_phrase_is_shown_as_it_is_split(phrase: str, says: list[str], senses: list[str]) -> None:
    text = resolved("--phrase", phrase)
    head, *lines = text.split("\n\n")[0].strip().splitlines()
    assert head == phrase.replace("\x1b", "\ufffd")
    assert [said in line for line, said in zip(lines, says, strict=True)] == [True] * len(says)
    assert all(sense in text for sense in senses)
    assert bool(senses) == ("as verb" in text)
