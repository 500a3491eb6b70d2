"""Plans: the pairs to rate for a dataset, for a set of predictions, or for whole interactions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import NO_INTERACTION, HoiClasses
from shoe.benchmarks.protocols import SEMANTIC
from shoe.core.arrays import Indices, Ints, distinct, expand
from shoe.core.errors import OptionError, closest_names, quote
from shoe.core.interactions import Interactions
from shoe.lexicon.resolve import ObjectWords, match_labels, resolve
from shoe.lexicon.senses import POS, Part
from shoe.lexicon.store import lexicon, names_of, per_lexicon
from shoe.maps.prompts import Interaction, SenseText, Subject, describe
from shoe.maps.rating_answers import read_text
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.similarity import Basis, SimilarityMap, SimilarityTable
from shoe.similarity.whole_interactions import Row, normalize_word

Synsets = NDArray[np.int32]
STEPS = 4
"""Links from an object class to the senses that it is compared with. Four give 40,040 pairs for HICO-DET's 80 objects;
the paper reports 40K."""
VERB_STEPS = 2
"""Links from a verb class to senses of any lexicographer file: its hypernyms, hyponyms and siblings ("read")."""

_ABSTRACT = "act attribute cognition event feeling motive phenomenon process quantity relation state time"
INVISIBLE = frozenset(f"noun.{file}" for file in _ABSTRACT.split())
"""Lexicographer files of things that an image cannot show. Communication (signs) and possession (money) are visible."""
BODILY = frozenset({"verb.body", "verb.consumption", "verb.contact", "verb.motion"})
"""Lexicographer files of movements of or by the body."""
MIXED = frozenset({"verb.change", "verb.competition", "verb.creation", "verb.perception", "verb.possession"})
"""Lexicographer files that mix visible actions (cook, paint) with others (evolve, formulate)."""


def object_neighbours(classes: Synsets, steps: int = STEPS) -> tuple[Indices, Synsets]:
    """Return the pairs of C object classes (sense IDs) and senses to compare: all class senses, and nearby senses.

    A sense is nearby if at most ``steps`` hypernym or hyponym links are between class and sense, and its lexicographer
    file is not in :data:`INVISIBLE`. Return the (n,) index of the class and the (n,) ID of the sense of n pairs, sorted
    by class. Each class is also paired with itself.
    """
    owner, nearby = senses_near(classes, steps)
    words = lexicon()
    visible = np.array([words.lexname(synset) not in INVISIBLE for synset in nearby.tolist()], bool)
    owner = np.concatenate([owner[visible], np.repeat(np.arange(len(classes)), len(classes))])
    nearby = np.concatenate([nearby[visible], np.tile(classes, len(classes))])
    return _split(distinct(_join(owner, nearby)))


def verb_vocabulary(classes: Synsets) -> Synsets:
    """Return the ascending IDs of the verb senses to compare with the verb classes, given the IDs of class senses.

    These are the senses in the lexicographer files :data:`BODILY`, the senses in :data:`MIXED` that occur in
    sense-tagged texts, and the senses at most two hypernym or hyponym links from a class sense: 7,172 for HICO-DET. The
    paper does not list its about 7,150 senses. In a lexicon other than WordNet, these are all verb senses.
    """
    words = lexicon()
    verbs = range(words.nouns, len(words))
    if not words.is_wordnet:
        return np.array(verbs, np.int32)

    chosen = [v for v in verbs if (file := words.lexname(v)) in BODILY or (file in MIXED and is_tagged(v, "verb"))]
    return distinct(np.concatenate([np.array(chosen, np.int64), senses_near(classes, VERB_STEPS)[1]])).astype(np.int32)


def is_tagged(sense: int, part: Part) -> bool:
    """Return whether a sense occurs, with any of its lemmas, in WordNet's sense-tagged texts (tag count above 0)."""
    words, pos = lexicon(), POS[part]
    return any(words.tag_count(lemma, pos)[words.senses(lemma, pos) == sense].any() for lemma in words.lemmas(sense))


