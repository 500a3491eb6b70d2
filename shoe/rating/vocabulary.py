"""The verb senses that every verb class is compared with: what a person can be seen doing to a thing.

The paper compares with about 7,150 "HOI-relevant" verb senses and does not list them. Here they follow from WordNet
3.0 by a rule of three clauses, which gives 7,172 of its 13,767 verb senses for HICO-DET:

1. All of the lexicographer files whose verbs are movements of a body, or of a thing by one: verb.body,
   verb.consumption, verb.contact, verb.motion.
2. Of the files that mix visible actions with others, the senses that WordNet's tagged texts use (tag count above 0):
   verb.change (cook and cut, but also evolve), verb.competition (play and fence, but also default), verb.creation
   (paint, but also formulate), verb.perception (watch, but also hallucinate), verb.possession (give, but also inherit).
3. Whatever its file, a sense at most two steps of hypernymy from a class's own sense: the class itself, what it is a
   manner of, its own manners, and its siblings. This brings in "sign", "read" and "teach" with what is like them.

Nothing else comes from the files of what cannot be seen as such: verb.cognition (know), verb.communication (promise),
verb.emotion (hate), verb.social (appoint), verb.stative (differ), nor from verb.weather (rain), which no person
does.

The rule covers 86.7 % of the pairs of a HICO-DET class that the shipped map rates above 0, and 90.4 % of those that it
rates 3 or more. That map's lists were made otherwise, partly along WordNet's relations.
"""

from __future__ import annotations

import numpy as np

from shoe.core.ragged import distinct
from shoe.lexicon.store import lexicon
from shoe.rating.neighbourhood import within
from shoe.rating.pairs import Synsets

BODILY = frozenset({"verb.body", "verb.consumption", "verb.contact", "verb.motion"})
MIXED = frozenset({"verb.change", "verb.competition", "verb.creation", "verb.perception", "verb.possession"})
STEPS = 2


def verb_vocabulary(classes: Synsets) -> Synsets:
    """List the verb senses that a dataset's verb classes are compared with, the classes' own among them, ascending.

    Args:
        classes: senses of the dataset's verbs.
    """
    words = lexicon()
    verbs = range(words.nouns, len(words))
    chosen = [
        verb for verb in verbs if (file := words.lexname(verb)) in BODILY or (file in MIXED and _is_in_texts(verb))
    ]
    _, near = within(classes, STEPS)
    return distinct(np.concatenate([np.array(chosen, np.int64), near])).astype(np.int32)


def _is_in_texts(verb: int) -> bool:
    """Whether WordNet's tagged texts use the sense, by any of its lemmas."""
    words = lexicon()
    return any(words.tag_count(lemma, "v")[words.senses(lemma, "v") == verb].any() for lemma in words.lemmas(verb))
