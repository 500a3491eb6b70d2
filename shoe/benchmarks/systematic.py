"""Systematic generalisation: splits whose test images show only combinations of object and verb that training lacks.

Algorithm 1 of the HICO-DET-SG paper (docs/splits.md): draw combinations for the test, give each image to test or
training or to neither, verify the training data, and take the next seed where they do not hold. What the paper leaves
open, and what the released files do otherwise, is a choice of :class:`Rules`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.errors import OptionError, many, unknown_name
from shoe.core.interactions import Interactions

VERIFY: dict[str, Callable[[Indices], Indices]] = {
    "possible": lambda all_of_them: np.minimum(all_of_them, 2),
    "paper": lambda all_of_them: np.full_like(all_of_them, 2),
    "released": lambda all_of_them: np.minimum(all_of_them, 1),
}
"""How many combinations each object and each verb has to keep in training, given how many there are in all:

- possible: two, or its only one. Of training images.
- paper: two, as the paper has it, which no split of a verb with one object can hold. Of training images.
- released: one, as the released program has it. Of the combinations drawn, whatever images show them.
"""
DRAWS = ("skip", "uniform")
"""What a draw is: the first combinations of a shuffled list (uniform: scikit-learn's train_test_split), or the first of
that list that leave each object and verb what it has to keep (skip). The two are one where the former holds."""
MIXED = ("drop", "cut")
"""What becomes of images with combinations of both kinds: none of them is used, or they go to test without their
triplets of training combinations, as in the released files, where these pairs stay visible and are not annotated."""
EMPTY = ("test", "drop")
"""What becomes of images without triplets: of none of theirs is of a training combination, by which Algorithm 1 has
them in test; or they are used nowhere."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How a split is made.

    Attributes:
        ratio: share of the combinations that is for training, above 0 and below 1; rounded down.
        verify: what each object and verb keeps in training: a key of ``VERIFY``.
        draw: one of ``DRAWS``.
        mixed: one of ``MIXED``.
        empty: one of ``EMPTY``.
        min_similarity: what the training combination most similar to a test combination has at least; 0 to 1.
        max_similarity: what it has at most.
        tries: how many seeds are tried.
    """

    ratio: float = 0.9
    verify: str = "possible"
    draw: str = "skip"
    mixed: str = "drop"
    empty: str = "test"
    min_similarity: float = 0.0
    max_similarity: float = 1.0
    tries: int = 1000

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
        """Whether it matters how similar combinations are."""
        return self.min_similarity > 0 or self.max_similarity < 1


@dataclass(frozen=True, slots=True, eq=False)
class Combinations:
    """The C combinations of object and verb that a table has, in the order in which they are drawn from.

    Attributes:
        object, verb: (C,) index into the table's vocabularies.
        row: (n,) combination of each triplet.
    """

    object: Indices
    verb: Indices
    row: Indices

    @classmethod
    def of(cls, table: Interactions, order: NDArray[np.integer] | None = None) -> Combinations:
        """Find them.

        Args:
            table: all that is annotated.
            order: (verbs, objects) numbers by which the combinations are ordered, each another one; without it, object
                by object and then verb by verb, as the vocabularies have them.
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
class SystematicSplit:
    """A split, and how it was come by.

    Attributes:
        train, test: the two tables.
        held_out: (C,) combinations that are in test alone.
        dropped: (m,) images that are in neither.
        seed: of the draw.
        tries: how many seeds were tried, the last included.
    """

    train: Interactions
    test: Interactions
    held_out: Mask
    dropped: Mask
    seed: int = 0
    tries: int = 1

    def shown(self, of: Combinations) -> Mask:
        """(C,) combinations that training images show."""
        shown = np.zeros((len(self.train.verbs), len(self.train.objects)), bool)
        shown[self.train.verb, self.train.object] = True
        return shown[of.verb, of.object]


def split_systematically(
    table: Interactions,
    rules: Rules,
    seed: int = 0,
    *,
    combinations: Combinations | None = None,
    similarity: Floats | None = None,
) -> SystematicSplit:
    """Split a whole data set, training and test images together, by combination.

    Args:
        table: all that is annotated.
        rules: of the split.
        seed: the first that is tried, 0 or more; each next one is one more.
        combinations: those of the table, in the order that the draw shuffles.
        similarity: (C, C) of each two combinations, both ways alike, for rules about it.

    Raises:
        OptionError: for rules that cannot be kept, and where no seed kept them.
    """
    of = Combinations.of(table) if combinations is None else combinations
    need = Needs(table, of, rules)
    wanted = len(of) - int(rules.ratio * len(of))
    if not 0 < wanted < len(of):
        found = f"{rules.ratio:g} of {many(len(of), 'combination')}"
        raise OptionError(f"ratio: found {found}, expected a share that leaves some for training and some for test")
    if rules.by_similarity and similarity is None:
        raise OptionError("similarity: found none, expected one, by which min_similarity and max_similarity are kept")
    reasons: Counter[str] = Counter()
    for tried in range(rules.tries):
        held_out, reason = draw(need, wanted, seed + tried, similarity)
        if held_out is not None:
            return replace(_of_images(table, of, held_out, rules), seed=seed + tried, tries=tried + 1)
        reasons[reason] += 1
    (most, times), *_ = reasons.most_common(1)
    last = f" to {seed + rules.tries - 1}" if rules.tries > 1 else ""
    raise OptionError(
        f"no split found with seed {seed}{last}; most often ({times:,} of {rules.tries:,}): {most}; expected a larger "
        "ratio, fewer conditions, or more tries"
    )


class Needs:
    """What training has to keep of each object and each verb.

    Attributes:
        of: the combinations.
        rules: of the split.
    """

    def __init__(self, table: Interactions, of: Combinations, rules: Rules) -> None:
        self.of, self.rules = of, rules
        self._images = len(table.images)
        self._image, self._row = np.divmod(np.unique(table.image * np.int64(len(of)) + of.row), max(len(of), 1))
        self._sides: list[tuple[str, Indices, Indices]] = []
        for what, single, index in (
            ("too few verbs of an object", "objects have one verb", of.object),
            ("too few objects of a verb", "verbs have one object", of.verb),
        ):
            has = np.bincount(index)
            need = VERIFY[rules.verify](has) * (has > 0)
            never = int((need > has).sum())
            if never:
                found = f"{rules.verify}, which no split can keep: {never} of {int((has > 0).sum())} {single}"
                raise OptionError(f"verify: found {found}; expected possible or released")
            self._sides.append((what, index, need))

    def lacking(self, held_out: Mask) -> str:
        """Say what training lacks without (C,) combinations; nothing where it has enough."""
        train = ~held_out if self.rules.verify == "released" else self.shown(held_out)
        for what, index, need in self._sides:
            if (np.bincount(index[train], minlength=len(need)) < need).any():
                return f"training would keep {what}"
        return ""

    def shown(self, held_out: Mask) -> Mask:
        """(C,) combinations that are left in images without held-out ones."""
        other = np.zeros(self._images, bool)
        other[self._image[held_out[self._row]]] = True
        shown = np.zeros(len(held_out), bool)
        shown[self._row[~other[self._image]]] = True
        return shown


def draw(need: Needs, wanted: int, seed: int, similar: Floats | None = None) -> tuple[Mask | None, str]:
    """Draw test combinations with one seed.

    The combinations are shuffled by NumPy's frozen ``RandomState``. Those that are more similar to each other than the
    maximum, or linked by such, stand or fall together: a group takes part where its first one stands.

    Args:
        need: what training keeps.
        wanted: how many to draw.
        seed: of the draw.
        similar: (C, C) similarity of each two, both ways alike.

    Returns:
        (C,) mask, or None and what was in the way.
    """
    rules = need.rules
    order = np.random.RandomState(seed).permutation(len(need.of))
    grouped = similar is not None and rules.max_similarity < 1
    group = _linked(similar > rules.max_similarity) if similar is not None and grouped else np.arange(len(order))
    held = np.zeros(len(order), bool)
    if rules.draw == "uniform":
        held[order[:wanted]] = True
        if grouped and (np.isin(group, group[held]) & ~held).any():
            return None, "a training combination was more similar than the maximum"
        reason = _in_the_way(need, held, similar)
        return (None, reason) if reason else (held, "")
    left, reasons = wanted, Counter[str]()
    for first in order[np.sort(np.unique(group[order], return_index=True)[1])]:
        members = np.flatnonzero(group == group[first])
        if len(members) > left:
            reasons["too many combinations are linked by similarities above the maximum"] += 1
            continue
        held[members] = True
        reason = _in_the_way(need, held, similar)
        if reason:
            held[members] = False
            reasons[reason] += 1
            continue
        left -= len(members)
        if not left:
            return held, ""
    return None, f"{left:,} of {wanted:,} test combinations not found: {reasons.most_common(1)[0][0]}"


def _in_the_way(need: Needs, held: Mask, similar: Floats | None) -> str:
    reason = need.lacking(held)
    if reason or similar is None or not need.rules.min_similarity:
        return reason
    if (similar[np.ix_(held, need.shown(held))].max(axis=1, initial=0) < need.rules.min_similarity).any():
        return "a test combination was less similar to all training combinations than the minimum"
    return ""


def images_of(table: Interactions, held_out: Mask) -> tuple[Mask, Mask]:
    """Tell which images go where, given which of the n triplets are of test combinations.

    Returns:
        (m,) test images, all of whose triplets are, so those without triplets too, as Algorithm 1 has it;
        and (m,) mixed ones, some of whose triplets are.
    """
    number = np.bincount(table.image[held_out], minlength=len(table.images))
    test = number == np.diff(table.offsets)
    return test, (number > 0) & ~test


def _of_images(table: Interactions, of: Combinations, held_out: Mask, rules: Rules) -> SystematicSplit:
    held = held_out[of.row]
    test, mixed = images_of(table, held)
    train, dropped = ~(test | mixed), np.zeros_like(test)
    if rules.empty == "drop":
        dropped |= np.diff(table.offsets) == 0
    if rules.mixed == "drop":
        dropped |= mixed
    of_test = table.select(held).select_images((test | mixed) & ~dropped)
    return SystematicSplit(table.select_images(train), of_test, held_out, dropped)


def _linked(near: Mask) -> Indices:
    """(C,) number of the group of each combination: those that are near, or near to others that are."""
    from scipy.sparse.csgraph import connected_components

    group: Indices = connected_components(near, directed=False)[1]
    return group
