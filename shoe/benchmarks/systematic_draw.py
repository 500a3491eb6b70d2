"""The draw of test combinations, and what training has to keep without them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from shoe.benchmarks.systematic_rules import VERIFY, Combinations, Rules
from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.errors import OptionError
from shoe.core.interactions import Interactions
from shoe.core.ragged import expand


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """What was drawn so far.

    Attributes:
        held_out: (C,) combinations.
        lost: (m,) images that show one of them, and so are not in training.
        shown: (C,) how many training images show each combination.
    """

    held_out: Mask
    lost: Mask
    shown: Indices


class Draw:
    """Draws test combinations of a table by seeds.

    The combinations are shuffled by NumPy's frozen ``RandomState``. Those that are more similar to each other than the
    maximum, or linked by such, stand or fall together: a group takes part where its first one stands.
    """

    def __init__(self, table: Interactions, of: Combinations, rules: Rules, similar: Floats | None) -> None:
        """Prepare draws.

        Args:
            table: all that is annotated.
            of: its combinations.
            rules: of the split.
            similar: (C, C) similarity of each two, both ways alike; for rules about it.

        Raises:
            OptionError: for rules that no draw can keep.
        """
        self._rules, self._similar = rules, similar
        count = len(of)
        image, row = np.divmod(np.unique(table.image * np.int64(count) + of.row), max(count, 1))
        self._row, self._of_image = row, np.searchsorted(image, np.arange(len(table.images) + 1))
        by_row = np.argsort(row, kind="stable")
        self._image, self._of_row = image[by_row], np.searchsorted(row[by_row], np.arange(count + 1))
        self._none = _Drawn(np.zeros(count, bool), np.zeros(len(table.images), bool), np.bincount(row, minlength=count))
        self._group: Indices = np.arange(count)
        if similar is not None and rules.max_similarity < 1:
            from scipy.sparse.csgraph import connected_components

            self._group = connected_components(similar > rules.max_similarity, directed=False)[1]
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

    def by_seed(self, seed: int, wanted: int) -> tuple[Mask | None, str]:
        """Draw so many combinations with one seed.

        Returns:
            (C,) mask, or None and what was in the way.
        """
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

    def _with(self, drawn: _Drawn, members: Indices) -> _Drawn:
        held_out, lost = drawn.held_out.copy(), drawn.lost.copy()
        held_out[members] = True
        starts, ends = self._of_row[members], self._of_row[members + 1]
        images = np.unique(self._image[expand(starts, ends - starts)[1]])
        images = images[~lost[images]]
        lost[images] = True
        starts, ends = self._of_image[images], self._of_image[images + 1]
        gone = np.bincount(self._row[expand(starts, ends - starts)[1]], minlength=len(held_out))
        return _Drawn(held_out, lost, drawn.shown - gone)

    def _lacking(self, drawn: _Drawn) -> str:
        """Say what training lacks; nothing where it has all."""
        train, shown = ~drawn.held_out, drawn.shown > 0
        for what, index, need in self._sides:
            kept = index[train if self._rules.verify == "released" else shown]
            if (np.bincount(kept, minlength=len(need)) < need).any():
                return f"training would keep {what}"
        if self._similar is None or not self._rules.min_similarity:
            return ""
        if (self._similar[np.ix_(drawn.held_out, shown)].max(axis=1, initial=0) < self._rules.min_similarity).any():
            return "a test combination was less similar to all training combinations than the minimum"
        return ""
