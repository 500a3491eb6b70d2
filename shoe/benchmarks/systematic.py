"""Systematic generalisation splits: test images show only combinations of object and verb that are not in training.

This is Algorithm 1 of the HICO-DET-SG paper (docs/splits.md): sample test combinations, assign each image to the test
set, the training set or neither, check the training set, and try the next seed if it does not satisfy the rules.
:class:`SplitRules` has an option for each point where the paper is ambiguous or the released files differ from it.
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
from shoe.benchmarks.truth import GroundTruth, read_truth_file
from shoe.core.arrays import Floats, Indices, Mask, expand, mask_of, positions
from shoe.core.documents import Count, Document, Fraction
from shoe.core.errors import InputError, OptionError, pluralize, quote, unknown_name
from shoe.core.interactions import Interactions, concatenate
from shoe.core.io.files import atomic_write
from shoe.core.io.json import encode
from shoe.core.io.native import write_native
from shoe.version import __version__

SOURCE = "Takemoto et al., HICO-DET-SG and V-COCO-SG; seeds and program of FujitsuResearch/hoi_sg"


def published_splits(dataset: str, ratio: float, seeds: Sequence[int]) -> dict[str, Callable[[], ClassSplit]]:
    """Return {"sg1": function that builds the split, ...}; ``ratio`` is the fraction of combinations for training."""
    return {f"sg{number}": partial(_published, dataset, ratio, seed, number) for number, seed in enumerate(seeds, 1)}


def _published(dataset: str, ratio: float, seed: int, number: int) -> ClassSplit:
    # The released program lists combinations by COCO category of the object and then by verb number in its files, and
    # shuffles the list (docs/splits.md).
    data = benchmark(dataset)
    classes = data.classes
    ordered = np.argsort(file_order(data)[classes.verb, classes.object])
    shuffled = np.random.RandomState(seed).permutation(len(ordered))
    held_out = ordered[shuffled[: len(ordered) - int(ratio * len(ordered))]]
    about = f"the {len(held_out)} combinations held out by systematic generalisation split {number}"
    return ClassSplit.of_unseen(f"sg{number}", held_out, len(classes), SOURCE, about)


def file_order(data: Benchmark) -> Indices:
    """Return (V, O) keys that sort pairs of V verbs and O objects by object ID, then by verb ID in files."""
    object_number = positions(range(len(data.classes.objects)), data.object_order.tolist())
    verb_number = np.argsort(data.verb_order)[:, None]
    if data.actions.all:  # an action has a number for each role, and an object has one of the roles
        every = np.indices((len(data.classes.verbs), len(data.classes.objects)))
        verb_number = data.actions.verb_ids(data.classes.verbs, data.classes.objects, *every)
    return object_number * (int(verb_number.max()) + 1) + verb_number


VERIFY: dict[str, Callable[[Indices], Indices]] = {
    # Two, or one for an object or verb with only one combination; counted in training images.
    "possible": lambda total: np.minimum(total, 2),
    # Two, as in the paper, which is impossible if a verb has one object; counted in training images.
    "paper": lambda total: np.full_like(total, 2),
    # One, as in the released program; counted in the list of training combinations, without regard to images.
    "released": lambda total: np.minimum(total, 1),
}
"""Rules for the minimum number of training combinations of each object and verb, as functions of its total number."""
DRAWS = ("skip", "uniform")
"""Sampling of test combinations from a shuffled list: "uniform" takes the first combinations, like scikit-learn's
train_test_split; "skip" skips each combination whose removal from training would violate the rules."""
MIXED = ("drop", "cut")
"""Use of images that show training and test combinations: "drop" leaves the images out; "cut" assigns them to test
without their triplets of training combinations, as in the released files: these pairs are visible, not annotated."""
EMPTY = ("test", "drop")
"""Use of images without triplets: "test" assigns the images to test, as Algorithm 1 does because they show no training
combination; "drop" leaves them out."""


class SplitRules(Document, frozen=True, omit_defaults=False):
    """Rules of a systematic generalisation split.

    Attributes:
        ratio: fraction of the combinations for training, above 0 and below 1; their number is rounded down.
        verify: rule for the minimum number of training combinations of each object and verb, a key of ``VERIFY``.
        draw: sampling method of test combinations, one of ``DRAWS``.
        mixed: treatment of images that show both training and test combinations, one of ``MIXED``.
        empty: treatment of images without triplets, one of ``EMPTY``.
        min_similarity, max_similarity: bounds, 0 to 1, of the similarity of each test combination to the training
            combination most similar to it.
        tries: maximum number of seeds that are tried.
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
            raise OptionError(f"ratio: found {self.ratio:g}, expected a fraction above 0 and below 1, such as 0.9")
        if not 0 <= self.min_similarity <= self.max_similarity <= 1:
            found = f"{self.min_similarity:g} and {self.max_similarity:g}, expected 0 <= minimum <= maximum <= 1"
            raise OptionError(f"min_similarity and max_similarity: found {found}")
        if self.tries < 1:
            raise OptionError(f"tries: found {self.tries}, expected 1 or more")

    @property
    def by_similarity(self) -> bool:
        """Whether ``min_similarity`` or ``max_similarity`` differs from its default and so limits similarity."""
        return self.min_similarity > 0 or self.max_similarity < 1


