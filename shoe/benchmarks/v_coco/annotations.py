"""Official annotations of V-COCO, such as ``vcoco_test.json``, with boxes from ``instances_vcoco_all_2014.json``.

The file has an object for each of the 26 actions: its roles, and for each annotated person the image ID, the COCO
annotation ID of the person, whether the person performs the action, and the COCO annotation ID for each role (0 for
none). The boxes are in COCO's file, which must be in the same folder or its parent, as in the official repository.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from shoe.benchmarks.base import Benchmark, TruthFormat
from shoe.benchmarks.checks import named_images, named_record, objects_of
from shoe.benchmarks.v_coco.json_files import AnnotatedPersons
from shoe.core.arrays import Indices
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Rows
from shoe.core.io.files import read_bytes
from shoe.core.io.json import Finite, Whole, read_typed

INSTANCES = "instances_vcoco_all_2014.json"


class _Action(Struct, gc=False):
    action_name: str
    role_name: list[str]
    image_id: list[Whole]
    ann_id: list[Whole]
    label: list[Whole]
    role_object_id: list[Whole]


class _Image(Struct, gc=False):
    id: Whole
    width: Whole
    height: Whole


class _Instance(Struct, gc=False):
    id: Whole
    image_id: Whole
    category_id: Whole
    bbox: Annotated[tuple[Finite, Finite, Finite, Finite], Meta(extra={"expected": "[x, y, width, height]"})]
    area: Finite = 1.0
    ignore: Whole = 0


class _Instances(Struct, gc=False):
    images: Annotated[list[_Image], Meta(extra={"item": "image"})]
    annotations: Annotated[list[_Instance], Meta(extra={"item": "annotation"})]


def read_official(path: str | Path, data: bytes, benchmark: Benchmark, _split: str | None) -> Rows:
    """Return triplets, annotations of each person, and image sizes; COCO's boxes are in the file ``INSTANCES``."""
    actions = benchmark.actions
    in_file = read_typed(path, data, list[_Action], named_record("action", "action_name"))
    names = tuple(action.action_name for action in in_file)
    if names != actions.names:
        expected = f"the {len(actions)} actions in the official order: {', '.join(actions.names)}"
        raise InputError(path, field="action_name", found=", ".join(names) or "none", expected=expected)
    image_id, ann_id = in_file[0].image_id, in_file[0].ann_id
    ids, home = sorted(set(map(int, image_id))), _instances_of(path)
    images, instances = _of_images(home, ids)
    row = {int(one.id): number for number, one in enumerate(instances)}
    persons = _rows(path, home, "ann_id", row, ann_id, names[0])
    entry_of = {pair: number for number, pair in enumerate(actions.entries)}
    blocks = []
    for number, (action, known) in enumerate(zip(in_file, actions.all, strict=True)):
        _check(path, action, known.roles, image_id, ann_id)
        does = np.flatnonzero(np.array(action.label, np.int64) == 1)
        targets = np.array(action.role_object_id, np.int64).reshape(len(action.role_name), -1)[1:, does]
        for role, ids_of_role in zip(known.roles or ("",), targets if known.roles else [[]], strict=True):
            target = np.full(len(does), -1, np.int64)
            has_box = np.flatnonzero(ids_of_role)
            field = f"role_object_id ({role})"
            target[has_box] = _rows(path, home, field, row, np.array(ids_of_role)[has_box].tolist(), known.name)
            of_action = np.full_like(target, number), np.full_like(target, entry_of.get((number, role), -1))
            blocks.append(np.stack([persons[does], *of_action, target]))
    person, action_, entry, target = np.concatenate(blocks, axis=1)
    corners = np.array([one.bbox for one in instances], np.float64).reshape(-1, 4)
    corners[:, 2:] += corners[:, :2]
    image_names = named_images(path, benchmark.image_name, ids)
    counts = np.bincount(np.searchsorted(ids, [int(one.image_id) for one in instances]), minlength=len(ids))
    category = np.array([one.category_id for one in instances], np.int64)
    return AnnotatedPersons(
        images=image_names,
        sizes=np.array([(one.width, one.height) for one in images], np.float64).reshape(-1, 2),
        counts=counts,
        boxes=corners,
        object=objects_of(home, image_names, counts, category, benchmark),
        left_out=np.array([one.ignore == 1 or one.area <= 0 for one in instances], bool),
        listed=persons,
        person=person,
        action=action_,
        entry=entry,
        target=target,
    ).rows(benchmark)


def _instances_of(path: str | Path) -> Path:
    """Return the path of COCO's file, in the folder of the annotations or its parent; raise InputError if missing."""
    folder = Path(path).resolve().parent
    for home in (folder, folder.parent):
        for ending in ("", ".gz"):
            if (home / f"{INSTANCES}{ending}").is_file():
                return home / f"{INSTANCES}{ending}"
    expected = f"COCO's boxes, {INSTANCES}, in the same folder or its parent"
    raise InputError(path, found="no boxes, only IDs of COCO annotations", expected=expected)


def _of_images(home: Path, ids: Sequence[int]) -> tuple[list[_Image], list[_Instance]]:
    """Return the images with the given IDs, in this order, and their COCO annotations, sorted by image."""
    document = read_typed(home, read_bytes(home), _Instances, lambda _document, number, _: f"record {number + 1}")
    images = {int(one.id): one for one in document.images}
    missing = next((number for number in ids if number not in images), None)
    if missing is not None:
        raise InputError(home, field="images", found=f"no image {missing}", expected="all images of the annotation")
    position = {number: i for i, number in enumerate(ids)}
    instances = [one for one in document.annotations if int(one.image_id) in position]
    instances.sort(key=lambda one: position[int(one.image_id)])  # a stable sort
    return [images[number] for number in ids], instances


def _rows(path: str | Path, home: Path, field: str, row: dict[int, int], ids: Sequence[float], action: str) -> Indices:
    missing = next((number for number in ids if int(number) not in row), None)
    if missing is not None:
        expected = f"a COCO annotation in {home} on an image of this file"
        raise InputError(path, record=f"action {quote(action)}", field=field, found=str(missing), expected=expected)
    return np.array([row[int(number)] for number in ids], np.int64)


def _check(
    path: str | Path, action: _Action, roles: Sequence[str], image_id: Sequence[float], ann_id: Sequence[float]
) -> None:
    n, targets = len(ann_id), len(ann_id) * len(action.role_name)
    names, same = ["agent", *roles], action.image_id == image_id and action.ann_id == ann_id
    for is_right, field, found, expected in (
        (action.role_name == names, "role_name", ", ".join(action.role_name) or "none", ", ".join(names)),
        (same, "ann_id", "different persons", "the same persons as in all other actions"),
        (len(action.image_id) == len(action.label) == n, "label", f"{len(action.label)} values", str(n)),
        (len(action.role_object_id) == targets, "role_object_id", f"{len(action.role_object_id)} values",
         f"{targets}, one per role and person"),
    ):  # fmt: skip
        if not is_right:
            record = f"action {quote(action.action_name)}"
            raise InputError(path, record=record, field=field, found=found, expected=expected)


FORMAT = TruthFormat(
    name="V-COCO's official annotation",
    example=f"vcoco_test.json (s-gupta/v-coco, with {INSTANCES})",
    fits=lambda data: data.lstrip()[:1] == b"[" and b'"role_object_id"' in data,
    read=read_official,
)
