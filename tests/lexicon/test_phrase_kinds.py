"""What phrases of one kind say, worked by hand: denials, notations, coordination, relative clauses, nouns of action."""

import pytest

from shoe.lexicon.phrases import Said, interactions

DENIED = """
The man is not in contact with the chair = no_interaction + chair
There is no relationship between the man and the truck = no_interaction + truck
There isn't any interaction with the truck = no_interaction + truck
man | no contact | horse = no_interaction + horse
Nothing is being done with the chair = no_interaction + chair
I cannot identify any interaction involving the lamp = no_interaction + lamp
The person is unrelated to the dog = no_interaction + dog
Neither of the boys is eating the cake = -
Neither boy is eating the cake = -
Not a single person is holding the kite = -
None of the people is riding the elephant = -
man holding no umbrella = -
carrying neither a bag nor an umbrella = -
It isn't clear whether the man is riding the horse = -
I can't tell what she is doing with the cup = -
It cannot be determined if the woman holds the phone = -
I don't think the man is riding the horse = -
the kid refuses to eat the broccoli = -
"""

DENIED_IN_PART = """
It's not clear, but he may be riding the horse = riding + horse
a skater wearing no helmet jumps his board = jumps + board
walking the horse rather than riding it = walking + horse
She is cutting the apple instead of eating it = cutting + apple
instead of eating, she is cutting the apple = cutting + apple
riding not a horse but a camel = riding + camel
not pulling, but pushing, a cart = pushing + cart
not only riding but also steering the bike = riding + bike & steering + bike
"""


def cases(table: str) -> list[tuple[str, str]]:
    return [(phrase, said) for phrase, said in (line.split(" = ") for line in table.strip().splitlines())]


def written(said: Said) -> str:
    """Verbs and first objects of what is said."""
    return " & ".join(f"{verb} + {noun}" for verb, noun in said.interactions) or "-"


@pytest.mark.parametrize(("phrase", "said"), cases(DENIED))
def test_what_is_denied_is_no_interaction(phrase: str, said: str) -> None:
    found = interactions(phrase)
    assert found.denied
    assert written(found) == said


@pytest.mark.parametrize(("phrase", "said"), cases(DENIED_IN_PART))
def test_phrases_of_one_kind(phrase: str, said: str) -> None:
    assert written(interactions(phrase)) == said


def test_what_is_lacking_is_not_the_object() -> None:
    assert interactions("riding a motorcycle without a helmet", object="helmet") == Said((), denied=True)
    assert written(interactions("riding a motorcycle without a helmet", object="motorcycle")) == "riding + motorcycle"