@dataclass(frozen=True, slots=True, eq=False)
class Combinations:
    """The C combinations of object and verb in a table, in their order before shuffling.

    ``object`` and ``verb`` are the (C,) indices of words, and ``row`` the (n,) index of each triplet's combination.
    """

    object: Indices
    verb: Indices
    row: Indices

    @classmethod
    def from_table(cls, table: Interactions, order: NDArray[np.integer] | None = None) -> Combinations:
        """Return the combinations in a table, sorted by the (V, O) keys ``order``; by default by object, then verb."""
        usual = np.arange(len(table.verbs) * len(table.objects)).reshape(len(table.objects), -1).T
        key = (usual if order is None else order)[table.verb, table.object]
        _, first, row = np.unique(key, return_index=True, return_inverse=True)
        return cls(table.object[first].astype(np.int64), table.verb[first].astype(np.int64), row)

    def __len__(self) -> int:
        return len(self.object)


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """Combinations sampled so far.

    ``held_out`` is their (C,) mask, ``lost`` the (m,) mask of the images that show one of them and are therefore not in
    training, and ``shown`` the (C,) number of training images that show each combination.
    """

    held_out: Mask
    lost: Mask
    shown: Indices


class CombinationSampler:
    """Sampler of test combinations from the combinations of a table.

    NumPy's ``RandomState``, the same in all versions, shuffles the combinations. Combinations that are more similar to
    each other than ``max_similarity`` are only sampled together.
    """

    def __init__(
        self, table: Interactions, combinations: Combinations, rules: SplitRules, similar: Floats | None
    ) -> None:
        """Prepare the sampler; rules about similarity need (C, C) ``similar``. OptionError for impossible rules."""
        self._rules, self._similar = rules, similar
        count = len(combinations)
        image, row = np.divmod(np.unique(table.image * np.int64(count) + combinations.row), max(count, 1))
        self._row, self._of_image = row, np.searchsorted(image, np.arange(len(table.images) + 1))
        by_row = np.argsort(row, kind="stable")
        self._image, self._of_row = image[by_row], np.searchsorted(row[by_row], np.arange(count + 1))
        nothing = np.zeros(count, bool), np.zeros(len(table.images), bool)
        self._none = _Sample(*nothing, np.bincount(row, minlength=count))
        self._group: Indices = np.arange(count)
        if similar is not None and rules.max_similarity < 1:
            from scipy.sparse.csgraph import connected_components

            self._group = connected_components(similar > rules.max_similarity, directed=False)[1]
        self._sides: list[tuple[str, Indices, Indices]] = []
        for lack, single, index in (
            ("too few verbs of an object", "objects have only one verb", combinations.object),
            ("too few objects of a verb", "verbs have only one object", combinations.verb),
        ):
            has = np.bincount(index)
            need = VERIFY[rules.verify](has) * (has > 0)
            if never := int((need > has).sum()):
                impossible = f"{rules.verify} is impossible: {never} of {int((has > 0).sum())} {single}"
                raise OptionError(f"verify: found {rules.verify}, expected possible or released ({impossible})")
            self._sides.append((lack, index, need))

    def by_seed(self, seed: int, wanted: int) -> tuple[Mask | None, str]:
        """Sample ``wanted`` test combinations; return (their (C,) mask, "") or (None, reason for the failure)."""
        order = np.random.RandomState(seed).permutation(len(self._group))
        if self._rules.draw == "uniform":
            drawn = self._with(self._none, order[:wanted])
            if (np.isin(self._group, self._group[drawn.held_out]) & ~drawn.held_out).any():
                return None, "a training combination was more similar than the maximum"
            reason = self._lacking(drawn)
            return (None, reason) if reason else (drawn.held_out, "")
        drawn, left, reasons = self._none, wanted, Counter[str]()
        for group in dict.fromkeys(self._group[order].tolist()):
            members = np.flatnonzero(self._group == group)
            more, reason = drawn, "too many combinations are linked by similarities above the maximum"
            if len(members) <= left:
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
        showing = self._image[_members(self._of_row, members)]
        images = np.flatnonzero(mask_of(showing, len(drawn.lost)) & ~drawn.lost)
        gone = np.bincount(self._row[_members(self._of_image, images)], minlength=len(drawn.shown))
        held_out, lost = drawn.held_out.copy(), drawn.lost.copy()
        held_out[members] = True
        lost[images] = True
        return _Sample(held_out, lost, drawn.shown - gone)

    def _lacking(self, drawn: _Sample) -> str:
        """Return a description of the first rule that the training data violate, or "" if there is none."""
        train, shown = ~drawn.held_out, drawn.shown > 0
        for lack, index, need in self._sides:
            left = index[train if self._rules.verify == "released" else shown]
            if (np.bincount(left, minlength=len(need)) < need).any():
                return f"training would keep {lack}"
        least = self._rules.min_similarity
        if self._similar is not None and least:
            nearest = self._similar[np.ix_(drawn.held_out, shown)].max(axis=1, initial=0)
            if (nearest < least).any():
                return "a test combination was less similar to all training combinations than the minimum"
        return ""


