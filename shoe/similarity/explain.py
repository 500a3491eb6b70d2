"""Explanation of the similarity of a class and a word, with every sense of the word, rated or not."""

from typing import NamedTuple, get_args

import numpy as np

from shoe.benchmarks.classes import HoiClasses
from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.core.documents import Document, Fraction, Rating
from shoe.core.errors import OptionError, quote, unknown_name
from shoe.lexicon.phrases.parse import best_reading
from shoe.lexicon.resolve import match_labels
from shoe.lexicon.senses import KIND, RARE, Part, Sense, is_rare, preposition_weights, takes_tool
from shoe.lexicon.store import ids_of, lexicon
from shoe.similarity.map_files import SimilarityMap
from shoe.similarity.table import USING, Basis, Similarity, counted_senses, similarity_table

_A: dict[Part, str] = {"verb": "a verb", "object": "an object"}


class _ClassSense(NamedTuple):
    part: Part
    synset: str  # "" for no_interaction
    word: str


class CandidateSense(Document, frozen=True):
    """A possible sense of a word, and its similarity to the class.

    Attributes:
        synset: name of the sense.
        lemma: lemma of the word by which the sense was found.
        reason: rule that relates the word to the sense, as text.
        value: similarity 0..1; None for an unrated pair.
        predicted: predicted similarity 0..1 of an unrated pair; None without a prediction.
        ratings: rating 0..4 of each rater; None for an unrated pair.
    """

    synset: str
    lemma: str
    reason: str
    value: Fraction | None = None
    predicted: Fraction | None = None
    ratings: dict[str, Rating] | None = None


class Explanation(Document, frozen=True, kw_only=True):
    """Similarity of a class and a word, with all senses of the word.

    Attributes:
        part: "verb" or "object".
        class_word: word of the class.
        class_synset: name of the class's sense; "" for no_interaction.
        word: predicted word.
        value: similarity 0..1 of the class and the word.
        basis: origin of the value in words: a name in :class:`~shoe.similarity.Basis` such as "same word".
        sense: name of the word's sense that gave the value, or None.
        candidates: senses of the word in order of preference.
    """

    part: Part
    class_word: str
    class_synset: str
    word: str
    value: Fraction
    basis: str
    sense: str | None = None
    candidates: list[CandidateSense]


def explanations(
    similarity: Similarity, classes: HoiClasses, a: str, b: str, part: str | None = None
) -> tuple[list[Explanation], bool]:
    """Return explanations of the similarity of a class and a prediction, and whether both texts are interactions.

    For interactions, there is one explanation of the verbs and one of the objects; otherwise, one per class sense that
    ``a`` may mean. Raise OptionError if the dataset has no such class, or ``a`` is both a verb and an object and
    ``part`` is None.

    Args:
        a: the class, as the name of a sense (ride.v.01), a word of a class (ride), or an interaction (ride horse).
        b: the prediction, as a word (straddling) or an interaction (straddle pony).
        part: "verb" or "object": part of speech if ``a`` and ``b`` are not interactions; None if either is possible.
    """
    of, predicted = (best_reading(text) if part is None and " " in text.strip() else None for text in (a, b))
    if of is None or predicted is None:
        return [_explain(similarity, classes, sense, b) for sense in _class_senses(classes, a, part)], False
    senses = _interaction_senses(classes, of.verb, of.object)
    return [_explain(similarity, classes, sense, word) for sense, word in zip(senses, predicted, strict=True)], True


def _explain(similarity: Similarity, classes: HoiClasses, of: _ClassSense, word: str) -> Explanation:
    class_sense, options = ids_of([of.synset]), SemanticOptions()
    labels = classes.verbs if of.part == "verb" else classes.objects
    table = similarity_table(similarity, of.part, class_sense, [of.word], [word], options, labels)
    (found,) = counted_senses(of.part, [word], options, labels)
    senses = np.array([c.synset for c in found], np.int32)
    values = similarity.values(of.part, class_sense, senses)[0]
    expected = similarity.predicted(of.part, class_sense, senses)
    expected = np.full_like(values, np.nan) if expected is None else np.where(np.isnan(values), expected[0], np.nan)
    candidates = []
    for of_word, *figures in zip(found, values.tolist(), expected.tolist(), strict=True):
        reason = reason_of(of_word, of.part, (of.word, of.synset), word, options)
        if of_word.name == USING and of.part == "verb" and takes_tool([of.word])[0]:
            reason += f", as the class uses its object as a tool: counts {KIND:g}"
        given = similarity.ratings(of.part, of.synset, of_word.name) if isinstance(similarity, SimilarityMap) else None
        ratings = {rater: rating for rater, rating in (given or {}).items() if rating is not None}
        value, predicted = (None if np.isnan(figure) else figure for figure in figures)
        candidates.append(CandidateSense(of_word.name, of_word.lemma, reason, value, predicted, ratings or None))
    sense = int(table.sense[0, 0])
    return Explanation(
        part=of.part,
        class_word=of.word,
        class_synset=of.synset,
        word=word,
        value=float(table.values[0, 0]),
        basis=Basis(table.basis[0, 0]).name.lower().replace("_", " "),
        sense=None if sense < 0 else lexicon().name(sense),
        candidates=candidates,
    )


