"""Plan of a study: its items, and the questions of each rater in order."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET, Meta, UnsetType

from shoe.benchmarks.base import Benchmark
from shoe.core.arrays import Indices, random_numbers
from shoe.lexicon.wordnet import glosses
from shoe.similarity import Similarity
from shoe.similarity.ensemble import HIGHEST
from shoe.study.ratings import SENSES
from shoe.study.sampling import DIFFERS, Influential, Strata, draw, draw_by, probabilities

_TRAINING, _GOLD_SHARE, _REPEAT_SHARE = 5, 0.03, 0.1
_OTHER_SEED = 1 << 16
_GOLD_STREAM, _ORDER_STREAM = (7 << 28) + (1 << 20), (7 << 28) + (2 << 20)
_PICTURE_STREAM = (7 << 28) + (3 << 20)


ANSWER_COLUMNS = (*SENSES, "rater", "rating", "occasion", "phase", "part", "gold", "seconds", "weight", "stratum")
Phase = Literal["words", "picture", "sides"]


class Question(NamedTuple):
    """One question of a page.

    Attributes:
        item: its index in the study.
        occasion: 1, or 2 for a repeat.
        phase: "words", "picture" for the rating that is kept or changed when the picture is shown, "sides" for the side
            of a Bongard problem that a query belongs to.
    """

    item: int
    occasion: int = 1
    phase: Phase = "words"


Box = tuple[float, float, float, float]
PictureFile = Annotated[str, Meta(pattern=r"^\d+\.jpg$", extra={"expected": "a picture as 12.jpg"})]


class Picture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Picture of an item's first class in the second phase: a small copy, its width and height, and the pair's boxes.

    Boxes are x1, y1, x2, y2 in pixels of the copy; ``image`` is the picture's name in the dataset.
    """

    file: PictureFile
    image: str
    size: tuple[int, int]
    human: Box
    object: Box


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pair of interactions: words and WordNet names of both, and the parts in which they differ.

    A gold item also has its expected rating; an item with a picture of its first class has the picture; all others have
    their number of pairs in the population, 1 / (probability of being drawn), and their stratum.
    """

    verb_a: str
    object_a: str
    verb_b: str
    object_b: str
    words_a: tuple[str, str]
    words_b: tuple[str, str]
    part: str
    gold: int | None = None
    weight: float | UnsetType = UNSET
    stratum: str | UnsetType = UNSET
    picture: Picture | UnsetType = UNSET

    @property
    def senses(self) -> tuple[str, str, str, str]:
        """WordNet names, by which a table of answers identifies the item."""
        return self.verb_a, self.object_a, self.verb_b, self.object_b


class RatingStudy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Common part of studies of pairs and of problems; a subclass has the fields, in the order of the file."""

    if TYPE_CHECKING:

        @property
        def raters(self) -> int:
            """Number of raters, each with a page."""

    @property
    def id(self) -> str:
        """12 hex digits of the content."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:12]

    @property
    def names(self) -> list[str]:
        """R names of the raters."""
        return [f"rater-{number + 1}" for number in range(self.raters)]


class Study(RatingStudy, frozen=True, forbid_unknown_fields=True):
    """A study of pairs of interactions, as ``study.json`` holds it.

    Attributes:
        dataset: dataset of the items' classes.
        similarity: name and hash of the map whose levels are the strata.
        seed: seed of everything that is drawn.
        raters: number of pages.
        items: all rated items, gold ones included: a page shows the number of each.
        training: items for practice, shown first and not kept.
        glosses: WordNet's definition of each sense.
    """

    levels: ClassVar[int] = HIGHEST + 1
    columns: ClassVar[tuple[str, ...]] = ANSWER_COLUMNS
    dataset: str
    similarity: str
    seed: int
    raters: int
    items: list[Item]
    training: list[Item]
    glosses: dict[str, str]

    def pictures(self, order: Sequence[Question]) -> list[str]:
        """Return the files of the pictures that a page with these questions shows."""
        asked = (self.items[question.item].picture for question in order if question.phase == "picture")
        return [picture.file for picture in asked if picture]

    def order(self, rater: int) -> list[Question]:
        """Return the questions of one rater: all items, a tenth of them a second time, then those with pictures.

        A repeat comes at least half of the list after its first showing, so that nobody remembers it.
        """
        items = shuffled(np.arange(len(self.items)), _ORDER_STREAM + 2 * rater, self.seed)
        half = len(items) // 2
        early = items[:half]
        repeated = early[[self.items[i].gold is None for i in early]][: round(len(items) * _REPEAT_SHARE)]
        shown = [Question(item) for item in items.tolist()]
        for number, item in enumerate(repeated.tolist()):
            place = shown.index(Question(item)) + half
            shown.insert(min(len(shown), place + number % 7), Question(item, 2))
        again = shuffled(np.arange(len(self.items)), _PICTURE_STREAM + 2 * rater, self.seed).tolist()
        return shown + [Question(item, 1, "picture") for item in again if self.items[item].picture]

    def row(self, rater: str, question: Question, rating: int, seconds: float) -> list[object]:
        """Return the row of the table of answers for one answer."""
        item = self.items[question.item]
        rest = [item.part, item.gold, seconds, item.weight, item.stratum]
        empty = ["" if value in (None, UNSET) else value for value in rest]
        return [*item.senses, rater, rating, question.occasion, question.phase, *empty]


class Drawn(NamedTuple):
    """Origin of a study's items.

    Attributes:
        strata: number of pairs of each kind, and number drawn, including those for practice.
        influence: share of all influence on the score that the drawn pairs have; None where they were drawn evenly.
    """

    strata: Strata
    influence: float | None = None


def new_study(
    of: Benchmark, similarity: Similarity, items: int, raters: int, seed: int, influential: Influential | None = None
) -> tuple[Study, Drawn]:
    """Draw a study: its items, 3 % gold items beside them, and five for practice.

    Items are drawn evenly over strata; or, if ``influential`` has the pairs that a score depends on, among these in
    proportion to their influence. Gold items are a class beside itself (4), and two classes that differ in both words
    and that the map rates as entirely different (0).

    Raises:
        OptionError: if there are not enough pairs.
        MissingWordNetError: without WordNet's files, which have the definitions that raters see.
    """
    if influential is None:
        sample = draw(of.classes, similarity, items + _TRAINING, seed)
        columns = zip(sample.a.tolist(), sample.b.tolist(), sample.differs.tolist(), strict=True)
        drawn = [_class_pair(of, a, b, DIFFERS[d]) for a, b, d in columns]
        weight = sample.weight
        strata = [f"{item.part} {level}" for item, level in zip(drawn, sample.level.tolist(), strict=True)]
        where = Drawn(sample.strata)
    else:
        probability = probabilities(influential.influence, items + _TRAINING)
        rows = draw_by(probability, seed)
        differs = [DIFFERS[2 if a != b and x != y else int(a == b)] for a, x, b, y in influential.senses]
        levels = np.rint(influential.similarity * HIGHEST).astype(int).tolist()
        drawn = []
        for row in rows.tolist():
            (a, x, b, y), (words_a, words_b) = influential.senses[row], map(_spaced, influential.words[row])
            drawn.append(Item(a, x, b, y, words_a, words_b, differs[row]))
        weight, strata = 1 / probability[rows], [""] * len(rows)
        there, taken = Counter(zip(differs, levels, strict=True)), Counter((differs[row], levels[row]) for row in rows)
        share = float(influential.influence[rows].sum() / influential.influence.sum())
        where = Drawn({cell: (number, taken[cell]) for cell, number in there.items()}, share)
    order = shuffled(np.arange(len(drawn)), _GOLD_STREAM, seed).tolist()
    training = [drawn[row] for row in order[:_TRAINING]]
    stands = weight * (len(drawn) / items)  # whichever five are for practice, the others stand for them
    made = [
        msgspec.structs.replace(drawn[row], weight=float(stands[row]), stratum=strata[row]) for row in order[_TRAINING:]
    ]
    made += _gold_items(of, similarity, drawn, items, seed)
    made = [made[row] for row in shuffled(np.arange(len(made)), _GOLD_STREAM + 2, seed).tolist()]
    senses = {name for item in [*made, *training] for name in item.senses}
    meanings = {name: gloss.rstrip(": ") for name, gloss in glosses(sorted(senses), "shoe study new").items()}
    identity = f"{similarity.name} {similarity.digest}"
    return Study(of.name, identity, seed, raters, made, training, meanings), where


def _class_pair(of: Benchmark, a: int, b: int, part: str, gold: int | None = None) -> Item:
    classes, verbs, objects = of.classes, of.classes.verb_synsets, of.classes.object_synsets
    words_a, words_b = (_spaced((classes.verbs[classes.verb[k]], classes.objects[classes.object[k]])) for k in (a, b))
    return Item(verbs[a], objects[a], verbs[b], objects[b], words_a, words_b, part, gold)


def _spaced(words: tuple[str, str]) -> tuple[str, str]:
    return words[0].replace("_", " "), words[1].replace("_", " ")


def _gold_items(of: Benchmark, similarity: Similarity, drawn: list[Item], items: int, seed: int) -> list[Item]:
    """Return gold items from another sample, none of which is an item of the study."""
    number, known = max(2, round(items * _GOLD_SHARE)), {item.senses for item in drawn}
    others = draw(of.classes, similarity, items + _TRAINING, seed + _OTHER_SEED)
    rows = shuffled(np.arange(len(others.a)), _GOLD_STREAM + 1, seed)

    def some(most: int, pairs: list[tuple[int, int]], rating: int) -> list[Item]:
        made = {(item := _class_pair(of, a, b, "gold", rating)).senses: item for a, b in pairs}
        return [item for senses, item in made.items() if senses not in known][:most]

    apart = [i for i in rows if others.level[i] == 0 and DIFFERS[others.differs[i]] == "both"]
    found = some(number // 2, [(int(others.a[i]), int(others.b[i])) for i in apart], 0)
    return found + some(number - len(found), [(int(others.a[i]), int(others.a[i])) for i in rows], HIGHEST)


def shuffled(rows: Indices, stream: int, seed: int) -> Indices:
    """Shuffle rows in an order that depends only on the seed, below 65536, and the stream."""
    return rows[np.argsort(random_numbers(stream + (seed << 8), (len(rows),)), kind="stable")]
