"""Second opinion on the tags of a phrase: a linear model over lexical classes of neighbouring words.

``scripts/train-tagger`` trains the model on tagged phrases (averaged structured perceptron) and writes its weights.
"""

from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from shoe.core.arrays import Floats
from shoe.lexicon.phrases.noun_phrases import senses_of
from shoe.lexicon.phrases.tags import tags_of
from shoe.lexicon.phrases.words import FULL_STOP, Tag, closed_classes, is_expression, table, verb_bases, word_of
from shoe.lexicon.senses import bases
from shoe.lexicon.store import lexicon

TAGS = "".join(Tag) + FULL_STOP
WEIGHTS = Path(__file__).parents[1] / "data" / "phrase_tags.npz"
_VERB_KINDS = ("posture", "transitive", "filler", "attributive", "copula", "light_verb", "implied", "causative", "seen")
_SURE = 100  # on phrases that neither the rules nor the model were made for, the model is right beyond this difference


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
    found = [f"{known.noun:d}{known.person:d}{known.adjective:d}{forms}", forms]
    found.append(word[-2:] + forms * (word[-2:] == "ly"))
    found.append(f"{known.noun:d}{known.rather_noun:d}{known.plural:d}{forms}")
    uses = [1 + sum(int(store.tag_count(base, "n").sum()) for base in nouns)]
    uses.append(1 + sum(int(store.tag_count(base, "v").sum()) for base in verbs))
    found += [f"{round(float(np.clip(np.log2(uses[0] / uses[1]), -4, 4)))}{forms}"] if nouns and verbs else []
    found += [sense + forms for sense in senses_of(word)[:1]]
    found += [store.lexname(sense) for base in verbs[:1] for sense in store.senses(base, "v").tolist()[:1]]
    return *found, *(kind for kind in _VERB_KINDS if verbs and verbs[0] in table(kind))


@lru_cache(maxsize=20_000)
def _placed(classes: tuple[str, ...], place: str) -> tuple[str, ...]:
    return tuple(f"{each}{place}" for each in classes)


def contexts_of(words: list[str]) -> list[list[tuple[tuple[str, ...], tuple[str, ...]]]]:
    """Return the features of each word as pairs (classes of the word, contexts that are combined with each class)."""
    classes: list[tuple[str, ...]] = [("<",), ("<",), *map(_classes, words), (">",), (">",)]
    found, flags = [], tuple[str, ...]()
    joined = [is_expression(tuple(words[i : i + 2]), "object") for i in range(len(words) - 1)]
    doing = [":" in each[0] and "g" in each[0] for each in classes]
    for i in range(len(words)):
        before, left, own, right, after = classes[i : i + 5]
        flags = (f"{joined[i - 1 : i]}{joined[i : i + 1]}", f"{any(doing[: i + 2])}{any(doing[i + 3 :])}")
        flags = (*flags, f"{min(i, 3)}", f"{min(len(words) - i, 3)}.", f"by {'by' in words[i + 1 : i + 5]}")
        tops = (f"{left[0]}|{right[0]}", f"{right[0]}|{after[0]}.", f"{before[0]}|{left[0]}|")
        pairs = [(own[:5], each) for each in (flags, tops, _placed(left[:5], "0"), _placed(right[:5], "1"))]
        found.append(pairs + [(("",), _placed(near, f"@{k}")) for k, near in enumerate(classes[i : i + 5])])
    return found


def names_of(own: tuple[str, ...], contexts: tuple[str, ...]) -> list[str]:
    """Return the feature name "CLASS+CONTEXT" for each combination of a class of a word and a context."""
    return [f"{name}+{context}" for name in own for context in contexts]


@lru_cache(maxsize=50_000)
def _scores(own: tuple[str, ...], contexts: tuple[str, ...]) -> Floats:
    index, weights, _ = _model()
    found: Floats = weights[[index[name] for name in names_of(own, contexts) if name in index]].sum(0)
    return found


def path_of(scores: Floats, transitions: Floats) -> list[int]:
    """Return the best sequence of tags (Viterbi) for the (n, t) scores of the tags of n words, as tag indices.

    ``transitions`` is (t + 2, t): row i has the scores of each tag after tag i; the last two rows have the scores of
    each tag as first and as last tag.
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


def tagging_of(words: list[str]) -> tuple[str, str]:
    """Return the taggings of words by rules and by a model; the model's comes first if its score is clearly higher."""
    by_rules, (_, _, transitions) = tags_of(words), _model()
    is_label = by_rules.strip("DPN") == "VI" and words[by_rules.find("V")] in table("posture")  # "stand on boat"
    if not words or "_" in "".join(words) or is_label:  # labels such as "sit_on" are one word
        return by_rules, by_rules
    scores = np.array([sum(_scores(*pair) for pair in pairs) for pairs in contexts_of(words)])
    path, other = path_of(scores, transitions), [TAGS.index(tag) for tag in by_rules]
    steps = ([[-2, *tags[:-1], -1], [*tags, tags[-1]]] for tags in (path, other))
    better, worse = (scores[range(len(words)), b[:-1]].sum() + transitions[a, b].sum() for a, b in steps)
    by_model = "".join(TAGS[tag] for tag in path)
    return (by_model, by_rules) if better - worse > _SURE else (by_rules, by_model)
