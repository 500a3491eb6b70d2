"""How a phrase was split into verb and object, as lines."""

from __future__ import annotations

from itertools import product

from shoe.core.errors import printable
from shoe.lexicon.phrases import LONGEST_PHRASE, Reading, interactions, parse_phrase
from shoe.lexicon.text import ALTERNATIVES
from shoe.report.text import aligned


def split_of(phrase: str) -> tuple[list[str], list[Reading]]:
    """Say what is read in a phrase and what else could be, and give the readings; none where nothing is read.

    >>> split_of("a man wearing a helmet rides a brown horse")[0]
    ['  read as   rides · brown horse', '  could be  wearing · helmet']
    """
    said, all_readings = interactions(phrase), parse_phrase(phrase).readings
    rows = [["read as", _shown(reading)] for reading in said.interactions]
    if said.denied:
        rows.append(["denied", "it says that there is no interaction, or not this one"])
    elif not rows:
        too_long = f", as it has more than {LONGEST_PHRASE} characters" if len(phrase) > LONGEST_PHRASE else ""
        rows.append(["not read", f"no verb and object are found{too_long}"])
    if said.doubtful:
        rows.append(["doubtful", "it could be split otherwise, or has no verb"])
    read = {
        Reading(*both) for each in said.interactions for both in product(*(word.split(ALTERNATIVES) for word in each))
    }
    rows += [["could be", _shown(reading)] for reading in all_readings if reading not in read]
    return aligned(rows), list(said.interactions)


def _shown(reading: Reading) -> str:
    return printable(f"{reading.verb} · {reading.object or 'no object'}", longest=LONGEST_PHRASE)
