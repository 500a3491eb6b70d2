"""``shoe resolve``: what a word may mean, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shoe.core.errors import printable, unknown_name

if TYPE_CHECKING:
    from shoe.lexicon.resolve import Part, Resolution

_PARTS: tuple[Part, Part] = ("verb", "object")


def resolve(
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="Words or phrases as a model may say them.")],
    pos: Annotated[str | None, typer.Option(help="verb or object; both if absent.")] = None,
    glosses: Annotated[bool, typer.Option("--glosses", help="Show WordNet's definitions (extra llm).")] = False,
) -> None:
    """List the WordNet senses that each word may mean, in order of preference, and how each was found.

    Example: shoe resolve "sitting on" "hot dogs" --pos verb
    """
    from shoe.lexicon.resolve import resolve as candidates_of
    from shoe.lexicon.wordnet import glosses as read_glosses

    if pos is not None and pos not in _PARTS:
        raise unknown_name("part of speech", pos, _PARTS)
    found = [candidates_of(word, part) for word in words for part in _PARTS if pos in (None, part)]
    names = sorted({candidate.name for resolution in found for candidate in resolution.candidates})
    definitions = read_glosses(names, "shoe resolve --glosses") if glosses else {}
    print("\n\n".join("\n".join(_lines(resolution, definitions)) for resolution in found))


def _lines(resolution: Resolution, definitions: dict[str, str]) -> list[str]:
    title = f"{printable(resolution.word)} as {resolution.part}"
    if not resolution.resolved:
        return [f"{title}: unresolved, no sense in WordNet"]
    rows = [[c.name, c.lemma, c.reason, *([definitions[c.name]] if definitions else [])] for c in resolution.candidates]
    rows.insert(0, ["sense", "lemma", "found by", *(["gloss"] if definitions else [])])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [title, *("  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)]
