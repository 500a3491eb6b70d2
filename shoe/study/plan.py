"""Plan of a study of pairs or of Bongard problems: its items, and the questions of each rater in order."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET, Meta, UnsetType

from shoe.benchmarks.base import Benchmark
from shoe.core.arrays import Indices, random_numbers
from shoe.core.errors import OptionError
from shoe.lexicon.store import glosses
from shoe.scoring.bongard.problems import SHOTS, Problems
from shoe.scoring.bongard.score import digest
from shoe.similarity import Similarity
from shoe.similarity.ensemble import HIGHEST
from shoe.study.ratings import SENSES
from shoe.study.sampling import DIFFERS, Influential, Strata, draw, draw_by, probabilities
from shoe.study.testers import COLUMNS as TESTER_COLUMNS

_TRAINING, _GOLD_SHARE, _REPEAT_SHARE = 5, 0.03, 0.1
_GOLD_STREAM, _ORDER_STREAM, _PICTURE_STREAM = ((7 << 28) + (number << 20) for number in (1, 2, 3))

ANSWER_COLUMNS = (*SENSES, "rater", "rating", "occasion", "phase", "part", "gold", "seconds", "weight", "stratum")
Phase = Literal["words", "picture", "sides"]


class Question(NamedTuple):
    """One question about an item (index) on a rater's page; the occasion is 2 if the item is shown again.

    The phase is "words" for a rating of two interactions in words, "picture" for the rating after their image is shown,
    "sides" for the side of a Bongard problem to which a query image belongs.
    """

    item: int
    occasion: int = 1
    phase: Phase = "words"


Box = tuple[float, float, float, float]
PictureFile = Annotated[str, Meta(pattern=r"^\d+\.jpg$", extra={"expected": "the name of a picture, such as 12.jpg"})]


class Picture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Image of an item's first class, shown in the second phase: a small copy, with boxes (x1, y1, x2, y2) on it."""

    file: PictureFile
    image: str
    size: tuple[int, int]
    human: Box
    object: Box


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pair of interactions a and b that differ in ``part``: "verb", "object" or "both".

    The part is "gold" for an attention check, whose expected rating is ``gold``. An item with an image of its first
    class has ``picture``. Only drawn items have a sampling weight, 1 / (inclusion probability), and a stratum.
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
        """WordNet names of a and b, which identify the item in tables of answers."""
        return self.verb_a, self.object_a, self.verb_b, self.object_b


class RatingStudy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base class of studies of pairs of interactions, and of studies of Bongard problems."""

    if TYPE_CHECKING:

        @property
        def raters(self) -> int:
            """Number of raters, each with a page."""

    @property
    def id(self) -> str:
        """Study ID: 12 hex digits of a hash of the content."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:12]

    @property
    def names(self) -> list[str]:
        """Names of the raters: "rater-1" and so on."""
        return [f"rater-{number + 1}" for number in range(self.raters)]


