"""Problems as the field's loaders have them: JSON lists of [positives, negatives, number, concept].

A picture names its image, the crop in it, and the two boxes as they lie in the crop. The last of seven is a query.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain, product
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct

from shoe.bongard.problems import GROUPS, SIDE, Problems, Regions
from shoe.core.errors import InputError, quote
from shoe.io.files import read_bytes, replacing
from shoe.io.json import parse_json
from shoe.io.typed import Box, explained, shown

_GROUP = re.compile("(?:un)?seen_obj_(?:un)?seen_act")
_JOIN = "++"
_FARTHEST = 1_000_000
_EXPECTED = "[positives, negatives, number, concept]"


class _Picture(Struct, frozen=True, gc=False):
    im_path: Annotated[str, Meta(min_length=1, extra={"expected": "the path of an image"})]
    crop_bbox: Box
    sub_bbox: Box
    obj_bbox: Box
    act_class: str
    obj_class: str


_Side = Annotated[list[_Picture], Meta(extra={"item": "picture"})]


class _Problem(Struct, array_like=True, gc=False):
    positives: _Side
    negatives: _Side
    number: Any = None
    concept: Any = None


def read_problems(*paths: str | Path) -> Problems:
    """Read the problems of files, gzip-compressed or not.

    A file's group is in its name, as ``seen_obj_unseen_act``; the problems of any other file are a group of its name.

    Returns:
        All problems, file after file; groups in the order of :data:`shoe.bongard.problems.GROUPS`, others last.

    Raises:
        InputError: for a file that is given twice; naming file, problem, side and picture of what is no problem: no
            seven pictures on a side, boxes without area, positives that show several concepts, a negative with another
            object or with the concept.
    """
    real = [Path(path).resolve() for path in paths]
    for number, path in enumerate(paths):
        if real[number] in real[:number]:
            raise InputError(path, found="the same file twice", expected="each file of problems once")
    read = [(path, _group(path), _parsed(path)) for path in paths]
    for path, _, problems in read:
        _check(path, problems)
    named = list(dict.fromkeys(name for _, name, _ in read))
    groups = (*(name for name in GROUPS if name in named), *(name for name in named if name not in GROUPS))
    problems = list(chain.from_iterable(problems for _, _, problems in read))
    pictures = [picture for problem in problems for side in (problem.positives, problem.negatives) for picture in side]
    distinct = {picture: number for number, picture in enumerate(dict.fromkeys(pictures))}
    rows = np.array([distinct[picture] for picture in pictures], np.int64).reshape(-1, 2, SIDE)
    return Problems(
        _regions(list(distinct)),
        rows[:, 0],
        rows[:, 1],
        groups,
        np.repeat([groups.index(name) for _, name, _ in read], [len(part) for _, _, part in read]).astype(np.int32),
    )


def write_problems(problems: Problems, folder: str | Path, name: str, images: str = "") -> list[Path]:
    """Write problems, a file a group: ``FOLDER/NAME_GROUP.json``; files of that name without problems now go.

    Boxes are widened to whole pixels, as the field's have them.

    Args:
        problems: what to write.
        folder: where to, made if it is not there.
        name: how file names begin.
        images: folder of the images, which stands before their names.

    Returns:
        The files; groups without problems have none.

    Raises:
        InputError: if a file cannot be written.
    """
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        found = error.strerror or str(error)
        raise InputError(target, found=found, expected="a folder that can be written to") from None
    written = _as_written(problems.regions, images)
    contents = {}
    for number, group in enumerate(problems.groups):
        chosen = np.flatnonzero(problems.group == number)
        if not len(chosen):
            continue
        content = [
            [
                [written[row] for row in problems.positives[p].tolist()],
                [written[row] for row in problems.negatives[p].tolist()],
                place,
                _JOIN.join(problems.concepts[problems.concept[p]]),
            ]
            for place, p in enumerate(chosen.tolist())
        ]
        contents[target / f"{name}_{group}.json"] = msgspec.json.encode(content)
    # All is there before the first file changes: who interrupts has the old problems, or but for an instant the new.
    for path, data in contents.items():
        with replacing(path) as stream:
            stream.write(data)
    for group in {*GROUPS, *problems.groups}:
        if (path := target / f"{name}_{group}.json") not in contents:
            path.unlink(missing_ok=True)
    return list(contents)


def _as_written(regions: Regions, images: str) -> list[dict[str, Any]]:
    crops, *boxes = (  # whole pixels around each box, so that none loses its area
        np.hstack([np.floor(each[:, :2]), np.ceil(each[:, 2:])]).astype(np.int64)
        for each in (regions.crops, regions.human_boxes, regions.object_boxes)
    )
    corner = np.tile(crops[:, :2], 2)
    before = f"{images.rstrip('/')}/" if images else ""
    return [
        {
            "im_path": before + regions.images[image],
            "crop_bbox": crop,
            "sub_bbox": human,
            "obj_bbox": object_box,
            "sub_class": "person",
            "obj_class": regions.objects[object_],
            "act_class": regions.verbs[verb],
        }
        for image, crop, human, object_box, verb, object_ in zip(
            regions.image.tolist(),
            crops.tolist(),
            *((each - corner).tolist() for each in boxes),
            regions.verb.tolist(),
            regions.object.tolist(),
            strict=True,
        )
    ]


def _group(path: str | Path) -> str:
    name = Path(path).name
    found = _GROUP.search(name)
    return found[0] if found else name.split(".", 1)[0]


def _parsed(path: str | Path) -> list[_Problem]:
    data = read_bytes(path)
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # what is wrong is said below
        return msgspec.json.decode(data, type=list[_Problem])
    document = parse_json(path, data)
    if not isinstance(document, list):
        raise InputError(path, found=shown(document), expected="a list of Bongard problems")
    for number, problem in enumerate(document):
        if not isinstance(problem, list) or len(problem) < 2:
            raise InputError(path, record=f"problem {number}", found=shown(problem), expected=_EXPECTED)
        for side, pictures in zip(("positives", "negatives"), problem, strict=False):
            try:
                msgspec.convert(pictures, _Side)
            except msgspec.ValidationError as error:
                raise explained(path, error, pictures, _Side, record=f"problem {number}: {side}") from None
    raise InputError(path, found="a damaged structure", expected=f"a list of {_EXPECTED}")


def _check(path: str | Path, problems: Sequence[_Problem]) -> None:
    """See that each problem is one: seven pictures on a side, one concept, and that never among the negatives."""
    if not problems:
        raise InputError(path, found="no problems", expected=f"a list of {_EXPECTED}")
    for number, problem in enumerate(problems):
        where = f"problem {number}"
        for side in ("positives", "negatives"):
            pictures = getattr(problem, side)
            if len(pictures) != SIDE:
                expected = f"{SIDE}: {SIDE - 1} and a query"
                raise InputError(path, record=where, field=side, found=f"{len(pictures)} pictures", expected=expected)
        concepts = Counter((picture.act_class, picture.obj_class) for picture in problem.positives)
        concept = concepts.most_common(1)[0][0]
        if len(concepts) > 1:
            found = ", ".join(_JOIN.join(each) for each in concepts)
            raise InputError(path, record=where, field="positives", found=quote(found), expected="one concept")
        for place, picture in enumerate(problem.negatives):
            if picture.obj_class != concept[1] or picture.act_class == concept[0]:
                raise InputError(
                    path,
                    record=f"{where}: negatives",
                    field=f"picture {place}",
                    found=quote(_JOIN.join((picture.act_class, picture.obj_class))),
                    expected=f"{quote(concept[1])} with another action than {quote(concept[0])}",
                )
        boxes = product(("positives", "negatives"), range(SIDE), ("crop_bbox", "sub_bbox", "obj_bbox"))
        for side, place, field in boxes:
            x1, y1, x2, y2 = getattr(getattr(problem, side)[place], field)
            if not (x1 < x2 and y1 < y2 and max(map(abs, (x1, y1, x2, y2))) <= _FARTHEST):
                raise InputError(
                    path,
                    record=f"{where}: {side}",
                    field=f"picture {place}: {field}",
                    found=quote([x1, y1, x2, y2]),
                    expected=f"[x1, y1, x2, y2] with x1 < x2 and y1 < y2, at most {_FARTHEST:,} pixels away",
                )


def _regions(pictures: Sequence[_Picture]) -> Regions:
    names = {name: number for number, name in enumerate(dict.fromkeys(picture.im_path for picture in pictures))}
    verbs, objects = (sorted({getattr(picture, f) for picture in pictures}) for f in ("act_class", "obj_class"))
    verb, object_ = ({word: number for number, word in enumerate(words)} for words in (verbs, objects))
    crops, humans, things = (
        np.array([getattr(picture, field) for picture in pictures], np.float64).reshape(-1, 4)
        for field in ("crop_bbox", "sub_bbox", "obj_bbox")
    )
    corner = np.tile(crops[:, :2], 2)
    return Regions(
        images=tuple(names),
        image=np.array([names[picture.im_path] for picture in pictures], np.int32),
        crops=crops,
        human_boxes=humans + corner,
        object_boxes=things + corner,
        verb=np.array([verb[picture.act_class] for picture in pictures], np.int32),
        object=np.array([object_[picture.obj_class] for picture in pictures], np.int32),
        verbs=tuple(verbs),
        objects=tuple(objects),
    )
