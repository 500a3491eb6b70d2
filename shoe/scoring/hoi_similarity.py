"""Similarity of predicted (verb, object) words to HOI classes: tables of verbs and objects, and a combination rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from shoe.benchmarks.classes import HoiClasses
from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.core.arrays import AnyInts, Floats, Indices, Ints, Mask, blocks, expand, number_distinct, positions
from shoe.core.errors import OptionError, quote
from shoe.lexicon.resolve import match_labels, resolve
from shoe.lexicon.senses import Part
from shoe.lexicon.store import lexicon
from shoe.scoring.matching.task import Task
from shoe.similarity import Basis, Similarity, SimilarityTable, combine, similarity_table
from shoe.similarity.whole_interactions import WholeRatings, normalize_word


@dataclass(frozen=True, eq=False)
class WholeSimilarity:
    """Rated similarities of m pairs of a class and a predicted interaction (verb and object), each rated as a whole."""

    keys: Indices  # (m,) integer key of each pair (its class, verb and object), ascending
    values: Floats  # (m,) similarity 0..1 of each pair
    # verb, object: (words,) index of each predicted word among the rated words, -1 if not rated
    verb: Indices
    object: Indices
    shape: tuple[int, int]  # number of rated objects and number of classes, from which keys are computed

    @classmethod
    def from_ratings(
        cls, rated: WholeRatings, values: Floats, classes: HoiClasses, verbs: Sequence[str], objects: Sequence[str]
    ) -> WholeSimilarity:
        """Return the rated similarities of a dataset's classes; pairs of a class and its own labels are left out.

        ``rated`` are pairs of a class and a predicted interaction that raters compared, and ``values`` the combined
        rating 0..1 of each pair, NaN without a rating; ``verbs`` and ``objects`` are the predicted words.
        """
        (class_verbs, class_verb), (class_objects, class_object), (of_verb, verb), (of_object, object_) = rated.columns
        class_of = np.pad(classes.of, ((0, 1), (0, 1)), constant_values=-1)
        hoi = class_of[
            positions(class_verbs, classes.verbs)[class_verb],
            positions(class_objects, classes.objects)[class_object],
        ]
        exact = class_of[
            match_labels(list(of_verb), classes.verbs, "verb")[verb],
            match_labels(list(of_object), classes.objects, "object")[object_],
        ]
        shape = max(len(of_object), 1), len(classes)
        rows = np.flatnonzero(~np.isnan(values) & (hoi >= 0) & (hoi != exact))
        keys = _keys(verb[rows], object_[rows], hoi[rows], shape)
        order = np.argsort(keys)
        return cls(
            keys=keys[order],
            values=values[rows[order]],
            verb=positions(map(normalize_word, verbs), of_verb),
            object=positions(map(normalize_word, objects), of_object),
            shape=shape,
        )

    def look_up(self, hoi: AnyInts, verb: AnyInts, object_: AnyInts) -> tuple[Mask, Floats]:
        """Return whether each (class, verb, object) is rated, and its similarity if rated (else any value)."""
        of_verb, of_object = self.verb[verb], self.object[object_]
        wanted = np.where((of_verb >= 0) & (of_object >= 0), _keys(of_verb, of_object, hoi, self.shape), -1)
        if not len(self.keys):
            return np.zeros(wanted.shape, bool), np.zeros(wanted.shape)
        row = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return self.keys[row] == wanted, self.values[row]


def _keys(verb: AnyInts, object_: AnyInts, hoi: AnyInts, shape: tuple[int, int]) -> Indices:
    objects, classes = shape
    return np.asarray((verb.astype(np.int64) * objects + object_) * classes + hoi)


_CELLS = 1 << 20  # number of similarities computed at once (8 MB)


@dataclass(frozen=True, eq=False)
class HoiSimilarity:
    """HOI similarity sigma of K classes to any pair of predicted words (docs/protocols.md 10.1)."""

    # verbs, objects: similarity tables with a row per verb (object) of the classes and a column per predicted word
    verbs: SimilarityTable
    objects: SimilarityTable
    # verb_row, object_row: (K,) row of each class in ``verbs`` and ``objects``
    verb_row: Indices
    object_row: Indices
    # rated_verbs, rated_objects: (words,) whether each predicted word could be compared with at least one class
    rated_verbs: Mask
    rated_objects: Mask
    how: str  # rule that combines verb similarity and object similarity
    weight: float  # weight of the verb in this rule, 0..1
    # similarity map or measure behind the similarities; None if only tables were given
    source: Similarity | None = None
    # verb_senses, object_senses: sense ID of each row of ``verbs`` and ``objects``, -1 for none; empty without
    # ``source``
    verb_senses: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    object_senses: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    # ratings of verb and object together, which take precedence over the tables; None if not used
    whole: WholeSimilarity | None = None
    # By the bytes of an array of allowed classes: pairs of words as ascending numbers, their nearest class, similarity.
    _nearest_of_pairs: dict[bytes, tuple[Indices, Indices, Floats]] = field(default_factory=dict, init=False)

    @classmethod
    def from_task(cls, task: Task, similarity: Similarity, options: SemanticOptions) -> HoiSimilarity:
        """Return the similarities of the classes to all words in a task's predictions."""
        words = task.predictions
        return cls.of_words(task.truth.classes, words.verbs, words.objects, similarity, options)

    @classmethod
    def of_words(
        cls,
        classes: HoiClasses,
        predicted_verbs: Sequence[str],
        predicted_objects: Sequence[str],
        similarity: Similarity,
        options: SemanticOptions,
    ) -> HoiSimilarity:
        """Return the similarities of the classes to all combinations of a predicted verb with a predicted object.

        The two lists are separate vocabularies, to which the indices in :meth:`sigma` refer. Raises OptionError if an
        option needs senses or ratings that the dataset or the similarity map does not have.
        """

        def table(part: Part, words: Sequence[str]) -> tuple[SimilarityTable, Indices, Mask, Ints]:
            verb = part == "verb"
            ids, labels = (classes.verb_sense, classes.verbs) if verb else (classes.object_sense, classes.objects)
            of_class = [labels[i] for i in (classes.verb if verb else classes.object)]
            number: dict[tuple[int, str], int] = {}  # row of each distinct (sense, word)
            row = [number.setdefault(pair, len(number)) for pair in zip(ids.tolist(), of_class, strict=True)]
            senses = np.array([_class_sense(classes, part, *pair, options.senses) for pair in number], np.int32)
            made = similarity_table(similarity, part, senses, [word for _, word in number], words, options)
            rated: Mask = np.logical_or.reduce(made.basis[senses >= 0] > Basis.UNRATED, axis=0)
            return made, np.array(row, np.int64), rated, senses

        whole = None
        if options.compare == "interactions":
            if similarity.whole is None:
                raise OptionError(
                    f"option compare=interactions: map {quote(similarity.name)} has no ratings of whole interactions; "
                    "use compare=components, or a map built with `shoe map build --whole-interactions`"
                )
            whole = WholeSimilarity.from_ratings(*similarity.whole, classes, predicted_verbs, predicted_objects)
        verbs, verb_row, rated_verbs, verb_senses = table("verb", predicted_verbs)
        objects, object_row, rated_objects, object_senses = table("object", predicted_objects)
        columns = verbs, objects, verb_row, object_row, rated_verbs, rated_objects
        return cls(*columns, options.combine, options.weight, similarity, verb_senses, object_senses, whole)

    @cached_property
    def meanings(self) -> tuple[Indices, Indices]:
        """Group ID from 0 of each predicted verb (V,) and object (O,); words of a group have the same similarities."""
        verbs, objects = self.verbs.values.T, self.objects.values.T
        if self.whole is not None:  # words in rated whole interactions are in groups of their own
            verbs = np.column_stack([verbs, self.whole.verb])
            objects = np.column_stack([objects, self.whole.object])
        return _equal_rows(verbs), _equal_rows(objects)

    def sigma(self, hoi: AnyInts, verb: AnyInts, object_: AnyInts) -> Floats:
        """Return the similarity 0..1 of classes ``hoi`` to predicted words; the index arrays are broadcast."""
        sigma = combine(
            _looked_up(self.verbs.values, self.verb_row[hoi], verb),
            _looked_up(self.objects.values, self.object_row[hoi], object_),
            self.how,
            self.weight,
        )
        return sigma if self.whole is None else np.where(*self.whole.look_up(hoi, verb, object_), sigma)

    def nearest_class(
        self, verb: AnyInts, object_: AnyInts, allowed: Indices, known: tuple[Indices, Floats] | None = None
    ) -> tuple[Indices, Floats]:
        """Return the (n,) allowed class most similar to each prediction (the first if equal), and the (n,) similarity.

        ``verb`` and ``object_`` are (n,) indices of the predicted words; ``allowed`` classes ascend. ``known`` has an
        allowed class per prediction, and the similarity that replaces the computed similarity of this class; both must
        be the same for predictions of the same words.
        """
        words = self.objects.values.shape[1]
        pairs, which = number_distinct(verb.astype(np.int64) * words + object_, self.verbs.values.shape[1] * words)
        if known is None:
            nothing = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
            known_pairs, hoi, sigma = self._nearest_of_pairs.get(allowed.tobytes(), nothing)
            new = np.setdiff1d(pairs, known_pairs, assume_unique=True)
            if len(new):
                columns = zip((known_pairs, hoi, sigma), (new, *self._nearest(new, allowed)), strict=True)
                known_pairs, hoi, sigma = (np.concatenate(both) for both in columns)
                order = np.argsort(known_pairs)
                known_pairs, hoi, sigma = known_pairs[order], hoi[order], sigma[order]
                self._nearest_of_pairs[allowed.tobytes()] = known_pairs, hoi, sigma
            place = np.searchsorted(known_pairs, pairs)[which]
            return hoi[place], sigma[place]
        hoi, sigma = np.zeros(len(pairs), np.int64), np.zeros(len(pairs))
        hoi[which], sigma[which] = known
        hoi, sigma = self._nearest(pairs, allowed, (hoi, sigma))
        return hoi[which], sigma[which]

    def _nearest(
        self, pairs: Indices, allowed: Indices, known: tuple[Indices, Floats] | None = None
    ) -> tuple[Indices, Floats]:
        # As nearest_class, for pairs of words as one number each.
        words = self.objects.values.shape[1]
        hoi, sigma = known or (np.zeros(len(pairs), np.int64), np.zeros(len(pairs)))
        step = max(1, _CELLS // len(allowed))
        for start in range(0, len(pairs), step):
            part = slice(start, start + step)
            verbs, objects = np.divmod(pairs[part], words)
            all_sigma = self.sigma(allowed[None, :], verbs[:, None], objects[:, None])
            row = np.arange(len(verbs))
            if known is not None:
                all_sigma[row, np.searchsorted(allowed, hoi[part])] = sigma[part]
            nearest = all_sigma.argmax(axis=1)
            hoi[part], sigma[part] = allowed[nearest], all_sigma[row, nearest]
        return hoi, sigma

    def nearest_truth(
        self, hoi: AnyInts, first: Indices, count: Indices, verb: AnyInts, object_: AnyInts
    ) -> tuple[Indices, Floats]:
        """Return the (n,) class most similar to each prediction, and the (n,) similarity 0..1.

        Candidates are the classes annotated on the prediction's image; if equally similar, the lowest index is taken.

        ``hoi`` is the (t,) class of each ground truth; ``first`` and ``count`` are the (n,) first ground truth and
        number of ground truths, at least 1, on each prediction's image; ``verb`` and ``object_`` are (n,) indices of
        words.
        """
        nearest, sigma = np.zeros(len(verb), np.int64), np.zeros(len(verb))
        for start, end in blocks(count, _CELLS):
            owner, truth = expand(first[start:end], count[start:end])
            values = self.sigma(hoi[truth], verb[start:end][owner], object_[start:end][owner])
            starts = np.cumsum(count[start:end]) - count[start:end]
            highest = np.maximum.reduceat(values, starts)
            of_class = np.where(values == highest[owner], hoi[truth], len(self.verb_row))
            nearest[start:end], sigma[start:end] = np.minimum.reduceat(of_class, starts), highest
        return nearest, sigma


def _equal_rows(words: Floats) -> Indices:
    group: dict[bytes, int] = {}
    return np.array([group.setdefault(word.tobytes(), len(group)) for word in words], np.int64)


def _class_sense(classes: HoiClasses, part: Part, sense: int, word: str, senses: str) -> int:
    # ``sense`` is the ID in the class table.
    if senses == "first":
        candidates = resolve(word, part).candidates
        return candidates[0].synset if candidates else -1
    if senses == "study":
        if not classes.study_senses:
            raise OptionError(f"option senses: {classes.name} does not support study, expected table or first")
        studied = classes.study_senses.get((part, word))
        return lexicon().synset(studied) if studied else sense
    return sense


def _looked_up(table: Floats, row: Indices, column: AnyInts) -> Floats:
    # One flat index is twice as fast as a pair of indices.
    return table.ravel().take(row * np.int64(table.shape[1]) + column)


def class_similarity(
    classes: HoiClasses, similarity: Similarity, options: SemanticOptions | None = None
) -> Callable[[Indices, Indices], Floats]:
    """Return a function that maps (R,) and (S,) class indices to the (R, S) similarities 0..1 used in scoring.

    Scoring compares a class with predicted words. Therefore the words of each of the two classes are taken as the
    prediction in turn, and the larger of the two similarities is returned.
    """
    table = HoiSimilarity.of_words(classes, classes.verbs, classes.objects, similarity, options or SemanticOptions())

    def similar(rows: Indices, columns: Indices) -> Floats:
        (a, b), verb, object_ = np.broadcast_arrays(rows[:, None], columns), classes.verb, classes.object
        return np.maximum(table.sigma(a, verb[b], object_[b]), table.sigma(b, verb[a], object_[a]))

    return similar
