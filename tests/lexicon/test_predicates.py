"""What verbs of several words mean: each mechanism on words by hand, and what holds for all of them."""

import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from shoe.lexicon import text
from shoe.lexicon.resolve import canonical, resolve, without_auxiliaries
from shoe.lexicon.store import lexicon
from tests.examples import examples
from tests.mentions import mentions

TABLE = Path(text.__file__).parent / "data" / "constructions.tsv"


def reasons(word: str) -> dict[str, str]:
    return {candidate.name: candidate.reason for candidate in resolve(word, "verb").candidates}


@pytest.mark.parametrize(
    ("word", "sense", "why"),
    [
        ("taking a whiff of", "sniff.v.01", '"whiff" of "taking a whiff of"'),
        ("taking a close look at", "look.v.01", '"look" of "taking a close look at"'),
        ("having a conversation on", "converse.v.01", '"conversation" of "having a conversation on"'),
        ("doing a grind on", "grate.v.04", '"grind" of "doing a grind on"'),
        ("giving the dog a bath", "bathe.v.03", '"bath" of "giving the dog a bath"'),
        ("taking for a run", "run.v.26", '"run" of "taking for a run"'),
        ("doing maintenance on", "conserve.v.02", '"maintenance" of "doing maintenance on"'),
        ("at the wheel of", "drive.v.01", "alias: … vehicle"),
        ("being upright on", "stand.v.01", 'definition "be upright"'),
        ("looking over", "inspect.v.01", 'definition "look over"'),
        ("taking a seat on", "sit_down.v.01", 'definition "take seat"'),
        ("having in her hand", "hold.v.02", 'definition "have in hand"'),
        ("running his tongue along", "lick.v.02", '"tongue" in its definition'),
        ("putting his nose to", "sniff.v.01", '"nose" in its definition'),
        ("pressing his lips to", "snog.v.01", '"lips" in its definition'),
        ("pulling the zipper on", "zip_up.v.01", '"zipper" in its definition'),
        ("wiping out", "wipe.v.01", 'verb of "wiping out"'),
        ("jumping onto", "hop_on.v.01", 'base form of "jumping on"'),
        ("hopping aboard", "hop_on.v.01", 'base form of "hopping on"'),
        ("hand-feeding", "feed.v.02", 'base form of "feeding"'),
        ("gently hand-feeding a", "feed.v.02", 'base form of "feeding"'),
        ("sending a wave to", "beckon.v.01", '"wave" of "sending a wave to"'),
        ("bending down to pick up a", "pick_up.v.01", 'purpose of "bending down to pick up"'),
        ("drying her hair with", "use.v.01", "used … 0.75"),
        ("climbing down off of", "exit.v.01", "out of … 0.75"),
        ("crawling into", "board.v.01", "into … 0.75"),
        ("surfing on", "ride.v.01", "ridden … 0.75"),
        ("pressing the buttons on", "operate.v.03", "control … 0.75"),
        ("offering a carrot to", "feed.v.01", "food … 0.75"),
        ("dropping a coin into", "pay.v.01", "money … 0.75"),
        ("performing a stunt on", "ride.v.01", "stunt … 0.75"),
        ("standing still", "stand.v.01", 'verb of "standing still", base form of "standing"'),
        ("high-fived", "slap.v.01", "alias: … palms"),
        ("strolling beside", "walk.v.09", "walk … 0.75"),
        ("is on top of", "sit.v.01", "where … 0.5"),
        ("on", "lie.v.02", "where … 0.5"),
        ("underneath", "stand.v.01", "where … 0.5"),
        ("with", "hold.v.02", "has it … 0.5"),
        ("bottle-feeding", "feed.v.02", 'base form of "feeding" … 0.75'),
        ("taking a bite of", "eat.v.01", "alias: … eat"),
        ("running her hand over", "stroke.v.01", "alias: … hand … surface"),
        ("looking closely at", "inspect.v.01", "alias: … care"),
        ("taking a close look at", "inspect.v.01", '"look" of "taking a close look at" … alias: … care'),
        ("having a meal at", "eat.v.02", "alias: … meal"),
        ("dressed in", "wear.v.02", "alias: … clothes"),
    ],
)
def test_each_way_of_saying_a_verb(word: str, sense: str, why: str) -> None:
    assert re.match(mentions(why), reasons(word).get(sense, f"none of {sorted(reasons(word))}"))


