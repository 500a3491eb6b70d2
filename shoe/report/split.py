"""A split as it was made, in the terminal."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from shoe.core.errors import many
from shoe.report.text import count, fixed, say, table

_COUNTS = ("images", "triplets", "combinations")
_PARTS = ("train", "test")


def print_split(folder: str, card: Mapping[str, Any], to: Console) -> None:
    """Print the table of the paper that describes splits, and what was found to hold in the files."""
    say(to, f"{folder}: {card['dataset']}, split by combinations with seed {card['seed']}", "bold")
    made = table("", *(f"{name}, {part}" for name in _COUNTS for part in _PARTS))
    for name, key in (("original", "original"), ("split", "statistics")):
        cells = (card[key].get(part, {}).get(what) for what in _COUNTS for part in _PARTS)
        made.add_row(name, *("" if cell is None else count(cell) for cell in cells))
    to.print(made)
    shared, single, nearest = card["shared"], card["single"], card["nearest"]
    combinations, low, high = card["combinations"], nearest["quartiles"][0], nearest["quartiles"][-1]
    empty = {part: card["statistics"][part]["empty_images"] for part in _PARTS}
    lines = [
        f"both files share {many(shared['combinations'], 'combination')} and {many(shared['images'], 'image')}",
        f"{combinations['held_out']:,} of {combinations['all']:,} combinations are held out; "
        f"{many(card['dropped_images'], 'image')} in neither file",
        f"images without triplets: {empty['train']:,} in train, {empty['test']:,} in test",
        *(
            f"{what.replace('_', ' ')}: {of['all']} in all, {of['train']} in training images, which lack {of['absent']}"
            for what, of in single.items()
        ),
        f"similarity to the nearest training combination: {fixed(low, 2)} to {fixed(high, 2)}, "
        f"mean {fixed(nearest['mean'], 2)} ({nearest['similarity']})",
    ]
    for line in lines:
        say(to, line)
