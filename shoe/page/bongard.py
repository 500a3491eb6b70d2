"""Sampled Bongard problems as one HTML page: works from disk, without a script, asks for nothing from any network."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import numpy as np

from shoe.bongard.problems import SHOTS, Problems, Regions
from shoe.core.arrays import Floats, Indices
from shoe.core.errors import many
from shoe.core.seeded import random_numbers
from shoe.io.files import replacing
from shoe.page.markup import Markup, document, tag
from shoe.page.pictures import part
from shoe.report.bongard import group_name

_STATIC = Path(__file__).parent / "static"
_STREAM = (1 << 27) + (1 << 26)


def write_problem_page(path: str | Path, problems: Problems, images: Path | None, count: int, seed: int) -> None:
    """Write the page.

    Args:
        path: the HTML file.
        problems: to sample from.
        images: folder with the images, of which small copies of the crops go into the page; without it, or where one is
            missing, boxes stand on a blank crop.
        count: problems to show of each group, at most.
        seed: of the sample.

    Raises:
        InputError: if the file cannot be written.
    """
    content = problem_page(problems, images, count, seed).encode("utf-8", "replace")
    with replacing(path) as stream:
        stream.write(content)


def problem_page(problems: Problems, images: Path | None, count: int, seed: int) -> str:
    """Make the page; arguments as in :func:`write_problem_page`."""
    style = Markup("".join((_STATIC / name).read_text("utf-8") for name in ("page.css", "bongard.css")))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    sections = [
        _group(problems, number, images, _sampled(problems, number, count, seed))
        for number in range(len(problems.groups))
        if (problems.group == number).any()
    ]
    total = f"{many(len(problems), 'problem')} of {many(len(problems.concepts), 'concept')}"
    heading = tag("h1", "Bongard problems"), tag("p", f"Sampled from {total}.", class_="quiet")
    return document(f"shoe: {total}", policy, style, tag("main", *heading, _key(), *sections))


def _key() -> Markup:
    lines = (tag("span", tag("span", class_=f"key {kind}"), kind) for kind in ("human", "object"))
    said = "The left side shows a concept, the right side its object otherwise. Does a query show the concept?"
    return tag("p", said, tag("span", *lines, class_="legend"))


def _sampled(problems: Problems, group: int, count: int, seed: int) -> list[int]:
    """Some problems of a group, ascending."""
    of = np.flatnonzero(problems.group == group)
    order = np.argsort(random_numbers(_STREAM + (seed << 3) + group, (len(of),)), kind="stable")
    return sorted(of[order[:count]].tolist())


def _group(problems: Problems, number: int, images: Path | None, chosen: list[int]) -> Markup:
    concepts, total, _ = problems.counts()[problems.groups[number]]
    line = f"{many(total, 'problem')}, {many(concepts, 'concept')}"
    name = group_name(problems.groups[number])
    shown = (_problem(problems, p, images) for p in chosen)
    return tag("section", tag("h2", name[:1].upper() + name[1:]), tag("p", line, class_="quiet"), *shown)


def _problem(problems: Problems, p: int, images: Path | None) -> Markup:
    concept = " ".join(problems.concepts[problems.concept[p]])
    sides = {"shows it": problems.positives[p], "does not": problems.negatives[p]}
    grids = (_side(problems.regions, rows[:SHOTS], images, name) for name, rows in sides.items())
    queries = (
        tag("div", tag("p", f"query: {name}", class_="quiet"), _picture(problems.regions, int(rows[SHOTS]), images))
        for name, rows in sides.items()
    )
    return tag(
        "article",
        tag("h3", tag("bdi", concept)),
        tag("div", *grids, tag("div", *queries, class_="queries"), class_="problem"),
        class_="card",
    )


def _side(regions: Regions, rows: Indices, images: Path | None, name: str) -> Markup:
    pictures = (_picture(regions, row, images) for row in rows.tolist())
    return tag("div", tag("p", name, class_="quiet"), tag("div", *pictures, class_="shots"))


def _picture(regions: Regions, row: int, images: Path | None) -> Markup:
    """The crop at its true size with both boxes, and what it is annotated to show."""
    crop = regions.crops[row]
    width, height = (crop[2:] - crop[:2]).tolist()
    image = regions.images[regions.image[row]]
    label = f"{regions.verbs[regions.verb[row]]} {regions.objects[regions.object[row]]}"
    shown = part(image, images, tuple(crop.tolist()))
    boxes = (
        _box(boxes[row] - np.tile(crop[:2], 2), max(width, height), kind)
        for kind, boxes in (("human", regions.human_boxes), ("object", regions.object_boxes))
    )
    size = {"width": f"{width:g}", "height": f"{height:g}"}
    drawn = tag(
        "svg",
        tag("rect", **size, class_="paper"),
        _image(*shown, crop) if shown else None,
        *boxes,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=label,
    )
    return tag("figure", drawn, tag("figcaption", tag("bdi", label)), title=f"{image}, {width:g} x {height:g} pixels")


def _image(data: str, there: tuple[float, float, float, float], crop: Floats) -> Markup:
    left, top, right, bottom = there
    x, y = left - crop[0], top - crop[1]
    size = {"width": f"{right - left:g}", "height": f"{bottom - top:g}"}
    return tag("image", href=data, x=f"{x:g}", y=f"{y:g}", **size, preserveAspectRatio="none")


def _box(box: Floats, longest: float, kind: str) -> Markup:
    x1, y1, x2, y2 = box.tolist()
    return tag(
        "rect",
        x=f"{x1:g}",
        y=f"{y1:g}",
        width=f"{x2 - x1:g}",
        height=f"{y2 - y1:g}",
        class_=f"triplet {kind}",
        stroke_width=f"{longest / 60:.3g}",
        stroke_dasharray=f"{longest / 25:.3g} {longest / 50:.3g}" if kind == "object" else None,
    )
