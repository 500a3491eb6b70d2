from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from shoe.core.io.files import data_folder
from shoe.lexicon.senses import POS
from shoe.maps.prompts import Interaction, Prompts, Question, SenseText, ids_of
from tests.maps.samples import refused_at

RIDE = SenseText("ride.v.01", ("ride", "sit"), "sit and travel on the back of an animal")
STRADDLE = SenseText("straddle.v.01", ("straddle",), "sit or stand astride of; $5 {or} $id")
BICYCLE = SenseText("bicycle.n.01", ("bicycle", "bike"), "a wheeled vehicle that has two wheels")
HORSE = SenseText("horse.n.01", ("horse", "Equus caballus"), "solid-hoofed herbivorous quadruped")
PROMPTS = Prompts.read()


def question(number: int, first: SenseText = RIDE, second: SenseText = STRADDLE) -> Question:
    return Question(f"{number:02d}".encode() * 8, "verb" if ".v." in first.name else "object", first, second)


def shipped_copy(folder: Path) -> Path:
    for path in data_folder("prompts").glob("*.txt"):
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.mark.parametrize("pair", [(RIDE, STRADDLE), (BICYCLE, HORSE)])
def test_one_pair_is_asked_for_with_both_words_and_glosses_and_no_id(pair: tuple[SenseText, SenseText]) -> None:
    rendered = PROMPTS.render([question(1, *pair)], several=False)
    assert all(", ".join(sense.lemmas) in rendered.user and sense.gloss in rendered.user for sense in pair)
    assert '{"rating": n}' in rendered.user
    assert rendered.ids[0] not in rendered.user


@pytest.mark.parametrize("several", [1, 20])
def test_several_pairs_are_asked_for_by_id(several: int) -> None:
    rendered = PROMPTS.render([question(n) for n in range(several)], several=True)
    assert '{"ratings": {"id": n, ...}}' in rendered.user
    assert len(set(rendered.ids)) == several
    assert all(rendered.user.count(f"id {name}\n") == 1 for name in rendered.ids)
    assert rendered.user.count(STRADDLE.gloss) == several


@pytest.mark.parametrize(("count", "several"), [(1, False), (1, True), (20, True)])
def test_the_length_is_known_without_rendering(count: int, several: bool) -> None:
    group = [question(n) for n in range(count)]
    rendered = PROMPTS.render(group, several=several)
    exact = len(rendered.system) + len(rendered.user)
    assert exact <= PROMPTS.length(group, several=several) <= 1.2 * exact


def test_the_instructions_give_each_step_its_meaning_and_are_the_same_for_all_pairs() -> None:
    for prompt in (PROMPTS.verb, PROMPTS.object, PROMPTS.interaction):
        assert [prompt.instructions.count(f"\n{rating} - ") for rating in range(5)] == [1] * 5
        assert "no particular order" in prompt.instructions
        assert "$" not in prompt.instructions
    ones = {PROMPTS.render([question(n)], several=several).system for n in range(3) for several in (True, False)}
    assert len(ones) == 1


def test_a_pair_the_other_way_round_differs_only_in_which_sense_stands_where() -> None:
    one = PROMPTS.render([question(1, RIDE, STRADDLE)], several=False).user
    other = PROMPTS.render([question(1, STRADDLE, RIDE)], several=False).user
    swapped = one.replace("ride, sit", "\0").replace("straddle", "ride, sit").replace("\0", "straddle")
    assert swapped.replace(RIDE.gloss, "\0").replace(STRADDLE.gloss, RIDE.gloss).replace("\0", STRADDLE.gloss) == other


