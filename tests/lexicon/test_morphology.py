import pytest

from shoe.lexicon.store import Pos, lexicon
from shoe.lexicon.text import american, noun_forms, undoubled, verb_forms
from tests.lexicon.wordings import pairs

VERBS = """
ride: rides riding rided; sit: sits sitting sitted; tie: ties tying tied; dry: dries drying dried
play: plays playing played; dye: dyes dyeing dyed; text: texts texting texted; wash: washes washing washed
lasso: lassos lassoes lassoing lassoed; travel: travels traveling travelling traveled travelled
quiz: quizes quizzing quizzed; ski: skis skiing skied
"""
PLURALS = """
horse: horses; bus: buses; knife: knives; scarf: scarves; berry: berries; key: keys; tomato: tomatoes; piano: pianos
couch: couches; tv: tvs
"""
AMERICAN = """
colour: color; centre: center; organised: organized; analysing: analyzing; travelling: traveling; dialogues: dialogs
tyres: tires; encyclopaedia: encyclopedia
"""
NOUN_BASES = """
horses: horse; gases: gas; neckerchieves: neckerchief; foxes: fox; waltzes: waltz; couches: couch; brushes: brush
firemen: fireman; ponies: pony; glasses: glasses glass; hot_dogs: hot_dog; mice: mouse; s: s
"""
VERB_BASES = """
hugs: hug; carries: carry; rides: ride rid; washes: wash; raced: race; washed: wash; riding: ride rid; kissing: kiss
rode: ride; lay: lay lie
"""


@pytest.mark.parametrize(("base", "forms"), pairs(VERBS))
def test_forms_of_verbs(base: str, forms: str) -> None:
    assert sorted(verb_forms(base)) == sorted([base, *forms.split()])


@pytest.mark.parametrize(("base", "plural"), pairs(PLURALS))
def test_plurals(base: str, plural: str) -> None:
    assert plural in noun_forms(base)


@pytest.mark.parametrize(
    ("form", "base"), [("blogging", "blog"), ("jetlagged", "jetlag"), ("riding", ""), ("bring", ""), ("agreeing", "")]
)
def test_doubled_consonants(form: str, base: str) -> None:
    assert undoubled(form) == base


@pytest.mark.parametrize(("british", "to"), pairs(AMERICAN))
def test_american_spelling(british: str, to: str) -> None:
    assert to in american(british)


@pytest.mark.parametrize("word", ["horse", "tree", "bus", "ball", "bicycle"])
def test_most_words_have_no_other_spelling(word: str) -> None:
    assert american(word) == ()


@pytest.mark.parametrize(
    ("pos", "form", "bases"),
    [*(("n", *pair) for pair in pairs(NOUN_BASES)), *(("v", *pair) for pair in pairs(VERB_BASES))],
)
def test_every_rule_of_morphy_has_a_word(pos: Pos, form: str, bases: str) -> None:
    assert lexicon().base_forms(form, pos) == bases.split()