def senses_near(synsets: Synsets, steps: int) -> tuple[Indices, Synsets]:
    """Return the senses that are at most ``steps`` hypernym or hyponym links from each of the given synsets.

    The result is the (n,) index into ``synsets``, ascending, and the (n,) ID of a sense near it, or the synset itself.
    """
    first, neighbour = _links()
    found = frontier = distinct(_join(np.arange(len(synsets)), synsets))
    for _ in range(steps):
        owner, synset = _split(frontier)
        step, index = expand(first[synset], first[synset + 1] - first[synset])
        reached = distinct(_join(owner[step], neighbour[index]))
        frontier = reached[~np.isin(reached, found, assume_unique=True)]
        found = np.sort(np.concatenate([found, frontier]))
    return _split(found)


@per_lexicon(None)
def _links() -> tuple[Indices, Synsets]:
    """Return arrays (first, neighbour): neighbour[first[s]:first[s + 1]] are the hypernyms and hyponyms of sense s."""
    words = lexicon()
    above = [words.hypernyms(synset) for synset in range(len(words))]
    lower = np.repeat(np.arange(len(words), dtype=np.int32), [len(hypernyms) for hypernyms in above])
    upper = np.concatenate(above).astype(np.int32)
    start, end = np.concatenate([lower, upper]), np.concatenate([upper, lower])
    order = np.argsort(start, kind="stable")
    return np.searchsorted(start[order], np.arange(len(words) + 1)), end[order]


def _join(owner: Indices, synset: Synsets) -> Indices:
    return owner.astype(np.int64) * len(lexicon()) + synset


def _split(joined: Indices) -> tuple[Indices, Synsets]:
    owner, synset = np.divmod(joined, len(lexicon()))
    return owner, synset.astype(np.int32)


VERB_RULE = (
    "verb vocabulary, version 1: all of verb.body, verb.consumption, verb.contact, verb.motion; the senses with a tag "
    "count of verb.change, verb.competition, verb.creation, verb.perception, verb.possession; every sense at most 2 "
    "steps of hypernymy from a class's"
)
NEEDED_RULE = "needed by predictions, version 1: every class's sense with every candidate sense of every predicted word"
_SHOE = SEMANTIC["shoe"]
_CELLS = 1 << 20


@dataclass(frozen=True, eq=False)
class Plan:
    """The m pairs of one part of speech that a map is to contain, and the n questions that raters answer about them.

    A question is an unordered pair of two different synsets. If both are class senses, one answer rates two pairs.

    Attributes:
        part: "verb", "object" or "interaction" (:func:`plan_whole`).
        class_synset, synset: (m,) ID of the class sense of each pair, and of the other sense; sorted by their names.
        question: (m,) index of the question whose answer rates the pair.
        first, second: (n,) IDs of the two senses of each question, in the order of their names.
        described: texts of whole interactions, of which the IDs above are then indices; None in a plan of senses.
    """

    part: Subject
    class_synset: Synsets
    synset: Synsets
    question: Indices
    first: Synsets
    second: Synsets
    described: Sequence[Interaction] | None = None

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def texts(self) -> Mapping[int, tuple[SenseText, bytes]]:
        """{ID of a sense or interaction: (its text, the text as bytes, from which keys of stored answers are made)}."""
        if self.described is not None:
            return {index: (text, text.encoded()) for index, text in enumerate(self.described)}
        synsets = np.unique(np.concatenate([self.first, self.second])).tolist()
        senses = describe([lexicon().name(synset) for synset in synsets])
        return {synset: (sense, sense.encoded()) for synset, sense in zip(synsets, senses, strict=True)}


Plans = Mapping[Part, Plan] | Mapping[Subject, Plan]
"""Plan of each part: "verb", "object" or "interaction"."""
Rules = Mapping[Any, str]
"""Description of the rule by which pairs were selected, per part."""


