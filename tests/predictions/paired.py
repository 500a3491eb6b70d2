"""The oracle's pairs as the project's."""

from collections.abc import Mapping, Sequence

import numpy as np

from shoe.core.boxes import Coordinates
from shoe.core.interactions import Interactions
from shoe.predictions.pair_predictions import NO_VERB, Pairs
from tests.oracles.diagnosis_pairs import Pair


def as_pairs(predicted: Mapping[str, Sequence[Pair]], verbs: tuple[str, ...]) -> Pairs:
    """Pairs by image as a reader would hand them over, with all that their verb scores tell."""
    rows = [(i, pair) for i, pairs in enumerate(predicted.values()) for pair in pairs]
    words = list(dict.fromkeys(pair.object for _, pair in rows))
    table = Interactions.from_columns(
        images=list(predicted),
        image=[i for i, _ in rows],
        human_boxes=[pair.human_box for _, pair in rows],
        object_boxes=[pair.object_box for _, pair in rows],
        verb=np.zeros(len(rows), np.int32),
        object=[words.index(pair.object) for _, pair in rows],
        verbs=(NO_VERB,),
        objects=words,
        coordinates=Coordinates.PIXELS_1,
    )
    best = [max((x for v, x in p.verb_scores.items() if v != "no_interaction"), default=0.0) for _, p in rows]
    scores = np.array([[pair.verb_scores.get(verb, np.nan) for verb in verbs] for _, pair in rows])
    return Pairs(table, True, np.array(best), scores.reshape(-1, len(verbs)), verbs)
