"""Scenes for properties of the diagnosis: people who are objects, pairs that are crossed or swapped."""

from hypothesis import strategies as st

from tests.oracles.model import ImageScene, Triplet
from tests.oracles.scenes import scenes


@st.composite
def crowds(draw: st.DrawFn) -> list[ImageScene]:
    """Scenes in which some objects are persons, some pairs are crossed, and some predictions swap their boxes."""
    found = draw(scenes(labels=False))
    people = draw(st.booleans())
    words = {("fly", "kite"): ("hug", "person"), ("pull", "kite"): ("hold", "person")} if people else {}

    def translated(t: Triplet) -> Triplet:
        verb, noun = words.get((t.verb, t.object), (t.verb, "person" if people and t.object == "kite" else t.object))
        return Triplet(t.human_box, t.object_box, verb, noun, t.score)

    for scene in found:
        scene.truth = [translated(t) for t in scene.truth]
        scene.predictions = [translated(t) for t in scene.predictions]
        for _ in range(draw(st.integers(0, 3)) if scene.truth else 0):
            one, other = draw(st.sampled_from(scene.truth)), draw(st.sampled_from(scene.truth))
            boxes = one.human_box, other.object_box
            human, thing = draw(st.sampled_from((boxes, boxes[::-1])))
            verb = draw(st.sampled_from((one.verb, other.verb)))
            scene.predictions.append(Triplet(human, thing, verb, other.object, draw(st.sampled_from((0.25, 0.6, 0.9)))))
    return found
