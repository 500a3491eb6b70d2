"""Bongard problems and their files: six pictures of a concept, six without it but with its object, and two queries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct

from shoe.core.arrays import Floats, Indices, Ints, Mask, number_words, positions
from shoe.core.errors import InputError, quote
from shoe.core.io.files import atomic_write, make_folder, read_bytes
from shoe.core.io.json import Box, describe_value, explain_error, parse_json

SHOTS = 6  # pictures per side without the query (M in the paper)
SIDE = SHOTS + 1

GROUPS = ("seen_obj_seen_act", "unseen_obj_seen_act", "seen_obj_unseen_act", "unseen_obj_unseen_act")
"""The four groups, by what training problems showed, named as in the file names of the published problems."""


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """Regions of problems: n crops of images, each around one interaction."""

    images: tuple[str, ...]  # names or paths of the images
    image: Ints  # (n,) index into ``images``
    crops: Floats  # (n, 4) x1, y1, x2, y2 of the crop in the image, in pixels from its top-left corner
    # human_boxes, object_boxes: (n, 4) boxes of the interaction in the image; some published boxes exceed the crop
    human_boxes: Floats
    object_boxes: Floats
    # verb, object: (n,) indices into ``verbs`` and ``objects``
    verb: Ints
    object: Ints
    # verbs, objects: actions and objects as in the files; a merged action is one word, like "ride_or_straddle"
    verbs: tuple[str, ...]
    objects: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.image)


@dataclass(frozen=True, eq=False, repr=False)
class Problems:
    """P Bongard problems."""

    regions: Regions  # regions to which the indices refer; some may be in no problem
    positives: Indices  # (P, 7) regions that show the concept; the last region is a query
    negatives: Indices  # (P, 7) regions that show the object of the concept with another action; the last is a query
    groups: tuple[str, ...]
    group: Ints  # (P,) index into ``groups``

    def __repr__(self) -> str:
        return f"<Problems: {len(self):,} of {len(self.concepts)} concepts on {len(self.regions.images):,} images>"

    def __len__(self) -> int:
        return len(self.positives)

    @property
    def rows(self) -> Indices:
        """(P, 14) index of each region of each problem, positives first."""
        return np.hstack([self.positives, self.negatives])

    @cached_property
    def _concepts(self) -> tuple[Indices, Indices]:
        first = self.positives[:, 0]
        number = self.regions.verb[first].astype(np.int64) * len(self.regions.objects) + self.regions.object[first]
        return np.unique(number, return_inverse=True)

    @property
    def concept(self) -> Indices:
        """(P,) index of each problem's concept in ``concepts``."""
        return self._concepts[1]

    @property
    def concepts(self) -> list[tuple[str, str]]:
        """(action, object) of each distinct concept in the problems, sorted by action index, then by object index."""
        verb, object_ = np.divmod(self._concepts[0], max(1, len(self.regions.objects)))
        return [(self.regions.verbs[v], self.regions.objects[o]) for v, o in zip(verb, object_, strict=True)]

    def select(self, chosen: Sequence[int] | Indices | Mask) -> Problems:
        """Return the problems ``chosen`` by a mask, or by indices in this order, with the same regions and groups."""
        keep = np.asarray(chosen)
        return Problems(self.regions, self.positives[keep], self.negatives[keep], self.groups, self.group[keep])

    def counts(self) -> dict[str, tuple[int, int, int]]:
        """Return {group: number of (concepts, problems, images)}; groups without problems are included."""
        counts = {}
        for number, name in enumerate(self.groups):
            in_group = self.group == number
            images = np.unique(self.regions.image[self.rows[in_group]])
            counts[name] = (len(np.unique(self.concept[in_group])), int(in_group.sum()), len(images))
        return counts


# File format of the published problems: JSON lists of [positives, negatives, number, concept]. A picture has the path
# of its image, the crop in it, and two boxes relative to the crop. The last of seven pictures is a query.

