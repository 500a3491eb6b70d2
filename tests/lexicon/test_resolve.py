import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks import benchmark
from shoe.core.errors import OptionError
from shoe.lexicon import senses
from shoe.lexicon.resolve import ObjectWords, resolve
from shoe.lexicon.senses import Part
from shoe.lexicon.store import lexicon
from tests.lexicon.wordings import pairs
from tests.mentions import mentions


def names(word: str, part: Part, object_words: ObjectWords = "phrase-first") -> list[str]:
    return [candidate.name for candidate in resolve(word, part, object_words).candidates]


def lemmas(word: str, part: Part, object_words: ObjectWords = "phrase-first") -> list[str]:
    """The lemmas that led to the candidates, in order, each once."""
    return list(dict.fromkeys(candidate.lemma for candidate in resolve(word, part, object_words).candidates))


# The class table's synset is a candidate for each of the dataset's own words, without exception; those of the words
# that WordNet lacks (text_on, sports_ball, stop_sign, potted_plant) are reached by an alias.
def test_each_word_of_hico_det_may_mean_what_the_dataset_says() -> None:
    classes = benchmark("hico-det").classes
    for k in range(len(classes)):
        verb, synset = classes.verb[k], classes.verb_synsets[k]
        for word in (classes.verbs[verb], classes.gerunds[verb], classes.verbs[verb].replace("_", " ").upper()):
            assert not synset or synset in names(word, "verb"), word
        for word in (classes.objects[classes.object[k]], classes.objects[classes.object[k]].replace("_", "-")):
            assert classes.object_synsets[k] in names(word, "object"), word


VERBS = """
riding: ride; rode: ride; is riding: ride; Has been ridden: ride; sat on: sit; SITTING-ON: sit; picking_up: pick_up
picks up: pick_up; slowly eating: eat; petting: pet; tying: tie; blogging: blog; lying on: lie; organises: organise
is about to throw: throw; took a picture of: take_picture; horseback riding: ride; has: have; is: be; texting on: text
interacting with: interact; hoping: hope; doing justice: do_justice; having sex: have_sex
talk_on_phone: talk; work_on_computer: work_on; hit_instr: hit; cut_obj: cut; eat_instr: eat
"""

V_COCO = """hold sit ride walk look hit eat jump lay talk_on_phone carry throw catch cut run work_on_computer ski surf
skateboard smile drink kick point read snowboard stand"""

OBJECTS = """
hot dog: hot_dog; Hot_Dogs: hot_dog; HOTDOG: hotdog; two horses: horse; mice: mouse; a small brown dog: dog; tie: tie
the man's bicycle: bicycle; his bike: bike; parked car: car; orange cat: cat; black and white cat: cat; skis: ski
wooden dining table: dining_table; woman in red: woman; dog on a leash: dog; slice of pizza: pizza; pair of skis: ski
wine glasses: wineglass; spare tyre: spare_tire; aeroplanes: aeroplane; cutting boards: cutting_board; TVs: tv
x-ray: x-ray; blorft horse: horse; the kids' bus: bus
"""


@pytest.mark.parametrize(("word", "lemma"), pairs(VERBS))
def test_verbs(word: str, lemma: str) -> None:
    assert lemmas(word, "verb")[0] == lemma


@pytest.mark.parametrize("action", V_COCO.split())
def test_each_action_of_v_coco(action: str) -> None:
    assert action.split("_")[0] in lemmas(action, "verb")


# A verb with its particle is tried before the verb alone; forms that English inflects otherwise are no forms.
ALL_VERBS = """
hopping on: hop_on hop; eat_at: eat_at eat; pick up: pick_up; turn on: turn_on; stop_at: stop; looking at: look_at look
hoping: hope; bed: bed; lay: lay lie; wipe out: wipe_out wipe
"""


@pytest.mark.parametrize(("word", "expected"), pairs(ALL_VERBS))
def test_all_lemmas_of_a_verb(word: str, expected: str) -> None:
    assert lemmas(word, "verb") == expected.split()


@pytest.mark.parametrize(
    "word", ["no interaction", "no_interaction", "No-Interaction", "nointeraction", "not riding", "isn't holding"]
)
def test_no_interaction_and_a_negated_verb_mean_nothing(word: str) -> None:
    assert not resolve(word, "verb").candidates


def test_a_passive_means_nothing_because_the_person_is_acted_on() -> None:
    for word in ("being chased by", "is hugged by", "chased by", "picked up by", "held by"):
        assert not resolve(word, "verb").candidates
    for word in ("walking by", "stood by", "standing by", "put by", "being chased"):
        assert resolve(word, "verb").candidates


@pytest.mark.parametrize(("word", "lemma"), pairs(OBJECTS))
def test_objects(word: str, lemma: str) -> None:
    assert lemma in lemmas(word, "object")
    assert {lexicon().name(s) for s in lexicon().senses(lemma, "n").tolist()} == set(names(word, "object"))


# Nouns that tell what a thing is are pooled after the head; a described thing may be meant literally.
SOUP = "bowl of hot soup on the table"


@pytest.mark.parametrize(
    ("word", "object_words", "expected"),
    [
        ("motorcycle handlebar", "phrase-first", ["handlebar", "motorcycle"]),
        ("horse blorft", "phrase-first", ["horse"]),
        (SOUP, "phrase-first", ["bowl", "soup"]),
        ("a small slice of pizza", "phrase-first", ["pizza"]),
        (SOUP, "head", ["bowl"]),
        ("cup of tea", "phrase-first", ["cup_of_tea", "cup", "tea"]),
        ("zebra's tail", "phrase-first", ["tail", "zebra"]),
        ("lady's umbrella", "phrase-first", ["umbrella"]),
        ("bull's eye", "phrase-first", ["bull's_eye", "bull's-eye", "eye", "bull"]),
        ("white elephant", "phrase-first", ["white_elephant", "elephant"]),
        ("hot dog", "pooled", ["dog"]),
        ("hot dog", "head", ["dog"]),
        ("motorcycle handlebar", "pooled", ["motorcycle", "handlebar"]),
        ("motorcycle handlebar", "head", ["handlebar"]),
        ("motorcycle handlebar", "phrase", []),
        ("of", "head", []),
    ],
)
def test_all_lemmas_of_an_object(word: str, object_words: ObjectWords, expected: list[str]) -> None:
    assert lemmas(word, "object", object_words) == expected


