"""Similarity maps with ratings of whole interactions."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shoe.core.errors import OptionError, quote
from shoe.lexicon.expressions import POS
from shoe.maps.draft import all_columns, in_columns, widened
from shoe.rating.built import account, prompts_of, raters_of
from shoe.rating.job import Outcome, rated_pairs
from shoe.rating.planning import WholePlan
from shoe.rating.session import Raters
from shoe.similarity import SimilarityMap, write_map
from shoe.similarity.whole import WholeRatings

MARK = "whole"
"""What map.json calls the account of the interactions that were rated."""


def check_asked(raters: Raters) -> None:
    """See that all raters can be asked about interactions.

    Raises:
        OptionError: naming one that reads no prompts.
    """
    for config in raters.file.raters:
        if not (config.prompted or config.interactions):
            raise OptionError(
                f"rater {quote(config.name)} ({config.kind}) reads no prompts and compares senses alone; "
                "--whole-interactions needs raters that read prompts, or people"
            )


def write_whole(folder: Path, similarity: SimilarityMap, raters: Raters, outcome: Outcome, planned: WholePlan) -> None:
    """Write a map with its verbs and objects as they are, and what raters said of whole interactions.

    Args:
        folder: where to; an earlier map there is replaced.
        similarity: the map whose verbs, objects and predictions are taken over.
        raters: who was asked; columns of their own unless the map has them.
        outcome: what they answered.
        planned: what they were asked.

    Raises:
        InputError: if the folder cannot be written to.
        OptionError: if a rater has the name of another one of the map.
    """
    asked = list(raters_of(raters, outcome))
    columns = all_columns(similarity, asked)
    names = [rater.name for rater in columns]
    given = rated_pairs(outcome.parts["interaction"])
    rated = np.flatnonzero(given.rated)
    ratings = in_columns(given.ratings[rated], [names.index(rater.name) for rater in asked], len(columns))
    told = account(raters, outcome, {"interaction": planned.rule})
    write_map(
        folder,
        dataset=similarity.dataset,
        raters=columns,
        pairs={part: widened(similarity.tables[part], range(len(similarity.raters)), len(columns)) for part in POS},
        ensemble=similarity.about["ensemble"],
        prose=similarity.provenance
        | {
            MARK: {
                "from": {"name": similarity.name, "digest": similarity.digest},
                **told.to_dict(),
                "raters": [rater.entry() for rater in asked],
                "prompts": prompts_of(raters, outcome),
            }
        },
        learned=similarity.lesson,
        whole=WholeRatings([planned.rows[row] for row in rated.tolist()], ratings),
    )