def _members(offsets: Indices, groups: Indices) -> Indices:
    return expand(offsets[groups], np.diff(offsets)[groups])[1]


@dataclass(frozen=True, slots=True, eq=False)
class SystematicSplit:
    """A systematic generalisation split.

    ``held_out`` is the (C,) mask of the test combinations, ``dropped`` the (m,) mask of the images in neither part, and
    ``tries`` the number of seeds that were tried, including the last one.
    """

    train: Interactions
    test: Interactions
    held_out: Mask
    dropped: Mask
    seed: int = 0
    tries: int = 1


def split_systematically(
    table: Interactions,
    rules: SplitRules,
    seed: int = 0,
    *,
    combinations: Combinations | None = None,
    similarity: Floats | None = None,
) -> SystematicSplit:
    """Split a table into a training part and a test part; no combination of verb and object is in both.

    ``seed`` is the first random seed to try, and further seeds the next integers. ``combinations`` are in their order
    before shuffling; by default sorted by object and verb. Rules that limit similarity need the (C, C) ``similarity``.

    Raises OptionError if the rules are impossible, or no split with the tried seeds satisfies them.
    """
    combinations = Combinations.from_table(table) if combinations is None else combinations
    wanted = len(combinations) - int(rules.ratio * len(combinations))
    if not 0 < wanted < len(combinations):
        found = f"{rules.ratio:g} of {pluralize(len(combinations), 'combination')}"
        expected = "a fraction that leaves at least one combination for training and one for test"
        raise OptionError(f"ratio: found {found}, expected {expected}")
    if rules.by_similarity and similarity is None:
        raise OptionError("similarity: required for min_similarity and max_similarity, but missing")
    draw = CombinationSampler(table, combinations, rules, similarity)
    reasons: Counter[str] = Counter()
    for tried in range(rules.tries):
        held_out, reason = draw.by_seed(seed + tried, wanted)
        if held_out is not None:
            return replace(_of_images(table, combinations, held_out, rules), seed=seed + tried, tries=tried + 1)
        reasons[reason] += 1
    (most, times), *_ = reasons.most_common(1)
    last = f" to {seed + rules.tries - 1}" if rules.tries > 1 else ""
    advice = "use a larger ratio, fewer conditions, or more tries"
    reason = f"most frequent reason ({times:,} of {rules.tries:,}): {most}"
    raise OptionError(f"no split found with seed {seed}{last}; {reason}; {advice}")