def object_rule(steps: int = STEPS) -> str:
    """Return the sentence in a map's provenance that describes how :func:`plan_dataset` selects object pairs."""
    nearby = f"visible senses at most {steps} steps of hypernymy from a class's"
    return f"object neighbourhood, version 1: {nearby}; the other classes"


def plan_dataset(classes: HoiClasses, *, steps: int = STEPS) -> dict[Part, Plan]:
    """Plan all pairs of a dataset's map: verb classes with :func:`verb_vocabulary`, objects with their neighbours."""
    verbs, objects = class_senses(classes, "verb"), class_senses(classes, "object")
    owner, nearby = object_neighbours(objects, steps)
    of_verbs = _all_with_all("verb", verbs, verb_vocabulary(verbs))
    return {"verb": of_verbs, "object": _plan("object", objects[owner], nearby)}


def plan_needed(
    classes: HoiClasses, predictions: Sequence[Interactions], *, object_words: ObjectWords = "phrase-first"
) -> dict[Part, Plan]:
    """Plan all pairs of a class sense and a possible sense of a word in ``predictions``, per part of speech.

    ``object_words`` is the protocol option that selects the senses of object words; raise OptionError if it is unknown.
    """
    senses = needed_senses(predictions, object_words)
    return {part: _all_with_all(part, class_senses(classes, part), senses[part]) for part in POS}


def needed_senses(
    predictions: Sequence[Interactions], object_words: ObjectWords = "phrase-first"
) -> dict[Part, Synsets]:
    """Return the ascending IDs of all possible senses of the words in predicted triplets, by part of speech."""
    found = {}
    for part in POS:
        used = [(getattr(table, f"{part}s"), np.unique(getattr(table, part)).tolist()) for table in predictions]
        words = {vocabulary[index] for vocabulary, indices in used for index in indices}
        senses = {candidate.synset for word in words for candidate in resolve(word, part, object_words).candidates}
        found[part] = np.array(sorted(senses), np.int32)
    return found


def plan_pairs(part: Part, pairs: Sequence[tuple[str, str]]) -> Plan:
    """Return the plan of distinct (class synset, synset) names, without equal ones; OptionError for unknown names."""
    ids = {name: _synset(part, name) for pair in pairs for name in pair}
    synsets = np.array([[ids[name] for name in pair] for pair in pairs], np.int32).reshape(-1, 2)
    return _plan(part, synsets[:, 0], synsets[:, 1])


def class_senses(classes: HoiClasses, part: Part) -> Synsets:
    """Return the distinct IDs of the verb or noun senses of a dataset's classes, ascending, without no_interaction."""
    senses = classes.verb_sense if part == "verb" else classes.object_sense
    return np.unique(senses[senses >= 0]).astype(np.int32)


def _synset(part: Part, name: str) -> int:
    words, pos = lexicon(), POS[part]
    synset = words.synset(name)
    if synset >= 0 and words.pos(synset) == pos:
        return synset
    similar = closest_names(name, (words.name(s) for s in words.senses(name.split(".")[0], pos).tolist()), likeness=0)
    hint = f" (did you mean {similar[0]}?)" if similar else ""
    kind = "a verb" if part == "verb" else "a noun"
    raise OptionError(f"{quote(name)} is not {kind} sense of {words.title}, such as {words.example()}{hint}")


def _all_with_all(part: Part, classes: Synsets, synsets: Synsets) -> Plan:
    return _plan(part, np.repeat(classes, len(synsets)), np.tile(synsets, len(classes)))


