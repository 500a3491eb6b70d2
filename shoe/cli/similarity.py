"""``shoe similarity``: explain one value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoe.core.errors import printable

if TYPE_CHECKING:
    from shoe.similarity.explain import CandidateSense, Explanation


def similarity(
    a: Annotated[str, typer.Argument(help="A class: a synset (ride.v.01), a class's word (ride), or an interaction.")],
    b: Annotated[
        str, typer.Argument(help="What a model said: a word (straddling), or an interaction (straddle pony).")
    ],
    map: Annotated[str, typer.Option("--map", help="Shipped map, map folder, identity, path or wup.")] = "hico-det",
    ensemble: Annotated[str, typer.Option(help="mean, median, majority or majority-mean of the raters.")] = "mean",
    pos: Annotated[str | None, typer.Option(help="verb or object, for a word that is both.")] = None,
    combine: Annotated[str, typer.Option(help="arithmetic, geometric or minimum of verb and object.")] = "arithmetic",
    weight: Annotated[float, typer.Option(help="Weight of the verb, 0 to 1.")] = 0.5,
    json: Annotated[str | None, typer.Option("--json", help="Write JSON to this file; '-': standard output.")] = None,
) -> None:
    """Explain how alike a class and a word are: senses, ratings of each rater, what was never rated.

    Examples: shoe similarity ride straddling; shoe similarity "ride horse" "straddle pony"; shoe similarity ride.v.01
    mount --map wup

    JSON keys: similarity {name, digest, ensemble}, parts [{part, class_word, class_synset, word, value, basis, sense,
    candidates [{synset, lemma, reason, value, ratings}]}], interaction {combine, weight, value}. What was never rated
    has no value.
    """
    import numpy as np
    import orjson

    from shoe.benchmarks import benchmark
    from shoe.cli.output import write_json
    from shoe.similarity import SimilarityMap, load_similarity
    from shoe.similarity import combine as combine_parts
    from shoe.similarity.explain import class_senses, explain, interaction_senses

    source = load_similarity(map, ensemble)
    classes = benchmark(source.dataset if isinstance(source, SimilarityMap) else "hico-det").classes
    about: dict[str, Any] = {"name": source.name, "digest": source.digest}
    if isinstance(source, SimilarityMap):
        about["ensemble"] = source.ensemble
    found: dict[str, Any] = {"similarity": about}
    both = _interactions(a, b) if pos is None else None
    if both is None:
        explanations = [explain(source, sense, b) for sense in class_senses(classes, a, pos)]
    else:
        (verb, object_), words = both
        senses = interaction_senses(classes, verb, object_)
        explanations = [explain(source, sense, word) for sense, word in zip(senses, words, strict=True)]
        values = [np.array(explanation.value) for explanation in explanations]
        value = combine_parts(values[0], values[1], combine, weight)
        found["interaction"] = {"combine": combine, "weight": weight, "value": float(value)}
    found["parts"] = [_as_json(explanation) for explanation in explanations]
    if json is not None:
        write_json(orjson.dumps(found, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE), json)
    if json != "-":
        print("\n".join(_lines(found)))


def _interactions(a: str, b: str) -> tuple[tuple[str, str], tuple[str, str]] | None:
    """Take both apart into verb and object; None where one of them is not an interaction."""
    from shoe.lexicon.phrases import parse_phrase

    if " " not in a.strip() or " " not in b.strip():
        return None
    first, second = parse_phrase(a).readings, parse_phrase(b).readings
    return (first[0], second[0]) if first and second else None


def _as_json(explanation: Explanation) -> dict[str, Any]:
    def known(candidate: CandidateSense) -> dict[str, Any]:
        value = {} if candidate.value is None else {"value": candidate.value}
        ratings = {rater: rating for rater, rating in candidate.ratings.items() if rating is not None}
        return value | ({"ratings": ratings} if ratings else {})

    return {
        "part": explanation.of.part,
        "class_word": explanation.of.word,
        "class_synset": explanation.of.synset,
        "word": explanation.word,
        "value": explanation.value,
        "basis": explanation.basis.name.lower().replace("_", " "),
        **({"sense": explanation.sense} if explanation.sense else {}),
        "candidates": [
            {"synset": candidate.synset, "lemma": candidate.lemma, "reason": candidate.reason, **known(candidate)}
            for candidate in explanation.candidates
        ],
    }


def _lines(found: dict[str, Any]) -> list[str]:
    """Lay the JSON out for reading."""
    about = found["similarity"]
    raters = f", {about['ensemble']} of the raters that rated a pair" if "ensemble" in about else ""
    lines = [f"{about['name']} ({about['digest']}){raters}"]
    for part in found["parts"]:
        by = f", by {part['sense']}" if "sense" in part else ""
        of = part["class_word"] if part["class_synset"] in ("", part["class_word"]) else _sense_of(part)
        lines += ["", f"{part['part']} {of} and {printable(part['word'])}: {part['value']:.3f} ({part['basis']}{by})"]
        lines += _candidate_lines(part)
    if "interaction" in found:
        how = found["interaction"]
        weight = "" if how["combine"] == "minimum" else f", weight of the verb {how['weight']:g}"
        lines += ["", f"interaction: {how['value']:.3f} ({how['combine']}{weight})"]
    return lines


def _sense_of(part: dict[str, Any]) -> str:
    return f"{part['class_word']} ({part['class_synset']})"


def _candidate_lines(part: dict[str, Any]) -> list[str]:
    candidates = part["candidates"]
    if not part["class_synset"]:
        return ["  alike to itself alone, by rule"]
    if not candidates:
        return ["  the word has no sense in WordNet"]
    raters = list(dict.fromkeys(rater for candidate in candidates for rater in candidate.get("ratings", {})))
    rows = [["", "sense", "value", *raters, "found by"]]
    for candidate in candidates:
        mark = "*" if candidate["synset"] == part.get("sense") else ""
        value = f"{candidate['value']:.3f}" if "value" in candidate else "unrated"
        ratings = [str(candidate.get("ratings", {}).get(rater, "-")) for rater in raters]
        rows.append([mark, candidate["synset"], value, *ratings, printable(candidate["reason"])])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    unrated = sum("value" not in candidate for candidate in candidates)
    if unrated:
        lines.append(f"  {unrated} of {len(candidates)} senses were never rated with this class")
    return lines
