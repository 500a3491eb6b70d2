"""Bongard problems in the terminal, and a sample of them as an HTML page."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec.structs import astuple
from rich.console import Console
from rich.text import Text

from shoe.core.arrays import random_numbers
from shoe.core.errors import pluralize, printable
from shoe.report.page import svg
from shoe.report.page.rendering import crop_url, document
from shoe.report.text import count, percent, print_line, print_lines, table
from shoe.scoring.bongard.build import Built
from shoe.scoring.bongard.problems import SHOTS, Problems, Regions
from shoe.scoring.bongard.score import BongardReport, Outcome


def group_name(name: str) -> str:
    """Return the readable name of a group of problems: "seen object, unseen action" for "seen_obj_unseen_act"."""
    return name.replace("_obj_", " object, ").replace("_act", " action") if "_obj_" in name else printable(name)


def print_built(built: Built, files: list[str], to: Console) -> None:
    """Print the counts after each step of building Bongard problems, the counts of problems, and names of ``files``."""
    rows = ((step.step, count(step.concepts), count(step.regions), count(step.labels)) for step in built.steps)
    to.print(table("curation", "concepts", "regions", "labels", rows=rows))
    if built.merged:
        print_line(to, f"merged     {', '.join(' '.join(pair) for pair in built.merged)}")
    print_line(to, f"too few    {pluralize(built.too_few, 'concept')} with fewer than {SHOTS + 1} images on a side")
    print_counts(built.problems, to)
    print_lines(to, (f"written    {path}" for path in files))


def print_counts(problems: Problems, to: Console) -> None:
    """Print the numbers of concepts, Bongard problems and images of each group of problems."""
    rows = ((group_name(name), *map(count, numbers)) for name, numbers in problems.counts().items())
    to.print(table("group", "concepts", "problems", "images", rows=rows))


def print_score(report: BongardReport, to: Console) -> None:
    """Print how well the oracle and the soft oracle answer Bongard problems: accuracy by group, outcomes and notes."""
    sizes = (report.problems, "problem"), (report.concepts, "concept"), (report.images, "image")
    print_line(to, " · ".join(pluralize(*size) for size in sizes), "bold")
    if missing := report.images - report.named_images:
        line = f"{pluralize(missing, 'image')} without predictions count as images without detections"
        print_line(to, f"{line} (`--images-in-predictions` leaves these problems out)", "bold")
    both = {"oracle": report.oracle, "soft oracle": report.soft_oracle}
    made = table("accuracy", "concepts", "problems", "oracle", "95 %", "soft oracle", "95 %")
    for name, group in report.oracle.groups.items():
        soft = report.soft_oracle.groups[name]
        cells = [percent(group.accuracy), _span(group.interval), percent(soft.accuracy), _span(soft.interval)]
        made.add_row(group_name(name), count(group.concepts), count(group.problems), *cells)
    averages = (cell for each in both.values() for cell in (percent(each.average), _span(each.interval)))
    made.add_row(Text("average"), "", "", *averages)
    to.print(made)
    outcomes = table("questions", *(code.name.lower().replace("_", " ") for code in Outcome))
    for name, found in both.items():
        total = map(sum, zip(*(astuple(group.outcomes) for group in found.groups.values()), strict=True))
        outcomes.add_row(name, *map(count, total))
    to.print(outcomes)
    print_lines(to, report.notes)
    print_line(to, f"signature  {report.signature}")


def _span(interval: Sequence[float] | None) -> str:
    return "–" if interval is None else f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f}"


_STREAM = (1 << 27) + (1 << 26)
"""First index of the random number streams of this page; no other use of the seed has these streams."""


def problem_page(problems: Problems, images: Path | None, count: int, seed: int) -> str:
    """Return an HTML page with at most ``count`` random problems per group; ``images`` is the image folder."""
    total = f"{pluralize(len(problems), 'problem')} of {pluralize(len(problems.concepts), 'concept')}"
    groups = []
    for number, group in enumerate(problems.groups):
        members = np.flatnonzero(problems.group == number)
        if len(members):
            order = np.argsort(random_numbers(_STREAM + (seed << 3) + number, (len(members),)), kind="stable")
            concepts, size, _ = problems.counts()[group]
            sizes = f"{pluralize(size, 'problem')}, {pluralize(concepts, 'concept')}"
            chosen = []
            for p in sorted(members[order[:count]].tolist()):
                sides = {"concept": problems.positives[p], "not the concept": problems.negatives[p]}
                crops = {name: [_crop(problems.regions, row, images) for row in rows] for name, rows in sides.items()}
                chosen.append({"concept": " ".join(problems.concepts[problems.concept[p]]), "sides": crops})
            groups.append({"name": group_name(group), "sizes": sizes, "problems": chosen})
    return document("bongard.html", f"shoe: {total}", ["page.css", "bongard.css"], total=total, groups=groups)[0]


def _crop(regions: Regions, row: int, images: Path | None) -> dict[str, str]:
    edges = regions.crops[row]
    corner = np.tile(edges[:2], 2)
    width, height = (edges[2:] - edges[:2]).tolist()
    image = regions.images[regions.image[row]]
    label = f"{regions.verbs[regions.verb[row]]} {regions.objects[regions.object[row]]}"
    found = crop_url(image, images, tuple(edges.tolist()))
    picture = (found[0], tuple((np.array(found[1]) - corner).tolist())) if found else None
    boxes = {"human": regions.human_boxes[row], "object": regions.object_boxes[row]}
    edges_of = {kind: tuple((box - corner).tolist()) for kind, box in boxes.items()}
    drawing = svg.crop((width, height), picture, edges_of, label)
    return {"drawing": drawing, "label": label, "title": f"{image}, {width:g} x {height:g} pixels"}
