"""A rater's page: one HTML file that works from disk and saves a file to send back, or a page of a service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoe.io.files import replacing
from shoe.io.json import encode
from shoe.page.build import modules, policy
from shoe.page.markup import Markup, document, tag
from shoe.study.plan import Question, Study

_STATIC = Path(__file__).parent / "static"
_TITLE = "How similar are two activities?"
CONSENT, INSTRUCTIONS = "consent.txt", "instructions.txt"
TEXTS = {
    CONSENT: "You take part in a study of how similar activities are. It takes about {minutes} minutes. You may stop "
    "at any time, and go on later.\n\nYour answers are kept in this browser, and go to who invited you alone: by "
    "the link that brought you here, or in a file that you save at the end and send. Published are ratings without "
    "names.\n",
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


def shown_to_all(study: Study, texts: Mapping[str, str]) -> dict[str, Any]:
    """What the page shows every rater.

    Args:
        study: the study.
        texts: consent and instructions, by file name.
    """
    return {
        "study": study.id,
        "consent": texts[CONSENT],
        "instructions": texts[INSTRUCTIONS],
        "items": study.items,
        "training": study.training,
        "glosses": study.glosses,
    }


def write_rater_page(path: Path, shown: Mapping[str, Any], rater: str, order: Sequence[Question]) -> None:
    """Write the page that works from disk.

    Args:
        path: the HTML file.
        shown: what it shows every rater.
        rater: whose page.
        order: of what it asks.
    """
    script, style = _parts()
    packed = Markup(encode({**shown, "rater": rater, "order": order}).decode().replace("<", "\\u003c"))
    page = _page(policy(script, style), tag("script", packed, type="application/json", id="data"))
    with replacing(path) as stream:
        stream.write(page.encode("utf-8", "replace"))


def served_page() -> tuple[str, str]:
    """Make the page of a service, which asks it for what it shows; and what the browser may do there."""
    allowed = policy(*_parts()) + "; connect-src 'self'"
    return _page(allowed), allowed


def _page(allowed: str, *data: Markup) -> str:
    script, style = _parts()
    status = tag("footer", tag("p", id="status", role="status", class_="quiet"))
    return document(_TITLE, allowed, style, tag("main", id="main"), status, *data, tag("script", script, type="module"))


def _parts() -> tuple[Markup, Markup]:
    """The script and the style sheet."""
    return modules(("study-log", "study")), Markup((_STATIC / "study.css").read_text("utf-8"))
