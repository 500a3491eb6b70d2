from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe.rating.config import Limits, Price, RaterConfig
from shoe.rating.keys import encoded, identity_of, key_maker
from shoe.rating.kinds import kind_of
from shoe.rating.questions import Sense

RIDE = Sense("ride.v.01", ("ride", "sit"), "sit and travel on the back of an animal")
STRADDLE = Sense("straddle.v.01", ("straddle",), "sit or stand astride of")
SETTINGS = {name: setting.default for name, setting in kind_of("openai").settings.items()}
CONFIG = RaterConfig(
    name="qwen",
    kind="openai",
    model="qwen3-32b",
    revision="r1",
    sampling={"temperature": 0, "max_tokens": 20},
    settings=SETTINGS | {"base_url": "http://localhost:1/v1", "structured": True, "api_key_env": "KEY"},
)


def key(
    config: RaterConfig = CONFIG,
    *,
    prompt: str = "0123456789abcdef",
    part: Any = "verb",
    repeat: int = 1,
    first: Sense = RIDE,
    second: Sense = STRADDLE,
) -> bytes:
    return key_maker(identity_of(config), prompt, part, repeat)(encoded(first), encoded(second))


def with_setting(**settings: Any) -> RaterConfig:
    return replace(CONFIG, settings={**CONFIG.settings, **settings})


CHANGES: dict[str, Callable[[], bytes]] = {
    "kind": lambda: key(replace(CONFIG, kind="openai-batch")),
    "model": lambda: key(replace(CONFIG, model="qwen3-8b")),
    "revision": lambda: key(replace(CONFIG, revision="r2")),
    "endpoint": lambda: key(with_setting(base_url="http://localhost:2/v1")),
    "structured output": lambda: key(with_setting(structured=False)),
    "sampling": lambda: key(replace(CONFIG, sampling={"temperature": 1, "max_tokens": 20})),
    "sampling, one more": lambda: key(replace(CONFIG, sampling={**CONFIG.sampling, "seed": 1})),
    "sampling, one less": lambda: key(replace(CONFIG, sampling={"temperature": 0})),
    "pairs per request": lambda: key(replace(CONFIG, pairs_per_request=2)),
    "prompt": lambda: key(prompt="0123456789abcdee"),
    "part": lambda: key(part="object"),
    "repeat": lambda: key(repeat=2),
    "first name": lambda: key(first=replace(RIDE, name="ride.v.02")),
    "first lemmas": lambda: key(first=replace(RIDE, lemmas=("ride",))),
    "first gloss": lambda: key(first=replace(RIDE, gloss="sit")),
    "second name": lambda: key(second=replace(STRADDLE, name="straddle.v.02")),
    "second lemmas": lambda: key(second=replace(STRADDLE, lemmas=("straddle", "ride"))),
    "second gloss": lambda: key(second=replace(STRADDLE, gloss="sit")),
    "lemmas joined": lambda: key(first=replace(RIDE, lemmas=("ride, sit",))),
}


@pytest.mark.parametrize("field", CHANGES)
def test_each_field_that_can_change_an_answer_changes_the_key(field: str) -> None:
    changed = {name: change() for name, change in CHANGES.items()}
    assert changed[field] != key()
    assert sum(other == changed[field] for other in changed.values()) == 1


@pytest.mark.parametrize(
    "config",
    [
        replace(CONFIG, name="another"),
        replace(CONFIG, price=Price(1, 2, 3)),
        replace(CONFIG, limits=Limits(1, 2, 3, 4, 5)),
        replace(CONFIG, repeats=3),
        replace(CONFIG, sampling={"max_tokens": 20, "temperature": 0}),
        with_setting(api_key_env="ANOTHER"),
    ],
)
def test_what_can_change_no_answer_does_not(config: RaterConfig) -> None:
    assert key(config) == key()


@pytest.mark.parametrize("name", ["openai", "openai-batch", "transformers", "embedding", "lexical", "table"])
def test_every_kind_says_of_each_setting_whether_it_takes_part(name: str, tmp_path: Path) -> None:
    (tmp_path / "file.csv").write_text("class_synset,synset,rating\n")
    kind = kind_of(name)
    settings = {field: setting.default for field, setting in kind.settings.items()}
    settings |= {"file": tmp_path / "file.csv"} if name == "table" else {}
    config = RaterConfig("r", name, "m", settings=settings)
    before = key(config)
    for field, setting in kind.settings.items():
        if field != "file":
            changed = replace(config, settings=settings | {field: "something else"})
            assert (key(changed) != before) == setting.changes_answers
            assert not (setting.changes_answers and setting.reads_answers)
    assert "api_key_env" not in str(identity_of(config))


def test_the_content_of_a_table_is_in_the_key_and_its_place_is_not(tmp_path: Path) -> None:
    def of(name: str, text: str) -> bytes:
        (tmp_path / name).write_text(text)
        return key(RaterConfig("t", "table", "m", settings={"file": tmp_path / name, "column": "rating"}))

    assert of("a.csv", "one") == of("b.csv", "one") != of("a.csv", "two")


def test_a_key_is_the_digest_of_one_json_text() -> None:
    text = {
        "part": "verb",
        "prompt": "0123456789abcdef",
        "rater": identity_of(CONFIG),
        "repeat": 1,
        "senses": [{"gloss": s.gloss, "lemmas": s.lemmas, "name": s.name} for s in (RIDE, STRADDLE)],
    }
    assert key() == blake2b(orjson.dumps(text, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


SENSES = st.builds(
    Sense, st.text(max_size=4), st.lists(st.text(max_size=3), max_size=3).map(tuple), st.text(max_size=4)
)


@given(SENSES, SENSES, SENSES, SENSES)
def test_different_pairs_have_different_keys(a: Sense, b: Sense, c: Sense, d: Sense) -> None:
    assert (key(first=a, second=b) == key(first=c, second=d)) == ((a, b) == (c, d))
