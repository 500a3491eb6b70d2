"""Sampled Bongard problems as one HTML page: works from disk, without a script, asks for nothing from any network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from shoe.core.arrays import random_numbers
from shoe.core.errors import many
from shoe.report.bongard import group_name
from shoe.report.page import svg
from shoe.report.page.rendering import document, part, write_document
from shoe.scoring.bongard.problems import Problems, Regions

_STREAM = (1 << 27) + (1 << 26)


def write_problem_page(path: str | Path, problems: Problems, images: Path | None, count: int, seed: int) -> None:
    """Write the page.

    Args:
        path: HTML file.
        problems: problems to sample from.
        images: folder with the images; small copies of the crops become part of the page. Without the folder, or if an
            image is missing, boxes stand on a blank crop.
        count: maximum number of problems of each group.
        seed: random seed of the sample.

    Raises:
        InputError: if the file cannot be written.
    """
    write_document(path, problem_page(problems, images, count, seed))


def problem_page(problems: Problems, images: Path | None, count: int, seed: int) -> str:
    """Render the page; arguments as in :func:`write_problem_page`."""
    total = f"{many(len(problems), 'problem')} of {many(len(problems.concepts), 'concept')}"
    groups = []
    for number, group in enumerate(problems.groups):
        members = np.flatnonzero(problems.group == number)
        if len(members):
            order = np.argsort(random_numbers(_STREAM + (seed << 3) + number, (len(members),)), kind="stable")
            concepts, size, _ = problems.counts()[group]
            groups.append(
                {
                    "name": group_name(group),
                    "sizes": f"{many(size, 'problem')}, {many(concepts, 'concept')}",
                    "problems": [_problem(problems, p, images) for p in sorted(members[order[:count]].tolist())],
                }
            )
    styles = ["page.css", "bongard.css"]
    return document("bongard.html", f"shoe: {total}", styles, total=total, groups=groups)[0]


def _problem(problems: Problems, p: int, images: Path | None) -> dict[str, Any]:
    sides = {"shows it": problems.positives[p], "does not": problems.negatives[p]}
    return {
        "concept": " ".join(problems.concepts[problems.concept[p]]),
        "sides": {
            name: [_crop(problems.regions, row, images) for row in rows.tolist()] for name, rows in sides.items()
        },
    }


def _crop(regions: Regions, row: int, images: Path | None) -> dict[str, str]:
    """The crop at its true size with both boxes, and the interaction that it is annotated with."""
    edges = regions.crops[row]
    corner = np.tile(edges[:2], 2)
    width, height = (edges[2:] - edges[:2]).tolist()
    image = regions.images[regions.image[row]]
    label = f"{regions.verbs[regions.verb[row]]} {regions.objects[regions.object[row]]}"
    found = part(image, images, tuple(edges.tolist()))
    boxes = {"human": regions.human_boxes[row], "object": regions.object_boxes[row]}
    drawing = svg.crop(
        (width, height),
        (found[0], tuple((np.array(found[1]) - corner).tolist())) if found else None,
        {kind: tuple((box - corner).tolist()) for kind, box in boxes.items()},
        label,
    )
    return {"drawing": drawing, "label": label, "title": f"{image}, {width:g} x {height:g} pixels"}