def _plan(part: Part, class_synset: Synsets, synset: Synsets) -> Plan:
    different = class_synset != synset
    class_synset, synset = class_synset[different], synset[different]
    occurring = np.flatnonzero(np.bincount(np.concatenate([class_synset, synset])))
    by_name = np.array(sorted(occurring.tolist(), key=lexicon().name), np.int32)
    order = np.zeros(len(lexicon()), np.int64)
    order[by_name] = np.arange(len(by_name))
    rows = distinct(order[class_synset] * len(by_name) + order[synset])
    class_rank, rank = np.divmod(rows, max(len(by_name), 1))
    unordered = np.minimum(class_rank, rank) * len(by_name) + np.maximum(class_rank, rank)
    questions = distinct(unordered)
    first, second = np.divmod(questions, max(len(by_name), 1))
    question = np.searchsorted(questions, unordered)
    return Plan(part, by_name[class_rank], by_name[rank], question, by_name[first], by_name[second])


class WholePlan(NamedTuple):
    """Plan of pairs of an interaction class and a predicted interaction, to be compared as a whole.

    Attributes:
        plan: the m pairs, with the texts that raters get.
        rows: (class verb, class object, predicted verb, predicted object) of each of the m pairs, as written to a map.
        rule: description of the rule by which the pairs were selected.
        refused: predicted words that are not sent to raters, see :func:`is_refused`.
    """

    plan: Plan
    rows: list[Row]
    rule: str
    refused: Sequence[str] = ()


_PLAIN_WORDS = re.compile(r"[\w ,.&'’()/+-]{1,60}")
_ABOUT_RATING = re.compile(r"\b(?:[0-4]$|(?:rat(?:e|ing)s?|instructions?|prompts?|interchangeable)\b)", re.IGNORECASE)


def is_refused(words: str) -> bool:
    """Return whether words could manipulate a rater: over 60 characters, unusual characters, or text about ratings."""
    return not _PLAIN_WORDS.fullmatch(words) or bool(_ABOUT_RATING.search(words)) or read_text(words, [""])[0] >= 0


