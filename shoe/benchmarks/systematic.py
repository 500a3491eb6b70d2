"""Systematic generalisation splits: test images show only combinations of object and verb that training lacks.

This is Algorithm 1 of the HICO-DET-SG paper (docs/splits.md): sample combinations for the test, assign each image to
test, to training or to neither, verify the training data, and try the next seed if they do not satisfy the rules.
:class:`SplitRules` has options where the paper is ambiguous or the released files differ from it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from shoe.benchmarks import benchmark
from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.classes import ClassSplit
from shoe.benchmarks.truth import GroundTruth, read_ground_truth
from shoe.core.arrays import Floats, Indices, Mask, expand
from shoe.core.documents import Count, Document, Fraction
from shoe.core.errors import InputError, OptionError, many, quote, unknown_name
from shoe.core.interactions import Interactions, concatenate
from shoe.core.io.files import replacing
from shoe.core.io.json import encode
from shoe.core.io.native import write_native
from shoe.version import __version__

SOURCE = "Takemoto et al., HICO-DET-SG and V-COCO-SG; seeds and program of FujitsuResearch/hoi_sg"


def published_splits(dataset: str, ratio: float, seeds: Sequence[int]) -> dict[str, Callable[[], ClassSplit]]:
    """Return functions that make the published splits "sg1", "sg2" and so on of a benchmark again.

    Args:
        ratio: fraction of the combinations for training.
        seeds: random seed of each split.
    """
    return {f"sg{number}": partial(_published, dataset, ratio, seed, number) for number, seed in enumerate(seeds, 1)}


def _published(dataset: str, ratio: float, seed: int, number: int) -> ClassSplit:
    # The released program lists combinations by COCO category of the object and then by verb number in its files, and
    # shuffles the list (docs/splits.md).
    data = benchmark(dataset)
    classes = data.classes
    ordered = np.argsort(file_order(data)[classes.verb, classes.object])
    shuffled = np.random.RandomState(seed).permutation(len(ordered))
    held_out = ordered[shuffled[: len(ordered) - int(ratio * len(ordered))]]
    about = f"the {len(held_out)} combinations that systematic generalisation split {number} holds out"
    return ClassSplit.of_unseen(f"sg{number}", held_out, len(classes), SOURCE, about)


def file_order(data: Benchmark) -> Indices:
    """Return (verbs, objects) numbers that sort combinations of the class table in the order of annotation files."""
    object_number = np.empty(len(data.objects), np.int64)
    object_number[data.object_order] = np.arange(len(data.object_order))
    object_number = object_number[: len(data.classes.objects)]
    verb_number = np.argsort(data.verb_order)[:, None]
    if data.actions.all:  # an action has a number for each role, and an object has one of the roles
        number = {pair: i for i, pair in enumerate(data.actions.numbered)}
        action = [data.actions.names.index(verb) for verb in data.classes.verbs]
        rows = [[number[a, data.actions.entry_of(a, o)] for o in data.classes.objects] for a in action]
        verb_number = np.array(rows, np.int64)
    return object_number * (int(verb_number.max()) + 1) + verb_number


VERIFY: dict[str, Callable[[Indices], Indices]] = {
    "possible": lambda total: np.minimum(total, 2),
    "paper": lambda total: np.full_like(total, 2),
    "released": lambda total: np.minimum(total, 1),
}
"""Least number of combinations of each object and verb in training, given their total number:

