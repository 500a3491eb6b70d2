"""Why a class and a word have the value that they have, in the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from shoe.benchmarks import DEFAULT, benchmark
from shoe.core.errors import printable
from shoe.report.text import aligned, present
from shoe.similarity import Similarity, SimilarityMap
from shoe.similarity import combine as combined
from shoe.similarity.explain import Explanation, explanations


def similarity_of(
    source: Similarity,
    a: str,
    b: str,
    part: str | None = None,
    combine: str = "arithmetic",
    weight: float = 0.5,
) -> dict[str, Any]:
    """Explain how similar a class and a word are, or an interaction and another one.

    Args:
        source: a map, or a WordNet measure.
        a: a class: a sense, its word, or an interaction.
        b: what was predicted: a word, or an interaction.
        part: "verb" or "object", for a word that is both.
        combine: how an interaction's value comes from those of verb and object.
        weight: of the verb in it.

    Returns:
        What :func:`similarity_dict` collects.

    Raises:
        OptionError: for a class that the dataset has not, or an unknown way to combine.
    """
    classes = benchmark(source.dataset if isinstance(source, SimilarityMap) else DEFAULT).classes
    parts, interaction = explanations(source, classes, a, b, part)
    whole = None
    if interaction:
        verb, object_ = (np.array(each.value) for each in parts)
        whole = {"combine": combine, "weight": weight, "value": float(combined(verb, object_, combine, weight))}
    return similarity_dict(source, parts, whole)


def similarity_dict(
    similarity: Similarity, explanations: Sequence[Explanation], interaction: dict[str, Any] | None
) -> dict[str, Any]:
    """Collect explanations in the documented keys.

    Args:
        similarity: what gave the values.
        explanations: one or several.
        interaction: how verb and object were combined, and to what; None where they were not.
    """
    ensemble = similarity.ensemble if isinstance(similarity, SimilarityMap) else None
    about = {"name": similarity.name, "digest": similarity.digest, "ensemble": ensemble}
    parts = [asdict(explanation) for explanation in explanations]
    found: dict[str, Any] = present({"similarity": about, "parts": parts, "interaction": interaction})
    return found


def similarity_lines(found: dict[str, Any]) -> list[str]:
    """Lay what :func:`similarity_dict` collected out for reading."""
    about = found["similarity"]
    raters = f", {about['ensemble']} of the raters that rated a pair" if "ensemble" in about else ""
    lines = [f"{about['name']} ({about['digest']}){raters}"]
    for part in found["parts"]:
        by = f", by {part['sense']}" if "sense" in part else ""
        of = part["class_word"]
        if part["class_synset"] not in ("", of):
            of += f" ({part['class_synset']})"
        lines += ["", f"{part['part']} {of} and {printable(part['word'])}: {part['value']:.3f} ({part['basis']}{by})"]
        lines += _candidate_lines(part)
    if "interaction" in found:
        how = found["interaction"]
        weight = "" if how["combine"] == "minimum" else f", weight of the verb {how['weight']:g}"
        lines += ["", f"interaction: {how['value']:.3f} ({how['combine']}{weight})"]
    return lines


def _candidate_lines(part: dict[str, Any]) -> list[str]:
    candidates = part["candidates"]
    if not part["class_synset"]:
        return ["  similar to itself alone, by rule"]
    if not candidates:
        return ["  the word has no sense in WordNet"]
    raters = list(dict.fromkeys(rater for candidate in candidates for rater in candidate.get("ratings", {})))
    rows = [["", "sense", "value", *raters, "found by"]]
    for candidate in candidates:
        mark = "*" if candidate["synset"] == part.get("sense") else ""
        value = f"{candidate['value']:.3f}" if "value" in candidate else "unrated"
        if "predicted" in candidate:
            value = f"{candidate['predicted']:.3f} predicted"
        ratings = [str(candidate.get("ratings", {}).get(rater, "-")) for rater in raters]
        rows.append([mark, candidate["synset"], value, *ratings, printable(candidate["reason"])])
    unrated = sum("value" not in candidate for candidate in candidates)
    never = [f"  {unrated} of {len(candidates)} senses were never rated with this class"] if unrated else []
    return [*aligned(rows), *never]
