"""The QPIC family: per image a list of boxes, and a list of triplets with indices of two boxes.

Three dialects are distinguished by their keys:

- QPIC, CDN, Diag-HOI: ``filename``; boxes have an object index (HICO-DET: 80 in COCO's order), verbs count from 0.
- GEN-VLKT: the same keys, but boxes have no label; triplets have an HOI class ID, from 0, in place of a verb.
- PPDM: ``file_name``; boxes have an object ID (HICO-DET: COCO's, 1 to 90), verbs count from 1; IDs may be strings.

Boxes are x1, y1, x2, y2 in pixels. Files are JSON, pickles, or the text of a Python dict with the key ``preds`` (CDN).
"""

from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from shoe.benchmarks import DEFAULT, benchmark
from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.checks import PlaceOf, box_name, check_boxes, triplet_name
from shoe.benchmarks.image_lists import BoxLists, write_box_lists
from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.interactions import Interactions, Rows
from shoe.core.io.files import read_bytes
from shoe.core.io.json import Box, BoxOrText, Finite, ImageName, Number, Whole, WholeOrText
from shoe.core.roles import RolePredictions
from shoe.predictions.numbering import INTERACTIONS, OBJECTS, VERBS, labels_of, labels_of_ids, numberings, own_name
from shoe.predictions.roles import stated_entries, without_roles
from shoe.predictions.source import Source, collection_paused, open_source

_FEWEST = 16
_BLOCK = 1 << 18  # bytes that fit in the processor's cache
_HOIS, _LIST, _PERSON = "hoi_prediction", "preds", "person"
B = TypeVar("B")
N = TypeVar("N")


class _Unlabelled(Struct, gc=False, forbid_unknown_fields=True):
    bbox: Box
    score: Any = None  # not used: a triplet has its own score


class _Labelled(Struct, Generic[B, N], gc=False, forbid_unknown_fields=True):
    bbox: B
    category_id: N
    score: Any = None  # not used, as above


class _Hoi(Struct, Generic[N], gc=False, forbid_unknown_fields=True):
    subject_id: Whole
    object_id: Whole
    category_id: N
    score: Number | UnsetType = UNSET
    action_score: Any = None  # read by read_action_scores


class _Lists(Struct, Generic[B, N], gc=False, forbid_unknown_fields=True):
    predictions: Annotated[list[B], Meta(extra={"item": "box"})]
    hoi_prediction: Annotated[list[_Hoi[N]], Meta(extra={"item": "triplet"})]


class _QpicImage(_Lists[_Labelled[Box, Whole], Whole], gc=False):
    filename: ImageName


class _GenVlktImage(_Lists[_Unlabelled, Whole], gc=False):
    filename: ImageName


class _PpdmImage(_Lists[_Labelled[BoxOrText, WholeOrText], WholeOrText], gc=False):
    file_name: ImageName


class _ActionHoi(Struct, gc=False):
    action_score: Finite | UnsetType = UNSET


class _ActionImage(Struct, gc=False):
    hoi_prediction: Annotated[list[_ActionHoi], Meta(extra={"item": "triplet"})]


def is_qpic(source: Source) -> bool:
    """Return whether a file has predictions of QPIC, CDN or Diag-HOI, or is an empty list of images."""
    if not source.head:
        return bool(source.document == [])
    return _HOIS in _first_record(source) and not is_ppdm(source) and not is_gen_vlkt(source)


def is_gen_vlkt(source: Source) -> bool:
    """Return whether a file has predictions of GEN-VLKT; its first box has no label, unlike in files of QPIC."""
    records = source.first.get(_LIST, source.head)
    if not isinstance(records, list) or _HOIS not in _first_record(source) or is_ppdm(source):
        return False
    lists = (record.get("predictions") for record in records[:1000] if isinstance(record, dict))
    box = next(chain.from_iterable(boxes for boxes in lists if isinstance(boxes, list)), None)
    return isinstance(box, dict) and "bbox" in box and "category_id" not in box


def is_ppdm(source: Source) -> bool:
    """Return whether a file has predictions of PPDM."""
    first = _first_record(source)
    return _HOIS in first and "file_name" in first and "filename" not in first


def read_qpic(source: Source) -> Rows:
    """Read predictions of QPIC, CDN or Diag-HOI. Raises InputError naming the image and field that break the format."""
    return _read_rows(source, _QpicImage, f"{own_name(source.benchmark, OBJECTS)}-0")


def read_gen_vlkt(source: Source) -> Rows:
    """Read predictions of GEN-VLKT. Raises InputError naming the image and field that break the format."""
    return _read_rows(source, _GenVlktImage)


def read_ppdm(source: Source) -> Rows:
    """Read predictions of PPDM. Raises InputError naming the image and field that break the format."""
    own, known = own_name(source.benchmark, OBJECTS), numberings(source.benchmark, OBJECTS)
    return _read_rows(source, _PpdmImage, f"{own}-ids" if f"{own}-ids" in known else f"{own}-0", first=1)


