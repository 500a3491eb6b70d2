"""``shoe resolve``: list the WordNet senses that a word or phrase may mean."""

from typing import Annotated

from typer import Argument, Option

from shoe.core.errors import OptionError, printable, unknown_name


def resolve(
    words: Annotated[list[str], Argument(metavar="WORD...", help="Words or phrases as in model predictions.")],
    phrase: Annotated[
        bool, Option("--phrase", help="Treat each argument as a phrase: print its parts, then the senses of each word.")
    ] = False,
    pos: Annotated[str | None, Option(help="Part of speech: verb or object. Default: both.")] = None,
    glosses: Annotated[bool, Option("--glosses", help="Show WordNet definitions.")] = False,
) -> None:
    """List the WordNet senses of each word in order of preference, with the rule that found each sense.

    Examples: shoe resolve "sitting on" "hot dogs" --pos verb; shoe resolve --phrase "a man wearing a helmet rides a
    brown horse"

    Alternative words are separated by " / ", the best first; all of them count in scoring.
    """
    from shoe.lexicon.phrases.parse import LONGEST_PHRASE
    from shoe.lexicon.resolve import resolve as candidates_of
    from shoe.lexicon.senses import POS, Part
    from shoe.lexicon.store import glosses as read_glosses
    from shoe.lexicon.text import ALTERNATIVES
    from shoe.report.similarity import explain_phrase
    from shoe.report.text import aligned

    if pos is not None and pos not in POS:
        raise unknown_name("part of speech", pos, POS)
    if not all(word.strip() for word in words):
        raise OptionError("WORD: found '', expected a word or phrase")
    parts = [part for part in POS if pos in (None, part)]
    blocks = []
    wanted: dict[tuple[str, Part], None] = {}  # a dict serves as an ordered set
    for word in words:
        if not phrase:
            wanted |= dict.fromkeys((word, part) for part in parts)
            continue
        lines, readings = explain_phrase(word)
        blocks.append("\n".join([printable(word, longest=LONGEST_PHRASE), *lines]))
        wanted |= dict.fromkeys(
            (alternative, part)
            for reading in readings
            for part in parts
            for alternative in (reading.verb if part == "verb" else reading.object).split(ALTERNATIVES)
        )
    found = [candidates_of(word, part) for word, part in wanted]
    names = sorted({candidate.name for resolution in found for candidate in resolution.candidates})
    definitions = read_glosses(names) if glosses else {}
    for resolution in found:
        title = f"{printable(resolution.word)} as {resolution.part}"
        if not resolution.candidates:
            blocks.append(f"{title}: unresolved, no sense in WordNet")
            continue
        rows = [(each.name, each.lemma, each.reason, definitions.get(each.name, "")) for each in resolution.candidates]
        rows.insert(0, ("sense", "lemma", "found by", "gloss"))
        blocks.append("\n".join([title, *aligned([row if glosses else row[:-1] for row in rows])]))
    print("\n\n".join(blocks))
