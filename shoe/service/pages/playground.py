"""Values of the playground: interpretation of a phrase, similarity to a class, and most similar classes."""

import re
from itertools import product
from typing import Any

import numpy as np

from shoe.benchmarks import DEFAULT, benchmark
from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.lexicon.resolve import match_labels, resolve
from shoe.lexicon.senses import POS
from shoe.lexicon.text import ALTERNATIVES
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.service.folder import Folder
from shoe.service.truths import loaded, maps
from shoe.similarity import Similarity, combine
from shoe.similarity.map_files import shipped_maps

EXAMPLES = (
    ("a woman sitting astride her bike", "ride bicycle"),
    ("guy eating a hot dog", "eat hot_dog"),
    ("petting a puppy", "pet dog"),
)
_NEAREST = 12


def places(folder: Folder) -> dict[str, str]:
    """Return {map name: place to load it from}: the same name for a built-in map, the folder of a registered map."""
    own = {name: name for name in shipped_maps()}
    return own | {each.name: str(folder.maps / f"{each.name}-{each.digest}") for each in maps(folder)}


def answer(place: str, phrase: str, truth: str) -> dict[str, Any]:
    """Return the values of ``playground.html`` for a phrase: interpretation, senses, and 12 most similar classes.

    `truth` is a class (for example "ride bicycle") or class word to compare the phrase with; "" for no comparison.
    Raise OptionError if the dataset of the map `place` has no such class, or if the word is both a verb and an object.
    """
    from shoe.report.similarity import explain_phrase

    source = loaded(place)
    classes = benchmark(getattr(source, "dataset", DEFAULT)).classes
    lines, readings = explain_phrase(phrase)
    pairs = [pair for reading in readings for pair in product(*(word.split(ALTERNATIVES) for word in reading))]
    words = dict.fromkeys((pair[n], part) for n, part in enumerate(POS) for pair in pairs)
    return {
        "reading": [re.split(r" {2,}", line.strip(), maxsplit=1) for line in lines],
        "senses": [resolve(word, part) for word, part in words if word],
        "counted": _counted(source, classes, *readings[0]) if readings else None,
        **(_compared(source, classes, truth, phrase) if truth else {"compared": None, "whole": None}),
    }


def labels_of(place: str) -> list[str]:
    """Return the class labels of the dataset of the similarity map with the name or folder `place`."""
    source = loaded(place)
    return list(benchmark(getattr(source, "dataset", DEFAULT)).classes.labels)


def _compared(source: Similarity, classes: Any, truth: str, phrase: str) -> dict[str, Any]:
    from shoe.similarity.explain import explanations

    found, interaction = explanations(source, classes, truth, phrase)
    options, whole = SemanticOptions(), None
    if interaction:
        verb, object_ = (np.array(part.value) for part in found)
        whole = float(combine(verb, object_, options.combine, options.weight))
    compared = [
        (part, list(dict.fromkeys(rater for sense in part.candidates for rater in sense.ratings or ())))
        for part in found
    ]
    return {"compared": compared, "whole": whole}


def _counted(source: Similarity, classes: Any, verb: str, object_: str) -> dict[str, Any]:
    """Return the 12 classes most similar to a predicted interaction, and the class with exactly its labels, if any."""
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