def held_out_images(table: Interactions, held_out: Mask) -> tuple[Mask, Mask]:
    """Return (m,) masks of test images and of mixed images, given the (n,) mask of held-out triplets.

    Test images have only held-out triplets, or no triplets; mixed images have held-out and other triplets.
    """
    number = np.bincount(table.image[held_out], minlength=len(table.images))
    test = number == np.diff(table.offsets)
    return test, (number > 0) & ~test


def _of_images(table: Interactions, combinations: Combinations, held_out: Mask, rules: SplitRules) -> SystematicSplit:
    held = held_out[combinations.row]
    test, mixed = held_out_images(table, held)
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
"""Path and ground truth of each input file, with the keys "train" and "test", or only "train"."""


class SplitSource(Document, frozen=True):
    """An input file of a split: file name, split of the dataset in the file, and digest of the ground truth."""

    file: str
    split: str
    truth_sha: str


class SplitFile(Document, frozen=True):
    """A written file and its SHA-256."""

    file: str
    sha256: str


class SplitCounts(Document, frozen=True):
    """Number of images, images without triplets, triplets, and distinct combinations of object and verb."""

    images: Count
    empty_images: Count
    triplets: Count
    combinations: Count


class HeldOut(Document, frozen=True):
    """Number of all combinations, and number of held-out combinations, which no training image shows."""

    all: Count
    held_out: Count


class Shared(Document, frozen=True):
    """Number of combinations, and number of images, that are in both the training part and the test part."""

    combinations: Count
    images: Count


class Partners(Document, frozen=True):
    """Counts of objects that occur with only one verb, or of verbs that occur with only one object.

    Attributes:
        all: number of these objects (or verbs) over all images.
        train: the same number, if only combinations in training images are counted.
        absent: number of all objects (or verbs) that no training image shows.
    """

    all: Count
    train: Count
    absent: Count


class Single(Document, frozen=True):
    """Objects that occur with a single verb, and verbs that occur with a single object."""

    objects_of_one_verb: Partners
    verbs_of_one_object: Partners


class Nearest(Document, frozen=True):
    """Similarity of test combinations to the nearest training combination; ``similarity``: name and hash of the map."""

    similarity: str
    mean: Fraction
    quartiles: Annotated[list[Fraction], Meta(min_length=5, max_length=5, description="lowest to highest")]