class Study(RatingStudy, frozen=True, forbid_unknown_fields=True):
    """A study of pairs of interactions, as stored in ``study.json``.

    Its strata are levels of the ``similarity`` map (name and hash). Pages refer to items, including gold items, by
    their index. Ratings of the practice items ``training``, which are shown first, are not saved.
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
        """Return the image files shown by a page with these questions, in their order."""
        asked = (self.items[question.item].picture for question in order if question.phase == "picture")
        return [picture.file for picture in asked if picture]

    def order(self, rater: int) -> list[Question]:
        """Return the questions for a rater: all items, a tenth of them (not gold) twice, then the items with images."""
        items = shuffled(np.arange(len(self.items)), _ORDER_STREAM + 2 * rater, self.seed)
        half, early = len(items) // 2, items[: len(items) // 2]  # half lie between, so that raters forget their answer
        repeated = early[[self.items[i].gold is None for i in early]][: round(len(items) * _REPEAT_SHARE)]
        shown = [Question(item) for item in items.tolist()]
        for number, item in enumerate(repeated.tolist()):
            shown.insert(min(len(shown), shown.index(Question(item)) + half + number % 7), Question(item, 2))
        again = shuffled(np.arange(len(self.items)), _PICTURE_STREAM + 2 * rater, self.seed).tolist()
        return shown + [Question(item, 1, "picture") for item in again if self.items[item].picture]

    def row(self, rater: str, question: Question, rating: int, seconds: float) -> list[object]:
        """Return an answer as a row of the table of answers, in the order of ``columns``; "" for missing values."""
        item = self.items[question.item]
        rest = (item.part, item.gold, seconds, item.weight, item.stratum)
        told = ("" if value in (None, UNSET) else value for value in rest)
        return [*item.senses, rater, rating, question.occasion, question.phase, *told]


class Drawn(NamedTuple):
    """Number of pairs available and drawn per stratum, practice items included, and influence of the drawn pairs.

    The influence is a fraction of that of all pairs on SHOE-mAP; None if pairs were not drawn by influence.
    """

    strata: Strata
    influence: float | None = None


def new_study(
    data: Benchmark, similarity: Similarity, items: int, raters: int, seed: int, influential: Influential | None = None
) -> tuple[Study, Drawn]:
    """Return a new study on a dataset with ``items`` drawn items, and how they were drawn.

    It also has gold items (3 %, at least two) and five practice items. Items are pairs of classes, drawn evenly over
    strata; or, if given, pairs of ``influential``, more often the larger their influence. Gold items compare a class
    with itself (rating 4), or two classes that differ in both words and have similarity 0 in the map (rating 0). Raise
    OptionError without enough pairs.
    """
    if influential is None:
        sample = draw(data.classes, similarity, items + _TRAINING, seed)
        columns = zip(sample.a.tolist(), sample.b.tolist(), sample.differs.tolist(), strict=True)
        drawn = [_class_pair(data, a, b, DIFFERS[d]) for a, b, d in columns]
        strata = [f"{item.part} {level}" for item, level in zip(drawn, sample.level.tolist(), strict=True)]
        weight, where = sample.weight, Drawn(sample.strata)
    else:
        probability = probabilities(influential.influence, items + _TRAINING)
        rows = draw_by(probability, seed)
        differs = [DIFFERS[2 if a != b and x != y else int(a == b)] for a, x, b, y in influential.senses]
        levels = np.rint(influential.similarity * HIGHEST).astype(int).tolist()
        named = ((*influential.senses[row], *map(_spaced, influential.words[row]), differs[row]) for row in rows)
        drawn = [Item(*fields) for fields in named]
        weight, strata = 1 / probability[rows], [""] * len(rows)
        there, taken = Counter(zip(differs, levels, strict=True)), Counter((differs[row], levels[row]) for row in rows)
        share = float(influential.influence[rows].sum() / influential.influence.sum())
        where = Drawn({cell: (number, taken[cell]) for cell, number in there.items()}, share)
    order = shuffled(np.arange(len(drawn)), _GOLD_STREAM, seed).tolist()
    training = [drawn[row] for row in order[:_TRAINING]]
    stands = weight * (len(drawn) / items)  # the other items also represent the practice items
    weighed = ((drawn[row], {"weight": float(stands[row]), "stratum": strata[row]}) for row in order[_TRAINING:])
    made = [msgspec.structs.replace(item, **told) for item, told in weighed]
    made += _gold_items(data, similarity, drawn, items, seed)
    made = [made[row] for row in shuffled(np.arange(len(made)), _GOLD_STREAM + 2, seed).tolist()]
    senses = {name for item in [*made, *training] for name in item.senses}
    meanings = {name: gloss.rstrip(": ") for name, gloss in glosses(sorted(senses)).items()}
    return Study(data.name, f"{similarity.name} {similarity.digest}", seed, raters, made, training, meanings), where


def _class_pair(data: Benchmark, a: int, b: int, part: str, gold: int | None = None) -> Item:
    classes, verbs, objects = data.classes, data.classes.verb_synsets, data.classes.object_synsets
    words_a, words_b = (_spaced((classes.verbs[classes.verb[k]], classes.objects[classes.object[k]])) for k in (a, b))
    return Item(verbs[a], objects[a], verbs[b], objects[b], words_a, words_b, part, gold)


def _spaced(words: tuple[str, str]) -> tuple[str, str]:
    return words[0].replace("_", " "), words[1].replace("_", " ")


def _gold_items(data: Benchmark, similarity: Similarity, drawn: list[Item], items: int, seed: int) -> list[Item]:
    number, known = max(2, round(items * _GOLD_SHARE)), {item.senses for item in drawn}
    others = draw(data.classes, similarity, items + _TRAINING, seed + (1 << 16))
    rows = shuffled(np.arange(len(others.a)), _GOLD_STREAM + 1, seed)

    def some(most: int, pairs: list[tuple[int, int]], rating: int) -> list[Item]:
        made = {(item := _class_pair(data, a, b, "gold", rating)).senses: item for a, b in pairs}
        return [item for senses, item in made.items() if senses not in known][:most]

    apart = [i for i in rows if others.level[i] == 0 and DIFFERS[others.differs[i]] == "both"]
    found = some(number // 2, [(int(others.a[i]), int(others.b[i])) for i in apart], 0)
    return found + some(number - len(found), [(int(others.a[i]), int(others.a[i])) for i in rows], HIGHEST)


def shuffled(rows: Indices, stream: int, seed: int) -> Indices:
    """Return the rows in a random order that depends only on ``seed`` (below 65536) and ``stream``."""
    return rows[np.argsort(random_numbers(stream + (seed << 8), (len(rows),)), kind="stable")]


_SIDES_STREAM = (7 << 28) + (4 << 20)


class Problem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One Bongard problem of a study, whose group and concept are not shown to testers (the people who solve it).

    ``sides`` are the images of side A, which show the concept, and of side B, which do not; ``queries`` and ``shows``
    the two query images, in random order, and whether each shows the concept.
    """

    group: str
    concept: str
    sides: tuple[list[PictureFile], list[PictureFile]]
    queries: tuple[PictureFile, PictureFile]
    shows: tuple[bool, bool]