def test_whole_interactions_are_asked_for_in_both_forms() -> None:
    first, second, third = (
        Interaction.from_senses(*both) for both in ((RIDE, BICYCLE), (STRADDLE, HORSE), (RIDE, HORSE))
    )
    pairs = [Question(bytes([n]) * 16, "interaction", *pair) for n, pair in enumerate([(first, second), (third,) * 2])]
    one = PROMPTS.render(pairs[:1], several=False)
    assert len(one.system) + len(one.user) <= PROMPTS.length(pairs[:1], several=False)
    assert len({one.encoded() for one in (first, second, third)}) == 3
    for sense in (RIDE, STRADDLE, BICYCLE, HORSE):
        assert sense.gloss in one.user
        assert ", ".join(sense.lemmas) in one.user
    several = PROMPTS.render(pairs, several=True)
    assert len(set(several.ids)) == 2
    assert all(f"id {name}\n" in several.user for name in several.ids)


@given(st.lists(st.binary(min_size=16, max_size=16), max_size=150, unique=True))
def test_ids_are_distinct_and_never_a_rating(keys: list[bytes]) -> None:
    ids = ids_of(keys)
    assert len(set(ids)) == len(keys)
    assert all(name.isdigit() and int(name) >= 100 for name in ids)
    assert ids == ids_of(keys)
    assert all(len(name) == 3 for name in ids) or len(keys) > 100


def test_ids_do_not_say_where_a_pair_stands() -> None:
    keys = [bytes([n]) * 16 for n in range(20)]
    assert ids_of(keys[::-1]) == ids_of(keys)[::-1]
    assert list(map(int, ids_of(keys))) != sorted(map(int, ids_of(keys)))


def test_a_folder_of_ones_own_takes_the_place_of_the_shipped_prompts(tmp_path: Path) -> None:
    own = shipped_copy(tmp_path)
    assert Prompts.read(own).verb.digest == PROMPTS.verb.digest
    (own / "verb.txt").write_text(PROMPTS.verb.text.replace("Rate with", "Give"), "utf-8")
    changed = Prompts.read(own)
    assert changed.verb.digest != PROMPTS.verb.digest
    assert changed.object.digest == PROMPTS.object.digest
    assert {part: changed.prompt_for(part) for part in POS} == {"verb": changed.verb, "object": changed.object}


def test_line_ends_do_not_change_a_prompt(tmp_path: Path) -> None:
    own = shipped_copy(tmp_path)
    (own / "verb.txt").write_bytes(PROMPTS.verb.text.replace("\n", "\r\n").encode())
    read = Prompts.read(own).verb
    assert (read.text, read.digest) == (PROMPTS.verb.text, PROMPTS.verb.digest)


@pytest.mark.parametrize(
    ("old", "new", "section", "values"),
    [
        ("[one]\n", "", "", ["instructions, several, pair,", "[instructions], [one]"]),
        ("[one]\n", "[ones]\n", "", ["instructions, ones, several, pair"]),
        ("[one]\n", "[several]\n", "", ["instructions, several, several, pair"]),
        ("[instructions]\n", "Hello\n[instructions]\n", "", ["'Hello'"]),
        ("$first_gloss", "$first_glos", "[one]", ["'$first_glos'", "$first_words", "$first_gloss?"]),
        ("It means: $first_gloss", "", "[one]", ["$first_gloss"]),
        ("$pairs", "", "[several]", ["$pairs"]),
        ("id $id", "id", "[pair]", ["$id"]),
        ("$first_gloss", "$5", "[one]", ["$$"]),
    ],
)
def test_a_broken_prompt_is_one_line(tmp_path: Path, old: str, new: str, section: str, values: list[str]) -> None:
    own = shipped_copy(tmp_path)
    (own / "verb.txt").write_text(PROMPTS.verb.text.replace(old, new), "utf-8")
    with refused_at(section, values[0], source=str(own / "verb.txt")) as caught:
        Prompts.read(own)
    assert all(value in str(caught.value) for value in values)


def test_bytes_that_are_no_text_are_no_prompt(tmp_path: Path) -> None:
    own = shipped_copy(tmp_path)
    (own / "object.txt").write_bytes(b"\xff")
    with refused_at("", "not UTF-8", source=str(own / "object.txt")):
        Prompts.read(own)
