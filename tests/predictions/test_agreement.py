"""Shares of boxes, pairs and words that agree with the annotations: a scene worked by hand."""

from shoe.benchmarks import benchmark
from shoe.benchmarks.truth import GroundTruth
from shoe.core.interactions import Interactions
from shoe.predictions.agreement import agreement

HUMAN, HORSE, DOG, AWAY = [0, 0, 10, 20], [10, 10, 40, 40], [50, 50, 70, 70], [200, 200, 220, 220]


def table(*rows: tuple[str, list[int], list[int], str, str]) -> Interactions:
    names, humans, targets, verbs, objects = zip(*rows, strict=True)
    images, words, things = (sorted(set(each)) for each in (names, verbs, objects))
    return Interactions.from_columns(
        images=images, image=[images.index(name) for name in names], human_boxes=humans, object_boxes=targets,
        verb=[words.index(verb) for verb in verbs], object=[things.index(thing) for thing in objects], verbs=words,
        objects=things,
    )  # fmt: skip


def test_shares_of_a_scene_worked_by_hand() -> None:
    annotated = [("a", HUMAN, HORSE, "ride", "horse"), ("a", HUMAN, DOG, "pet", "dog"), ("b", HUMAN, DOG, "pet", "dog")]
    truth = GroundTruth(table(*annotated), benchmark("hico-det").classes, "test")
    predicted = [
        ("a", HUMAN, HORSE, "riding", "horse"),  # all right
        ("a", HUMAN, DOG, "feed", "dog"),  # another verb
        ("a", HUMAN, DOG, "pet", "cat"),  # another object, whose verb counts
        ("a", AWAY, HORSE, "ride", "horse"),  # human box elsewhere
        ("b", HUMAN, HORSE, "ride", "horse"),  # the object of another image
        ("c", AWAY, AWAY, "ride", "horse"),  # an image without annotation, which is left out
    ]
    expected = {"human boxes": 4 / 5, "object boxes": 4 / 5, "pairs": 3 / 5, "objects": 2 / 3, "verbs": 2 / 3}
    assert agreement(table(*predicted), truth) == expected
    assert agreement(table(predicted[-1]), truth) == {}
    assert agreement(table(predicted[3]), truth) == {"human boxes": 0, "object boxes": 1, "pairs": 0}
    found = agreement(table(("a", HUMAN, HORSE, "ride", "")), truth)
    assert found == {"human boxes": 1, "object boxes": 1, "pairs": 1, "verbs": 1}
