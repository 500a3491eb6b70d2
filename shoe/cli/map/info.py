"""``shoe map info``: what a map holds."""

from typing import Annotated

import typer


def info(
    map: Annotated[str, typer.Argument(metavar="MAP", help="A shipped map's name, or a map's folder.")],
    json: Annotated[str | None, typer.Option("--json", help="Write JSON to this file; '-': standard output.")] = None,
) -> None:
    """Describe a map: its raters and their ratings, how far they agree, which classes are covered, where it is from.

    Example: shoe map info hico-det

    Agreement of two raters is measured on the pairs that both rated. Coverage is the number of synsets rated with each
    class sense of the map's dataset; classes with none are warned of.

    JSON keys: name, dataset, digest, ensemble; raters [{name, model, note, details, verbs, objects {rated, missing,
    histogram}}], where details is what else map.json says of a rater and histogram counts the ratings 0 to 4; verbs,
    objects {pairs, rated_pairs, class_senses, agreement [{raters, pairs, exact, pearson, quadratic_weighted_kappa}],
    coverage, classes_without_ratings}; provenance; warnings. What cannot be measured is left out.
    """
    from shoe.cli.output import write_json
    from shoe.io.json import encode
    from shoe.maps.info import describe
    from shoe.report.map_info import info_dict, print_info
    from shoe.report.terminal import console
    from shoe.similarity import SimilarityMap

    found = describe(SimilarityMap.load(map))
    if json is not None:
        write_json(encode(info_dict(found), readable=True), json)
    if json != "-":
        print_info(found, console())