_GROUP = re.compile("(?:un)?seen_obj_(?:un)?seen_act")
_JOIN = "++"
_FARTHEST = 1_000_000  # largest coordinate of a box, in pixels
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
    """Read problem files, gzip-compressed or not, and return all problems in the order of the files.

    The group of a file is the part of its name like ``seen_obj_unseen_act``, or else the name of the file. Groups are
    in the order of :data:`GROUPS`, then other groups. Raise InputError for a file given twice, a file without problems,
    or an invalid problem, naming its index: not seven pictures per side, boxes without area, positives of several
    concepts, or a negative that shows another object or the concept.
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
    distinct, row = number_words(pictures)
    rows = row.reshape(-1, 2, SIDE)
    return Problems(
        _regions(distinct),
        rows[:, 0],
        rows[:, 1],
        groups,
        np.repeat([groups.index(name) for _, name, _ in read], [len(part) for _, _, part in read]).astype(np.int32),
    )


def write_problems(problems: Problems, folder: str | Path, name: str, images: str = "") -> list[Path]:
    """Write one file per group with problems, ``FOLDER/NAME_GROUP.json``, and return the paths.

    Boxes are rounded outwards to whole pixels, as in the published files. Existing files of groups without problems are
    deleted. The folder is created if needed; ``images`` is a prefix of the image paths. Raise InputError if a file
    cannot be written.
    """
    target = Path(folder)
    make_folder(target, "a folder that can be written to")
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
    # All contents are ready before the first file changes, so that an interrupted call leaves old problems in place.
    for path, data in contents.items():
        with atomic_write(path) as stream:
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
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # the code below explains the error
        return msgspec.json.decode(data, type=list[_Problem])
    document = parse_json(path, data)
    if not isinstance(document, list):
        raise InputError(path, found=describe_value(document), expected="a list of Bongard problems")
    for number, problem in enumerate(document):
        if not isinstance(problem, list) or len(problem) < 2:
            raise InputError(path, record=f"problem {number + 1}", found=describe_value(problem), expected=_EXPECTED)
        for side, pictures in zip(("positives", "negatives"), problem, strict=False):
            try:
                msgspec.convert(pictures, _Side)
            except msgspec.ValidationError as error:
                raise explain_error(path, error, pictures, _Side, record=f"problem {number + 1}: {side}") from None
    raise InputError(path, found="an unexpected structure", expected=f"a list of {_EXPECTED}")


def _check(path: str | Path, problems: Sequence[_Problem]) -> None:
    """Raise InputError for a problem with wrong pictures: not seven per side, several concepts, or false negatives."""
    if not problems:
        raise InputError(path, found="no problems", expected=f"a list of {_EXPECTED}")
    for number, problem in enumerate(problems):
        where = f"problem {number + 1}"
        for side in ("positives", "negatives"):
            pictures = getattr(problem, side)
            if len(pictures) != SIDE:
                expected = f"{SIDE}: {SIDE - 1} pictures and a query"
                raise InputError(path, record=where, field=side, found=f"{len(pictures)} pictures", expected=expected)
        concepts = Counter((picture.act_class, picture.obj_class) for picture in problem.positives)
        concept = concepts.most_common(1)[0][0]
        if len(concepts) > 1:
            found = ", ".join(_JOIN.join(each) for each in concepts)
            raise InputError(path, record=where, field="positives", found=quote(found), expected="one concept")
        for place, picture in enumerate(problem.negatives, start=1):
            if picture.obj_class != concept[1] or picture.act_class == concept[0]:
                raise InputError(
                    path,
                    record=f"{where}: negatives",
                    field=f"picture {place}",
                    found=quote(_JOIN.join((picture.act_class, picture.obj_class))),
                    expected=f"{quote(concept[1])} with an action other than {quote(concept[0])}",
                )
        boxes = product(("positives", "negatives"), range(SIDE), ("crop_bbox", "sub_bbox", "obj_bbox"))
        for side, place, field in boxes:
            x1, y1, x2, y2 = getattr(getattr(problem, side)[place], field)
            if not (x1 < x2 and y1 < y2 and max(map(abs, (x1, y1, x2, y2))) <= _FARTHEST):
                raise InputError(
                    path,
                    record=f"{where}: {side}",
                    field=f"picture {place + 1}: {field}",
                    found=quote([x1, y1, x2, y2]),
                    expected=f"[x1, y1, x2, y2] with x1 < x2, y1 < y2 and no coordinate beyond {_FARTHEST:,} pixels",
                )


def _regions(pictures: Sequence[_Picture]) -> Regions:
    images, image = number_words(picture.im_path for picture in pictures)
    verbs, objects = (sorted({getattr(picture, f) for picture in pictures}) for f in ("act_class", "obj_class"))
    crops, humans, things = (
        np.array([getattr(picture, field) for picture in pictures], np.float64).reshape(-1, 4)
        for field in ("crop_bbox", "sub_bbox", "obj_bbox")
    )
    corner = np.tile(crops[:, :2], 2)
    return Regions(
        images=tuple(images),
        image=image.astype(np.int32),
        crops=crops,
        human_boxes=humans + corner,
        object_boxes=things + corner,
        verb=positions((picture.act_class for picture in pictures), verbs).astype(np.int32),
        object=positions((picture.obj_class for picture in pictures), objects).astype(np.int32),
        verbs=tuple(verbs),
        objects=tuple(objects),
    )
