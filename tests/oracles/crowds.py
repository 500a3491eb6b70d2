"""Scenes for properties of the diagnosis: people who are objects, pairs that are crossed or swapped."""

import numpy as np
from hypothesis import strategies as st

from tests.oracles.model import ImageScene, Triplet
from tests.oracles.scenes import one_of, small_scenes


def crowds() -> st.SearchStrategy[list[ImageScene]]:
    """Scenes in which some objects are persons, some pairs are crossed, and some predictions swap their boxes."""
    return st.integers(0, 2**32 - 1).map(_crowds)


def _crowds(seed: int) -> list[ImageScene]:
    rng = np.random.default_rng(seed)
    found = small_scenes(rng, labels=False)
    people = rng.random() < 0.5
    words = {("fly", "kite"): ("hug", "person"), ("pull", "kite"): ("hold", "person")} if people else {}

    def translated(t: Triplet) -> Triplet:
        verb, noun = words.get((t.verb, t.object), (t.verb, "person" if people and t.object == "kite" else t.object))
        return Triplet(t.human_box, t.object_box, verb, noun, t.score)

    for scene in found:
        scene.truth = [translated(t) for t in scene.truth]
        scene.predictions = [translated(t) for t in scene.predictions]
        for _ in range(rng.integers(4) if scene.truth else 0):
            one, other = one_of(rng, scene.truth), one_of(rng, scene.truth)
            boxes = one.human_box, other.object_box
            human, thing = one_of(rng, (boxes, boxes[::-1]))
            verb = one_of(rng, (one.verb, other.verb))
            scene.predictions.append(Triplet(human, thing, verb, other.object, one_of(rng, (0.25, 0.6, 0.9))))
    return found
