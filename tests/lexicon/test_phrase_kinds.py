"""What phrases of one kind say, worked by hand: denials, notations, coordination, relative clauses, nouns of action."""

import pytest

from shoe.lexicon.phrases.parse import PhraseInteractions, interactions

DENIED = """
The man is not in contact with the chair = no_interaction + chair
There is no human-object interaction in this photo = -
no interactions between people and objects are visible in the scene = -
No interaction between the man and the kite is visible in the image. = no_interaction + kite
There is no relationship between the man and the truck = no_interaction + truck
There isn't any interaction with the truck = no_interaction + truck
No action is being performed on the cup = no_interaction + cup
The boy and the kite are unrelated = no_interaction + kite
There isn't anyone riding the bus = -
The man is merely standing near the truck = no_interaction + truck
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
The man is unable to open the door = -
There are no people riding the bike = -
the kid refuses to eat the broccoli = -
he stopped riding the horse = -
There is no evidence that the boy is riding the horse = -
jumping over no obstacle = -
failing to catch the ball = -
an empty bench with no one sitting on it = -
he hasn't opened the umbrella yet = -
not using or touching the chair = -
there is nothing going on between the man and the horse = no_interaction + horse
"""

DENIED_IN_PART = """
It's not clear, but he may be riding the horse = riding + horse
a skater wearing no helmet jumps his board = jumps + board
walking the horse rather than riding it = walking + horse
She is cutting the apple instead of eating it = cutting + apple
instead of eating, she is cutting the apple = cutting + apple
riding not a horse but a camel = riding + camel
not pulling, but pushing, a cart = pushing + cart
a man with no shirt interacting with a dog = interacting with + dog
He can't see the ball but kicks it = kicks + ball
The person is doing nothing but holding a cup = holding + cup
wearing a shirt and no tie = wearing + shirt
The truck isn't being loaded by anybody; a man is washing it = washing + truck
he stopped to pet the dog = pet + dog
not only riding but also steering the bike = riding + bike & steering + bike
The boy cannot stop hugging the dog = hugging + dog
He can't help petting the goat = petting + goat
She never stops stirring the soup = stirring + soup
No less than two people ride the camel = ride + camel
pushing rather than riding a bicycle = pushing + bicycle
carrying, rather than wearing, a helmet = carrying + helmet
polishing (not driving) a car = polishing + car
A girl holds a spoon but not a knife and eats cake = holds + spoon & eats + cake
feeding a horse without touching = feeding + horse
riding a bicycle without touching the brakes = riding + bicycle
A boy on a skateboard jumps over no obstacle = jumps / riding + skateboard
"""

NOTATIONS = r"""
person 2 :: catch :: tennis ball 1 = catch + tennis ball
human: stands on | object: snowboard = stands on + snowboard
human+chase+cat = chase + cat
peel / banana = peel + banana
act=pet&obj=sheep = pet + sheep
lick.wine_glass = lick + wine glass
wash(person_1, cow_2) = true = wash + cow
**HOI 3:** `ride(person_1, horse_1)` = ride + horse
Relation #4 => <man_2, "looking at", cell_phone_1> = looking at + cell phone
**Person** - *holds* - **Tennis Racket** (score: 0.87) = holds + tennis racket
person | ride | horse | 93% = ride + horse
<person, ride, horse> (high confidence) = ride + horse
Person ID 1 -> [carry, open] -> tennis racket ID 3 = carry + tennis racket & open + tennis racket
Man #2 washing dog #1 = washing + dog
obj1: person, rel: hold, obj2: bottle = hold + bottle
\boxed{(person, ride, bicycle)} = ride + bicycle
The answer is \textbf{riding a horse} = riding + horse
<person1> throws <ball1> = throws + ball
[man 1] pulls [cart 2] = pulls + cart
<ref>man</ref><box>(1,2),(3,4)</box> rides <ref>horse</ref> = rides + horse
(man, ride, horse) [10, 20, 30, 40] = ride + horse
man rides horse [0.1 0.2 0.3 0.4] = rides + horse
LeanOn Table = lean on + table
No interaction (cat) = no_interaction + cat
dog: no interaction = no_interaction + dog
Action label: push | Object label: cart = push + cart
Object of relation: cart; relation: push = push + cart
person1-hold-cup2 = hold + cup
The bottle? She is opening it. = opening + bottle
The human and the chair: sitting on = sitting on + chair
person.sit_on(bench) = sit on + bench
N/A = -
Action: unknown = -
"""