class DatasetSplit(Document, frozen=True, kw_only=True):
    """Description of a systematic generalisation split: how it was made, and counts of the written files.

    Attributes:
        original, statistics: counts of the input files, and of the written files, by "train" and "test".
        held_out: labels of the classes that only the test file contains.
        nearest: similarity of these classes to their nearest class in training.
    """

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
    """Split ground truth files, write both parts and a card ``split.json`` to a folder, and return the card.

    Existing files are replaced. An existing card is deleted first, so that an incomplete folder has no card.

    ``written_as`` is a key of ``FORMATS``; ``similarity`` is the name of the class similarity, and a callback that
    returns the (R, S) similarities between R and S class indices. Raises InputError if the files do not belong
    together, OptionError if the rules cannot be satisfied or the benchmark has no writer for the format.
    """
    name, similar = similarity
    truth = next(iter(read.values()))[1]
    dataset, table = truth.benchmark, joined(read)
    write_json = next((known.write for known in dataset.formats if known.write is not None), None)
    if written_as != "native" and write_json is None:
        raise OptionError(f"format: found json, expected native (ground truth of {dataset.name} has no JSON writer)")
    combinations = Combinations.from_table(table, file_order(dataset))
    hoi = dataset.classes.of[combinations.verb, combinations.object].astype(np.int64)
    of_combinations = similar(hoi, hoi) if rules.by_similarity else None
    made = split_systematically(table, rules, seed, combinations=combinations, similarity=of_combinations)
    in_training = np.zeros((len(table.verbs), len(table.objects)), bool)
    in_training[made.train.verb, made.train.object] = True
    shown = in_training[combinations.verb, combinations.object]
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
    train, test = (read_truth_file(paths[part], dataset) for part in PARTS)
    card = DatasetSplit(
        shoe=__version__,
        dataset=dataset.name,
        kind="systematic",
        seed=made.seed,
        tries=made.tries,
        rules=rules,
        inputs={
            part: SplitSource(path.name, of_part.split, of_part.signature_fields()["truth-sha"])
            for part, (path, of_part) in read.items()
        },
        original={part: _counts(of_part.interactions) for part, (_, of_part) in read.items()},
        files={
            part: SplitFile(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for part, path in paths.items()
        },
        dropped_images=int(made.dropped.sum()),
        statistics={"train": _counts(train.interactions), "test": _counts(test.interactions)},
        combinations=HeldOut(len(combinations), int(made.held_out.sum())),
        shared=Shared(
            int(((train.triplets_per_class > 0) & (test.triplets_per_class > 0)).sum()),
            len(set(train.interactions.images) & set(test.interactions.images)),
        ),
        single=Single(_partners(combinations.object, shown), _partners(combinations.verb, shown)),
        held_out=[dataset.classes.labels[i] for i in hoi[made.held_out]],
        nearest=Nearest(name, float(nearest.mean()), np.quantile(nearest, [0, 0.25, 0.5, 0.75, 1]).tolist()),
    )
    with atomic_write(folder / CARD) as stream:
        stream.write(encode(card, readable=True))
    return card


def joined(read: Read) -> Interactions:
    """Return the annotations of all files, as in :func:`split_files`, as one table.

    Raises InputError if two files contain the same image, or if the files of "train" and "test" are exchanged.
    """
    (path, truth), *more = read.values()
    for part, (own_path, of_part) in read.items():
        swapped = any(other != part and other in of_part.split for other in PARTS) and part not in of_part.split
        if swapped and of_part.split.partition("/")[0] in truth.benchmark.splits:
            found, hint = f"the split {of_part.split}", "are --train and --test swapped?"
            raise InputError(own_path, found=found, expected=f"images of {part}", hint=hint)
    known = set(truth.interactions.images)
    for other, of_part in more:
        if twice := [name for name in of_part.interactions.images if name in known]:
            found = f"{pluralize(len(twice), 'image')} that {path} also contains, such as {quote(twice[0])}"
            raise InputError(other, found=found, expected="images that are in one file only")
    return concatenate([of_part.interactions for _, of_part in read.values()])


def _counts(table: Interactions) -> SplitCounts:
    empty = int((np.diff(table.offsets) == 0).sum())
    return SplitCounts(len(table.images), empty, len(table), len(Combinations.from_table(table)))


def _partners(index: Indices, in_training: Mask) -> Partners:
    """Return the counts of objects (or verbs) with a single partner, given the (C,) object (verb) of combinations."""
    number = np.bincount(index)
    left = np.bincount(index[in_training], minlength=len(number))[number > 0]
    return Partners(int((number == 1).sum()), int((left == 1).sum()), int((left == 0).sum()))
