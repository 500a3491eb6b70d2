"""Second opinion on the tags of a phrase: a linear model over lexical classes of neighbouring words.

``scripts/train-tagger`` trains the model on tagged phrases (averaged structured perceptron) and writes its weights.
"""

from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shoe.core.arrays import Floats
from shoe.lexicon.expressions import bases
from shoe.lexicon.phrases.noun_phrases import senses_of
from shoe.lexicon.phrases.tags import tags_of
from shoe.lexicon.phrases.words import FULL_STOP, Tag, closed_classes, is_expression, table, verb_bases, word_of
from shoe.lexicon.store import lexicon

TAGS = "".join(Tag) + FULL_STOP
WEIGHTS = Path(__file__).parents[1] / "data" / "phrase_tags.npz"
_VERB_KINDS = ("posture", "transitive", "filler", "attributive", "copula", "light_verb", "implied", "causative", "seen")
_SURE = 100  # on phrases that neither the rules nor the model were made for, the model is right beyond this difference


class Tagging(NamedTuple):
    """Tags of a phrase, one letter per word, and the tags of the other tagger; equal if rules and model agree."""

    best: str
    rival: str


@cache
def _model() -> tuple[dict[str, int], Floats, Floats]:
    with np.load(WEIGHTS) as file:
        names = file["names"].tobytes().decode().split("\n")
        return {name: i for i, name in enumerate(names)}, file["weights"].astype(float), file["transitions"]


@lru_cache(maxsize=20_000)
def _classes(word: str) -> tuple[str, ...]:
    """Return lexical classes of a word, the most distinctive first: possible tags, uses as noun and verb, senses."""
    if fixed := FULL_STOP if word == FULL_STOP else closed_classes().get(word):
        return fixed, word
    known, store, nouns, verbs = word_of(word), lexicon(), bases(word, "object"), verb_bases(word)
    forms = f":{known.forms}"
    found = [
        f"{known.noun:d}{known.person:d}{known.adjective:d}{forms}",
        forms,
        word[-2:] + forms * (word[-2:] == "ly"),
    ]
    found.append(f"{known.noun:d}{known.rather_noun:d}{known.plural:d}{forms}")
    uses = [1 + sum(int(store.tag_count(base, "n").sum()) for base in nouns)]
    uses.append(1 + sum(int(store.tag_count(base, "v").sum()) for base in verbs))
    found += [f"{round(float(np.clip(np.log2(uses[0] / uses[1]), -4, 4)))}{forms}"] if nouns and verbs else []
    found += [sense + forms for sense in senses_of(word)[:1]]
    found += [store.lexname(sense) for base in verbs[:1] for sense in store.senses(base, "v").tolist()[:1]]
    return *found, *(kind for kind in _VERB_KINDS if verbs and verbs[0] in table(kind))


def features_of(words: list[str]) -> list[list[str]]:
    """Return the names of the features of each word: classes of the word and its neighbours, and pairs of these."""
    classes, found = [("<",), ("<",), *map(_classes, words), (">",), (">",)], list[list[str]]()
    joined = [is_expression(tuple(words[i : i + 2]), "object") for i in range(len(words) - 1)]
    for i in range(len(words)):
        before, left, own, right, after = classes[i : i + 5]
        compounds = f"{joined[i - 1 : i]}{joined[i : i + 1]}"
        far = [any(":" in each[0] and "g" in each[0] for each in side) for side in (classes[: i + 2], classes[i + 3 :])]
        around = [f"{left[0]}|{right[0]}", compounds, f"{far}", f"{min(i, 3)}", f"{min(len(words) - i, 3)}"]
        around += [f"by {'by' in words[i + 1 : i + 5]}", f"{right[0]}|{after[0]}", f"{before[0]}|{left[0]}|"]
        around += [f"{word}{place}" for place, near in enumerate((left[:5], right[:5])) for word in near]
        names = [f"{name}+{other}" for name in own[:5] for other in around]
        names += [f"{word}@{place}" for place, near in enumerate(classes[i : i + 5]) for word in near]
        found.append(names)
    return found


def path_of(scores: Floats, transitions: Floats) -> list[int]:
    """Return the best sequence of tags (Viterbi) for the (n, t) scores of the tags of n words, as tag indices.

    ``transitions`` are (t + 2, t): scores of a tag after each tag, of the first tag, and of the last tag.
    """
    total, back = scores[0] + transitions[-2], list[list[int]]()
    for each in scores[1:]:
        both = total[:, None] + transitions[:-2]
        back.append(both.argmax(0).tolist())
        total = both.max(0) + each
    path = [int((total + transitions[-1]).argmax())]
    for pointers in reversed(back):
        path.append(pointers[path[-1]])
    return path[::-1]


def tagging_of(words: list[str]) -> Tagging:
    """Return the tags of words by the rules, or by the model if it rates its own clearly higher than the rules'."""
    by_rules, (index, weights, transitions) = tags_of(words), _model()
    if not words:
        return Tagging(by_rules, by_rules)
    rows = ([index[name] for name in names if name in index] for names in features_of(words))
    scores = np.array([weights[row].sum(0) for row in rows])
    path, other = path_of(scores, transitions), [TAGS.index(tag) for tag in by_rules]
    gain = sum(
        sign
        * (
            scores[range(len(words)), tags].sum()
            + transitions[[-2, *tags[:-1]], tags].sum()
            + transitions[-1, tags[-1]]
        )
        for sign, tags in ((1, path), (-1, other))
    )
    by_model = "".join(TAGS[tag] for tag in path)
    return Tagging(by_model, by_rules) if gain > _SURE else Tagging(by_rules, by_model)