def _read_rows(
    source: Source, record_type: type[_Lists[Any, Any]], object_numbering: str | None = None, first: int = 0
) -> Rows:
    """Return the triplets of all records, whose lowest category ID is ``first``.

    ``object_numbering`` is the usual numbering of box categories; None if triplets have HOI classes.
    """
    path, dataset, records = source.path, source.benchmark, source.typed(record_type, _LIST)
    image_key = "file_name" if first else "filename"
    images = source.image_names((getattr(record, image_key) for record in records), image_key)
    counts = np.fromiter((len(record.predictions) for record in records), np.int64, len(records))
    lengths = np.fromiter((len(record.hoi_prediction) for record in records), np.int64, len(records))
    boxes = list(chain.from_iterable([record.predictions for record in records]))
    hois = list(chain.from_iterable([record.hoi_prediction for record in records]))
    once = dict.fromkeys((image_key, "predictions", _HOIS), len(records)) | {"bbox": len(boxes)}
    once["category_id"] = len(hois) + (len(boxes) if object_numbering else 0)
    once |= dict.fromkeys(("subject_id", "object_id"), len(hois))
    scored = sum(box.score is not None for box in boxes) + (len(hois) if hois and hois[-1].score is not UNSET else 0)
    # The typed parser kept the last value. A repeated key adds a colon, and colons are counted fast.
    if "document" not in vars(source) and _count_colons(source.data) > sum(once.values()) + scored:
        source.refuse_repeated(next((k for k, n in once.items() if source.data.count(b'"%s"' % k.encode()) > n), None))
    corners = np.fromiter(chain.from_iterable([box.bbox for box in boxes]), np.float64, 4 * len(boxes)).reshape(-1, 4)
    # Twice as fast as getattr with names.
    ids = [hoi.subject_id for hoi in hois], [hoi.object_id for hoi in hois], [hoi.category_id for hoi in hois]
    human, target, number = (np.fromiter(column, np.int64, len(hois)) for column in ids)
    image = np.repeat(np.arange(len(records)), lengths)
    place_of = images, image
    place = partial(triplet_name, place_of)
    by_person = len(dataset.actions) > 0  # a person may then have an action without an object
    check_boxes(path, place_of, "subject_id", human, counts)
    check_boxes(path, place_of, "object_id", target, counts, (target < -by_person) | (target >= counts[image]))
    if len(records) >= _FEWEST and len(human) and min(human.min(), target[target >= 0].min(initial=1)) > 0:
        source.notes.add("box_ids")
    start = (np.cumsum(counts) - counts)[image]
    human, target = human + start, np.where(target < 0, -1, target + start)

    def label_of(part: str, first_id: int = first) -> Indices:
        return labels_of_ids(source, part, number, f"{dataset.name}-{first_id}", "category_id", place)

    def scores() -> Floats | None:
        return source.optional_column("score", [hoi.score for hoi in hois], place)

    if object_numbering is None:
        words = dataset.classes.columns_of(label_of(INTERACTIONS))
        if len(records) >= _FEWEST and number.max(initial=-1) in range(most := len(dataset.classes.verbs)):
            source.notes.add("verbs_as_classes", count=most)
    else:
        category = np.fromiter([box.category_id for box in boxes], np.int64, len(boxes))
        no_object = len(dataset.objects) if by_person and not first else None
        name = partial(box_name, images, counts)
        objects = labels_of_ids(source, OBJECTS, category, object_numbering, "category_id", name, no_object)
        # All human boxes have one object; if rather all object boxes do, both kinds are exchanged.
        other, of_targets = (
            len(ids) - int(np.bincount(objects[ids]).max(initial=0)) for ids in (human, target[target >= 0])
        )
        if len(records) >= _FEWEST and len(human) / 10 < other < of_targets:
            source.notes.add("other_boxes", count=other, second=len(human))
        if by_person:
            return _person_rows(source, place_of, corners, human, target, objects, label_of(VERBS, 0), scores())
        verbs, known = dataset.classes.verbs, dataset.classes.objects
        words = {"verbs": verbs, "objects": known, "verb": label_of(VERBS), "object": objects[target]}
    return Rows(
        images=images,
        image=image,
        human_boxes=corners.take(human, axis=0),
        object_boxes=corners.take(target, axis=0),
        **words,
        score=scores(),
    )


def _count_colons(data: bytes) -> int:
    numbers = np.frombuffer(data, np.uint8)
    return sum(int((numbers[i : i + _BLOCK] == ord(":")).sum()) for i in range(0, len(numbers), _BLOCK))