class ProblemStudy(RatingStudy, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="problems"):
    """A study of Bongard problems, as stored in ``study.json``.

    Item 2 p + k is query k of problem p. Rating 1 means side A, and rating 0 side B. The number of testers is
    ``raters`` in the study, and ``testers`` per problem. ``files`` are the problem files in the order of the problems;
    ``examples`` are shown first, with their answers.
    """

    levels: ClassVar[int] = 2
    columns: ClassVar[tuple[str, ...]] = TESTER_COLUMNS
    seed: int
    raters: int
    testers: int
    files: list[str]
    digest: str
    problems: list[Problem]
    examples: list[Problem] = msgspec.field(default_factory=list)

    def order(self, rater: int) -> list[Question]:
        """Return the questions for tester ``rater``: both queries per assigned problem, problems in random order."""
        numbers = random_numbers(_SIDES_STREAM + (self.seed << 8), (len(self.problems), self.raters))
        asked, load = [], np.zeros(self.raters, np.int64)
        for problem, drawn in enumerate(numbers):  # the raters with the fewest problems so far, for an equal load
            chosen = np.lexsort((drawn, load))[: self.testers]
            load[chosen] += 1
            if rater in chosen:
                asked.append(problem)
        mine = shuffled(np.array(asked, np.int64), _SIDES_STREAM + (1 << 19) + rater, self.seed).tolist()
        return [Question(2 * problem + query, 1, "sides") for problem in mine for query in (0, 1)]

    def pictures(self, order: Sequence[Question]) -> list[str]:
        """Return the distinct image files shown by a page, those of the examples first."""
        asked = [self.problems[number] for number in dict.fromkeys(question.item // 2 for question in order)]
        shown = (name for each in (*self.examples, *asked) for name in (*each.sides[0], *each.sides[1], *each.queries))
        return list(dict.fromkeys(shown))

    def row(self, rater: str, question: Question, rating: int, seconds: float) -> list[object]:
        """Return an answer as a row in the order of ``columns``; "right" is 1 if the answer is correct, else 0."""
        number, query = divmod(question.item, 2)
        problem, shows = self.problems[number], self.problems[number].shows[query]
        side, right = "positive" if shows else "negative", int(bool(rating) == shows)
        return [number, problem.group, problem.concept, side, rater, right, seconds]


def new_problem_study(
    problems: Problems, files: list[Path], raters: int, testers: int, seed: int, examples: Problems | None = None
) -> ProblemStudy:
    """Return a new study of Bongard problems; :meth:`ProblemStudy.order` assigns the problems to testers.

    ``files`` are the problem files in the order of the problems. Each problem is seen by ``testers`` (three in the
    literature) of the ``raters``; ``examples`` are shown first, with answers; ``seed`` is 0..65535. Raise OptionError
    if ``raters`` < ``testers``, or if two files have the same name.
    """
    if raters < testers:
        raise OptionError(f"--raters: found {raters}, expected at least {testers} ({testers} testers per problem)")
    if len(set(names := [path.name for path in files])) < len(files):
        found = f"a file name twice in {', '.join(names)}"
        raise OptionError(f"problem files: found {found}, expected different file names")
    first = random_numbers(_SIDES_STREAM + (1 << 18) + (seed << 8), (len(problems),)) % np.uint64(2)
    made = [_problem(problems, number, bool(flip)) for number, flip in enumerate(first.tolist())]
    first_image = len(problems.regions)
    solved = [_problem(examples, k, k % 2 == 1, first_image) for k in range(len(examples))] if examples else []
    return ProblemStudy(seed, raters, testers, names, digest(problems), made, solved)


def _problem(problems: Problems, number: int, flip: bool, first: int = 0) -> Problem:
    def names(rows: Indices) -> list[str]:
        return [f"{first + row}.jpg" for row in rows.tolist()]

    positives, negatives = names(problems.positives[number]), names(problems.negatives[number])
    group, concept = problems.groups[problems.group[number]], " ".join(problems.concepts[problems.concept[number]])
    sides, queries = (positives[:SHOTS], negatives[:SHOTS]), (positives[SHOTS], negatives[SHOTS])
    return Problem(group, concept, sides, queries[::-1] if flip else queries, (not flip, flip))
