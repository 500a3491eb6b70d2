from typing import Any

import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks import benchmark
from shoe.lexicon.phrases.parse import Reading, best_reading, interactions, parse_phrase
from shoe.lexicon.resolve import match_labels
from shoe.lexicon.text import alternatives
from tests.lexicon.wordings import by_hand


@pytest.mark.parametrize(("phrase", "said"), by_hand("sentence", "fragment", "triplet"))
def test_phrases_whatever_their_case_and_blanks(phrase: str, said: str) -> None:
    found = Reading(*said.split(" + "))
    assert parse_phrase(phrase).readings[0] == best_reading(phrase) == found
    assert parse_phrase(f"  {phrase.upper()} ".replace(" ", "  ")).readings[0] == found


@pytest.mark.parametrize(
    "phrase",
    [
        *("", "ride", "looking at", "man eating", "bicycle", "<person, , horse>", "?!...", "ride " * 101),
        *("person no_interaction", "a man is not riding a horse"),
        *("person bicycle", "person, train", "named.  (human and object)", "action(ride)"),  # labels alone
    ],
)
def test_what_has_no_verb_and_object_has_no_reading(phrase: str) -> None:
    found = parse_phrase(phrase)
    assert not found.readings
    assert found.verbs == found.objects == ()
    assert best_reading(phrase) is None


def test_other_readings_follow_the_best() -> None:
    phrase = parse_phrase("a man is riding a horse while holding a rope")
    assert phrase.readings == (("riding", "horse"), ("holding", "rope"))
    assert (phrase.verbs[0], phrase.objects[0]) == phrase.readings[0]
    assert len(set(phrase.readings)) == len(phrase.readings)


# Of the 600 classes put as sentences, all are read back as the dataset's own labels; gerunds as the dataset writes
# them, but for its misspelling "spining".
@pytest.mark.parametrize("form", ["a person is {gerund} a {object}", "{gerund} {object}", "<person, {verb}, {object}>"])
def test_sentences_made_of_the_classes_are_read_back(form: str) -> None:
    classes = benchmark("hico-det").classes
    for k in range(len(classes)):
        verb, noun = classes.verbs[classes.verb[k]], classes.objects[classes.object[k]]
        gerund = classes.gerunds[classes.verb[k]].replace("_", " ").replace("spining", "spinning")
        phrase = parse_phrase(form.format(gerund=gerund, verb=verb, object=noun.replace("_", " "))).readings[0]
        assert match_labels([phrase.verb], [verb], "verb")[0] == 0, (phrase, verb)
        assert match_labels([phrase.object], [noun], "object")[0] == 0, (phrase, noun)


@pytest.mark.parametrize(
    ("phrase", "given", "said"),
    [
        ("riding and holding a horse", {}, ["riding + horse", "holding + horse"]),
        ("sitting on a bench and eating a sandwich", {}, ["sitting on + bench", "eating + sandwich"]),
        ("sitting on a bench and eating a sandwich", {"object": "bench"}, ["sitting on + bench"]),
        ("hits the ball with a bat", {}, ["hits + ball / bat"]),
        ("hits the ball with a bat", {"known": ["baseball bat", "man"]}, ["hits with / hits ball with + bat"]),
        ("hits the ball with", {"object": "baseball bat"}, ["hits with / hits ball with + baseball bat"]),
        ("taking a sip from a cup", {}, ["sipping from / taking a sip from + cup"]),
        ("using a knife to cut a cake", {}, ["using / cut with + knife", "cut + cake"]),
        ("a bottle of wine", {"verb": "pouring"}, ["pouring + bottle of wine / bottle / wine"]),
        (
            "gripping the wing of an aircraft",
            {"known": ["aircraft"]},
            ["gripping + aircraft / wing of aircraft / wing"],
        ),
        ("skiing down a hill", {}, ["skiing + skis / hill"]),
        ("ride, sit_on", {"object": "motorcycle"}, ["ride + motorcycle", "sit on + motorcycle"]),
        ("has", {"object": "tie"}, ["has + tie"]),
    ],
)
def test_what_is_said_of_a_pair(phrase: str, given: dict[str, Any], said: list[str]) -> None:
    found = interactions(phrase, **given)
    assert [" + ".join(reading) for reading in found.interactions] == said
    assert not found.doubtful
    assert not found.denied


@pytest.mark.parametrize(
    "phrase", ["man on a horse", "a bicycle rider", "horse riding", "stop sign", "blorfing a horse"]
)
def test_a_split_without_a_sure_verb_is_doubtful(phrase: str) -> None:
    assert interactions(phrase).doubtful


@pytest.mark.parametrize(
    ("phrase", "said"),
    [
        ("he is not holding the cup", []),
        ("nobody rides the cup", []),
        ("no longer holding a cup", []),
        ("there is no interaction between the man and the cup", ["no_interaction"]),
        ("they aren't interacting", ["no_interaction"]),
        ("none", ["no_interaction"]),
    ],
)
def test_a_denied_interaction_is_none_or_the_datasets_own(phrase: str, said: list[str]) -> None:
    found = interactions(phrase, object="cup")
    assert found.denied == (not said)
    assert [reading.verb for reading in found.interactions] == said


WORDS = """a the man person is being not 's who while and or horse's riding_a sit_on take sip hand
no_interaction no interaction riding ridden by ride horse hot dog sit_on of , .
< > | -> with to and on top up takes photo dining table 's blorf - _ ( " a/an keeps in has"""


PHRASES = st.text() | st.lists(st.sampled_from(WORDS.split())).map(" ".join) | st.text("ab _-,.<>|'", max_size=600)


@given(PHRASES)
def test_any_text_has_whole_readings_or_none(text: str) -> None:
    for verb, noun in parse_phrase(text).readings:
        assert verb.strip() == verb != ""
        assert noun.strip() == noun != ""


@given(PHRASES, st.sampled_from(["", "horse", "hot dog"]), st.lists(st.sampled_from(["horse", "man", "hot dog"])))
def test_any_text_says_few_alternatives_of_a_pair(text: str, noun: str, known: list[str]) -> None:
    found = interactions(text, object=noun or None, known=known)
    for reading in found.interactions:
        assert all(1 <= len(alternatives(word)) <= 3 and "" not in alternatives(word) for word in reading)
        if noun:
            assert reading.object == noun
