"""What captions of several clauses or sentences say: what pronouns stand for, what only sets the scene."""

import pytest

from shoe.lexicon.phrases.parse import interactions
from tests.lexicon.test_phrase_kinds import cases, written

SENTENCES = """
A boy stands by a pony. He is combing its tail. = combing + pony's tail / tail / pony
A man crouches next to a van. He seems to be changing its tyre. = changing + van's tyre / tyre / van
A girl stands behind a desk. She is holding a lamp. = holding + lamp
A boy walks past a shop while eating an apple = eating + apple
A man listens to a song while he is driving a car = driving + car
A man waters a plant as he crosses the lawn = waters + plant
A girl has a balloon. She pulls it along the floor. = pulls + balloon
A man on a bicycle is waving. He jumps over a log. = jumps / jumps over / riding + bicycle / log
Standing on a snowboard, a girl slides down a slope = slides / slides down / riding + snowboard / slope
The cart that the man is pulling behind him is full = pulling + cart
The ladder which the painter carries over his shoulder is long = carries + ladder
The lamp which a boy is repairing is on a desk = repairing + lamp
A woman whose bag has a torn strap is mending it = mending + bag
The ball was caught by a girl wearing a cap = caught + ball
A driver works under a lorry to mend the brake = mend + brake
A girl walks to the shelf to take a book = take + book
In order to smell the rose, a girl bends down = smell + rose
A girl lifts a mug and takes a sip = lifts + mug & sipping / takes a sip of + mug
A man wears a coat and the maid brushes it = wears + coat & brushes + coat
Two goats stand in a pen and a girl pets them = pets + goats
There is a basket with apples in it, and a boy is carrying it = carrying + basket
A man hands it a carrot = hands + carrot
The older one kicks a ball = kicks + ball
A man not only buys the melon but tastes it = buys + melon & tastes + melon
A mother helps her son tie his shoe = helps + son & tie + shoe
A cook sits on a stool surrounded by pots, peeling an onion = sits on + stool & peeling + onion
A girl looks at the camera. She is holding a puppy. = holding + puppy
A man approaches the gate. He carries a spade. = carries + spade
A man with a ladder under his arm walks down the street = holding + ladder
A lady drinks a cup of tea, the steam rising in front of her = drinks + cup of tea / cup / tea
He may be painting the fence, though it is hard to tell = painting + fence
It does not look like she is eating the pear; she is peeling it = peeling + pear
"""


@pytest.mark.parametrize(("phrase", "said"), cases(SENTENCES))
def test_sentences_together(phrase: str, said: str) -> None:
    assert written(interactions(phrase)) == said


@pytest.mark.parametrize(
    ("phrase", "given", "said"),
    [
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
    ("phrase", "given"),
    [
        ("A boy eats a pear and holds a jug", "mug"),
        ("A boy with a kite waits for his turn", None),
        ("A dog chews a bone", None),
    ],
)
def test_what_could_be_of_another_thing_is_doubtful(phrase: str, given: str | None) -> None:
    assert interactions(phrase, object=given).doubtful
