"""Kind ``people``: what people rated in a study, as a rater of a map.

Items that name two interactions answer questions about whole interactions (``--whole-interactions``); items that name
two senses, as "ride.v.01 straddle.v.01", answer those about pairs of senses. What nobody rated stays unrated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from shoe.core.errors import InputError, quote
from shoe.io.files import read_bytes
from shoe.lexicon.store import lexicon
from shoe.rating.config import Backend, RaterConfig, setting
from shoe.rating.kinds import local
from shoe.rating.kinds.table import Rows
from shoe.rating.prompts import Prompts
from shoe.study.agreement import mean_ratings
from shoe.study.ratings import StudyRatings, read_study


class People(RaterConfig, frozen=True, kw_only=True):
    """what people rated in a study: the mean of their first ratings, or those of one of them."""

    kind: ClassVar[str] = "people"
    prompted: ClassVar[bool] = False
    interactions: ClassVar[bool] = True

    model: str = "people"
    file: Annotated[Path, setting("the study's table of answers", key=False)]
    person: Annotated[str, setting("whose ratings; of all, rounded half up, if it is absent")] = ""

    def backend(self, prompts: Prompts) -> Backend:
        """Make the rater; it asks with no prompt.

        Raises:
            OptionError: for repeats of what is the same each time.
            InputError: for a table that is broken, or without the person, or whose items are no senses.
        """
        local.check(self)
        study = self._study()
        ratings = np.floor(mean_ratings(study.first) + 0.5)
        rated = np.flatnonzero(~np.isnan(ratings)).tolist()
        return Rows({self._pair(study.items[i]): int(ratings[i]) for i in rated})

    def identity(self) -> Mapping[str, Any]:
        """Say which content the table has, and how many people it is of."""
        people = int((self._study().first >= 0).any(axis=0).sum())
        return {"content": hashlib.sha256(read_bytes(self.file)).hexdigest(), "people": people}

    def _study(self) -> StudyRatings:
        study = read_study(self.file)
        if self.person and self.person not in study.raters:
            expected = "one of " + ", ".join(study.raters[:5]) + (", ..." if len(study.raters) > 5 else "")
            raise InputError(self.file, field="person", found=quote(self.person), expected=expected)
        chosen = np.array([self.person in ("", rater) for rater in study.raters])
        return study.of_items(study.measured).of_raters(chosen)

    def _pair(self, item: str) -> tuple[str, str]:
        """Names of the two senses, or of two senses each, as questions have them."""
        synsets = [lexicon().synset(name) for name in item.split(" ")]
        if len(synsets) not in (2, 4) or min(synsets) < 0:
            expected = "two senses of WordNet 3.0, or two interactions: ride.v.01 horse.n.01 sit.v.01 chair.n.01"
            raise InputError(self.file, record=f"item {quote(item)}", found="other names", expected=expected)
        names = [lexicon().name(synset) for synset in synsets]
        half = len(names) // 2
        return " ".join(names[:half]), " ".join(names[half:])
