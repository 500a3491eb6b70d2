import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks import benchmark
from shoe.lexicon.resolve import match_labels
from shoe.lexicon.senses import Part
from shoe.lexicon.text import noun_forms
from tests.lexicon.wordings import pairs

HICO = benchmark("hico-det").classes
LABELS: dict[Part, tuple[str, ...]] = {"verb": HICO.verbs, "object": HICO.objects}

VERBS = """
Riding: ride; rode: ride; is riding: ride; RIDES: ride; has ridden: ride; sitting on: sit_on; sat-on: sit_on
lying on: lie_on; lay on: lie_on; cutting with: cut_with; cut: cut; stopping at: stop_at; hopping on: hop_on
texting on: text_on; petting: pet; tying: tie; no interaction: no_interaction; No-Interaction: no_interaction
typing on: type_on; drying: dry; dries: dry; picked up: pick_up; stood under: stand_under; ground: grind
swung: swing; lassoing: lasso; flies: fly; flown: fly; was being fed: feed; making: make; made: make; setting: set
"""
NOT_VERBS = """dying; sitting; hoping; hold on; mounting; no; interaction; bring; is; to; seed; hopping; boarded up;
no interactions; not riding; holding a; grip; """

OBJECTS = """
TV: tv; TVs: tv; bus: bus; buses: bus; Busses: bus; skis: skis; ski: skis; scissors: scissors; sheep: sheep
horses: horse; a horse: horse; hot dogs: hot_dog; Hotdog: hot_dog; cell-phone: cell_phone; cellphones: cell_phone
knives: knife; mice: mouse; people: person; persons: person; sandwiches: sandwich; wineglass: wine_glass
wine glasses: wine_glass; couches: couch; the teddy bears: teddy_bear; sports balls: sports_ball; ties: tie
horse (left): horse; A TV [partly hidden]: tv; horse(s): horse; (horse): horse
"""
NOT_OBJECTS = "sofa; motorbike; dog house; hot; glasses; man; bu; aeroplane; phone; bussing; two horses; oxen; dogsled"
NOT_OBJECTS += "; horse (left) rider"


def label_of(word: str, part: Part) -> str | None:
    (found,) = match_labels([word], LABELS[part], part)
    return LABELS[part][found] if found >= 0 else None


@pytest.mark.parametrize(
    ("part", "word", "label"),
    [
        *(("verb", *pair) for pair in pairs(VERBS)),
        *(("verb", word.strip(), None) for word in NOT_VERBS.split(";")),
        *(("object", *pair) for pair in pairs(OBJECTS)),
        *(("object", word, None) for word in NOT_OBJECTS.split("; ")),
    ],
)
def test_words_and_their_labels(part: Part, word: str, label: str | None) -> None:
    assert label_of(word, part) == label


def test_the_dataset_s_gerunds_and_plurals_are_its_labels() -> None:
    found = match_labels(HICO.gerunds, HICO.verbs, "verb")
    assert np.array(HICO.gerunds)[found != np.arange(117)].tolist() == ["spining"]  # the dataset's own misspelling
    plurals = [noun_forms(label)[1] for label in HICO.objects]
    assert match_labels(plurals, HICO.objects, "object").tolist() == list(range(80))


@given(st.sampled_from(HICO.verbs + HICO.objects), st.sampled_from(["_", " ", "-", "  ", ""]), st.booleans())
def test_case_and_separators_do_not_matter(label: str, separator: str, upper: bool) -> None:
    part: Part = "verb" if label in HICO.verbs else "object"
    word = label.replace("_", separator)
    assert label_of(word.upper() if upper else f" {word.title()}.", part) == label


@given(st.lists(st.text(max_size=300), max_size=3))
def test_any_words_have_a_label_or_minus_one(words: list[str]) -> None:
    found = match_labels(words, HICO.verbs, "verb")
    assert found.dtype == np.int32
    assert found.shape == (len(words),)
    assert ((found >= -1) & (found < 117)).all()


def test_a_label_as_written_comes_before_an_inflection() -> None:
    assert match_labels(["glasses", "glass"], ["glass", "glasses"], "object").tolist() == [1, 0]
    assert match_labels(["saw"], ["see", "saw"], "verb").tolist() == [1]


def test_the_first_alternative_that_is_a_label_counts() -> None:
    assert label_of("sitting / riding / holding", "verb") == "ride"
    found = [label_of(words, "object") for words in ("sofa / couches", "sofa / settee", "sofa/couch")]
    assert found == ["couch", None, None]


@given(st.sampled_from(HICO.verbs), st.sampled_from([*HICO.verbs, "sitting", "xqzt"]))
def test_an_alternative_takes_no_label_away(label: str, other: str) -> None:
    assert label_of(f"{label} / {other}", "verb") == label
    assert label_of(f"xqzt / {label} / {other}", "verb") == label