def _person_rows(
    source: Source,
    place: PlaceOf,
    corners: Floats,
    human: Indices,
    target: Indices,
    objects: Indices,
    number: Indices,
    score: Floats | None,
) -> Rows:
    """Return the rows of n triplets of a benchmark that is scored by person (V-COCO).

    Triplets without an object are only in ``Rows.detected``. ``place`` are the image names and the (n,) image index of
    each triplet; ``corners`` and ``objects`` the boxes and their objects (the number of objects means "no object");
    ``human`` and ``target`` the (n,) box indices, -1 for none; ``number`` the (n,) indices into ``Actions.by_verb_id``.
    """
    bench, (images, image) = source.benchmark, place
    actions = bench.actions
    action, entry = np.array(actions.by_verb_id, np.int32)[number].T
    has_object = (target >= 0) & (objects[target] < len(bench.objects)) if len(objects) else np.zeros(len(target), bool)
    detected = RolePredictions.from_triplets(
        tuple(images),
        human * (len(corners) + 1) + np.where(has_object, target, -1),
        image.astype(np.int32),
        corners[human].astype(np.float32),
        np.where(has_object[:, None], corners[target], np.nan).astype(np.float32),
        action,
        entry,
        (np.ones(len(human)) if score is None else score).astype(np.float32),
        (len(actions), len(actions.entries)),
    )
    # A box pair yields one triplet per action, for the role that the object can have in this action.
    names = (*bench.objects, "")
    roles = np.array([[actions.entry_of(number, name) for name in names] for number in range(len(actions))], np.int32)
    shown = np.where(has_object, objects[target], -1) if len(objects) else np.full(len(target), -1)
    rows = np.flatnonzero(has_object & (entry >= 0) & (entry == roles[action, shown]))
    return Rows(
        images=images,
        image=image[rows],
        human_boxes=corners[human[rows]],
        object_boxes=corners[target[rows]],
        verbs=actions.names,
        objects=bench.objects,
        verb=action[rows].astype(np.int64),
        object=objects[target[rows]],
        score=None if score is None else score[rows],
        detected=detected,
    )


def _first_record(source: Source) -> dict[str, Any]:
    records = source.first.get(_LIST, [source.first])
    return records[0] if isinstance(records, list) and records and isinstance(records[0], dict) else {}


def read_action_scores(
    path: str | Path, *, dataset: str | Benchmark = DEFAULT, kept: Mask | None = None
) -> Floats | None:
    """Read the field ``action_score`` of each triplet in a file of QPIC, CDN, GEN-VLKT or PPDM.

    ``action_score`` is the score of the verb *given the boxes*, without detection scores. Returns (n,) scores in the
    row order of ``read_predictions``; None for another format or a file without such scores. ``kept`` is
    :attr:`shoe.ReadNotes.kept` of the file, the mask of rows to return. Raises InputError if only some have a score.
    """
    if Path(path).is_dir() or b"action_score" not in read_bytes(path):
        return None
    with collection_paused():
        source = open_source(path, benchmark(dataset))
        if source.kind != "document" or _HOIS not in _first_record(source):
            return None
        records = source.typed(_ActionImage, _LIST)
        image = np.repeat(np.arange(len(records)), [len(record.hoi_prediction) for record in records])
        values = [hoi.action_score for record in records for hoi in record.hoi_prediction]

        def place(row: int) -> str:
            name = source.record_name(int(image[row]), source.records_within(_LIST)[image[row]])
            return f"{name}: triplet {row - int(np.searchsorted(image, image[row])) + 1}"

        scores = source.optional_column("action_score", values, place)
        return scores if scores is None or kept is None or len(kept) != len(scores) else scores[kept]


def write_qpic(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write QPIC's JSON, with human boxes labelled as person. Raises InputError for a word that is not a label."""
    classes = replace(benchmark.classes, objects=benchmark.objects)  # includes objects without any class
    actions, entries = benchmark.actions, stated_entries(table.verbs, benchmark.actions)
    stated, table = entries[table.verb], without_roles(table, actions, entries)
    verb, object_ = labels_of(table, classes, path, "qpic")
    names = list(benchmark.object_ids.values())
    person = names.index(_PERSON) if _PERSON in names else 0
    lists = BoxLists.from_table(table, person, np.argsort(benchmark.object_order)[object_])
    if len(actions):
        number = actions.verb_ids(classes.verbs, classes.objects, verb, object_)
        number_of = {entry: i for i, (_, entry) in enumerate(actions.by_verb_id)}
        number = np.where(stated >= 0, np.array([number_of[e] for e in range(len(actions.entries))])[stated], number)
    else:
        number = np.argsort(benchmark.verb_order)[verb]
    more = [
        {"category_id": verb_id} if score != score else {"category_id": verb_id, "score": score}
        for verb_id, score in zip(number.tolist(), table.score.tolist(), strict=True)
    ]
    write_box_lists(table, path, lists, ("filename", "predictions", _HOIS), more)
