"""Pairs of a person and an object to ask about: made of detections by a named rule, or read from a file.

A pair that is not asked about can never be right: :func:`ceiling` computes which true pairs a rule leaves within reach.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.boxes import Overlap, iou
from shoe.core.errors import InputError, OptionError, many, meant, quote, unknown_name
from shoe.core.interactions import Interactions, image_index
from shoe.core.io.files import unreadable
from shoe.core.io.json import Box, ImageName, Whole
from shoe.diagnosis.localisation import PairFigures, PairRules, localise, pair_figures
from shoe.llm.ledger import canonical
from shoe.predict.detection_files import PERSON, Detections, Names, check_same, inside, objects_of
from shoe.predict.images import Picture
from shoe.predict.records import Detected, Pair, Paired, Score, write_lines
from shoe.predictions.pair_predictions import NO_VERB
from shoe.predictions.pair_predictions import Pairs as PairTable
from shoe.predictions.record_fields import image_names
from shoe.predictions.source import open_source
from shoe.scoring.matching.repeats import greedily_kept

_MANY = 1_000_000
_Count = Annotated[int, Meta(ge=0, le=_MANY)]
_Share = Annotated[float, Meta(ge=0, le=1)]


class PairRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which detections make pairs; the defaults keep all.

    Attributes:
        nms: of two boxes with one label that overlap by more than this IoU, the one with the lower score goes first.
        min_score: detections with a lower score make no pair.
        at_least: so many persons, and so many others, with the best scores make pairs all the same.
        persons: at most so many persons of a picture.
        persons_by: which of them: those with the best scores, or the largest.
        objects: at most so many others, by score.
        person_objects: whether a person may be the object of another one.
        gap: at most so many pixels between the two boxes, as a share of the person's longer side; 0: they touch.
        pairs: at most so many pairs of a picture, by the product of both scores.
    """

    nms: _Share = 1.0
    min_score: _Share = 0.0
    at_least: _Count = 0
    persons: _Count = _MANY
    persons_by: Literal["score", "area"] = "score"
    objects: _Count = _MANY
    person_objects: bool = True
    gap: Annotated[float, Meta(ge=0)] | None = None
    pairs: _Count = _MANY


RULES = {
    "all": PairRule(),
    "upt": PairRule(nms=0.5, min_score=0.2, at_least=3, persons=15, objects=15),
    "best": PairRule(persons=10, objects=10, nms=0.5),
    "few-large": PairRule(min_score=0.5, persons=3, persons_by="area", objects=10),
    "touching": PairRule(nms=0.5, min_score=0.2, at_least=3, persons=15, objects=15, gap=0.0),
}
"""Rules by name."""
ABOUT = {
    "all": "every person with every other box",
    "upt": "as UPT, PViC and ADA-CM: NMS at 0.5, score of at least 0.2, 3 to 15 persons and 3 to 15 others, all pairs",
    "best": "the 10 persons and the 10 others with the best scores",
    "few-large": "as mllms-zs-hoi: score of at least 0.5, the 3 largest persons with the 10 best others",
    "touching": "as upt, where the two boxes touch",
}
USUAL = "upt"


_DIGEST_BYTES = 8
_NO_RULE = PairRule()


def rule_named(name: str) -> PairRule:
    """Return a rule by name."""
    if name not in RULES:
        raise unknown_name("pair rule", name, RULES)
    return RULES[name]


