"""``shoe resolve``: what a word may mean, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from shoe.core.errors import OptionError, printable, unknown_name


def resolve(
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="Words or phrases as a model may say them.")],
    phrase: Annotated[
        bool, typer.Option("--phrase", help="Take each WORD as a phrase: how it is split, then what its words mean.")
    ] = False,
    pos: Annotated[str | None, typer.Option(help="verb or object; both if absent.")] = None,
    glosses: Annotated[bool, typer.Option("--glosses", help="Show WordNet's definitions (extra llm).")] = False,
) -> None:
    """List the WordNet senses that each word may mean, in order of preference, and how each was found.

    Examples: shoe resolve "sitting on" "hot dogs" --pos verb; shoe resolve --phrase "a man wearing a helmet rides a
    brown horse"

    Alternatives, which all count, stand between " / ", the best one first.
    """
    from shoe.lexicon.expressions import POS, Part
    from shoe.lexicon.phrases.parse import LONGEST_PHRASE
    from shoe.lexicon.resolve import resolve as candidates_of
    from shoe.lexicon.text import ALTERNATIVES
    from shoe.lexicon.wordnet import glosses as read_glosses
    from shoe.report.similarity import split_of
    from shoe.report.text import aligned

    if pos is not None and pos not in POS:
        raise unknown_name("part of speech", pos, POS)
    if not all(word.strip() for word in words):
        raise OptionError("WORD: found '', expected a word or phrase")
    parts = [part for part in POS if pos in (None, part)]
    blocks = []
    wanted: dict[tuple[str, Part], None] = {}  # in their order, each once
    for word in words:
        if not phrase:
            wanted |= dict.fromkeys((word, part) for part in parts)
            continue
        lines, readings = split_of(word)
        blocks.append("\n".join([printable(word, longest=LONGEST_PHRASE), *lines]))
        wanted |= dict.fromkeys(
            (alternative, part)
            for reading in readings
            for part in parts
            for alternative in (reading.verb if part == "verb" else reading.object).split(ALTERNATIVES)
        )
    found = [candidates_of(word, part) for word, part in wanted]
    names = sorted({candidate.name for resolution in found for candidate in resolution.candidates})
    definitions = read_glosses(names, "shoe resolve --glosses") if glosses else {}
    for resolution in found:
        title = f"{printable(resolution.word)} as {resolution.part}"
        if not resolution.candidates:
            blocks.append(f"{title}: unresolved, no sense in WordNet")
            continue
        rows = [["sense", "lemma", "found by", "gloss"]]
        rows += [
            [sense.name, sense.lemma, sense.reason, definitions.get(sense.name, "")] for sense in resolution.candidates
        ]
        rows = [row if glosses else row[:-1] for row in rows]
        blocks.append("\n".join([title, *aligned(rows)]))
    print("\n\n".join(blocks))
