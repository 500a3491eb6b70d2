"""Draft of a map that ``shoe map complete`` extends: ratings, unanswered questions, and record of runs in map.json."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices, Ints, Mask
from shoe.core.errors import InputError, OptionError, quote
from shoe.lexicon.senses import POS, Part
from shoe.lexicon.store import ids_of, lexicon, names_of
from shoe.similarity import RatedPairs, Rater, SimilarityMap, write_map
from shoe.similarity.ensemble import ENSEMBLE, MISSING, Ratings
from shoe.similarity.map_files import ABOUT, clear_leftovers
from shoe.similarity.pairs import pair_keys
from shoe.similarity.unrated import SenseLookups
from shoe.similarity.whole_interactions import WholeRatings

MARK = "completed"
"""Key of map.json with the list of records of completions, oldest first."""
WHY = "of the pairs without a rating, those that SHOE-mAP of these predictions depends on most were rated"
"""Sentence in map.json about how pairs were selected."""
Pair = tuple[str, str]
"""(class synset, synset)."""
Rate = Callable[[Mapping[Part, Sequence[Pair]]], Mapping[Part, RatedPairs]]
"""Function that rates (class synset, synset) pairs, and returns them with one column of ratings per rater.

A pair in the result without a rating has no valid answer and is not rated again. A pair that is missing in the result
may be rated by a later run.
"""


def question_ids(class_sense: NDArray[np.integer], sense: NDArray[np.integer]) -> Indices:
    """Return one ID per unordered pair of sense IDs."""
    return pair_keys(np.minimum(class_sense, sense), np.maximum(class_sense, sense))


@dataclass(slots=True)
class Draft:
    """Map that is being completed; dictionaries are by part of speech.

    Attributes:
        start: the map at the start of this run.
        raters: raters of the columns: the raters of ``start``, then new raters.
        active: names of the raters that rate pairs in this run.
        pairs: rated pairs, with one column per rater.
        asked: IDs (:func:`question_ids`) of questions sent in this run, or without a valid answer from earlier runs.
        unanswered: IDs of the questions that were sent and got no valid answer.
        rated, cached: number of questions with a rating, and of answers from the user's cache, including earlier runs
            for the same predictions.
        records: entries for map.json, one per completion of the map; the last entry is that of this completion.
    """

    start: SimilarityMap
    raters: list[Rater]
    active: list[str]
    pairs: dict[Part, RatedPairs]
    asked: dict[Part, set[int]]
    unanswered: dict[Part, set[int]]
    rated: dict[Part, int]
    records: list[dict[str, Any]]
    cached: int = 0

    @classmethod
    def from_map(
        cls, similarity: SimilarityMap, raters: Sequence[Rater], purpose: Mapping[str, Any], known: Rate | None = None
    ) -> Self:
        """Create a draft from a similarity map and the raters that complete it.

        If the last completion of the map had the same raters and ``purpose`` (data that identify the predictions), the
        draft continues it. Questions to which these raters gave no rating before, if ``known`` returns a stored answer
        to them (or is None), are not asked again. Raise OptionError if the map has a rater of the same name with
        another model.
        """
        columns = all_columns(similarity, raters)
        active, old = [rater.name for rater in raters], range(len(similarity.raters))
        earlier = _records(similarity)
        same = [entry for entry in earlier if entry["raters"] == active]
        last = earlier.pop() if earlier and earlier[-1]["for"] == dict(purpose) and earlier[-1] in same else None
        without = {part: [pair for entry in same for pair in entry["unanswered"][part]] for part in POS}
        unanswered = {part: _questions(pairs) for part, pairs in without.items()}
        if known:
            unanswered = {part: set() for part in POS}
            for part, answers in known(without).items():
                unanswered[part] = set(question_ids(answers.class_sense, answers.sense).tolist())
        origin = last["from"] if last else {"name": similarity.name, "digest": similarity.digest}
        pairs = {part: widen(table, old, len(columns)) for part, table in similarity.tables.items()}
        asked = {part: set(questions) for part, questions in unanswered.items()}
        rated = {part: last["rated"][part] if last else 0 for part in POS}
        records = [*earlier, {"for": dict(purpose), "raters": active, "from": origin}]
        cached = last.get("from_cache", 0) if last else 0
        return cls(similarity, columns, active, pairs, asked, unanswered, rated, records, cached)

    def askable(self, lookups: SenseLookups) -> Mask:
        """Return the (C, S) mask of the pairs in ``lookups`` that are unrated and were not yet sent to raters."""
        questions = question_ids(lookups.class_senses[:, None], lookups.synsets)
        return lookups.unrated & ~np.isin(questions, list(self.asked[lookups.part]))

    def add_answers(
        self, sent: Mapping[Part, Sequence[Pair]], answers: Mapping[Part, RatedPairs], classes: Mapping[Part, Ints]
    ) -> int:
        """Add ratings; return the number of distinct questions in ``answers``, with and without a rating.

        Pairs in ``sent`` are not selected again. ``answers`` have one column per active rater; pairs without any rating
        are recorded as unanswered. A rating of two of the dataset's ``classes`` (sense IDs) counts in both directions.
        """
        names = [rater.name for rater in self.raters]
        columns = [names.index(name) for name in self.active]
        for part, pairs_sent in sent.items():
            self.asked[part] |= _questions(pairs_sent)
        count = 0
        for part, pairs in answers.items():
            questions = question_ids(pairs.class_sense, pairs.sense)
            without = np.isin(questions, questions[~pairs.rated])
            self.unanswered[part].update(questions[without].tolist())
            self.rated[part] += len(set(questions[~without].tolist()))
            count += len(set(questions.tolist()))
            rated = widen(pairs[~without], columns, len(self.raters))
            swapped = RatedPairs(rated.sense, rated.class_sense, rated.ratings)[np.isin(rated.sense, classes[part])]
            swapped = swapped[self.pairs[part].rows_of(swapped.class_sense, swapped.sense) < 0]
            self.pairs[part] = _merge(_merge(self.pairs[part], swapped, columns), rated, columns)
        return count

    def write(self, folder: Path) -> SimilarityMap:
        """Write the map to a folder, replacing an earlier map, and load it from there."""
        size = len(lexicon())
        names = {part: sorted(sorted(names_of(divmod(q, size))) for q in of) for part, of in self.unanswered.items()}
        whole, old = self.start.whole_ratings, range(len(self.start.raters))
        record = self.records[-1] | {"why": WHY, "rated": self.rated, "unanswered": names}
        record |= {"from_cache": self.cached} if self.cached else {}
        write_map(
            folder,
            dataset=self.start.dataset,
            raters=self.raters,
            pairs={part: pairs.by_name() for part, pairs in self.pairs.items()},
            ensemble=self.start.about["ensemble"],
            prose=self.start.provenance | {MARK: [*self.records[:-1], record]},
            learned=self.start.predictions_file,
            whole=WholeRatings(whole.rows, in_columns(whole.ratings, old, len(self.raters))) if whole else None,
        )
        return SimilarityMap.load(folder, ENSEMBLE)


def _questions(pairs: Sequence[Sequence[str]]) -> set[int]:
    senses = ids_of(name for pair in pairs for name in pair).reshape(-1, 2)
    return set(question_ids(senses[:, 0], senses[:, 1]).tolist())


def widen(pairs: RatedPairs, columns: Sequence[int], raters: int) -> RatedPairs:
    """Return the pairs with their ratings in ``columns`` of ``raters`` columns, as :func:`in_columns`."""
    return RatedPairs(pairs.class_sense, pairs.sense, in_columns(pairs.ratings, columns, raters))


def in_columns(ratings: Ratings, columns: Sequence[int], raters: int) -> Ratings:
    """Return (n, ``raters``) ratings: the given ratings in ``columns``, and MISSING (-1) in the other columns."""
    wide = np.full((len(ratings), raters), MISSING, np.int8)
    wide[:, columns] = ratings
    return wide


def _merge(pairs: RatedPairs, new: RatedPairs, columns: Sequence[int]) -> RatedPairs:
    """Return ``pairs`` with the ratings of ``new`` in ``columns``; pairs that only ``new`` contains come last."""
    rows = pairs.rows_of(new.class_sense, new.sense)
    ratings, known, further = pairs.ratings.copy(), np.flatnonzero(rows >= 0), new[rows < 0]
    ratings[rows[known][:, None], columns] = new.ratings[known][:, columns]
    class_sense = np.concatenate([pairs.class_sense, further.class_sense])
    sense = np.concatenate([pairs.sense, further.sense])
    return RatedPairs(class_sense, sense, np.concatenate([ratings, further.ratings]))


def map_to_continue(similarity: SimilarityMap, folder: Path) -> SimilarityMap:
    """Return the similarity map to complete: the map in a folder, or ``similarity`` if the folder is new or empty.

    Raise InputError if it contains neither ``similarity`` nor a map completed from it. Unfinished maps of killed
    processes are moved or deleted first.
    """
    clear_leftovers(folder)
    if not os.path.lexists(folder) or (folder.is_dir() and not any(folder.iterdir())):
        return similarity
    if not (folder / ABOUT).is_file():
        raise InputError(folder, found="no similarity map", expected="a new folder, or a map to continue")
    found = SimilarityMap.load(folder, ENSEMBLE)
    origins = {found.digest, *(entry["from"].get("digest") for entry in _records(found))}
    if similarity.digest not in origins:
        expected = f"{quote(similarity.name)}, or a completion of it by an earlier run"
        raise InputError(folder, found=f"another map, {quote(found.name)}", expected=expected)
    return found


def all_columns(similarity: SimilarityMap, raters: Sequence[Rater]) -> list[Rater]:
    """Return the map's raters, then new ``raters``; OptionError if a rater has the name of one with another model."""
    known = {rater.name: rater for rater in similarity.raters}
    for rater in raters:
        other = known.setdefault(rater.name, rater)
        if other.model != rater.model:
            raise OptionError(
                f"rater {quote(rater.name)} ({quote(rater.model)}) has the name of another rater of the map "
                f"({quote(other.model)}): change its name in raters.toml"
            )
    return list(known.values())


class _Record(msgspec.Struct, rename={"purpose": "for", "origin": "from"}):
    purpose: dict[str, Any]
    raters: list[Any]
    origin: dict[str, Any]
    rated: dict[Part, int]
    unanswered: dict[Part, list[Pair]]


def _records(similarity: SimilarityMap) -> list[dict[str, Any]]:
    """Return the valid records of completions in map.json; ignore entries of any other form."""
    entries = similarity.about.get(MARK)
    return [entry for entry in entries if _is_record(entry)] if isinstance(entries, list) else []


def _is_record(entry: Any) -> bool:
    try:
        record = msgspec.convert(entry, _Record)
    except msgspec.ValidationError:
        return False
    names = [name for pairs in record.unanswered.values() for pair in pairs for name in pair]
    return record.rated.keys() == record.unanswered.keys() == POS.keys() and bool((ids_of(names) >= 0).all())