- possible: two, or one if there is only one; counted in training images.
- paper: two, as in the paper, which is impossible if a verb has one object; counted in training images.
- released: one, as in the released program; counted in the sampled combinations, whatever images show.
"""
DRAWS = ("skip", "uniform")
"""How test combinations are sampled from a shuffled list: the first ones (uniform, as scikit-learn's train_test_split),
or the first ones that leave enough combinations for training (skip). Both are equal if the former leave enough."""
MIXED = ("drop", "cut")
"""Images with combinations of both kinds are not used (drop), or go to test without their triplets of training
combinations (cut), as in the released files, in which these pairs are visible but not annotated."""
EMPTY = ("test", "drop")
"""Images without triplets go to test, as in Algorithm 1 because they show no training combination, or are not used."""


class SplitRules(Document, frozen=True, omit_defaults=False):
    """Rules of a systematic generalisation split.

    Attributes:
        ratio: fraction of the combinations for training, above 0 and below 1; their number is rounded down.
        verify: least number of combinations of each object and verb in training, a key of ``VERIFY``.
        draw: sampling of test combinations, one of ``DRAWS``.
        mixed: use of images with combinations of both kinds, one of ``MIXED``.
        empty: use of images without triplets, one of ``EMPTY``.
        min_similarity, max_similarity: bounds of the similarity of each test combination to the most similar training
            combination, 0 to 1.
        tries: most seeds that are tried.
    """

    ratio: Fraction = 0.9
    verify: str = "possible"
    draw: str = "skip"
    mixed: str = "drop"
    empty: str = "test"
    min_similarity: Fraction = 0.0
    max_similarity: Fraction = 1.0
    tries: Count = 1000

    def __post_init__(self) -> None:
        for name, known in (("verify", VERIFY), ("draw", DRAWS), ("mixed", MIXED), ("empty", EMPTY)):
            if getattr(self, name) not in known:
                raise unknown_name(name, getattr(self, name), known)
        if not 0 < self.ratio < 1:
            raise OptionError(f"ratio: found {self.ratio:g}, expected a share above 0 and below 1, as 0.9")
        if not 0 <= self.min_similarity <= self.max_similarity <= 1:
            found = f"{self.min_similarity:g} and {self.max_similarity:g}"
            raise OptionError(
                f"min_similarity and max_similarity: found {found}, expected 0 <= minimum <= maximum <= 1"
            )
        if self.tries < 1:
            raise OptionError(f"tries: found {self.tries}, expected 1 or more")

    @property
    def by_similarity(self) -> bool:
        """Whether the similarity of combinations is bounded."""
        return self.min_similarity > 0 or self.max_similarity < 1


@dataclass(frozen=True, slots=True, eq=False)
class Combinations:
    """The C combinations of object and verb in a table, in the order of the list that is shuffled.

    Attributes:
        object, verb: (C,) indices into the vocabularies of the table.
        row: (n,) combination of each triplet.
    """

    object: Indices
    verb: Indices
    row: Indices

    @classmethod
    def of(cls, table: Interactions, order: NDArray[np.integer] | None = None) -> Combinations:
        """Find the combinations of a table, sorted by ``order``.

        ``order`` has a different number for each combination, (verbs, objects); by default, combinations are sorted by
        object and then by verb, in the order of the vocabularies.
        """
        usual = np.arange(len(table.verbs) * len(table.objects)).reshape(len(table.objects), -1).T
        ordered = np.argsort((usual if order is None else order).ravel(), kind="stable")
        at = table.verb * np.int64(len(table.objects)) + table.object
        present = ordered[np.bincount(at, minlength=len(ordered))[ordered] > 0]
        number = np.zeros(len(ordered), np.int64)
        number[present] = np.arange(len(present))
        verb, object_ = np.divmod(present, max(len(table.objects), 1))
        return cls(object_, verb, number[at])

    def __len__(self) -> int:
        return len(self.object)


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """Combinations sampled so far.

    Attributes:
        held_out: (C,) sampled combinations.
        lost: (m,) images that show a sampled combination, and so are not in training.
        shown: (C,) number of training images that show each combination.
    """

    held_out: Mask
    lost: Mask
    shown: Indices


class Draw:
    """Sampler of test combinations of a table.

    Combinations are shuffled by NumPy's frozen ``RandomState``. Combinations that are linked by similarities above the
    maximum form a group and are sampled together, at the place of the first one in the list.
    """

    def __init__(
        self, table: Interactions, combinations: Combinations, rules: SplitRules, similar: Floats | None
    ) -> None:
        """Prepare sampling; ``similar`` is (C, C), symmetric, and only needed for rules about similarity.

        Raises:
            OptionError: if no sample can satisfy the rules.
        """
        self._rules, self._similar = rules, similar
        count = len(combinations)
        image, row = np.divmod(np.unique(table.image * np.int64(count) + combinations.row), max(count, 1))
        self._row, self._of_image = row, np.searchsorted(image, np.arange(len(table.images) + 1))
        by_row = np.argsort(row, kind="stable")
        self._image, self._of_row = image[by_row], np.searchsorted(row[by_row], np.arange(count + 1))
        self._none = _Sample(
            np.zeros(count, bool), np.zeros(len(table.images), bool), np.bincount(row, minlength=count)
        )
        self._group: Indices = np.arange(count)
        if similar is not None and rules.max_similarity < 1:
            from scipy.sparse.csgraph import connected_components

            self._group = connected_components(similar > rules.max_similarity, directed=False)[1]
        self._sides: list[tuple[str, Indices, Indices]] = []
        for lack, single, index in (
            ("too few verbs of an object", "objects have one verb", combinations.object),
            ("too few objects of a verb", "verbs have one object", combinations.verb),
        ):
            has = np.bincount(index)
            need = VERIFY[rules.verify](has) * (has > 0)
            never = int((need > has).sum())
            if never:
                found = f"{rules.verify}, which no split can keep: {never} of {int((has > 0).sum())} {single}"
                raise OptionError(f"verify: found {found}; expected possible or released")
            self._sides.append((lack, index, need))

    def by_seed(self, seed: int, wanted: int) -> tuple[Mask | None, str]:
        """Sample ``wanted`` combinations with one seed; return their (C,) mask, or None and the reason of failure."""
        order = np.random.RandomState(seed).permutation(len(self._group))
        if self._rules.draw == "uniform":
            drawn = self._with(self._none, order[:wanted])
            if (np.isin(self._group, self._group[drawn.held_out]) & ~drawn.held_out).any():
                return None, "a training combination was more similar than the maximum"
            reason = self._lacking(drawn)
            return (None, reason) if reason else (drawn.held_out, "")
        drawn, left, reasons = self._none, wanted, Counter[str]()
        for first in order[np.sort(np.unique(self._group[order], return_index=True)[1])]:
            members = np.flatnonzero(self._group == self._group[first])
            if len(members) > left:
                reasons["too many combinations are linked by similarities above the maximum"] += 1
                continue
            more = self._with(drawn, members)
            reason = self._lacking(more)
            if reason:
                reasons[reason] += 1
                continue
            drawn, left = more, left - len(members)
            if not left:
                return drawn.held_out, ""
        return None, f"{left:,} of {wanted:,} test combinations not found: {reasons.most_common(1)[0][0]}"

    def _with(self, drawn: _Sample, members: Indices) -> _Sample:
        held_out, lost = drawn.held_out.copy(), drawn.lost.copy()
        held_out[members] = True
        starts, ends = self._of_row[members], self._of_row[members + 1]
        images = np.unique(self._image[expand(starts, ends - starts)[1]])
        images = images[~lost[images]]
        lost[images] = True
        starts, ends = self._of_image[images], self._of_image[images + 1]
        gone = np.bincount(self._row[expand(starts, ends - starts)[1]], minlength=len(held_out))
        return _Sample(held_out, lost, drawn.shown - gone)

    def _lacking(self, drawn: _Sample) -> str:
        """Return the first rule that the training data do not satisfy, or ""."""
        train, shown = ~drawn.held_out, drawn.shown > 0
        for lack, index, need in self._sides:
            left = index[train if self._rules.verify == "released" else shown]
            if (np.bincount(left, minlength=len(need)) < need).any():
                return f"training would keep {lack}"
        if self._similar is None or not self._rules.min_similarity:
            return ""
        if (self._similar[np.ix_(drawn.held_out, shown)].max(axis=1, initial=0) < self._rules.min_similarity).any():
            return "a test combination was less similar to all training combinations than the minimum"
        return ""


@dataclass(frozen=True, slots=True, eq=False)
class SystematicSplit:
    """A systematic generalisation split.

    Attributes:
        train, test: annotations of the two parts.
        held_out: (C,) combinations that only test has.
        dropped: (m,) images in neither part.
        seed: random seed of the split.
        tries: number of seeds that were tried, including the last one.
    """

    train: Interactions
    test: Interactions
    held_out: Mask
    dropped: Mask
    seed: int = 0
    tries: int = 1

    def shown(self, combinations: Combinations) -> Mask:
        """Return the (C,) combinations that training images show."""
        shown = np.zeros((len(self.train.verbs), len(self.train.objects)), bool)
        shown[self.train.verb, self.train.object] = True
        return shown[combinations.verb, combinations.object]


def split_systematically(
    table: Interactions,
    rules: SplitRules,
    seed: int = 0,
    *,
    combinations: Combinations | None = None,
    similarity: Floats | None = None,
) -> SystematicSplit:
    """Split a whole dataset, training and test images together, by combination.

    Args:
        seed: first random seed to try, 0 or more; further seeds are the next integers.
        combinations: combinations of the table in the order of the list that is shuffled.
        similarity: (C, C) symmetric similarities of combinations, needed for rules about similarity.

    Raises:
        OptionError: if the rules are impossible, or no seed satisfies them.
    """
    combinations = Combinations.of(table) if combinations is None else combinations
    wanted = len(combinations) - int(rules.ratio * len(combinations))
    if not 0 < wanted < len(combinations):
        found = f"{rules.ratio:g} of {many(len(combinations), 'combination')}"
        raise OptionError(f"ratio: found {found}, expected a share that leaves some for training and some for test")
    if rules.by_similarity and similarity is None:
        raise OptionError("similarity: found none, expected one, by which min_similarity and max_similarity are kept")
    draw = Draw(table, combinations, rules, similarity)
    reasons: Counter[str] = Counter()
    for tried in range(rules.tries):
        held_out, reason = draw.by_seed(seed + tried, wanted)
        if held_out is not None:
            return replace(_of_images(table, combinations, held_out, rules), seed=seed + tried, tries=tried + 1)
        reasons[reason] += 1
    (most, times), *_ = reasons.most_common(1)
    last = f" to {seed + rules.tries - 1}" if rules.tries > 1 else ""
    raise OptionError(
        f"no split found with seed {seed}{last}; most often ({times:,} of {rules.tries:,}): {most}; expected a larger "
        "ratio, fewer conditions, or more tries"
    )


def images_of(table: Interactions, held_out: Mask) -> tuple[Mask, Mask]:
    """Return which images belong to test, and which are mixed, given which of the n triplets are held out.

    Test images (m,) have only held-out triplets, or none at all as in Algorithm 1; mixed images (m,) have some.
    """
    number = np.bincount(table.image[held_out], minlength=len(table.images))
    test = number == np.diff(table.offsets)
    return test, (number > 0) & ~test


def _of_images(table: Interactions, combinations: Combinations, held_out: Mask, rules: SplitRules) -> SystematicSplit:
    held = held_out[combinations.row]
    test, mixed = images_of(table, held)
    train, dropped = ~(test | mixed), np.zeros_like(test)
    if rules.empty == "drop":
        dropped |= np.diff(table.offsets) == 0
    if rules.mixed == "drop":
        dropped |= mixed
    of_test = table.select(held).select_images((test | mixed) & ~dropped)
    return SystematicSplit(table.select_images(train), of_test, held_out, dropped)


PARTS = ("train", "test")
CARD = "split.json"
FORMATS = {"json": ".json", "native": ".npz"}
Read = Mapping[str, tuple[Path, GroundTruth]]
"""Paths and ground truths of the files that are split, by "train" and "test", or only "train"."""


class SplitSource(Document, frozen=True):
    """A file that was split."""

    file: str
    split: str
    truth_sha: str


class SplitFile(Document, frozen=True):
    """A file that was written."""

    file: str
    sha256: str


class SplitCounts(Document, frozen=True):
    """Number of images, images without triplets, triplets, and distinct combinations of object and verb."""

    images: Count
    empty_images: Count
    triplets: Count
    combinations: Count


class HeldOut(Document, frozen=True):
    """Number of combinations that were split, and of those that training images must not show."""

    all: Count
    held_out: Count


class Shared(Document, frozen=True):
    """Number of combinations and images that both files have."""

    combinations: Count
    images: Count


class Partners(Document, frozen=True):
    """Number of objects (or verbs) with one partner in all, and with one or no partner in training images."""

    all: Count
    train: Count
    absent: Count


class Single(Document, frozen=True):
    """Number of objects with a single verb, and of verbs with a single object."""

    objects_of_one_verb: Partners
    verbs_of_one_object: Partners


class Nearest(Document, frozen=True):
    """Similarity of test combinations to the most similar training combination under a similarity map."""

    similarity: str
    mean: Fraction
    quartiles: Annotated[list[Fraction], Meta(min_length=5, max_length=5, description="lowest to highest")]


class DatasetSplit(Document, frozen=True, kw_only=True):
    """Card of a systematic generalisation split: how it was made, and counts of the written files."""

    shoe: str
    dataset: str
    kind: str
    seed: Count
    tries: Count
    rules: SplitRules
    inputs: dict[str, SplitSource]
    original: dict[str, SplitCounts]
    files: dict[str, SplitFile]
    dropped_images: Count
    statistics: dict[str, SplitCounts]
    combinations: HeldOut
    shared: Shared
    single: Single
    held_out: list[str]
    nearest: Nearest


def split_files(
    read: Read,
    rules: SplitRules,
    seed: int,
    folder: Path,
    written_as: str,
    similarity: tuple[str, Callable[[Indices, Indices], Floats]],
) -> DatasetSplit:
    """Split ground truth files, write both parts and a card into a folder, and return the card.

    Args:
        seed: first random seed to try.
        folder: output folder, created if needed.
        written_as: output format, a key of ``FORMATS``.
        similarity: name of the class similarity, and a function from R and S class indices to (R, S) similarities.

    Raises:
        InputError: for files that do not belong together, and a folder that cannot be written to.
        OptionError: for rules that cannot be satisfied, and a format that the benchmark cannot be written in.
    """
    name, similar = similarity
    truth = next(iter(read.values()))[1]
    dataset, table = truth.benchmark, joined(read)
    write_json = next((known.write for known in dataset.formats if known.write is not None), None)
    if written_as != "native" and write_json is None:
        raise OptionError(f"format: found json, which {dataset.name} is not written in; expected native")
    combinations = Combinations.of(table, file_order(dataset))
    hoi = dataset.classes.of[combinations.verb, combinations.object].astype(np.int64)
    of_combinations = similar(hoi, hoi) if rules.by_similarity else None
    made = split_systematically(table, rules, seed, combinations=combinations, similarity=of_combinations)
    shown = made.shown(combinations)
    nearest = similar(hoi[made.held_out], hoi[shown]).max(axis=1, initial=0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CARD).unlink(missing_ok=True)  # the card is written last: without it the folder is incomplete
    except OSError as error:
        expected = "a folder that can be written to"
        raise InputError(folder, found=error.strerror or str(error), expected=expected) from None
    paths = {part: folder / f"{part}{FORMATS[written_as]}" for part in PARTS}
    for part, of_part in zip(PARTS, (made.train, made.test), strict=True):
        if written_as == "native" or write_json is None:
            write_native(of_part, paths[part])
        else:
            write_json(of_part, paths[part], dataset)
    written = {part: read_ground_truth(path, dataset) for part, path in paths.items()}
    train, test = (written[part] for part in PARTS)
    card = DatasetSplit(
        shoe=__version__,
        dataset=dataset.name,
        kind="systematic",
        seed=made.seed,
        tries=made.tries,
        rules=rules,
        inputs={
            part: SplitSource(path.name, of_part.split, of_part.facts()["truth-sha"])
            for part, (path, of_part) in read.items()
        },
        original={part: _counts(of_part.interactions) for part, (_, of_part) in read.items()},
        files={
            part: SplitFile(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for part, path in paths.items()
        },
        dropped_images=int(made.dropped.sum()),
        statistics={part: _counts(truth.interactions) for part, truth in written.items()},
        combinations=HeldOut(len(combinations), int(made.held_out.sum())),
        shared=Shared(
            int(((train.triplets_per_class > 0) & (test.triplets_per_class > 0)).sum()),
            len(set(train.interactions.images) & set(test.interactions.images)),
        ),
        single=Single(_partners(combinations.object, shown), _partners(combinations.verb, shown)),
        held_out=[dataset.classes.labels[i] for i in hoi[made.held_out]],
        nearest=Nearest(name, float(nearest.mean()), np.quantile(nearest, [0, 0.25, 0.5, 0.75, 1]).tolist()),
    )
    with replacing(folder / CARD) as stream:
        stream.write(encode(card, readable=True))
    return card


def joined(read: Read) -> Interactions:
    """Return the annotations of all files as one table.

    Raises:
        InputError: if two files have the same image, or a test set is given as training set.
    """
    (path, truth), *more = read.values()
    splits = truth.benchmark.splits
    for part, (own_path, of_part) in read.items():
        swapped = next((other for other in PARTS if other != part and other in of_part.split), None)
        if of_part.split in splits and swapped is not None and part not in of_part.split:
            found, hint = f"the split {of_part.split}", "are --train and --test swapped?"
            raise InputError(own_path, found=found, expected=f"images of {part}", hint=hint)
    for other, of_part in more:
        known = set(truth.interactions.images)
        twice = [name for name in of_part.interactions.images if name in known]
        if twice:
            found = f"{many(len(twice), 'image')} that {path} has, too, as {quote(twice[0])}"
            raise InputError(other, found=found, expected="other images")
    return concatenate([of_part.interactions for _, of_part in read.values()])


def _counts(table: Interactions) -> SplitCounts:
    empty = int((np.diff(table.offsets) == 0).sum())
    return SplitCounts(len(table.images), empty, len(table), len(Combinations.of(table)))


def _partners(index: Indices, shown: Mask) -> Partners:
    """Count partners, given the object (or verb) of each of the C combinations and whether training shows it."""
    number = np.bincount(index)
    left = np.bincount(index[shown], minlength=len(number))[number > 0]
    return Partners(int((number == 1).sum()), int((left == 1).sum()), int((left == 0).sum()))
