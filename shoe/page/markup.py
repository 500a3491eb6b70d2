"""HTML and SVG from values: what is no markup yet is escaped and visible, so no label can end or turn anything."""

from __future__ import annotations

from html import escape

from shoe.core.errors import visible


class Markup(str):
    """Text that is markup, and is not escaped again."""

    __slots__ = ()


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """Write an element.

    Args:
        name: of the element.
        content: what stands in it; None is nothing.
        attributes: by name, ``_`` for ``-`` and ``class_`` for "class"; True is an attribute without a value, None and
            False none.

    Example:
        >>> tag("p", "1 < 2", tag("br"), class_="note")
        '<p class="note">1 &lt; 2<br></p>'
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(visible(str(value)))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    end = "" if name in ("br", "input", "meta") else f"</{name}>"
    return Markup(f"<{name}{written}>{joined(*content)}{end}")


def joined(*content: object) -> Markup:
    """Write one thing after the other."""
    return Markup(
        "".join(
            each if isinstance(each, Markup) else escape(visible(str(each))) for each in content if each is not None
        )
    )


def document(title: str, policy: str, style: Markup, *body: object) -> str:
    """Write a whole page.

    Args:
        title: of the window.
        policy: what the browser may do, as its Content-Security-Policy says it.
        style: the one style sheet.
        body: what the page shows, and its scripts.
    """
    head = (
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", style),
    )
    return "<!doctype html>\n" + tag("html", tag("head", *head), tag("body", *body), lang="en")
