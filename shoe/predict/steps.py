"""The steps of a prediction up to what is asked: pictures, boxes, pairs; each from a file where there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoe.benchmarks.base import Benchmark
from shoe.core.errors import InputError, OptionError, many
from shoe.predict.detection_files import Detections, read_detections
from shoe.predict.images import Picture, looked_at, picture_files
from shoe.predict.names import PERSON, Names, objects_of
from shoe.predict.pair_files import read_paired, write_pairs
from shoe.predict.pairs import PairRule, paired
from shoe.predict.records import Paired

_MOST_NAMED = 5
_FROM_FILE = "file"


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of pictures, and how they came about.

    Attributes:
        records: of each picture, in order.
        boxes: how the boxes came about, JSON.
        rule: name of the pair rule; "file" where pairs were given.
        settings: of the rule.
    """

    records: Sequence[Paired]
    boxes: dict[str, Any]
    rule: str
    settings: PairRule

    def of(self, pictures: Iterable[Picture]) -> Pairs:
        """Those of some of the pictures."""
        names = {picture.name for picture in pictures}
        return replace(self, records=[record for record in self.records if record.image in names])

    @property
    def count(self) -> int:
        """Number of pairs."""
        return sum(len(record.pairs) for record in self.records)


def all_pictures(places: Sequence[str | Path], say: Callable[[str], object]) -> list[Picture]:
    """Look at all pictures before anything is asked about them.

    Args:
        places: files and folders.
        say: told of each picture but the first that cannot be read.

    Returns:
        Pictures with absolute paths, by which workers elsewhere find them.

    Raises:
        InputError: of the first picture that cannot be read.
    """
    pictures, errors = looked_at(picture_files(places))
    for error in errors[1:]:
        say(str(error))
    if errors:
        raise errors[0]
    return [replace(picture, path=picture.path.absolute()) for picture in pictures]


def boxes_of(
    pictures: Sequence[Picture], path: Path, names: Names, benchmark: Benchmark, say: Callable[[str], object]
) -> Detections:
    """Read the boxes of pictures, and say what in the file is of no use.

    Raises:
        InputError: as :func:`read_detections`.
    """
    found = read_detections(path, pictures, names, benchmark)
    if found.unknown:
        named = ", ".join(f"{label} ({count:,})" for label, count in found.unknown.most_common(_MOST_NAMED))
        more = ", ..." if len(found.unknown) > _MOST_NAMED else ""
        left_out = f"{found.unknown.total():,} boxes left out"
        say(f"{path}: {left_out}, whose labels are no objects of {benchmark.name}: {named}{more}")
    if without := sum(not one.detections for one in found.pictures.values()):
        say(f"{path}: no box in {without:,} of {many(len(pictures), 'picture')}")
    if found.other_images:
        say(f"{path}: {found.other_images:,} boxes are of other pictures")
    if not any(one.label == PERSON for of in found.pictures.values() for one in of.detections):
        say(f"{path}: no box is a person's, so that there is no pair")
    return found


def pairs_by_rule(pictures: Sequence[Picture], found: Detections, rule: str, settings: PairRule, path: Path) -> Pairs:
    """Make the pairs of pictures by a rule, and write them where ``shoe diagnose`` reads them."""
    records = [paired(found.pictures[picture.name], settings) for picture in pictures]
    write_pairs(path, records)
    return Pairs(records, dict(found.by), rule, settings)


def pairs_of_file(pictures: Sequence[Picture], path: Path, names: Names, benchmark: Benchmark) -> Pairs:
    """Read the pairs of pictures; arguments and errors as :func:`read_paired`."""
    records = read_paired(path, pictures, names, benchmark)
    return Pairs(records, {_FROM_FILE: path.name}, _FROM_FILE, PairRule())


def check_pairs(pairs: Pairs) -> None:
    """See that there is anything to ask about.

    Raises:
        OptionError: if there is no pair.
    """
    if not pairs.count:
        pictures = many(len(pairs.records), "picture")
        raise OptionError(f"found no pair in {pictures}, expected some: try --pair-rule all, or another detector")


def check_known(detector: Any, names: Names, benchmark: Benchmark) -> None:
    """See that a detector has a class that is an object, before it looks at any picture.

    Raises:
        InputError: if not.
    """
    if not any(objects_of(detector.labels, names, benchmark)):
        found = f"no object, but {', '.join(detector.labels[:_MOST_NAMED])}"
        hint = "--labels FILE says which objects they are"
        expected = f"objects of {benchmark.name}"
        raise InputError(detector.config.model, field="labels", found=found, expected=expected, hint=hint)
