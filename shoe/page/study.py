"""A rater's page: one HTML file that works from disk, asks nothing of any network, and saves a file to send back."""

from __future__ import annotations

import re
from pathlib import Path

from shoe.io.files import replacing
from shoe.io.json import encode
from shoe.page.build import policy
from shoe.page.markup import Markup, document, tag
from shoe.study.plan import Study, order_of

_STATIC = Path(__file__).parent / "static"
CONSENT, INSTRUCTIONS = "consent.txt", "instructions.txt"
TEXTS = {
    CONSENT: "You take part in a study of how similar activities are. It takes about {minutes} minutes. You may stop "
    "at any time, and go on later in the same browser.\n\nYour answers are kept in this browser until you save the "
    "file at the end and send it; nothing is sent by itself. Published are ratings without names.\n",
    INSTRUCTIONS: """\
You see two activities of a person, with the meaning of each word. How similar are they?

0 - not similar at all
1 - hardly similar
2 - somewhat similar
3 - very similar
4 - the same: one could stand for the other

Rate by meaning, not by how often the two occur together. There is no right answer; go by your first impression.
Press a key, 0 to 4, or a button. The left arrow goes back.
""",
}
"""Texts that who runs the study edits: an empty line ends a paragraph, and a line a line."""


def write_rater_page(path: Path, study: Study, rater: int, texts: dict[str, str]) -> None:
    """Write the page of one rater.

    Args:
        path: the HTML file.
        study: the study.
        rater: whose page, from 0.
        texts: consent and instructions, by file name.
    """
    data = {
        "study": study.id,
        "rater": study.names[rater],
        "items": study.items,
        "training": study.training,
        "glosses": study.glosses,
        "order": order_of(study, rater),
    }
    style, script = (Markup((_STATIC / name).read_text("utf-8")) for name in ("study.css", "study.js"))
    packed = Markup(encode(data).decode().replace("<", "\\u003c"))
    paragraphs = {name: _paragraphs(text) for name, text in texts.items()}
    page = document(
        "How similar are two activities?",
        policy(script, style),
        style,
        tag("main", id="main"),
        tag("template", tag("h1", "Before you start"), *paragraphs[CONSENT], id="consent"),
        tag("template", tag("h1", "How to rate"), *paragraphs[INSTRUCTIONS], id="instructions"),
        tag("script", packed, type="application/json", id="data"),
        tag("script", script, type="module"),
    )
    with replacing(path) as stream:
        stream.write(page.encode("utf-8", "replace"))


def _paragraphs(text: str) -> list[Markup]:
    return [_paragraph(part) for part in re.split(r"\n\s*\n", text.strip()) if part]


def _paragraph(text: str) -> Markup:
    first, *more = text.splitlines()
    return tag("p", first, *(part for line in more for part in (tag("br"), line)))
