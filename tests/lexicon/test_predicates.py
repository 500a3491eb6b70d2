"""What verbs of several words mean: each mechanism on words by hand, and what holds for all of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe.lexicon.definitions import canonical
from shoe.lexicon.predicates import without_auxiliaries
from shoe.lexicon.resolve import resolve
from shoe.lexicon.store import lexicon
from tests.examples import examples


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
        ("at the wheel of", "drive.v.01", "alias: steering a vehicle"),
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
    ],
)
def test_each_way_of_saying_a_verb(word: str, sense: str, why: str) -> None:
    assert why in reasons(word).get(sense, f"none of {sorted(reasons(word))}")


def test_a_light_verb_s_noun_counts_alone_and_only_if_it_names_a_doing() -> None:
    assert "feed.v.02" not in reasons("giving a scratch")
    assert {c.lemma for c in resolve("taking a close look at", "verb").candidates} == {"look"}
    assert "feed.v.02" in reasons("giving a carrot to")
    assert "feed.v.02" in reasons("giving leaves to")
    assert "picture.v.01" not in reasons("took a picture of")


def test_an_idiom_of_its_own_is_not_taken_apart() -> None:
    assert list(reasons("turning on")) == [lexicon().name(s) for s in lexicon().senses("turn_on", "v").tolist()]
    assert resolve("wiping out", "verb").candidates[0].lemma == "wipe_out"


def test_a_compound_that_wordnet_has_comes_before_its_head() -> None:
    assert list(dict.fromkeys(c.lemma for c in resolve("deep-frying", "verb").candidates)) == ["deep-fry", "fry"]
    assert resolve("bottle-feeding", "verb").candidates[0].lemma == "bottlefeed"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("is slowly picking up a", "picking up a"),
        ("is about to throw", "throw"),
        ("has been ridden", "ridden"),
        ("being on", "being on"),
        ("having in her hand", "having in her hand"),
        ("is having a drink", "having a drink"),
        ("being upright", "being upright"),
        ("is xqzting", "xqzting"),
        ("is", "is"),
        ("", ""),
    ],
)
def test_an_auxiliary_stays_where_no_verb_follows(said: str, kept: str) -> None:
    assert " ".join(without_auxiliaries(said.split())) == kept


def test_the_canonical_words_of_a_definition() -> None:
    assert canonical(["press", "the", "lips", "against"]) == ["press", "lip"]
    assert canonical(["look", "over", "carefully"]) == canonical(["look", "over"]) == ["look", "over"]
    assert canonical(["have", "in", "one's", "hands"]) == canonical(["have", "in", "her", "hand"])
    assert canonical(["climb", "aboard"]) == canonical(["climb", "onto", "the"])


WORDS = [
    "taking",
    "is",
    "a",
    "the",
    "look",
    "at",
    "his",
    "tongue",
    "up",
    "on",
    "onto",
    "hand",
    "feeding",
    "hand-feeding",
    "not",
    "xqzt",
    "giving",
    "out",
    "of",
    "free",
]


@examples(40)
@given(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join))
def test_candidates_of_any_words_are_distinct_verbs_with_a_reason_and_always_the_same(said: str) -> None:
    candidates = resolve(said, "verb").candidates
    assert len({c.synset for c in candidates}) == len(candidates)
    assert all(lexicon().pos(c.synset) == "v" and c.reason for c in candidates)
    again = resolve(said.upper(), "verb").candidates
    assert [c.synset for c in again] == [c.synset for c in candidates]
