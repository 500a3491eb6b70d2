"""Pages of rating studies: the report of results, and the page on which raters answer, with small images."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from msgspec import UNSET
from msgspec.structs import replace

from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import random_numbers
from shoe.core.errors import InputError, pluralize, quote
from shoe.core.io.files import read_bytes
from shoe.core.io.json import encode
from shoe.report.figures.pictures import read_picture
from shoe.report.page.rendering import cut_out, document, render, small, write_document
from shoe.report.page.svg import rater_bars
from shoe.report.study import columns_of, figure_rows
from shoe.report.text import count, decimals, percent
from shoe.scoring.bongard.problems import Problems
from shoe.similarity.ensemble import HIGHEST
from shoe.study.analysis import StudyReport
from shoe.study.folder import AnyStudy
from shoe.study.plan import Picture, ProblemStudy, Question, Study
from shoe.study.ratings import StudyRatings, shape_of

_MOST = 40  # maximum number of raters, and of ensembles, in the report


def write_people_page(path: Path, study: StudyRatings, found: StudyReport, command: str) -> None:
    """Write the report of a study as one HTML file without scripts; raise InputError if the file cannot be written."""
    values = {"people": people_part(study, found), "command": command}
    write_document(path, document("people.html", "shoe: people's ratings", ["page.css"], **values)[0])


def people_part(study: StudyRatings, found: StudyReport) -> Markup:
    """Render the results of a study (without gold items): agreement, each rater, and subsets of the raters of a map."""
    columns = columns_of(found)
    agreement = [figure_rows(each) for each in columns.values()]
    names = dict.fromkeys(name for row in agreement for name in row)
    bars = [(name, rater.ceiling, "m0") for name, rater in found.raters.items()]
    label, ensembles = "rank correlation of each rater with the mean of the other people", None
    if found.beside is not None:
        bars = [(rater.name, rater.rho, "m0" if rater.person else "m1") for rater in found.beside.raters]
        among = pluralize(sum(each.among_best for each in found.beside.ensembles), "ensemble")
        rows = [
            (", ".join(each.raters), f"{percent(each.agreement)} %", "yes" if each.among_best else "no")
            for each in found.beside.ensembles[:_MOST]
        ]
        summary = f"{among} of {len(found.beside.ensembles)} are not significantly worse than the best one"
        ensembles = {"summary": summary, "rows": rows}
    bars = [bar for bar in bars if bar[2] == "m0"][:_MOST] + [bar for bar in bars if bar[2] != "m0"]
    closing = []
    if found.population:
        closing.append(f"The results are weighted to represent {found.population.pairs:,.0f} pairs.")
    if (seen := found.picture) and seen.changed.value is not None:
        changed = f"{percent(seen.changed.value)} % of {pluralize(seen.answers, 'rating')}"
        closing.append(f"{changed} changed after the image was shown.")
    if again := found.retest:
        closing.append(f"{percent(again.exact)} % of {pluralize(again.answers, 'repeat')} got the same rating again.")
    return render(
        "people_part.html",
        shape=shape_of(study),
        columns=list(columns),
        agreement=[(name, *(row.get(name, "–") for row in agreement)) for name in names],
        ceilings=rater_bars(bars, label),
        ceilings_label=label,
        levels=[f"rated {level}" for level in range(HIGHEST + 1)],
        raters=[
            (name, *map(count, rater.levels), decimals(rater.ceiling), "; ".join(rater.excluded or ()))
            for name, rater in found.raters.items()
        ],
        ensembles=ensembles,
        closing=closing,
    )


_MODULES = ("dom", "study-log", "study-pairs", "study-problems", "study")
CONSENT, INSTRUCTIONS, WITH_PICTURE = "consent.txt", "instructions.txt", "with-picture.txt"
_TEXTS = Path(__file__).parent / "texts"
_SECONDS, _PICTURE_SECONDS, _PROBLEM_SECONDS = 8, 5, 40
"""Seconds per answer, for the estimate of minutes that raters see."""


def default_texts(study: AnyStudy) -> dict[str, str]:
    """Return the default texts of rater pages, such as instructions, by file name; an empty line ends a paragraph."""
    if isinstance(study, ProblemStudy):
        seconds = len(study.problems) * study.testers / study.raters * _PROBLEM_SECONDS
        about, texts = "what pictures have in common", {INSTRUCTIONS: "problems.txt"}
    else:
        pictures = sum(bool(item.picture) for item in study.items)
        seconds = len(study.items) * 1.1 * _SECONDS + pictures * _PICTURE_SECONDS
        about, texts = "how similar activities are", {INSTRUCTIONS: "pairs.txt"}
        texts |= {WITH_PICTURE: "pairs-with-picture.txt"} if pictures else {}
    found = {name: (_TEXTS / file).read_text("utf-8") for name, file in {CONSENT: "consent.txt", **texts}.items()}
    return found | {CONSENT: found[CONSENT].format(about=about, minutes=max(1, round(seconds / 60)))}


def read_texts(folder: Path, study: AnyStudy) -> dict[str, str]:
    """Read the texts of rater pages by file name; raise InputError if a file is missing or is not UTF-8."""
    texts = {}
    for name in default_texts(study):
        try:
            texts[name] = read_bytes(folder / name).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InputError(folder / name, found="bytes that are not UTF-8", expected="UTF-8 text") from None
    return texts


def shown_to_all(study: AnyStudy, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the data that the pages of all raters share, without images and expected answers."""
    shared = {"study": study.id} | {name.removesuffix(".txt").replace("-", "_"): text for name, text in texts.items()}
    if isinstance(study, ProblemStudy):
        problems = [{"sides": each.sides, "queries": each.queries} for each in study.problems]
        return {**shared, "problems": problems, "examples": study.examples}
    hidden = {"part": "", "gold": None, "weight": UNSET, "stratum": UNSET}  # raters must not see expected answers
    items = [replace(item, **hidden) for item in study.items]
    return {**shared, "items": items, "training": study.training, "glosses": study.glosses}


