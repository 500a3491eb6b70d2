import numpy as np
import pytest

from shoe.core.errors import OptionError
from shoe.core.interactions import Interactions
from shoe.lexicon.resolve import ObjectWords, resolve
from shoe.lexicon.store import lexicon
from shoe.rating.planning import needed_senses


def predicted(*triplets: tuple[str, str]) -> Interactions:
    """Predictions with these words; the vocabularies have a verb and an object that no triplet uses."""
    n = len(triplets)
    verbs = [*dict.fromkeys(verb for verb, _ in triplets), "juggle"]
    objects = ["unicorn", *dict.fromkeys(object_ for _, object_ in triplets)]
    return Interactions.from_columns(
        images=["a.jpg"],
        image=np.zeros(n, int),
        human_boxes=np.tile([0.0, 0.0, 1.0, 1.0], (n, 1)),
        object_boxes=np.tile([0.0, 0.0, 1.0, 1.0], (n, 1)),
        verb=np.array([verbs.index(verb) for verb, _ in triplets], int),
        object=np.array([objects.index(object_) for _, object_ in triplets], int),
        verbs=verbs,
        objects=objects,
    )


def test_all_senses_of_all_words_that_occur_and_no_others() -> None:
    senses = needed_senses([predicted(("riding", "pony")), predicted(("straddle", "pony"), ("riding", "cab"))])
    for part, words in (("verb", ("riding", "straddle")), ("object", ("pony", "cab"))):
        expected = {c.name for word in words for c in resolve(word, part).candidates}  # type: ignore[arg-type]
        assert {lexicon().name(synset) for synset in senses[part].tolist()} == expected  # type: ignore[index]


def test_words_without_a_sense_need_nothing() -> None:
    senses = needed_senses([predicted(("no_interaction", "qwxz"))])
    assert {part: len(found) for part, found in senses.items()} == {"verb": 0, "object": 0}


def test_no_predictions_need_nothing() -> None:
    assert [len(found) for found in needed_senses([predicted()]).values()] == [0, 0]
    assert [len(found) for found in needed_senses([]).values()] == [0, 0]


@pytest.mark.parametrize(("how", "pooled"), [("phrase-first", False), ("pooled", True)])
def test_objects_of_several_words_are_looked_up_as_scoring_will(how: ObjectWords, pooled: bool) -> None:
    senses = needed_senses([predicted(("hold", "tennis racket"))], how)["object"].tolist()
    assert (lexicon().synset("tennis.n.01") in senses) == pooled


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(OptionError, match="object-words"):
        needed_senses([predicted(("hold", "cup"))], "whole")  # type: ignore[arg-type]
