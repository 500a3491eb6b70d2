"""Ratings of whole predictions by people, and the rows of prediction files that people rated."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask, best_of_each
from shoe.core.errors import InputError, OptionError, quote
from shoe.core.interactions import image_index
from shoe.scoring.matching.task import Task
from shoe.study.plan import shuffled
from shoe.study.ratings import StudyRatings, read_study

BOXES = ("human_box", "object_box")
_WORDS = ("verb", "object")
_COLUMNS = ("model", "image", "prediction", *_WORDS, *BOXES)
_BETWEEN = "\t"  # no field can contain it
_ROUNDED = 0.51  # pixels by which a box may differ from the file's: tables often hold whole pixels


class Judgements(NamedTuple):
    """Ratings 0..4 of N predictions by R raters, read from the table ``source``.

    ``columns`` are the (N,) values of each column that identifies a prediction: model, image, verb, object, and so on.
    """

    source: Path
    ratings: StudyRatings
    columns: dict[str, tuple[str, ...]]

    def name(self, item: int) -> str:
        """Return the values that identify a prediction, as text for error messages."""
        return ", ".join(f"{column} {quote(told[item])}" for column, told in self.columns.items())

    def images(self, known: Sequence[str]) -> Indices:
        """Return the (N,) index of each image in ``known``, those of the ground truth; InputError for others."""
        names = tuple(dict.fromkeys(self.columns["image"]))
        found = image_index(names, known)
        if (found < 0).any():
            wrong = names[int(np.argmin(found))]
            expected = "an image of the ground truth" + (f", such as {quote(known[0])}" if known else "")
            raise InputError(self.source, field="image", found=quote(wrong), expected=expected)
        number = dict(zip(names, found.tolist(), strict=True))
        return np.array([number[image] for image in self.columns["image"]], np.int64)

    def rows_of(self, model: str, task: Task) -> Indices:
        """Return the (N,) row of each judged prediction in a model's predictions; -1 for predictions of other models.

        Without a column ``model``, predictions that this model does not make have row -1, too. Of several predictions
        with the same words and boxes, the most confident counts. Raise InputError if a prediction is not in the file of
        its model, matches several predictions with different boxes, or is judged twice.
        """
        rows = np.full(len(self.ratings.items), -1, np.int64)
        images = self.images(task.truth.interactions.images)
        theirs = np.array([told == model for told in self.columns.get("model", [model] * len(rows))], bool)
        (self._numbered if "prediction" in self.columns else self._described)(task, images, theirs, rows)
        items = np.flatnonzero(rows >= 0)
        first = np.unique(rows[items], return_index=True)[1]
        if len(first) < len(items):
            again = int(np.setdiff1d(items, items[first])[0])
            before = int(items[np.argmax(rows[items] == rows[again])])
            found = f"the same prediction as {self.name(before)}"
            raise InputError(self.source, record=self.name(again), found=found, expected="each prediction only once")
        return rows

    def _numbered(self, task: Task, images: Indices, theirs: Mask, rows: Indices) -> None:
        first, count = task.image_rows
        for item in np.flatnonzero(theirs).tolist():
            told, number = self.columns["prediction"][item], int(count[images[item]])
            if not (told.isascii() and told.isdigit() and len(told) < 10 and int(told) < number):
                expected = f"0 to {number - 1}" if number else "another image: the file has no prediction on it"
                raise self._error(item, "prediction", told, expected)
            rows[item] = first[images[item]] + int(told)

    def _described(self, task: Task, images: Indices, theirs: Mask, rows: Indices) -> None:
        table = task.predictions
        wanted = np.zeros(len(task.truth.interactions.images) + 1, bool)
        wanted[images[theirs]] = True
        by_words: dict[tuple[int, str, str], list[int]] = {}
        verbs, objects = (list(map(_word, words)) for words in (table.verbs, table.objects))
        for row in np.flatnonzero(wanted[task.image]).tolist():
            key = int(task.image[row]), verbs[table.verb[row]], objects[table.object[row]]
            by_words.setdefault(key, []).append(row)
        for item in np.flatnonzero(theirs).tolist():
            verb, object_ = (_word(self.columns[name][item]) for name in _WORDS)
            found = np.array(by_words.get((int(images[item]), verb, object_), []), np.int64)
            for name, boxes in zip(BOXES, (table.human_boxes, table.object_boxes), strict=True):
                if name in self.columns:
                    found = found[(np.abs(boxes[found] - self._box(item, name)) <= _ROUNDED).all(axis=1)]
            boxes = np.concatenate([table.human_boxes, table.object_boxes], axis=1)[found]
            if len(found) and (np.ptp(boxes, axis=0) > 2 * _ROUNDED).any():
                raise self._error(item, "boxes", f"{len(found)} such predictions", "one: give its boxes or its number")
            if len(found):
                rows[item] = found[np.argmax(table.score[found])]
            elif "model" in self.columns:
                raise self._error(item, "words", "no such prediction", "a prediction in the model's file")

    def _box(self, item: int, name: str) -> Floats:
        told = self.columns[name][item]
        try:
            numbers = np.array(told.replace(",", " ").split(), np.float64)
        except ValueError:
            numbers = np.zeros(0)
        if numbers.shape != (4,) or not np.isfinite(numbers).all():
            raise self._error(item, name, told, "four numbers x1 y1 x2 y2, as in the prediction file")
        return numbers

    def _error(self, item: int, field: str, found: str, expected: str) -> InputError:
        return InputError(self.source, record=self.name(item), field=field, found=quote(found), expected=expected)


def read_judgements(path: Path, models: Sequence[str]) -> Judgements:
    """Read a table of judgements: one line per rating, with the columns image, rater, rating, and others.

    A prediction is identified by ``prediction``, its index (from 0) among the file's predictions for the image; or by
    ``verb`` and ``object``, plus ``human_box`` and ``object_box`` (four numbers each) if several predictions have these
    words. ``model`` names the prediction file; without it, words refer to every model that predicts them. Gold items
    are left out. For optional columns see :func:`read_study`. Raise InputError for an invalid table, or a model
    that is not in ``models``.
    """
    columns: list[str] = []

    def named(header: Sequence[str]) -> tuple[str, ...]:
        numbered = "prediction" in header
        needed = {"image", *(["prediction"] if numbered else _WORDS), *(["model"] if numbered and several else [])}
        usable = {"model", *([] if numbered else BOXES)}.intersection(header)
        columns[:] = [name for name in _COLUMNS if name in needed | usable]
        return tuple(columns)

    several = len(models) > 1
    expected = "image, prediction (and model, if there are several) or image, verb, object (human_box, object_box)"
    ratings = read_study(path, named, expected, _BETWEEN)
    ratings = ratings.of_items(ratings.measured)
    if not len(ratings.items):
        raise InputError(path, found="only gold items", expected="ratings of predictions other than gold items")
    told = dict(zip(columns, zip(*(item.split(_BETWEEN) for item in ratings.items), strict=True), strict=True))
    unknown = next((model for model in told.get("model", ()) if model not in models), None)
    if unknown is not None:
        expected = f"one of the files given: {', '.join(models)}"
        raise InputError(path, field="model", found=quote(unknown), expected=expected)
    return Judgements(path, ratings, told)


def _word(text: str) -> str:
    return " ".join(text.casefold().replace("_", " ").split())


HEADER = ("image", "verb", "object", *BOXES, "rater", "rating")
_STREAM, _STREAMS = 13 << 28, 1 << 11
"""First stream of random numbers, and number of streams per seed: one for images, and one per rater."""


def sheet(tasks: Sequence[Task], images: int, most: int, raters: int, seed: int) -> tuple[list[list[object]], int]:
    """Return an empty rating table, header first, for the most confident predictions of all models on random images.

    A prediction that several models made with the same words and boxes is listed once. A prediction without a verb or
    an object is not listed, because there are no words to rate. Each rater has a different random order. Also return
    the number of listed predictions.

    Args:
        tasks: predictions of each model.
        images: number of images, drawn from the images with predictions; OptionError is raised if there are fewer.
        most: maximum number of predictions of each model on an image.
        raters: number of raters, at most 1,000.
        seed: random seed, below 65536.
    """
    some = np.flatnonzero(np.sum([task.image_rows[1] for task in tasks], axis=0))
    if len(some) < images:
        raise OptionError(f"--images: found {images}, expected at most {len(some)} (number of images with predictions)")
    first = _STREAM + seed * _STREAMS
    chosen = np.sort(shuffled(some, first, 0)[:images])
    found: dict[tuple[str, ...], None] = {}
    for task in tasks:
        table, names = task.predictions, task.truth.interactions.images
        on_chosen = np.flatnonzero(np.isin(task.image, chosen))
        for row in on_chosen[best_of_each(task.image[on_chosen], table.score[on_chosen], most)].tolist():
            words = table.verbs[table.verb[row]], table.objects[table.object[row]]
            boxes = (" ".join(f"{x:.1f}" for x in of[row]) for of in (table.human_boxes, table.object_boxes))
            if all(words):
                found[names[task.image[row]], *words, *boxes] = None
    lines = list(found)
    rows: list[list[object]] = [list(HEADER)]
    for rater in range(raters):
        order = shuffled(np.arange(len(lines)), first + 1 + rater, 0)
        rows += [[*lines[i], f"rater-{rater + 1}", ""] for i in order.tolist()]
    return rows, len(lines)
