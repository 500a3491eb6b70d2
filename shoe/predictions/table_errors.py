"""Why rows make no valid table: the first box or score that is wrong, and what would make all boxes valid."""

from __future__ import annotations

from functools import partial

import numpy as np

from shoe.core.arrays import Floats
from shoe.core.columns import check_boxes, check_scores
from shoe.core.coordinates import Coordinates
from shoe.core.errors import InputError, flag, quote
from shoe.core.interactions import Interactions
from shoe.core.rows import Rows
from shoe.predictions.box_check import examine_boxes
from shoe.predictions.boxes import Convention, ordered, valid_conventions
from shoe.predictions.conventions import Conventions
from shoe.predictions.source import Source

_FEW = 0.25  # below this share, boxes without area are mistakes of the file, and not another convention
_OF_BEST = 1 / 3  # above this share of the hits of the best convention, some boxes are as another one


def explain(rows: Rows, source: Source, conventions: Conventions) -> None:
    """Raise the error of rows that make no valid table, if it is one of their boxes or scores.

    Raises:
        InputError: naming the first box without area, else the first number that is not finite or too large.
    """
    _explain_boxes(rows, source, conventions)
    name = partial(place_of, rows)
    pixels = np.full(1, rows.coordinates != Coordinates.CONTINUOUS)
    check_boxes(source.path, "human box", rows.human_boxes, pixels, name)
    check_boxes(source.path, "object box", rows.object_boxes, pixels, name)
    check_scores(source.path, np.asarray(rows.score), name)


def place_of(rows: Rows, row: int) -> str:
    """Name a triplet in a message: its record in the file where it has one of its own, and its image."""
    record = f"triplet {row}" if rows.place is None else rows.place(row)
    return f"{record} (image {quote(rows.images[rows.image[row]])})"


def _explain_boxes(rows: Rows, source: Source, conventions: Conventions) -> None:
    """Raise the error of the first box without area, with what would make all boxes valid; return if all have one."""
    boxes = np.concatenate([rows.human_boxes, rows.object_boxes])
    if not np.isfinite(boxes).all():
        return
    flat = ~ordered(boxes, conventions.coordinates)
    if not flat.any():
        return
    first = int(np.argmax(flat))
    row, part = first % len(rows.verb), "human box" if first < len(rows.verb) else "object box"
    count = int(flat.sum())
    hint = f"{count:,} of {len(boxes):,} boxes {'is' if count == 1 else 'are'} so"
    if count >= _FEW * len(boxes):
        hint += _fitting(rows, source, conventions) or _with_area(boxes, conventions)
    numbers = ", ".join(f"{x:g}" for x in boxes[first])
    raise InputError(
        source.path,
        record=place_of(rows, row),
        field=part,
        found=f"[{numbers}]",
        expected=f"x1 < x2 and y1 < y2, with boxes as {conventions.at(row)}",
        hint=hint,
    )


def _fitting(rows: Rows, source: Source, conventions: Conventions) -> str:
    """Name the convention under which boxes fit the ground truth far better than under that applied; "" if none does.

    Where many fit under either, none fits all.

    Some boxes are without area, so that no checked table takes them.
    """
    if source.truth is None:
        return ""
    order, nothing = np.argsort(rows.image, kind="stable"), np.zeros(len(rows.verb), np.int32)
    table = Interactions(
        images=tuple(rows.images),
        sizes=np.clip(np.nan_to_num(np.asarray(rows.sizes)), 0, 1e9).astype(np.int32),
        coordinates=np.full(len(rows.images), conventions.coordinates, np.uint8),
        offsets=np.searchsorted(rows.image[order], np.arange(len(rows.images) + 1)),
        human_boxes=rows.human_boxes[order],
        object_boxes=rows.object_boxes[order],
        verb=nothing,
        object=nothing,
        score=np.nan_to_num(np.asarray(rows.score)[order]),
        verbs=("",),
        objects=("",),
    )
    report = examine_boxes(table, source.truth, conventions.select(order))
    for group in report.groups:
        applied, best = group.fits[0], group.best
        if best is not applied and applied.hits > max(best.hits, 9 * group.chance) * _OF_BEST:
            each = f"{applied.hits:.0%} overlap an annotated box as {applied.convention}, {best.hits:.0%} would as "
            return f"; the file seems to mix conventions: {each}{best.convention}"
        if better := group.better:
            fits = f"{better.hits:.0%} overlap an annotated box as {better.convention}"
            return f"; {fits}: name it with {report.flag(better)}"
    return ""


def _with_area(boxes: Floats, conventions: Conventions) -> str:
    """Name the conventions under which all boxes of a file that names none have an area; "" if there is none."""
    names = valid_conventions(boxes) if conventions.kinds == (Convention(),) else []
    return f"; all have an area as {' or as '.join(names)}: name it with {flag('boxes')}" if names else ""
