"""Systematic generalisation: splits whose test images show only combinations of object and verb that training lacks.

Algorithm 1 of the HICO-DET-SG paper (docs/splits.md): draw combinations for the test, give each image to test or
training or to neither, verify the training data, and take the next seed where they do not hold. What the paper leaves
open, and what the released files do otherwise, is a choice of :class:`Rules`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from shoe.benchmarks.systematic_draw import Draw
from shoe.benchmarks.systematic_rules import Combinations, Rules
from shoe.core.arrays import Floats, Mask
from shoe.core.errors import OptionError, many
from shoe.core.interactions import Interactions

__all__ = ["Combinations", "Rules", "SystematicSplit", "images_of", "split_systematically"]


@dataclass(frozen=True, slots=True, eq=False)
class SystematicSplit:
    """A split, and how it was come by.

    Attributes:
        train, test: the two tables.
        held_out: (C,) combinations that are in test alone.
        dropped: (m,) images that are in neither.
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

    The first seed that is tried is ``seed``, 0 or more; each next one is one more. ``combinations`` are in the order
    that the draw shuffles; ``similarity`` is (C, C) of each two, both ways alike, for rules about it.

    Raises:
        OptionError: for rules that cannot be kept, and where no seed kept them.
    """
    of = Combinations.of(table) if combinations is None else combinations
    wanted = len(of) - int(rules.ratio * len(of))
    if not 0 < wanted < len(of):
        found = f"{rules.ratio:g} of {many(len(of), 'combination')}"
        raise OptionError(f"ratio: found {found}, expected a share that leaves some for training and some for test")
    if rules.by_similarity and similarity is None:
        raise OptionError("similarity: found none, expected one, by which min_similarity and max_similarity are kept")
    draw = Draw(table, of, rules, similarity)
    reasons: Counter[str] = Counter()
    for tried in range(rules.tries):
        held_out, reason = draw.by_seed(seed + tried, wanted)
        if held_out is not None:
            return replace(_of_images(table, of, held_out, rules), seed=seed + tried, tries=tried + 1)
        reasons[reason] += 1
    (most, times), *_ = reasons.most_common(1)
    last = f" to {seed + rules.tries - 1}" if rules.tries > 1 else ""
    raise OptionError(
        f"no split found with seed {seed}{last}; most often ({times:,} of {rules.tries:,}): {most}; expected a larger "
        "ratio, fewer conditions, or more tries"
    )


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