def write_rater_page(
    path: Path, shown: Mapping[str, Any], rater: str, order: Sequence[Question], pictures: Mapping[str, str]
) -> None:
    """Write the page of one rater from shared data, the questions in their order, and image URLs by file name."""
    data = encode({**shown, "rater": rater, "order": order, "pictures": pictures}).decode()
    escaped = Markup(data.replace("<", "\\u003c"))  # noqa: S704 - nothing in it can end the script element
    write_document(path, _page(data=escaped)[0])


def served_page() -> tuple[str, str]:
    """Return (rater page of a service, its Content-Security-Policy); the page requests its data from the server."""
    return _page(connect="; connect-src 'self'", data=None)


def _page(**values: Any) -> tuple[str, str]:
    return document("study.html", "A study", ["study.css"], _MODULES, **values)


CROP = 256
"""Pixels of the longer side of a crop; a Bongard problem has fourteen crops."""
_STREAM = (7 << 28) + (5 << 20)
"""First index of the random number streams for images; no other use of the seed has these streams."""


def with_pictures(study: Study, truth: GroundTruth, images: Path) -> tuple[Study, dict[str, bytes]]:
    """Return a study in which items have a random image of their first class, and JPEG images by file name.

    Gold items have no image. Raise InputError if no item has an image.
    """
    table, classes = truth.interactions, truth.classes
    verbs, objects = ([name.replace("_", " ") for name in names] for names in (classes.verbs, classes.objects))
    of_words = {(verbs[v], objects[o]): k for k, (v, o) in enumerate(zip(classes.verb, classes.object, strict=True))}
    order = np.argsort(random_numbers(_STREAM + (study.seed << 8), (len(truth.hoi),)), kind="stable")
    of_class: dict[int, list[int]] = {}  # rows of the ground truth, which take turns
    pictures: dict[str, bytes] = {}
    items = []
    for file, item in ((f"{place}.jpg", item) for place, item in enumerate(study.items)):
        hoi = of_words.get(item.words_a, -1)
        rows = of_class.setdefault(hoi, order[truth.hoi[order] == hoi].tolist()) if item.gold is None else []
        while rows:
            row = rows.pop(0)
            name = table.images[table.image[row]]
            image, _ = read_picture(name, images)
            if image is None:  # dropped, so that it is not read again
                continue
            rows.append(row)
            width, pictures[file] = image.width, small(image)
            scale, sides = image.width / width, (table.human_boxes, table.object_boxes)
            boxes: list[Any] = [tuple(round(x * scale, 1) for x in side[row].tolist()) for side in sides]
            item = replace(item, picture=Picture(file, Path(name).name, image.size, *boxes))
            break
        items.append(item)
    if not pictures:
        names = truth.interactions.images
        expected = f"images of the rated classes, such as {quote(names[0])}" if names else ""
        raise InputError(images, found="no image of any rated class", expected=expected)
    return replace(study, items=items), pictures


def problem_pictures(problems: Problems, images: Path, first: int = 0) -> dict[str, bytes]:
    """Return the crops of Bongard problems as JPEG by file name: "N.jpg" for region N - ``first``."""
    regions, rows = problems.regions, np.unique(problems.rows)
    pictures = {}
    for image in np.unique(regions.image[rows]).tolist():
        name = regions.images[image]
        path = images / Path(name).name
        picture, reason = read_picture(name, images)
        if picture is None:
            raise InputError(path, found=reason, expected=f"the image {quote(name)}, which the problems use")
        for row in rows[regions.image[rows] == image].tolist():
            if (clipped := cut_out(picture, tuple(regions.crops[row].tolist()))) is None:
                expected = f"an image that contains the crop {quote(regions.crops[row].tolist())}"
                raise InputError(path, found=f"{picture.width} x {picture.height} pixels", expected=expected)
            pictures[f"{first + row}.jpg"] = small(clipped[0], CROP)
    return pictures