JOINED = """
a man washes, dries and then polishes the car = washes + car & dries + car & polishes + car
lifting as well as carrying the box = lifting + box & carrying + box
riding, then jumping a horse = riding + horse & jumping + horse
washing & drying a cup = washing + cup & drying + cup
person: hold + bite -> apple / sandwich = hold + apple / sandwich & bite + apple / sandwich
stands next to a horse and pets it = stands next to + horse & pets + horse
a girl lies on a bed and reads a book = lies on + bed & reads + book
holding, and looking at, a phone = holding + phone & looking at + phone
carrying a bag, an umbrella, and a book = carrying + bag / umbrella / book
cutting carrots & broccoli = cutting + carrots / broccoli
holding an old but sharp knife = holding + old but sharp knife
Girl, 6, rides 2,000-pound elephant = rides + 2000-pound elephant
She lifts the cup and drinks from it = lifts + cup & drinks from + cup
He has a banana and he is peeling it = peeling + banana
The boy, his arms crossed, waits for a bus = waits for + bus
He opened the fridge, took out a cup and drank from it = opened + fridge & took out + cup & drank from + cup
The red, white and blue kite is being flown by a child = flown + red white and blue kite
She opens the box and takes out a doll = opens + box & takes out + doll
Dressed as a pirate, the boy swings a bat = swings + bat
jumps up and catches the frisbee = catches + frisbee
a woman has in her hand a cup = has + cup
washing a parked, dusty, dark blue car = washing + parked dusty dark blue car
a large yet gentle elephant is ridden by a man = ridden + large yet gentle elephant
sitting at a small wooden dining table = sitting at + small wooden dining table
After the cook washes the pan, a waiter dries the plates = washes + pan & dries + plates
One girl rings a bell, but another hits a drum = rings + bell & hits + drum
He lifts his bag. Then he opens the door = lifts + bag & opens + door
The horse is led by a girl, and a boy carries the saddle = led + horse & carries + saddle
A nurse holds a tray; a doctor examines a patient = holds + tray & examines + patient
a man rides a horse while a friend tells a joke = rides + horse
The dog drops the ball and the boy throws it = throws + ball
An uncle teaches the boy to fly a kite = teaches + boy & fly + kite
The boy rides a scooter while looking at a phone = rides + scooter & looking at + phone
A girl is lying on a bed reading a book = lying on + bed & reading + book
While pushing a cart, a man waits for a bus = waits for + bus & pushing + cart
She pours tea while sitting on a chair and holding a cup = pours + tea & sitting on + chair & holding + cup
A cook stands at the stove, stirring a pot = stands at + stove & stirring + pot
He drives a car while wearing a tie = drives + car
He walks a dog while crossing the street = walks + dog
A man sits on a chair smiling at the camera = sits on + chair
A man stands next to a truck carrying bananas = stands next to + truck
A girl leans on a horse eating an apple = leans on + horse
The boy looks at a train crossing a bridge = looks at + train
"""

RELATIVE = """
A photo taken in the morning shows a girl feeding a goat = feeding + goat
The horse that the man who wears a hat is riding = riding + horse
a bike on which a boy wearing a jacket is seated = seated on + bike
the cup from which she drinks = drinks from + cup
the knife with which he cuts the cake = cuts + cake / knife
It is the horse that is being groomed = groomed + horse
He can't see the dog that she is walking = walking + dog
the man to whom she hands the cup = hands + cup
It's the bicycle he is riding = riding + bicycle
The thing she is holding is an umbrella = holding + umbrella
What she is holding is an umbrella = holding + umbrella
An orange is what she is peeling = peeling + orange
the woman whom the dog licks = licks + dog
The girl, wearing a backpack, waits for the bus = waits for + bus
the woman next to the refrigerator opens it = opens + refrigerator
There is a horse, and the man is riding it = riding + horse
Under the umbrella stands a woman = stands under + umbrella
Having opened the oven, she takes out a pizza = takes out + pizza
"""

NOUNS = """
cuts a cheese cream-filled cake = cuts + cheese cream-filled cake
grooms a pony = grooms + pony
cooks broccoli = cooks + broccoli
types on a laptop = types on + laptop
golfing with a club = golfing with + club / golf club
types on a device = types on + device / keyboard
leaning on a swinging garden bench = leaning on + swinging garden bench
leaning on a swinging dining chair = leaning on + swinging dining chair
throwing a red Wilson football = throwing + red wilson football
a ride on an elephant = riding on + elephant
involved in the inspection of a train = inspecting + train
busy with the repair of a car = repairing + car
going for a walk with his dog = walking with / going for a walk with + dog
bird watching in the forest = watching + bird
dog walking = walking + dog
the phone is being used to take a picture = used / take with + phone
A wine glass rests in her right hand = rests in right hand + wine glass
reading a page of a thick book = reading / reading page of + thick book
makes use of a laptop = using / makes a use of + laptop
the cup is being drunk from by the boy = drunk from + cup
hands a frisbee to a boy = hands + frisbee / boy
lets the dog go = lets + dog
skiing with friends = skiing + skis
preparing herself to serve the ball = serve + ball
two boys on a sofa share a pizza = share + pizza
kids taking turns kicking a ball = kicking + ball
kneeling on one knee on a surfboard = kneeling on + surfboard
He is swimming = swimming +
A player in white shorts, arms stretched wide, catches a ball = catches + ball
Eyes closed, he drinks tea = drinks + tea
A lady peels carrots = peels + carrots
opening a silver MacBook = opening + silver macbook
sets down a glass on the dining table = sets down + glass / dining table
"""