def reason_of(candidate: Sense, part: Part, class_sense: tuple[str, str], word: str, options: SemanticOptions) -> str:
    """Return the rule that relates a word to a sense, as text, with each weight below 1 by which the sense counts.

    Args:
        candidate: possible sense of the predicted word ``word``, with the rule.
        class_sense: word of the class, and name of its sense.
        options: semantic options; ``partial`` and ``sense`` determine which weights apply.
    """
    reason, (class_word, synset) = candidate.reason, class_sense
    if part == "verb" and candidate.name == synset and options.partial == "weighed":
        place = float(preposition_weights([class_word], [word])[0, 0])
        reason += f", other relation: counts {place:g}" if place < 1 else ""
    if options.sense == "likely" and is_rare(candidate.lemma, candidate.synset):
        reason += f", rarely meant: counts {RARE:g}"
    return reason


def _class_senses(classes: HoiClasses, text: str, part: str | None) -> list[_ClassSense]:
    # A synset by its name, or all senses of a class's word.
    if part is not None and part not in _A:
        raise unknown_name("part of speech", part, get_args(Part))
    if (synset := lexicon().synset(text)) >= 0:
        of_synset: Part = "verb" if lexicon().pos(synset) == "v" else "object"
        if part not in (None, of_synset):
            other: Part = "object" if of_synset == "verb" else "verb"
            raise OptionError(f"{quote(text)} is the sense of {_A[of_synset]}, expected the sense of {_A[other]}")
        name = lexicon().name(synset)
        known = (of for of in _senses(classes, of_synset) if of.synset == name)
        return [next(known, _ClassSense(of_synset, name, name))]
    labels: dict[Part, tuple[str, ...]] = {"verb": classes.verbs, "object": classes.objects}
    asked = {p: words for p, words in labels.items() if part in (None, p)}
    fitting = [(p, words[index]) for p, words in asked.items() if (index := match_labels([text], words, p)[0]) >= 0]
    if not fitting:
        known_words = {word for words in asked.values() for word in words}
        raise unknown_name(f"{part or 'verb or object'} of {classes.name}", text, known_words)
    if len(fitting) > 1:
        raise OptionError(
            f"{quote(text)} is both a verb and an object of {classes.name}: add `--pos verb` or `--pos object`"
        )
    ((only, word),) = fitting
    return [of for of in _senses(classes, only) if of.word == word]


def _senses(classes: HoiClasses, part: Part) -> list[_ClassSense]:
    verb = part == "verb"
    synsets, labels = (classes.verb_synsets, classes.verbs) if verb else (classes.object_synsets, classes.objects)
    index = (classes.verb if verb else classes.object).tolist()
    return list(dict.fromkeys(_ClassSense(part, synset, labels[i]) for synset, i in zip(synsets, index, strict=True)))


def _interaction_senses(classes: HoiClasses, verb: str, object_: str) -> tuple[_ClassSense, _ClassSense]:
    v = int(match_labels([verb], classes.verbs, "verb")[0])
    o = int(match_labels([object_], classes.objects, "object")[0])
    hoi = int(classes.of[v, o]) if v >= 0 and o >= 0 else -1
    if hoi < 0:
        near = [label for label, of in zip(classes.labels, classes.object, strict=True) if of == o]
        hint = f"; its classes with this object: {', '.join(near)}" if o >= 0 else ""
        raise OptionError(f"{classes.name} has no class {quote(f'{verb} {object_}')}{hint}")
    of_object = _ClassSense("object", classes.object_synsets[hoi], classes.objects[o])
    return _ClassSense("verb", classes.verb_synsets[hoi], classes.verbs[v]), of_object
