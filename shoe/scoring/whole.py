"""Similarities of whole interactions, where raters compared them: looked up by class and predicted words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import HoiClasses
from shoe.core.arrays import Floats, Indices, Ints, Mask
from shoe.lexicon.labels import match_labels
from shoe.similarity.whole import WholeRatings, said


@dataclass(frozen=True, eq=False)
class WholeSimilarity:
    """What raters said of m pairs of a class and a predicted verb and object.

    Attributes:
        keys: (m,) one number for each pair, ascending.
        values: (m,) similarity 0..1.
        verb, object: (words,) number of each predicted word among those that were rated, -1 for others.
        shape: numbers of rated objects and of classes.
    """

    keys: Indices
    values: Floats
    verb: Ints
    object: Ints
    shape: tuple[int, int]

    @classmethod
    def of(
        cls, rated: WholeRatings, values: Floats, classes: HoiClasses, verbs: Sequence[str], objects: Sequence[str]
    ) -> WholeSimilarity:
        """Prepare the look-up of predicted words; a class and its own labels are left out, which are the same.

        Args:
            rated: the pairs.
            values: (m,) the ensemble's of each; NaN for none.
            classes: of the dataset.
            verbs: predicted words.
            objects: likewise.
        """
        (class_verbs, class_verb), (class_objects, class_object), (of_verb, verb), (of_object, object_) = rated.columns
        class_of = np.pad(classes.of, ((0, 1), (0, 1)), constant_values=-1)
        hoi = class_of[
            _index(_numbers(classes.verbs), class_verbs)[class_verb],
            _index(_numbers(classes.objects), class_objects)[class_object],
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
            verb=_index(of_verb, map(said, verbs)),
            object=_index(of_object, map(said, objects)),
            shape=shape,
        )

    def found(
        self, hoi: NDArray[np.integer], verb: NDArray[np.integer], object_: NDArray[np.integer]
    ) -> tuple[Mask, Floats]:
        """Whether raters compared classes with predicted words, and their similarity; the arguments broadcast."""
        of_verb, of_object = self.verb[verb], self.object[object_]
        wanted = np.where((of_verb >= 0) & (of_object >= 0), _keys(of_verb, of_object, hoi, self.shape), -1)
        if not len(self.keys):
            return np.zeros(wanted.shape, bool), np.zeros(wanted.shape)
        row = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return self.keys[row] == wanted, self.values[row]


def _keys(
    verb: NDArray[np.integer], object_: NDArray[np.integer], hoi: NDArray[np.integer], shape: tuple[int, int]
) -> Indices:
    objects, classes = shape
    keys: Indices = (verb.astype(np.int64) * objects + object_) * classes + hoi
    return keys


def _numbers(names: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


def _index(numbers: Mapping[str, int], names: Iterable[str]) -> Ints:
    return np.array([numbers.get(name, -1) for name in names], np.int32)
