"""A map that grows: its ratings so far, what was asked and has no answer, and what map.json is to say of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices, Ints, Mask
from shoe.core.errors import InputError, OptionError, quote
from shoe.lexicon.expressions import POS, Part
from shoe.lexicon.store import ids_of, lexicon, names_of
from shoe.similarity import RatedPairs, Rater, SimilarityMap, write_map
from shoe.similarity.ensemble import ENSEMBLE, MISSING, Ratings
from shoe.similarity.maps import ABOUT, clear_leftovers
from shoe.similarity.pairs import pair_keys
from shoe.similarity.unrated import Lookups
from shoe.similarity.whole_interactions import WholeRatings

MARK = "completed"
"""What map.json calls the account of completions: a list, the last entry of the last."""

WHY = "of the pairs without a rating, those that SHOE-mAP of these predictions depends on most were rated"
"""What map.json says of the choice of pairs."""

Pair = tuple[str, str]
"""(class synset, synset)."""

Rate = Callable[[Mapping[Part, Sequence[Pair]]], Mapping[Part, RatedPairs]]
"""Rates (class synset, synset) pairs, a column for each of its raters. A pair that it returns without any rating has no
valid answer, once and for all; one that it leaves out may be asked again by another run."""


def questions_of(class_sense: NDArray[np.integer], sense: NDArray[np.integer]) -> Indices:
    """One number for what is asked of each pair of ids: which way round does not matter."""
    return pair_keys(np.minimum(class_sense, sense), np.maximum(class_sense, sense))


@dataclass(slots=True)
class Draft:
    """A map on its way to completion.

    Attributes:
        start: the map that the draft began with.
        raters: columns: those of the map, then new ones.
        asked_by: names of those who are asked now.
        pairs: per part of speech, rated by ``raters``.
        asked: per part of speech, questions that have been asked, answered or not; see :func:`questions_of`.
        unanswered: per part of speech, those of them that have no valid answer.
        rated: per part of speech, number of those that have a rating, earlier runs for the same purpose included.
        account: what map.json says of completions; the last entry is this one's.
    """

    start: SimilarityMap
    raters: list[Rater]
    asked_by: list[str]
    pairs: dict[Part, RatedPairs]
    asked: dict[Part, set[int]]
    unanswered: dict[Part, set[int]]
    rated: dict[Part, int]
    account: list[dict[str, Any]]

    @classmethod
    def of(
        cls, similarity: SimilarityMap, raters: Sequence[Rater], purpose: Mapping[str, Any], known: Rate | None = None
    ) -> Draft:
        """Begin with a map, or go on with one that the same raters completed for the same purpose.

        Args:
            purpose: what map.json is to say the map was completed for.
            known: where pairs without a valid answer may be asked for again: says which of them are to stay so.

        Raises:
            OptionError: if a rater has the name of another one of the map.
        """
        columns = all_columns(similarity, raters)
        asked_by = [rater.name for rater in raters]
        earlier = _account_of(similarity)
        same = [entry for entry in earlier if entry["raters"] == asked_by]
        last = earlier.pop() if earlier and earlier[-1]["for"] == dict(purpose) and earlier[-1] in same else None
        without = {part: [pair for entry in same for pair in entry["unanswered"][part]] for part in POS}
        unanswered = {part: _named(pairs) for part, pairs in without.items()}
        if known:
            still = known(without)
            unanswered = {
                part: set(questions_of(still[part].class_sense, still[part].sense).tolist()) if part in still else set()
                for part in POS
            }
        origin = last["from"] if last else {"name": similarity.name, "digest": similarity.digest}
        return cls(
            start=similarity,
            raters=columns,
            asked_by=asked_by,
            pairs={
                part: widened(pairs, range(pairs.ratings.shape[1]), len(columns))
                for part, pairs in similarity.tables.items()
            },
            asked={part: set(questions) for part, questions in unanswered.items()},
            unanswered=unanswered,
            rated={part: last["rated"][part] if last else 0 for part in POS},
            account=[*earlier, {"for": dict(purpose), "raters": asked_by, "from": origin}],
        )

    def askable(self, lookups: Lookups) -> Mask:
        """(C, S) pairs that have no rating and have not been asked for."""
        questions = questions_of(lookups.class_senses[:, None], lookups.synsets)
        found: Mask = lookups.unrated & ~np.isin(questions, list(self.asked[lookups.part]))
        return found

    def ask(self, wanted: Mapping[Part, Sequence[Pair]]) -> None:
        """Note what is asked for, so that it is asked once."""
        for part, pairs in wanted.items():
            self.asked[part] |= _named(pairs)

    def add(self, answers: Mapping[Part, RatedPairs], classes: Mapping[Part, Ints]) -> int:
        """Take in answers, and return to how many questions; a pair without any rating has no valid answer.

        An answer to a pair of two of the dataset's ``classes`` holds both ways round.
        """
        names = [rater.name for rater in self.raters]
        columns = [names.index(name) for name in self.asked_by]
        count = 0
        for part, given in answers.items():
            asked = questions_of(given.class_sense, given.sense)
            without = np.isin(asked, asked[~given.rated])
            self.unanswered[part].update(asked[without].tolist())
            self.rated[part] += len(set(asked[~without].tolist()))
            count += len(set(asked.tolist()))
            kept = widened(given[~without], columns, len(self.raters))
            back = RatedPairs(kept.sense, kept.class_sense, kept.ratings)[np.isin(kept.sense, classes[part])]
            back = back[self.pairs[part].rows_of(back.class_sense, back.sense) < 0]
            self.pairs[part] = _put(_put(self.pairs[part], back, columns), kept, columns)
        return count

    @property
    def without_answer(self) -> int:
        """Number of questions that have no valid answer."""
        return sum(map(len, self.unanswered.values()))

    def write(self, folder: Path) -> SimilarityMap:
        """Write the map whole, and load it.

        Raises:
            InputError: if the folder cannot be written.
        """
        unanswered = {part: _names(questions) for part, questions in self.unanswered.items()}
        whole, kept = self.start.wholes, range(len(self.start.raters))
        state = {"why": WHY, "rated": self.rated, "unanswered": unanswered}
        prose = self.start.provenance | {MARK: [*self.account[:-1], self.account[-1] | state]}
        write_map(
            folder,
            dataset=self.start.dataset,
            raters=self.raters,
            pairs={part: pairs.by_name() for part, pairs in self.pairs.items()},
            ensemble=self.start.about["ensemble"],
            prose=prose,
            learned=self.start.lesson,
            whole=WholeRatings(whole.rows, in_columns(whole.ratings, kept, len(self.raters))) if whole else None,
        )
        return SimilarityMap.load(folder, ENSEMBLE)


def _named(pairs: Sequence[Sequence[str]]) -> set[int]:
    """The questions of some pairs by name."""
    senses = ids_of(name for pair in pairs for name in pair).reshape(-1, 2)
    return set(questions_of(senses[:, 0], senses[:, 1]).tolist())


def _names(questions: set[int]) -> list[list[str]]:
    """The two names of each question, in the order of the alphabet."""
    pairs = (names_of(np.array(divmod(question, len(lexicon())), np.int32)) for question in questions)
    return sorted(sorted(pair) for pair in pairs)


def widened(pairs: RatedPairs, columns: Sequence[int], raters: int) -> RatedPairs:
    """Return pairs whose ratings stand in some columns of more raters."""
    return RatedPairs(pairs.class_sense, pairs.sense, in_columns(pairs.ratings, columns, raters))


def in_columns(ratings: Ratings, columns: Sequence[int], raters: int) -> Ratings:
    """Return ratings as some columns of more raters."""
    found = np.full((len(ratings), raters), MISSING, np.int8)
    found[:, columns] = ratings
    return found


def _put(pairs: RatedPairs, given: RatedPairs, columns: Sequence[int]) -> RatedPairs:
    """Put ratings of some columns in, and pairs that were not there behind the others."""
    rows = pairs.rows_of(given.class_sense, given.sense)
    ratings, there, new = pairs.ratings.copy(), np.flatnonzero(rows >= 0), given[rows < 0]
    ratings[rows[there][:, None], columns] = given.ratings[there][:, columns]
    return RatedPairs(
        np.concatenate([pairs.class_sense, new.class_sense]),
        np.concatenate([pairs.sense, new.sense]),
        np.concatenate([ratings, new.ratings]),
    )


def begun(similarity: SimilarityMap, folder: Path) -> SimilarityMap:
    """Load what earlier runs have made of a map, if a folder holds that; else return the map itself.

    Raises:
        InputError: if something else is there, or the map there is broken.
    """
    clear_leftovers(folder)
    if not (folder / ABOUT).is_file():
        if (folder.is_dir() and not any(folder.iterdir())) or not os.path.lexists(folder):
            return similarity
        raise InputError(folder, found="something that is no map", expected="a new folder, or a map to go on with")
    found = SimilarityMap.load(folder, ENSEMBLE)
    origins = {found.digest, *(entry["from"].get("digest") for entry in _account_of(found))}
    if similarity.digest not in origins:
        expected = f"{quote(similarity.name)}, or what an earlier run has made of it"
        raise InputError(folder, found=f"another map, {quote(found.name)}", expected=expected)
    return found


def all_columns(similarity: SimilarityMap, raters: Sequence[Rater]) -> list[Rater]:
    """Return the map's raters, then those that are new.

    Raises:
        OptionError: if a rater has the name of another one of the map.
    """
    known = {rater.name: rater for rater in similarity.raters}
    for rater in raters:
        other = known.setdefault(rater.name, rater)
        if other.model != rater.model:
            raise OptionError(
                f"rater {quote(rater.name)} is {quote(rater.model)}, and the map's rater of that name is "
                f"{quote(other.model)}: give it another name"
            )
    return list(known.values())


class _Account(msgspec.Struct, rename={"purpose": "for", "origin": "from"}):
    """What this module writes of a completion."""

    purpose: dict[str, Any]
    raters: list[Any]
    origin: dict[str, Any]
    rated: dict[Part, int]
    unanswered: dict[Part, list[Pair]]


def _account_of(similarity: SimilarityMap) -> list[dict[str, Any]]:
    """What map.json says of completions; what is not as this module writes it is no account of one."""
    found = similarity.about.get(MARK)
    return [entry for entry in found if _is_account(entry)] if isinstance(found, list) else []


def _is_account(entry: Any) -> bool:
    try:
        account = msgspec.convert(entry, _Account)
    except msgspec.ValidationError:
        return False
    names = [name for pairs in account.unanswered.values() for pair in pairs for name in pair]
    return account.rated.keys() == account.unanswered.keys() == POS.keys() and bool((ids_of(names) >= 0).all())
