"""``shoe map learn``: predict what a map does not rate."""

from __future__ import annotations

import sys

from shoe.cli import options
from shoe.cli.output import put_json


def learn(
    map: options.Map,
    json: options.Json = None,
) -> None:
    """Predict all pairs that a map does not rate from those that it rates, and put the predictions beside it.

    Example: shoe map learn my-map

    Gradient-boosted trees learn a pair's rating from WordNet's graph, names, definitions and the ratings of other
    pairs. How well they predict is measured on senses, then on classes, whose ratings they have not seen; that is
    printed and written to map.json. Scoring takes the predictions for unrated pairs (unrated=learned) and needs no
    trees for it; learning needs shoe-eval[llm] and WordNet's files.
    """
    from shoe.maps.teach import teach
    from shoe.report.map_learn import learned_table
    from shoe.report.terminal import console

    found = teach(map, lambda line: print(line, file=sys.stderr))
    if not put_json(found, json):
        console().print(learned_table(found))
