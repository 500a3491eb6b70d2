"""What phrases of one kind say, worked by hand, and captions of several clauses or sentences."""

import pytest

from shoe.lexicon.phrases.parse import PhraseInteractions, interactions
from tests.lexicon.wordings import by_hand

KINDS = ["denied in part", "notation", "joined", "relative", "noun", "caption", "sentences", "words that are no verbs"]
# Without articles: passives begin with a compound or an adjective, or have a preposition; the action is the subject's.
KINDS += ["without articles", "noun in -ing", "passive without articles", "action of the subject"]


def written(said: PhraseInteractions) -> str:
    return " & ".join(f"{verb} + {noun}".strip() for verb, noun in said.interactions) or "-"


@pytest.mark.parametrize(("phrase", "said"), by_hand("denied"))
def test_what_is_denied_is_no_interaction(phrase: str, said: str) -> None:
    found = interactions(phrase)
    assert (found.denied, written(found)) == (said == "-", said)


@pytest.mark.parametrize(("phrase", "said"), by_hand(*KINDS))
def test_phrases_of_one_kind(phrase: str, said: str) -> None:
    assert written(interactions(phrase)) == said


@pytest.mark.parametrize(
    ("phrase", "given", "said"),
    [
        ("she eats it raw", "carrot", "eats + carrot"),
        ("he flips it open", "phone", "flips open + phone"),
        ("A boy eats a pear and holds a jug", "mug", "eats + mug"),
        ("She holds the knife and cuts into it", "bread", "cuts into + bread"),
        ("The man leans his head on his arm, looking at the page", "book", "looking at + book"),
        ("People sit on rugs, but no one is using it", "chair", "-"),
        ("Nobody rides it; the goat stands in a field", "goat", "-"),
    ],
)
def test_what_the_reply_gives_is_meant_where_no_noun_is(phrase: str, given: str, said: str) -> None:
    assert written(interactions(phrase, object=given)) == said


@pytest.mark.parametrize(
    ("phrase", "given", "doubtful"),
    [
        ("a cowboy throws a rope to catch a calf", None, True),
        ("a cowboy uses a rope to catch a calf", None, False),
        ("A boy eats a pear and holds a jug", "mug", True),
        ("A boy with a kite waits for his turn", None, True),
        ("A dog chews a bone", None, True),
    ],
)
def test_what_could_be_of_another_thing_is_doubtful(phrase: str, given: str | None, doubtful: bool) -> None:
    assert interactions(phrase, object=given).doubtful == doubtful


def test_what_is_lacking_is_not_the_object() -> None:
    phrase = "riding a motorcycle without a helmet"
    assert interactions(phrase, object="helmet") == PhraseInteractions((), denied=True)
    assert written(interactions(phrase, object="motorcycle")) == "riding + motorcycle"
