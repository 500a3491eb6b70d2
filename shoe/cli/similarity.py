"""``shoe similarity``: explain the similarity of a class and a predicted word."""

import sys
from typing import Annotated

from typer import Argument, Option

from shoe.cli import options
from shoe.cli.output import put_json


def similarity(
    a: Annotated[str, Argument(metavar="CLASS", help="Class: ride.v.01 (synset), ride (word) or ride horse.")],
    b: Annotated[str, Argument(metavar="TEXT", help="Predicted text: a word (straddling) or straddle pony.")],
    similarity: Annotated[str, Option(help="Similarity map (name or folder), or identity, path or wup.")] = "hico-det",
    ensemble: Annotated[
        str, Option(help="How the ratings of several raters are combined: mean, median, majority or majority-mean.")
    ] = "mean",
    pos: Annotated[str | None, Option(help="Part of speech of a word that can be both: verb or object.")] = None,
    combine: Annotated[
        str, Option(help="How verb and object similarity are combined: arithmetic or geometric mean, or minimum.")
    ] = "arithmetic",
    weight: Annotated[float, Option(help="Weight of the verb similarity, 0 to 1.")] = 0.5,
    json: options.Json = None,
) -> None:
    """Explain how similar a class and a word are: senses, the rating of each rater, and unrated pairs.

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
            advice = f'to compare interactions, run `shoe similarity "{a} {b}" "VERB OBJECT"`'
            print(f'"{a} {b}" is a class; {advice}', file=sys.stderr)
