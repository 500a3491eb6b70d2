"""A map that grows: its ratings so far, what was asked in vain, and what map.json is to say of it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoe.core.arrays import Mask
from shoe.core.errors import InputError, OptionError, quote
from shoe.lexicon.expressions import POS, Part
from shoe.lexicon.names import names_of
from shoe.similarity import RatedPairs, Rater, SimilarityMap, write_map
from shoe.similarity.ensemble import ENSEMBLE, MISSING
from shoe.similarity.maps import ABOUT
from shoe.similarity.unrated import Lookups

MARK = "completed"
"""What map.json calls the account of completions: a list, the last entry of the last."""

WHY = "of the pairs without a rating, those that SHOE-mAP of these predictions hangs on most were rated"
"""What map.json says of the choice of pairs."""

Pair = tuple[str, str]
Pairs = Mapping[Pair, Sequence[int | None]]


def question(pair: Pair) -> Pair:
    """What is asked of a pair: which way round does not matter."""
    return min(pair, pair[::-1])


@dataclass(slots=True)
class Draft:
    """A map on its way to completion.

    Attributes:
        start: the map that the draft began with.
        raters: columns: those of the map, then new ones.
        asked_by: names of those who are asked now.
        pairs: per part of speech, {(class synset, synset): ratings in the order of ``raters``}.
        asked: per part of speech, questions that have been asked, answered or not: pairs in alphabetical order.
        unanswered: per part of speech, those of them that have no rating.
        rated: per part of speech, number of those that have, earlier runs for the same purpose included.
        account: what map.json says of completions; the last entry is this one's.
    """

    start: SimilarityMap
    raters: list[Rater]
    asked_by: list[str]
    pairs: dict[Part, dict[Pair, list[int | None]]]
    asked: dict[Part, set[Pair]]
    unanswered: dict[Part, set[Pair]]
    rated: dict[Part, int]
    account: list[dict[str, Any]]

    @classmethod
    def of(cls, similarity: SimilarityMap, raters: Sequence[Rater], purpose: Mapping[str, Any]) -> Draft:
        """Begin with a map, or go on with one that the same raters completed for the same purpose.

        Args:
            similarity: the map.
            raters: who is asked.
            purpose: what map.json is to say the map was completed for.

        Raises:
            OptionError: if a rater has the name of another one of the map.
        """
        columns = _columns(similarity, raters)
        asked_by = [rater.name for rater in raters]
        earlier = _account_of(similarity)
        same = [entry for entry in earlier if entry["raters"] == asked_by]
        last = earlier.pop() if earlier and earlier[-1]["for"] == dict(purpose) and earlier[-1] in same else None
        vain: dict[Part, set[Pair]] = {
            part: {(a, b) for entry in same for a, b in entry["unanswered"][part]} for part in POS
        }
        origin = last["from"] if last else {"name": similarity.name, "digest": similarity.digest}
        missing: list[int | None] = [None] * (len(columns) - len(similarity.raters))
        return cls(
            start=similarity,
            raters=columns,
            asked_by=asked_by,
            pairs={
                part: {
                    pair: [*(None if rating == MISSING else rating for rating in ratings), *missing]
                    for pair, ratings in zip(table.names(), table.ratings.tolist(), strict=True)
                }
                for part, table in similarity.tables.items()
            },
            asked={part: set(pairs) for part, pairs in vain.items()},
            unanswered=vain,
            rated={part: last["rated"][part] if last else 0 for part in POS},
            account=[*earlier, {"for": dict(purpose), "raters": asked_by, "from": origin}],
        )

    def askable(self, lookups: Lookups) -> Mask:
        """(C, S) pairs that have no rating and have not been asked for."""
        found = lookups.unrated.copy()
        rows: dict[str, list[int]] = {}
        for row, class_name in enumerate(names_of(lookups.class_senses)):
            rows.setdefault(class_name, []).append(row)
        column = {name: index for index, name in enumerate(names_of(lookups.synsets))}
        for pair in self.asked[lookups.part]:
            for of_class, other in (pair, pair[::-1]):
                if of_class in rows and other in column:
                    found[rows[of_class], column[other]] = False
        return found

    def ask(self, wanted: Mapping[Part, Iterable[Pair]]) -> None:
        """Note what is asked for, so that it is asked once."""
        for part, pairs in wanted.items():
            self.asked[part].update(map(question, pairs))

    def add(self, answers: Mapping[Part, Pairs], classes: Mapping[Part, Collection[str]]) -> int:
        """Take in what those who are asked answered.

        Args:
            answers: per part of speech, {(class synset, synset): ratings or None}; all None: asked in vain.
            classes: the dataset's class senses: the answer to a pair of two of them holds both ways round.

        Returns:
            How many questions these are.
        """
        place = {rater.name: column for column, rater in enumerate(self.raters)}
        columns = [place[name] for name in self.asked_by]
        for part, pairs in answers.items():
            in_vain = {question(pair) for pair, given in pairs.items() if all(rating is None for rating in given)}
            self.unanswered[part] |= in_vain
            self.rated[part] += len({question(pair) for pair in pairs} - in_vain)
            for pair, given in pairs.items():
                if question(pair) in in_vain:
                    continue
                self._put(part, pair, columns, given)
                back = pair[1], pair[0]
                if pair[1] in classes[part] and back not in self.pairs[part]:
                    self._put(part, back, columns, given)
        return sum(len({question(pair) for pair in pairs}) for pairs in answers.values())

    @property
    def in_vain(self) -> int:
        """Questions without any rating."""
        return sum(map(len, self.unanswered.values()))

    def _put(self, part: Part, pair: Pair, columns: Sequence[int], given: Sequence[int | None]) -> None:
        row = self.pairs[part].setdefault(pair, [None] * len(self.raters))
        for column, rating in zip(columns, given, strict=True):
            row[column] = rating

    def write(self, folder: Path) -> SimilarityMap:
        """Write the map whole, and load it.

        Raises:
            InputError: if the folder cannot be written.
        """
        state = {
            "why": WHY,
            "rated": self.rated,
            "unanswered": {part: [list(pair) for pair in sorted(pairs)] for part, pairs in self.unanswered.items()},
        }
        prose = self.start.provenance | {MARK: [*self.account[:-1], self.account[-1] | state]}
        write_map(
            folder,
            dataset=self.start.dataset,
            raters=self.raters,
            pairs={part: RatedPairs.of_names(pairs, len(self.raters)) for part, pairs in self.pairs.items()},
            ensemble=self.start.about["ensemble"],
            prose=prose,
        )
        return SimilarityMap.load(folder, ENSEMBLE)


def begun(similarity: SimilarityMap, folder: Path) -> SimilarityMap:
    """Load the map that earlier runs have made of a map, if they have; else the map itself.

    Args:
        similarity: the map to begin with.
        folder: of the completed map.

    Raises:
        InputError: if something else is there, or the map there is broken.
    """
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


def _columns(similarity: SimilarityMap, raters: Sequence[Rater]) -> list[Rater]:
    """The map's raters, then those that are new."""
    known = {rater.name: rater for rater in similarity.raters}
    for rater in raters:
        other = known.setdefault(rater.name, rater)
        if other.model != rater.model:
            raise OptionError(
                f"rater {quote(rater.name)} is {quote(rater.model)}, and the map's rater of that name is "
                f"{quote(other.model)}: give it another name"
            )
    return list(known.values())


def _account_of(similarity: SimilarityMap) -> list[dict[str, Any]]:
    """What map.json says of completions; what is not as this module writes it is no account of one."""
    found = similarity.about.get(MARK)
    return [entry for entry in found if _is_account(entry)] if isinstance(found, list) else []


def _is_account(entry: Any) -> bool:
    kinds = {"for": dict, "raters": list, "from": dict, "rated": dict, "unanswered": dict}
    if not isinstance(entry, dict) or not all(isinstance(entry.get(key), kind) for key, kind in kinds.items()):
        return False
    return all(
        isinstance(entry["rated"].get(part), int)
        and isinstance(entry["unanswered"].get(part), list)
        and all(_pair(names) is not None for names in entry["unanswered"][part])
        for part in POS
    )


def _pair(names: Any) -> Pair | None:
    match names:
        case [str(class_synset), str(synset)]:
            return class_synset, synset
    return None