def paired(detected: Detected, rule: PairRule) -> Paired:
    """Make the pairs of a picture, those with the highest product of scores first.

    Args:
        detected: its detections, labels being objects.
        rule: which of them make pairs.
    """
    found = detected.detections
    boxes = np.array([one.box for one in found], np.float64).reshape(-1, 4)
    score = np.array([one.score for one in found], np.float64)
    label = np.array([one.label for one in found], np.object_)
    left = _not_suppressed(boxes, score, label, rule.nms)
    is_person = label == PERSON
    size = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1) if rule.persons_by == "area" else score
    persons = _best(np.flatnonzero(left & is_person), score, size, rule, rule.persons)
    others = _best(np.flatnonzero(left & ~is_person), score, score, rule, rule.objects)
    objects = np.concatenate([persons, others]) if rule.person_objects else others
    human, object_ = (index.ravel() for index in np.meshgrid(persons, objects, indexing="ij"))
    near = human != object_
    if rule.gap is not None:
        ours, theirs = boxes[human], boxes[object_]
        apart = np.maximum(ours[:, :2], theirs[:, :2]) - np.minimum(ours[:, 2:], theirs[:, 2:])
        longer = (ours[:, 2:] - ours[:, :2]).max(axis=1)
        near &= np.maximum(apart.max(axis=1), 0) / longer <= rule.gap
    human, object_ = human[near], object_[near]
    best = np.argsort(-(score[human] * score[object_]), kind="stable")[: rule.pairs]
    pairs = [
        Pair(found[h].box, found[o].box, found[o].label, found[h].score, found[o].score)
        for h, o in zip(human[best].tolist(), object_[best].tolist(), strict=True)
    ]
    return Paired(
        image=detected.image,
        digest=detected.digest,
        width=detected.width,
        height=detected.height,
        pairs=tuple(pairs),
    )


def ceiling(paired: Iterable[Paired], truth: GroundTruth, pairs: Literal["index", "merged"] = "index") -> PairFigures:
    """Say which true pairs are within reach: on the pictures that were paired, whatever is answered.

    Args:
        paired: the pairs of pictures.
        truth: what is so.
        pairs: when two pairs of the ground truth are one; see :class:`~shoe.diagnosis.localisation.PairRules`.
    """
    records = list(paired)
    rows = [(number, pair) for number, record in enumerate(records) for pair in record.pairs]
    objects = list(dict.fromkeys(pair.object for _, pair in rows))
    table = Interactions.from_columns(
        images=[record.image for record in records],
        image=[number for number, _ in rows],
        human_boxes=np.array([pair.human_box for _, pair in rows], np.float64).reshape(-1, 4),
        object_boxes=np.array([pair.object_box for _, pair in rows], np.float64).reshape(-1, 4),
        verb=np.zeros(len(rows), np.int32),
        object=[objects.index(pair.object) for _, pair in rows],
        verbs=[NO_VERB],
        objects=objects,
        source="pairs",
    )
    return pair_figures(localise(PairTable(table), truth.within(table.images), PairRules(pairs=pairs)))


def _not_suppressed(boxes: Floats, score: Floats, label: NDArray[np.object_], most: float) -> Mask:
    """(n,) boxes that lie over no other box of their label with a higher score that is left."""
    order = np.argsort(-score, kind="stable")
    later, earlier = np.tril_indices(len(order), -1)
    same = label[order[later]] == label[order[earlier]]
    later, earlier = later[same], earlier[same]
    close = iou(boxes[order[later]], boxes[order[earlier]], Overlap.CONTINUOUS) > most
    left = np.zeros(len(order), bool)
    left[order[greedily_kept(later[close], earlier[close], np.arange(len(order)))]] = True
    return left


def _best(rows: Indices, score: Floats, rank: Floats, rule: PairRule, most: int) -> Indices:
    """The rows with a sufficient score, or the best of too few; of too many those that rank highest."""
    enough = rows[score[rows] >= rule.min_score]
    if len(enough) < rule.at_least:
        return rows[np.argsort(-score[rows], kind="stable")[: rule.at_least]]
    return enough[np.argsort(-rank[enough], kind="stable")[:most]]


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
    boxes: Mapping[str, Any]
    rule: str = "file"
    settings: PairRule = _NO_RULE

    @classmethod
    def by_rule(cls, pictures: Sequence[Picture], boxes: Detections, rule: str, settings: PairRule, out: Path) -> Pairs:
        """Make the pairs of pictures by a rule, and write them where ``shoe diagnose`` reads them."""
        records = [paired(boxes.pictures[picture.name], settings) for picture in pictures]
        write_lines(out, records)
        return cls(records, boxes.by, rule, settings)

    @property
    def count(self) -> int:
        """Number of pairs."""
        return sum(len(record.pairs) for record in self.records)

    @property
    def by(self) -> dict[str, Any]:
        """All settings up to the pairs, JSON, and 16 hex digits of all pairs."""
        digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        for record in self.records:
            digest.update(canonical(msgspec.to_builtins(record)))
        pairs = {"rule": self.rule, **msgspec.to_builtins(self.settings)}
        return {"boxes": dict(self.boxes), "pairs": pairs, "paired": digest.hexdigest()}

    def of(self, pictures: Iterable[Picture]) -> Pairs:
        """Return those of some of the pictures."""
        names = {picture.name for picture in pictures}
        return replace(self, records=[record for record in self.records if record.image in names])

    def check(self) -> None:
        """Check that there is anything to ask about."""
        if not self.count:
            pictures = many(len(self.records), "picture")
            raise OptionError(f"found no pair in {pictures}, expected some: try --pair-rule all, or another detector")


