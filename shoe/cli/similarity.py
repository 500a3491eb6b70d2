"""``shoe similarity``: explain one value."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from shoe.cli import options
from shoe.cli.output import put_json


def similarity(
    a: Annotated[str, typer.Argument(help="A class: a synset (ride.v.01), a class's word (ride), or an interaction.")],
    b: Annotated[
        str, typer.Argument(help="What a model predicted: a word (straddling), or an interaction (straddle pony).")
    ],
    similarity: Annotated[str, typer.Option(help="Shipped map, map folder, identity, path or wup.")] = "hico-det",
    ensemble: Annotated[str, typer.Option(help="mean, median, majority or majority-mean of the raters.")] = "mean",
    pos: Annotated[str | None, typer.Option(help="verb or object, for a word that is both.")] = None,
    combine: Annotated[str, typer.Option(help="arithmetic, geometric or minimum of verb and object.")] = "arithmetic",
    weight: Annotated[float, typer.Option(help="Weight of the verb, 0 to 1.")] = 0.5,
    json: options.Json = None,
) -> None:
    """Explain how similar a class and a word are: senses, ratings of each rater, what was never rated.

    Examples: shoe similarity ride straddling; shoe similarity "ride horse" "straddle pony"; shoe similarity ride.v.01
    mount --similarity wup
    """
    from shoe.benchmarks import DEFAULT, benchmark
    from shoe.report.similarity import similarity_lines, similarity_of
    from shoe.similarity import SimilarityMap, load_similarity

    source = load_similarity(similarity, ensemble)
    found = similarity_of(source, a, b, pos, combine, weight)
    if not put_json(found, json):
        print("\n".join(similarity_lines(found)))
        classes = benchmark(source.dataset if isinstance(source, SimilarityMap) else DEFAULT).classes
        if found.interaction is None and f"{a} {b}" in classes.labels:
            print(
                f'"{a} {b}" is a class: compare interactions as shoe similarity "{a} {b}" "VERB OBJECT"',
                file=sys.stderr,
            )
