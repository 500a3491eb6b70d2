import pytest

from shoe.lexicon.store import Pos, lexicon
from shoe.lexicon.text import american, noun_forms, undoubled, verb_forms


@pytest.mark.parametrize(
    ("base", "forms"),
    [
        ("ride", ["rides", "riding", "rided"]),
        ("sit", ["sits", "sitting", "sitted"]),
        ("tie", ["ties", "tying", "tied"]),
        ("dry", ["dries", "drying", "dried"]),
        ("play", ["plays", "playing", "played"]),
        ("dye", ["dyes", "dyeing", "dyed"]),
        ("text", ["texts", "texting", "texted"]),
        ("wash", ["washes", "washing", "washed"]),
        ("lasso", ["lassos", "lassoes", "lassoing", "lassoed"]),
        ("travel", ["travels", "traveling", "travelling", "traveled", "travelled"]),
        ("quiz", ["quizes", "quizzing", "quizzed"]),
        ("ski", ["skis", "skiing", "skied"]),
    ],
)
def test_forms_of_verbs(base: str, forms: list[str]) -> None:
    assert sorted(verb_forms(base)) == sorted([base, *forms])


@pytest.mark.parametrize(
    ("base", "plural"),
    [
        ("horse", "horses"),
        ("bus", "buses"),
        ("knife", "knives"),
        ("scarf", "scarves"),
        ("berry", "berries"),
        ("key", "keys"),
        ("tomato", "tomatoes"),
        ("piano", "pianos"),
        ("couch", "couches"),
        ("tv", "tvs"),
    ],
)
def test_plurals(base: str, plural: str) -> None:
    assert plural in noun_forms(base)


@pytest.mark.parametrize(
    ("form", "base"), [("blogging", "blog"), ("jetlagged", "jetlag"), ("riding", ""), ("bring", ""), ("agreeing", "")]
)
def test_doubled_consonants(form: str, base: str) -> None:
    assert undoubled(form) == base


@pytest.mark.parametrize(
    ("british", "to"),
    [
        ("colour", "color"),
        ("centre", "center"),
        ("organised", "organized"),
        ("analysing", "analyzing"),
        ("travelling", "traveling"),
        ("dialogues", "dialogs"),
        ("tyres", "tires"),
        ("encyclopaedia", "encyclopedia"),
    ],
)
def test_american_spelling(british: str, to: str) -> None:
    assert to in american(british)


@pytest.mark.parametrize("word", ["horse", "tree", "bus", "ball", "bicycle"])
def test_most_words_have_no_other_spelling(word: str) -> None:
    assert american(word) == ()


@pytest.mark.parametrize(
    ("form", "pos", "bases"),
    [
        ("horses", "n", ["horse"]),
        ("gases", "n", ["gas"]),
        ("neckerchieves", "n", ["neckerchief"]),
        ("foxes", "n", ["fox"]),
        ("waltzes", "n", ["waltz"]),
        ("couches", "n", ["couch"]),
        ("brushes", "n", ["brush"]),
        ("firemen", "n", ["fireman"]),
        ("ponies", "n", ["pony"]),
        ("hugs", "v", ["hug"]),
        ("carries", "v", ["carry"]),
        ("rides", "v", ["ride", "rid"]),
        ("washes", "v", ["wash"]),
        ("raced", "v", ["race"]),
        ("washed", "v", ["wash"]),
        ("riding", "v", ["ride", "rid"]),
        ("kissing", "v", ["kiss"]),
        ("rode", "v", ["ride"]),
        ("glasses", "n", ["glasses", "glass"]),
    ],
)
def test_every_rule_of_morphy_has_a_word(form: str, pos: Pos, bases: list[str]) -> None:
    assert lexicon().base_forms(form, pos) == bases
