"""Interpretation of a phrase, as by ``shoe resolve --phrase`` and ``shoe similarity``, and its nearest classes."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

from shoe.service.folder import Folder
from shoe.service.truths import maps

if TYPE_CHECKING:
    from shoe.similarity import Similarity

LONGEST = 300
"""Characters of a phrase."""
EXAMPLES = (
    ("a woman sitting astride her bike", "ride bicycle"),
    ("guy eating a hot dog", "eat hot_dog"),
    ("petting a puppy", "pet dog"),
)
_NEAREST = 12
_PARTS = ("verb", "object")


@lru_cache(maxsize=8)
def loaded(place: str) -> Similarity:
    """Load a map by its name or its folder."""
    from shoe.similarity import load_similarity

    return load_similarity(place)


def places(folder: Folder) -> dict[str, str]:
    """Return the folders of maps by name, shipped ones first."""
    from shoe.similarity.maps import shipped_maps

    own = {name: name for name in shipped_maps()}
    return own | {each.name: str(folder.maps / f"{each.name}-{each.digest}") for each in maps(folder)}


def answer(place: str, said: str, truth: str) -> dict[str, Any]:
    """Return what a phrase means to the metric, compared with a class, as "ride bicycle", or a word, unless empty.

    Raises:
        OptionError: for a class that the dataset has not.
    """
    from shoe.benchmarks import DEFAULT, benchmark
    from shoe.lexicon.text import ALTERNATIVES
    from shoe.report.similarity import split_of

    source = loaded(place)
    classes = benchmark(getattr(source, "dataset", DEFAULT)).classes
    lines, readings = split_of(said)
    pairs = [pair for reading in readings for pair in product(*(word.split(ALTERNATIVES) for word in reading))]
    words = [
        (word, part) for part, of in zip(_PARTS, zip(*pairs, strict=True), strict=False) for word in dict.fromkeys(of)
    ]
    return {
        "reading": [re.split(r" {2,}", line.strip(), maxsplit=1) for line in lines],
        "senses": [_senses(word, part) for word, part in words if word],
        "counted": _counted(source, classes, *readings[0]) if readings else None,
        **(_compared(source, classes, truth, said) if truth else {"compared": None, "whole": None}),
    }


def labels_of(place: str) -> list[str]:
    """Return the classes of a map's dataset."""
    from shoe.benchmarks import DEFAULT, benchmark

    source = loaded(place)
    return list(benchmark(getattr(source, "dataset", DEFAULT)).classes.labels)


def _senses(word: str, part: Any) -> dict[str, Any]:
    from shoe.lexicon.resolve import resolve

    found = resolve(word, part).candidates
    return {"word": word, "part": part, "senses": [{"name": of.name, "reason": of.reason} for of in found]}


def _compared(source: Similarity, classes: Any, truth: str, said: str) -> dict[str, Any]:
    import numpy as np

    from shoe.benchmarks.protocol_options import SemanticOptions
    from shoe.similarity import combine
    from shoe.similarity.explain import explanations

    found, interaction = explanations(source, classes, truth, said)
    options, whole = SemanticOptions(), None
    if interaction:
        verb, object_ = (np.array(part.value) for part in found)
        whole = float(combine(verb, object_, options.combine, options.weight))
    compared = [
        {
            "part": part.part,
            "class_word": part.class_word,
            "class_synset": part.class_synset,
            "word": part.word,
            "value": part.value,
            "basis": part.basis,
            "sense": part.sense,
            "raters": list(dict.fromkeys(rater for sense in part.candidates for rater in sense.ratings or {})),
            "candidates": [
                {
                    "synset": sense.synset,
                    "value": sense.value,
                    "predicted": sense.predicted,
                    "ratings": sense.ratings or {},
                    "reason": sense.reason,
                }
                for sense in part.candidates
            ],
        }
        for part in found
    ]
    return {"compared": compared, "whole": whole}


def _counted(source: Similarity, classes: Any, verb: str, object_: str) -> dict[str, Any]:
    """Return the classes most similar to a predicted interaction, and the class of its own labels."""
    import numpy as np

    from shoe.benchmarks.protocol_options import SemanticOptions
    from shoe.lexicon.resolve import match_labels
    from shoe.scoring.hoi_similarity import HoiSimilarity

    options = SemanticOptions()
    made = HoiSimilarity.of_words(classes, [verb], [object_], source, options)
    every = np.arange(len(classes))
    none = np.zeros(len(classes), np.int64)
    sigma = made.sigma(every, none, none)
    order = np.lexsort((every, -sigma))[:_NEAREST]
    of_verb = int(match_labels([verb], classes.verbs, "verb")[0])
    of_object = int(match_labels([object_], classes.objects, "object")[0])
    exact = int(classes.of[of_verb, of_object]) if min(of_verb, of_object) >= 0 else -1
    return {
        "strict": classes.labels[exact] if exact >= 0 else None,
        "delta": options.delta,
        "rows": [
            {
                "label": classes.labels[hoi],
                "similarity": float(sigma[hoi]),
                "verb": float(made.verbs.values[made.verb_row[hoi], 0]),
                "object": float(made.objects.values[made.object_row[hoi], 0]),
            }
            for hoi in order.tolist()
        ],
    }