CAPTIONS = """
A girl hugs a cat, showing tenderness = hugs + cat
He rides a bike, enjoying the breeze = rides + bike
A man paints a fence, creating a work of art = paints + fence
A woman sits in a garden, peeling an apple = peeling + apple
A man stands on a beach and flies a kite = flies + kite
She is interacting with a horse, brushing it = brushing + horse
A man is engaging with a phone by texting on it = texting on + phone / cell phone
The main activity involves a boy washing a car = washing + car
He opens his mouth to bite a sandwich = bite + sandwich
She uses her hands to carry a box = carry + box
A man on a horse gallops along the shore = gallops / gallops along / riding + horse / shore
An officer on horseback is crossing the street = crossing / riding + horse / street
A boy on a bike jumps off a ledge = jumps / jumps off / riding + bike / ledge
A skier goes down the hill = goes / goes down / riding + skis / hill
A cyclist moves on a motorcycle = moves on + motorcycle
A skier carries a bag = carries + bag
A man on the phone crosses the street = crosses + street
He interacts with the dog and pets the cat = interacts with + dog & pets + cat
holding the phone close to her ear = holding + phone
The boy did pick up the ball = pick up + ball
He did tricks on a skateboard = did tricks on / did on / did + skateboard / tricks
close the oven = close + oven
a man is standing close to a car = standing close to + car
gives the cat a gentle brushing = brushing / gives a gentle brushing + cat
gives the man a painting = gives + painting / man
takes a sip of tea from a cup = sipping / takes a sip of + tea / cup
uses a phone to text = uses / text with + phone
Two dogs wait while a man in a coat pets them = pets + dogs
The dog is dirty, so it is being washed by a girl = washed + dog
He sees his son and hugs him = sees + son & hugs + him
A dog is sick and the man carries him = carries + dog
The cat is hungry and the woman is feeding it = feeding + cat
The boy looks very sleepy as he rides a pony = rides + pony
jumps high to catch a frisbee = catch + frisbee
swinging a Wilson bat = swinging + wilson bat
holding a small, scared and rather wet cat = holding + small scared and wet cat
A girl is horse-riding at the beach = horse-riding + horse / beach
hand-feeding a goat = hand-feeding + goat
sit_on+park_bench = sit on + park bench
"""


def cases(table: str) -> list[tuple[str, str]]:
    return [(phrase, said) for phrase, said in (line.rsplit(" = ", 1) for line in table.strip().splitlines())]


def written(said: PhraseInteractions) -> str:
    """Verbs and first objects of what is said."""
    return " & ".join(f"{verb} + {noun}".strip() for verb, noun in said.interactions) or "-"


@pytest.mark.parametrize(("phrase", "said"), cases(DENIED))
def test_what_is_denied_is_no_interaction(phrase: str, said: str) -> None:
    found = interactions(phrase)
    assert found.denied == (said == "-")
    assert written(found) == said


@pytest.mark.parametrize(
    ("phrase", "said"),
    cases(DENIED_IN_PART) + cases(NOTATIONS) + cases(JOINED) + cases(RELATIVE) + cases(NOUNS) + cases(CAPTIONS),
)
def test_phrases_of_one_kind(phrase: str, said: str) -> None:
    assert written(interactions(phrase)) == said


@pytest.mark.parametrize(
    ("phrase", "given", "verb"), [("she eats it raw", "carrot", "eats"), ("he flips it open", "phone", "flips open")]
)
def test_what_follows_a_pronoun_describes_it(phrase: str, given: str, verb: str) -> None:
    assert written(interactions(phrase, object=given)) == f"{verb} + {given}"


def test_what_is_done_for_another_thing_is_doubtful() -> None:
    assert interactions("a cowboy throws a rope to catch a calf").doubtful
    assert not interactions("a cowboy uses a rope to catch a calf").doubtful


def test_what_is_lacking_is_not_the_object() -> None:
    assert interactions("riding a motorcycle without a helmet", object="helmet") == PhraseInteractions((), denied=True)
    assert written(interactions("riding a motorcycle without a helmet", object="motorcycle")) == "riding + motorcycle"