class _Pair(Struct, gc=False):
    h_box: Box
    o_box: Box
    o_label: Annotated[Whole | str, Meta(extra={"expected": "a whole number, or a word"})]
    h_score: Score = 1.0
    o_score: Score = 1.0


class _Image(Struct, gc=False):
    filename: ImageName
    box_pairs: Annotated[list[_Pair], Meta(extra={"item": "pair"})]
    digest: str = ""
    width: int = 0
    height: int = 0


def read_paired(path: str | Path, pictures: Sequence[Picture], names: Names, benchmark: Benchmark) -> Pairs:
    """Read the pairs of pictures from a file in the form of :mod:`shoe.predictions.pair_predictions`.

    Args:
        path: the file.
        pictures: those that are asked about; pairs of others are left out.
        names: what numbers and labels stand for.
        benchmark: whose objects labels become.

    Returns:
        One record per picture, in their order; without pairs for a picture that is not in the file.

    Raises:
        InputError: naming the image, pair and field that break the form, lie outside of the picture, or are no object.
    """
    path = Path(path)
    if path.is_dir():
        raise unreadable(path, IsADirectoryError())
    source = open_source(path, benchmark)
    records = source.typed(_Image)
    found = image_names(source, (record.filename for record in records), "filename")
    at = image_index(found, [picture.name for picture in pictures]).tolist()
    if found and max(at) < 0:
        expected = f"some of the pictures, as {quote(pictures[0].name)}"
        raise InputError(path, field="filename", found=f"images as {quote(found[0])}", expected=expected)
    pairs: list[list[Pair]] = [[] for _ in pictures]
    object_of: dict[float | str, str] = {}
    for record, name, number in zip(records, found, at, strict=True):
        if number < 0:
            continue
        picture = pictures[number]
        said = Detected(image=name, digest=record.digest, width=record.width, height=record.height, detections=())
        check_same(path, said, picture)
        for index, pair in enumerate(record.box_pairs):
            place = f"image {quote(name)}: pair {index}"
            human, thing = (inside(path, place, box, picture) for box in (pair.h_box, pair.o_box))
            if pair.o_label not in object_of:
                object_of[pair.o_label] = _object(path, place, pair.o_label, names, benchmark)
            pairs[number].append(Pair(human, thing, object_of[pair.o_label], pair.h_score, pair.o_score))
    paired_ = [
        Paired(image=one.name, digest=one.digest, width=one.width, height=one.height, pairs=tuple(of))
        for one, of in zip(pictures, pairs, strict=True)
    ]
    return Pairs(paired_, {"file": path.name})


def _object(path: Path, place: str, label: float | str, names: Names, benchmark: Benchmark) -> str:
    """The object that a pair's label is: a word, or an index from 0."""
    if not isinstance(label, str):
        if not 0 <= label < len(names.indices):
            expected = f"0 to {len(names.indices) - 1}, objects of {names.whose}"
            raise InputError(path, record=place, field="o_label", found=f"{label:g}", expected=expected)
        label = names.indices[int(label)]
    [found] = objects_of([label], names, benchmark)
    if found is None:
        expected, hint = f"an object of {benchmark.name}", meant(label, benchmark.objects)
        raise InputError(path, record=place, field="o_label", found=quote(label), expected=expected, hint=hint)
    return found
