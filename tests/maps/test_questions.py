import dataclasses
from collections import Counter
from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from shoe.core.io.files import data_folder
from shoe.llm.budget import Price
from shoe.llm.limits import Limits
from shoe.maps.config import RaterConfig, conversion_settings, identity_of, own_settings
from shoe.maps.prompts import SenseText, key_maker
from shoe.maps.raters.baselines import Learned
from shoe.maps.raters.kinds import KINDS, kind_of
from shoe.maps.raters.openai import OpenAI, OpenAIBatch
from shoe.maps.raters.table import Table
from shoe.similarity import SimilarityMap

RIDE = SenseText("ride.v.01", ("ride", "sit"), "sit and travel on the back of an animal")
STRADDLE = SenseText("straddle.v.01", ("straddle",), "sit or stand astride of")
ASKED: dict[str, Any] = {"name": "qwen", "model": "qwen3-32b", "revision": "r1", "api_key_env": "KEY"}
ASKED |= {"sampling": {"temperature": 0, "max_tokens": 20}, "base_url": "http://localhost:1/v1"}
CONFIG = OpenAI(**ASKED)


def key(
    config: RaterConfig = CONFIG,
    *,
    prompt: str = "0123456789abcdef",
    part: Any = "verb",
    repeat: int = 1,
    first: SenseText = RIDE,
    second: SenseText = STRADDLE,
) -> bytes:
    return key_maker(identity_of(config), prompt, part, repeat)(first.encoded(), second.encoded())


def sense(of: SenseText, **changed: Any) -> SenseText:
    return dataclasses.replace(of, **changed)


CHANGES: dict[str, Callable[[], bytes]] = {
    **{
        f"{setting}: {value}": partial(key, replace(CONFIG, **{setting: value}))
        for setting, value in [
            *(("model", "qwen3-8b"), ("revision", "r2"), ("served_as", "qwen3-32b@r1"), ("structured", False)),
            *(("sampling", {"temperature": 1, "max_tokens": 20}), ("sampling", {**CONFIG.sampling, "seed": 1})),
            *(("sampling", {"max_tokens": 20}), ("pairs_per_request", 2)),
        ]
    },
    "prompt": lambda: key(prompt="0123456789abcdee"),
    "part": lambda: key(part="object"),
    "repeat": lambda: key(repeat=2),
    "first name": lambda: key(first=sense(RIDE, name="ride.v.02")),
    "first lemmas": lambda: key(first=sense(RIDE, lemmas=("ride",))),
    "first gloss": lambda: key(first=sense(RIDE, gloss="sit")),
    "second name": lambda: key(second=sense(STRADDLE, name="straddle.v.02")),
    "second lemmas": lambda: key(second=sense(STRADDLE, lemmas=("straddle", "ride"))),
    "second gloss": lambda: key(second=sense(STRADDLE, gloss="sit")),
    "lemmas joined": lambda: key(first=sense(RIDE, lemmas=("ride, sit",))),
}


def test_each_field_that_can_change_an_answer_changes_the_key() -> None:
    changed = Counter(change() for change in CHANGES.values())
    assert len(changed) == len(CHANGES) == 18
    assert key() not in changed


@pytest.mark.parametrize(
    "config",
    [
        replace(CONFIG, name="another"),
        replace(CONFIG, price=Price(1, 2, 3)),
        replace(CONFIG, limits=Limits(1, 2, 3, 4, 5)),
        replace(CONFIG, repeats=3),
        replace(CONFIG, sampling={"max_tokens": 20, "temperature": 0}),
        replace(CONFIG, api_key_env="ANOTHER"),
        replace(CONFIG, base_url="http://localhost:2/v1"),
        replace(CONFIG, served_as=CONFIG.model),
        replace(CONFIG, sampling={"temperature": 0, "max_completion_tokens": 30}),
        OpenAIBatch(**ASKED),
    ],
)
def test_what_can_change_no_answer_does_not(config: RaterConfig) -> None:
    assert key(config) == key()


PLACES = {("table", "file"), ("learned", "map"), ("people", "file")}
"""Settings that say where something is: its content is in the key."""


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_says_of_each_setting_whether_it_takes_part(name: str, tmp_path: Path) -> None:
    (tmp_path / "file.csv").write_text("class_synset,synset,rating\n")
    (tmp_path / "people.csv").write_text("item,rater,rating\nride.v.01 sit.v.01,something else,3\n")
    needed: dict[str, dict[str, Any]] = {"table": {"file": tmp_path / "file.csv"}, "lexical": {"measure": "wup"}}
    needed["people"] = {"file": tmp_path / "people.csv"}
    config = kind_of(name)(name="r", model="m", **needed.get(name, {}))
    before, reading = key(config), conversion_settings(config)
    for field, told in own_settings(type(config)).items():
        if (name, field) not in PLACES:
            changed = replace(config, **{field: "something else"})
            assert told.extra is not None
            assert (key(changed) != before) == told.extra["key"]
            assert (conversion_settings(changed) != reading) == told.extra["reads"]
            assert not (told.extra["key"] and told.extra["reads"])
    assert "api_key_env" not in str(identity_of(config))


def test_the_content_of_a_table_is_in_the_key_and_its_place_is_not(tmp_path: Path) -> None:
    def of(name: str, text: str) -> bytes:
        (tmp_path / name).write_text(text)
        return key(Table(name="t", model="m", file=tmp_path / name))

    assert of("a.csv", "one") == of("b.csv", "one") != of("a.csv", "two")


def test_which_predictions_is_in_the_key_and_their_place_is_not(tmp_path: Path) -> None:
    (tmp_path / "map").symlink_to(data_folder("similarity_maps") / "hico-det")
    config = Learned(name="l")
    assert key(config) == key(replace(config, map=str(tmp_path / "map")))
    assert identity_of(config)["settings"] == {"predictions": SimilarityMap.load("hico-det").digest}


def test_a_key_is_the_digest_of_one_json_text() -> None:
    text = {"part": "verb", "prompt": "0123456789abcdef", "rater": identity_of(CONFIG), "repeat": 1}
    text["senses"] = [{"gloss": s.gloss, "lemmas": s.lemmas, "name": s.name} for s in (RIDE, STRADDLE)]
    assert key() == blake2b(orjson.dumps(text, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


SENSES = st.builds(
    SenseText, st.text(max_size=4), st.lists(st.text(max_size=3), max_size=3).map(tuple), st.text(max_size=4)
)


@given(SENSES, SENSES, SENSES, SENSES)
def test_different_pairs_have_different_keys(a: SenseText, b: SenseText, c: SenseText, d: SenseText) -> None:
    assert (key(first=a, second=b) == key(first=c, second=d)) == ((a, b) == (c, d))