def plan_whole(classes: HoiClasses, predictions: Sequence[Interactions], similarity: SimilarityMap) -> WholePlan:
    """Plan the comparison of whole predicted interactions with the interaction classes that they may match.

    A prediction is compared with each class that it may match under protocol ``shoe`` with the map ``similarity``, but
    not with a no_interaction class or the class whose labels are the predicted words, and with no class if one of its
    words is refused (:func:`is_refused`). Each word gets the sense that is most similar to the class, by the same map.
    """
    verbs = sorted({normalize_word(word) for table in predictions for word in table.verbs} - {""})
    objects = sorted({normalize_word(word) for table in predictions for word in table.objects} - {""})
    unsafe_verb, unsafe_object = (np.array([is_refused(word) for word in words], bool) for words in (verbs, objects))
    verb, object_ = _pairs(predictions, verbs, objects)
    is_safe = ~(unsafe_verb[verb] | unsafe_object[object_])
    verb, object_ = verb[is_safe], object_[is_safe]
    known = HoiSimilarity.of_words(classes, verbs, objects, similarity, _SHOE)
    has_senses = (known.verb_senses[known.verb_row] >= 0) & (known.object_senses[known.object_row] >= 0)
    exact = np.pad(classes.of, ((0, 1), (0, 1)), constant_values=-1)[
        match_labels(verbs, classes.verbs, "verb")[verb], match_labels(objects, classes.objects, "object")[object_]
    ]
    is_interaction = match_labels(verbs, [NO_INTERACTION], "verb")[verb] < 0
    hoi, pair = np.zeros((2, 0), np.int64)
    step = max(1, _CELLS // len(classes))
    for start in range(0, len(verb), step):
        chunk = slice(start, start + step)
        sigma = known.sigma(np.arange(len(classes)), verb[chunk, None], object_[chunk, None])
        row, category = np.nonzero((sigma >= _SHOE.delta) & has_senses & is_interaction[chunk, None])
        differs = exact[chunk][row] != category
        hoi, pair = np.concatenate([hoi, category[differs]]), np.concatenate([pair, start + row[differs]])
    order = np.lexsort((pair, hoi))
    hoi, verb, object_ = hoi[order], verb[pair[order]], object_[pair[order]]
    verb_sense = _best_senses("verb", known.verbs, known.verb_senses, verbs)[known.verb_row[hoi], verb]
    object_sense = _best_senses("object", known.objects, known.object_senses, objects)[known.object_row[hoi], object_]
    compared, class_index = np.unique(hoi, return_inverse=True)
    predicted, index = np.unique([verb, verb_sense, object_, object_sense], axis=1, return_inverse=True)
    verb_words = [*(classes.verbs[v] for v in classes.verb[compared]), *(verbs[v] for v in predicted[0])]
    object_words = [*(classes.objects[o] for o in classes.object[compared]), *(objects[o] for o in predicted[2])]
    verb_texts = _texts(verb_words, np.append(known.verb_senses[known.verb_row[compared]], predicted[1]))
    object_texts = _texts(object_words, np.append(known.object_senses[known.object_row[compared]], predicted[3]))
    described = list(map(Interaction.from_senses, verb_texts, object_texts))
    first, second = class_index.astype(np.int32), (len(compared) + index.reshape(-1)).astype(np.int32)
    labels = [(classes.verbs[v], classes.objects[o]) for v, o in zip(classes.verb, classes.object, strict=True)]
    return WholePlan(
        plan=Plan("interaction", first, second, np.arange(len(hoi)), first, second, described),
        rows=[(*labels[k], verbs[v], objects[o]) for k, v, o in zip(hoi.tolist(), verb, object_, strict=True)],
        rule=(
            "whole interactions, version 1: every verb and object of a prediction with every class that is similar "
            f"by {_SHOE.delta:g} or more under {_SHOE.protocol} and map {similarity.name} ({similarity.digest}), "
            "but for the class of these labels and no_interaction; words in the sense most similar to the class's"
        ),
        refused=sorted({*compress(verbs, unsafe_verb), *compress(objects, unsafe_object)}),
    )


def _pairs(predictions: Sequence[Interactions], verbs: list[str], objects: list[str]) -> tuple[Indices, Indices]:
    """Return the distinct predicted (verb, object) pairs, as (p,) indices into ``verbs`` and (p,) into ``objects``."""
    verb_index, object_index = ({word: index for index, word in enumerate(words)} for words in (verbs, objects))
    keys = [np.zeros(0, np.int64)]
    for table in predictions:
        verb = np.array([verb_index.get(normalize_word(word), -1) for word in table.verbs], np.int64)[table.verb]
        found = np.array([object_index.get(normalize_word(word), -1) for word in table.objects], np.int64)
        object_ = found[table.object]
        keys.append((verb * max(len(objects), 1) + object_)[(verb >= 0) & (object_ >= 0)])
    return np.divmod(distinct(np.concatenate(keys)), max(len(objects), 1))


def _best_senses(part: Part, table: SimilarityTable, class_senses: Ints, words: list[str]) -> Ints:
    """Return the (C, W) ID of the sense in which each of W words is compared with each of C class words; -1 for none.

    It is the class sense if the words are equal, else the most similar sense in ``table``, else the word's first sense.
    """
    candidates = [resolve(word, part, _SHOE.object_words).candidates for word in words]
    first = np.array([of_word[0].synset if of_word else -1 for of_word in candidates], np.int32)
    senses = np.where(table.sense >= 0, table.sense, first)
    return np.where(table.basis == Basis.SAME_WORD, class_senses[:, None], senses)


def _texts(words: Sequence[str], senses: Ints) -> list[SenseText]:
    """Return the text of each word in its sense (ID, -1 for none), with the word itself as the first lemma."""
    names = names_of(senses)
    by_name = {sense.name: sense for sense in describe(sorted(set(names) - {""}))}
    by_name[""] = SenseText("", (), "(not in the dictionary: what the words say)")
    texts = []
    for word, name in zip(map(normalize_word, words), names, strict=True):
        others = (lemma for lemma in by_name[name].lemmas if normalize_word(lemma) != word)
        texts.append(SenseText(name, (word, *others), by_name[name].gloss))
    return texts