def test_a_phrase_of_wordnet_is_taken_as_a_whole() -> None:
    assert (
        names("hot dog", "object")
        == names("hot dog", "object", "phrase")
        == ["hotdog.n.01", "hotdog.n.02", "frank.n.02"]
    )
    assert "small.n.01" in names("small dog", "object", "pooled")


def test_what_only_a_part_or_a_make_is_named_of_counts_three_quarters() -> None:
    words = (
        "kite string",
        "kite string / kite",
        "harley",
        "slice of pizza",
        "pull-along suitcase",
        "Cessna 172",
        "cessna",
    )
    kite, both, harley, pizza, suitcase, *cessna = (
        {candidate.name: candidate.weight for candidate in resolve(word, "object").candidates} for word in words
    )
    assert [kite["kite.n.03"], kite["string.n.01"], both["kite.n.03"]] == [0.75, 1, 1]
    assert (harley, pizza) == ({"motorcycle.n.01": 0.75}, {"pizza.n.01": 1})
    assert suitcase == {"bag.n.06": 1}
    assert cessna[0] == cessna[1]


def test_words_may_be_joined_by_capitals() -> None:
    assert names("TrafficLight", "object") == names("traffic light", "object")
    assert names("leaningOver", "verb") == names("leaning over", "verb")
    assert names("MacBook", "object") == names("macbook", "object")


def test_adjectives_that_are_also_nouns_say_nothing_of_the_object() -> None:
    assert "orange.n.01" not in names("orange cat", "object")
    assert names("small blorft", "object") == []
    for word in ("large white horse", "black and white horse", "light blue horse"):  # a white horse is also a wave
        assert "horse.n.01" in names(word, "object")
    assert names("red", "object")[0] == "red.n.01"


def test_unknown_object_words_are_answered_with_the_known() -> None:
    with pytest.raises(OptionError, match=mentions("'poled' … pooled?")):
        resolve("dog", "object", "poled")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("word", "part", "values"),
    [
        ("ride", "verb", "as written"),
        ("rode", "verb", 'base form … "rode"'),
        ("sat on", "verb", 'verb … "sat on" … base form … "sat"'),
        ("wine glass", "object", 'spelled "wineglass"'),
        ("small dog", "object", 'head … "small dog"'),
        ("stop signs", "object", "alias: … stop sign"),
        ("harley", "object", "alias: … motorcycle … 0.75"),
        ("spare tyre", "object", 'American … "spare tire" … as written'),
    ],
)
def test_reasons_say_how_a_candidate_was_found(word: str, part: Part, values: str) -> None:
    assert re.match(mentions(values), resolve(word, part).candidates[0].reason)


def test_every_alias_leads_where_it_says() -> None:
    table = Path(senses.__file__).with_name("data").joinpath("aliases.tsv").read_text()
    rows = [line.split("\t") for line in table.splitlines()]
    assert rows[0] == ["part", "word", "synsets", "relation", "reason"]
    assert rows[1:] == sorted(rows[1:])
    assert {row[3] for row in rows[1:]} == {"own", "same", "kind"}
    for part, word, synsets, _, reason in rows[1:]:
        assert reason.strip()
        for written in (word, word.replace("_", " ").title()):
            assert set(synsets.split()) <= set(names(written, "verb" if part == "verb" else "object")), word
    assert {row[0] for row in rows[1:]} == {"verb", "object"}


def test_every_lemma_of_wordnet_resolves_to_its_own_senses() -> None:
    words = lexicon()
    for synset in range(0, len(words), 29):
        part: Part = "object" if words.pos(synset) == "n" else "verb"
        for lemma in words.lemmas(synset):
            assert words.name(synset) in names(lemma.replace("_", " ").title(), part), lemma


@given(st.lists(st.sampled_from(["laptop", "desk", "hot dogs", "xqzt", "a small dog"]), min_size=1, max_size=4))
def test_alternatives_are_pooled_in_order(readings: list[str]) -> None:
    expected = dict.fromkeys(name for reading in readings[:3] for name in names(reading, "object"))
    assert names(" / ".join(readings), "object") == list(expected)


WORDS = "a dog's hot of the red is not riding on no 2 interaction tyre grey-ish ' . -"


@given(st.text() | st.lists(st.sampled_from(WORDS.split())).map(" ".join))
def test_any_text_is_resolved_or_not(text: str) -> None:
    for object_words in ("phrase-first", "pooled", "head", "phrase"):
        candidates = resolve(text, "object", object_words).candidates
        assert len({c.synset for c in candidates}) == len(candidates)
        assert all(lexicon().pos(c.synset) == "n" for c in candidates)
    assert all(lexicon().pos(c.synset) == "v" for c in resolve(text, "verb").candidates)


def test_a_very_long_word_is_no_word() -> None:
    assert not resolve("dog " * 250_000, "object").candidates


@pytest.mark.parametrize("word", ["tv", "apple", "bike", "cat"])
def test_an_article_changes_no_sense_of_an_object(word: str) -> None:
    assert names(f"a {word}", "object") == names(f"the {word}", "object") == names(word, "object") != []
