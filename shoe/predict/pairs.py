"""Pairs of a person and an object about which questions are asked: selected from detections, or read from a file."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats, Indices, Mask, number_words
from shoe.core.boxes import Overlap, iou
from shoe.core.errors import InputError, OptionError, did_you_mean, pluralize, quote
from shoe.core.interactions import Interactions, image_index
from shoe.core.io.files import unreadable_error
from shoe.core.io.json import Box, ImageName, Whole
from shoe.diagnosis.localisation import PairFigures, PairRules, localise, pair_figures
from shoe.llm.ledger import canonical
from shoe.predict.detection_files import PERSON, Detections, Names, check_same, inside, objects_of
from shoe.predict.images import Picture
from shoe.predict.records import Detected, Pair, Paired, Score, write_lines
from shoe.predictions.pair_predictions import NO_VERB, Pairs as PairTable
from shoe.predictions.source import open_source
from shoe.scoring.matching.repeats import greedily_kept

_MANY = 1_000_000
_Count = Annotated[int, Meta(ge=0, le=_MANY)]
_Share = Annotated[float, Meta(ge=0, le=1)]


class PairRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rule that selects pairs of detections; by default, all pairs.

    Attributes:
        nms: IoU threshold of non-maximum suppression between boxes with equal labels, highest score first.
        min_score: minimum score of a detection.
        at_least: number of persons, and of other objects, to select per image by score if fewer reach min_score.
        persons: maximum number of persons per image.
        persons_by: criterion for the selection of persons: highest score, or largest box area.
        objects: maximum number of other objects per image, selected by score.
        person_objects: whether a person may be the object of another person.
        gap: maximum gap in x or y between human box and object box, as a fraction of the longer side of the human box;
            0 for boxes that must touch, None for no limit.
        pairs: maximum number of pairs per image, selected by the product of human score and object score.
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
ABOUT = {
    "all": "every person with every other box",
    "upt": "as UPT, PViC and ADA-CM: NMS at 0.5, score >= 0.2, 3 to 15 persons, 3 to 15 other objects, all pairs",
    "best": "NMS at 0.5, the 10 persons and the 10 other objects with the best scores",
    "few-large": "as mllms-zs-hoi: score >= 0.5, the 3 largest persons with the 10 best other objects",
    "touching": "as upt, only pairs whose boxes touch",
}
USUAL = "upt"
_DIGEST_BYTES = 8
_NO_RULE = PairRule()


def paired(detected: Detected, rule: PairRule) -> Paired:
    """Return the pairs that a rule selects from detections, by descending product of human score and object score."""
    found = detected.detections
    boxes = np.array([detection.box for detection in found], np.float64).reshape(-1, 4)
    score = np.array([detection.score for detection in found], np.float64)
    label = np.array([detection.label for detection in found], np.object_)
    keep = _not_suppressed(boxes, score, label, rule.nms)
    is_person = label == PERSON
    size = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1) if rule.persons_by == "area" else score
    persons = _best(np.flatnonzero(keep & is_person), score, size, rule, rule.persons)
    others = _best(np.flatnonzero(keep & ~is_person), score, score, rule, rule.objects)
    objects = np.concatenate([persons, others]) if rule.person_objects else others
    human, object_ = (index.ravel() for index in np.meshgrid(persons, objects, indexing="ij"))
    is_pair = human != object_
    if rule.gap is not None:
        human_boxes, object_boxes = boxes[human], boxes[object_]
        gap = np.maximum(human_boxes[:, :2], object_boxes[:, :2]) - np.minimum(human_boxes[:, 2:], object_boxes[:, 2:])
        longer = (human_boxes[:, 2:] - human_boxes[:, :2]).max(axis=1)
        is_pair &= np.maximum(gap.max(axis=1), 0) / longer <= rule.gap
    human, object_ = human[is_pair], object_[is_pair]
    best = np.argsort(-(score[human] * score[object_]), kind="stable")[: rule.pairs]
    pairs = tuple(
        Pair(found[h].box, found[o].box, found[o].label, found[h].score, found[o].score)
        for h, o in zip(human[best].tolist(), object_[best].tolist(), strict=True)
    )
    image, digest = detected.image, detected.digest
    return Paired(image=image, digest=digest, width=detected.width, height=detected.height, pairs=pairs)


def pair_recall(paired: Iterable[Paired], truth: GroundTruth) -> PairFigures:
    """Return recall (the maximum recall of predictions on these pairs) and precision of the distinct selected pairs."""
    records = list(paired)
    rows = [(number, pair) for number, record in enumerate(records) for pair in record.pairs]
    objects, object_ = number_words(pair.object for _, pair in rows)
    table = Interactions.from_columns(
        images=[record.image for record in records],
        image=[number for number, _ in rows],
        human_boxes=np.array([pair.human_box for _, pair in rows], np.float64).reshape(-1, 4),
        object_boxes=np.array([pair.object_box for _, pair in rows], np.float64).reshape(-1, 4),
        verb=np.zeros(len(rows), np.int32),
        object=object_,
        verbs=[NO_VERB],
        objects=objects,
        source="pairs",
    )
    return pair_figures(localise(PairTable(table), truth.within(table.images), PairRules()))


def _not_suppressed(boxes: Floats, score: Floats, label: NDArray[np.object_], most: float) -> Mask:
    """Return the (n,) mask of boxes that non-maximum suppression (IoU above ``most``) among equal labels keeps."""
    order = np.argsort(-score, kind="stable")
    later, earlier = np.tril_indices(len(order), -1)
    same = label[order[later]] == label[order[earlier]]
    later, earlier = later[same], earlier[same]
    close = iou(boxes[order[later]], boxes[order[earlier]], Overlap.CONTINUOUS) > most
    keep = np.zeros(len(order), bool)
    keep[order[greedily_kept(later[close], earlier[close], np.arange(len(order)))]] = True
    return keep


def _best(rows: Indices, score: Floats, rank: Floats, rule: PairRule, most: int) -> Indices:
    """Return the ``most`` rows, by descending ``rank``, with a score of at least ``rule.min_score``.

    If fewer than ``rule.at_least`` rows have this score, the ``rule.at_least`` best-scored rows are returned.
    """
    enough = rows[score[rows] >= rule.min_score]
    if len(enough) < rule.at_least:
        return rows[np.argsort(-score[rows], kind="stable")[: rule.at_least]]
    return enough[np.argsort(-rank[enough], kind="stable")[:most]]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs per image of a run, with the settings of the detector and of the rule ("file": pairs from a file)."""

    records: Sequence[Paired]
    boxes: Mapping[str, Any]
    rule: str = "file"
    settings: PairRule = _NO_RULE

    @classmethod
    def by_rule(cls, pictures: Sequence[Picture], boxes: Detections, rule: str, settings: PairRule, out: Path) -> Self:
        """Return the pairs that the rule ``settings`` (name ``rule``) selects; also write the pairs to ``out``."""
        records = [paired(boxes.pictures[picture.name], settings) for picture in pictures]
        write_lines(out, records)
        return cls(records, boxes.by, rule, settings)

    @property
    def count(self) -> int:
        """Number of pairs."""
        return sum(len(record.pairs) for record in self.records)

    @property
    def by(self) -> dict[str, Any]:
        """Settings of the detector ("boxes") and of the pair rule ("pairs"), and a hash of all pairs ("paired")."""
        digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        for record in self.records:
            digest.update(canonical(msgspec.to_builtins(record)))
        pairs = {"rule": self.rule, **msgspec.to_builtins(self.settings)}
        return {"boxes": dict(self.boxes), "pairs": pairs, "paired": digest.hexdigest()}

    def pairs_in(self, pictures: Iterable[Picture]) -> Self:
        """Return a copy with only the pairs of the given images."""
        names = {picture.name for picture in pictures}
        return replace(self, records=[record for record in self.records if record.image in names])

    def check(self) -> None:
        """Raise OptionError if there are no pairs."""
        if not self.count:
            images = pluralize(len(self.records), "image")
            raise OptionError(f"no pair of a person and an object in {images}: try --pair-rule all or another detector")


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
    """Read the pairs of images from a file in the format of :mod:`shoe.predictions.pair_predictions`.

    Return one record per image of ``pictures``, in this order; an image that is not in the file has no pairs. Raise
    InputError if the format is invalid, a box is outside its image, a label is no object of the benchmark, or no image
    of the file is in ``pictures``.
    """
    path = Path(path)
    if path.is_dir():
        raise unreadable_error(path, IsADirectoryError())
    source = open_source(path, benchmark)
    records = source.typed(_Image)
    images = source.image_names((record.filename for record in records), "filename")
    index = image_index(images, [picture.name for picture in pictures]).tolist()
    if images and max(index) < 0:
        expected = f"pairs in the given images, such as {quote(pictures[0].name)}"
        found = f"only other images, such as {quote(images[0])}"
        raise InputError(path, field="filename", found=found, expected=expected)
    pairs: list[list[Pair]] = [[] for _ in pictures]
    object_of: dict[float | str, str] = {}
    for record, name, number in zip(records, images, index, strict=True):
        if number < 0:
            continue
        picture = pictures[number]
        image = Detected(image=name, digest=record.digest, width=record.width, height=record.height, detections=())
        check_same(path, image, picture)
        for i, pair in enumerate(record.box_pairs):
            place = f"image {quote(name)}: pair {i + 1}"
            human, thing = (inside(path, place, box, picture) for box in (pair.h_box, pair.o_box))
            if pair.o_label not in object_of:
                object_of[pair.o_label] = _object(path, place, pair.o_label, names, benchmark)
            pairs[number].append(Pair(human, thing, object_of[pair.o_label], pair.h_score, pair.o_score))
    of_image = [Paired(**picture.about, pairs=tuple(some)) for picture, some in zip(pictures, pairs, strict=True)]
    return Pairs(of_image, {"file": path.name})


def _object(path: Path, place: str, label: float | str, names: Names, benchmark: Benchmark) -> str:
    """Return the benchmark object for a label: a word, or an index into ``names.indices``; or raise InputError."""
    if not isinstance(label, str):
        if not 0 <= label < len(names.indices):
            expected = f"0 to {len(names.indices) - 1}, objects of {names.whose}"
            raise InputError(path, record=place, field="o_label", found=f"{label:g}", expected=expected)
        label = names.indices[int(label)]
    [found] = objects_of([label], names, benchmark)
    if found is None:
        expected, hint = f"an object of {benchmark.name}", did_you_mean(label, benchmark.objects)
        raise InputError(path, record=place, field="o_label", found=quote(label), expected=expected, hint=hint)
    return found