def test_a_light_verb_s_noun_counts_alone_and_only_if_it_names_a_doing() -> None:
    looking = "taking a long look at"
    assert {c.lemma for c in resolve(looking, "verb").candidates} == {"look"}
    assert all("feed.v.02" in reasons(f"giving {food} to") for food in ("a carrot", "leaves"))


@pytest.mark.parametrize(
    ("said", "not_meant"),
    [
        ("is at", "beat.v.01"),  # no spelling of "be at"
        ("in front of", "sit.v.01"),  # says near, not in
        ("climbing on", "board.v.01"),
        ("pushing off", "exit.v.01"),  # pushing is no moving of one's own
        ("training", "ride.v.02"),  # a train is a vehicle, but training no motion
        ("pressing a flower on", "operate.v.03"),
        ("giving a scratch to", "feed.v.01"),
        ("giving a scratch", "feed.v.02"),
        ("took a picture of", "picture.v.01"),
        ("shaking hands with", "wash_up.v.01"),  # a definition that mentions hands; the whole is known
        ("holding up to face", "confront.v.02"),  # "face" is the noun
        ("on top of", "exceed.v.02"),
        ("bending to hold to ride", "ride.v.01"),
        ("gives a good brushing", "freight.v.02"),  # an adjective is no noun of a definition
        ("reaching out to catch", "lasso.v.01"),  # a definition that mentions a catch, which is none here
    ],
)
def test_a_construction_asks_for_all_its_parts(said: str, not_meant: str) -> None:
    assert not_meant not in reasons(said)


def test_constructions_lead_to_senses_and_ask_for_things_that_there_are() -> None:
    rows = [line.split("\t") for line in TABLE.read_text("utf-8").splitlines()]
    assert rows[0] == ["verbs", "nouns", "prepositions", "synsets", "relation", "reason"]
    named = [name for verbs, nouns, _, synsets, _, _ in rows[1:] for name in f"{verbs} {nouns} {synsets}".split()]
    assert all(lexicon().synset(name) >= 0 for name in named if "." in name)
    assert all(lexicon().has(lemma, "v") for row in rows[1:] for lemma in row[0].split() if lemma.isalpha())


def test_an_idiom_of_its_own_is_not_taken_apart_and_a_compound_that_wordnet_has_comes_before_its_head() -> None:
    assert list(reasons("turning on")) == [lexicon().name(s) for s in lexicon().senses("turn_on", "v").tolist()]
    assert list(dict.fromkeys(c.lemma for c in resolve("deep-frying", "verb").candidates)) == ["deep-fry", "fry"]
    firsts = [resolve(word, "verb").candidates[0].lemma for word in ("wiping out", "bottle-feeding")]
    assert firsts == ["wipe_out", "bottlefeed"]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("is slowly picking up a", "picking up a"),
        ("is about to throw", "throw"),
        ("has been ridden", "ridden"),
        *((same, same) for same in ("being on", "having in her hand", "being upright", "is", "")),
        ("is having a drink", "having a drink"),
        ("is xqzting", "xqzting"),
    ],
)
def test_an_auxiliary_stays_where_no_verb_follows(said: str, kept: str) -> None:
    assert " ".join(without_auxiliaries(said.split())) == kept


def test_the_canonical_words_of_a_definition() -> None:
    assert canonical(["press", "the", "lips", "against"]) == ["press", "lip"]
    assert canonical(["look", "over", "carefully"]) == canonical(["look", "over"]) == ["look", "over"]
    assert canonical(["have", "in", "one's", "hands"]) == canonical(["have", "in", "her", "hand"])
    assert canonical(["climb", "aboard"]) == canonical(["climb", "onto", "the"])


WORDS = "taking is a the look at his tongue up on onto hand feeding hand-feeding not xqzt giving out of free"


@pytest.mark.slow
@examples(40)
@given(st.lists(st.sampled_from(WORDS.split()), max_size=6).map(" ".join))
def test_candidates_of_any_words_are_distinct_verbs_with_a_reason_and_always_the_same(said: str) -> None:
    candidates = resolve(said, "verb").candidates
    assert len({c.synset for c in candidates}) == len(candidates)
    assert all(lexicon().pos(c.synset) == "v" and c.reason for c in candidates)
    again = resolve(said.upper(), "verb").candidates
    assert [c.synset for c in again] == [c.synset for c in candidates]
