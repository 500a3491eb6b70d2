"""What the keys of free text mean: whose they are, the human's or the object's, and what stands under them.

A key is read by its words, so that ``human_box``, ``personBBox``, ``subject-location`` and ``box_of_person`` are one
thing, whatever a prompt called it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from shoe.predictions.flat import SCORE_NAMES

# Words of keys. Of a key with several, the part that is named first here counts.
PARTS = {
    "image": ("image", "img", "file", "filename", "filepath", "photo", "picture", "question", "custom", "path", "url",
              "images", "image_id", "imageid"),
    "width": ("width",),
    "height": ("height",),
    "box": ("box", "boxes", "bbox", "bboxes", "bounding", "coordinates", "coords", "coord", "location", "loc", "region",
            "position", "xyxy", "xywh", "cxcywh", "yxyx", "rect", "rectangle", "roi", "area", "grounding"),
    "point": ("point", "points", "keypoint", "keypoints", "center", "centre"),
    "score": (*SCORE_NAMES, "scores", "confidences", "likelihood", "certainty", "logit", "logits"),
    "id": ("id", "ids", "idx", "index", "ref", "reference", "number", "no"),
    "verb": ("verb", "verbs", "action", "actions", "predicate", "predicates", "relation", "relations", "relationship",
             "relationships", "edge", "edges", "rel", "rels", "pred", "activity", "activities", "动作", "行为", "关系"),
    "phrase": ("phrase", "interaction", "interactions", "hoi", "hois", "text", "description", "caption", "triplet",
               "triplets", "triple", "sentence", "statement", "summary"),
    "label": ("label", "labels", "cls", "name", "names", "category", "categories", "class", "classes", "type", "noun",
              "word", "entity", "tag", "title"),
}  # fmt: skip
SIDES = {
    "human": ("human", "humans", "person", "persons", "people", "man", "woman", "agent", "actor", "h", "hum", "pers",
              "人", "人物"),
    "subject": ("subject", "subjects", "sub", "subj", "s", "source"),
    "object": ("object", "objects", "obj", "objs", "o", "target", "thing", "item", "patient", "tgt", "物体", "对象"),
}  # fmt: skip
_PART_OF = {word: part for part, words in reversed(PARTS.items()) for word in words}
_RANK = {part: rank for rank, part in enumerate(PARTS)}
_SIDE_OF = {word: side for side, words in SIDES.items() for word in words}
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")

LAYOUTS = ("xywh", "cxcywh", "yxyx")
"""Layouts that a key may name, as ``bbox_xywh``."""


class Meaning(NamedTuple):
    """What a key says.

    Attributes:
        side: "human", "subject", "object", or "" where it says nothing.
        part: one of :data:`PARTS`, or "".
        words: the words of the key, in lower case.
    """

    side: str
    part: str
    words: tuple[str, ...]


@lru_cache(8192)
def meaning(key: object) -> Meaning:
    """Tell what a key means by its words.

    >>> meaning("personBBox")[:2], meaning("sub-name")[:2], meaning("predicate")[:2]
    (('human', 'box'), ('subject', 'label'), ('', 'verb'))
    """
    if not isinstance(key, str) or len(key) > 100:
        return Meaning("", "", ())
    words = tuple(part for word in _WORD.findall(key) for part in _split(word.lower()))
    if not {"annotation", "annotations"}.isdisjoint(words):
        return Meaning("", "", words)
    parts = sorted({_PART_OF[word] for word in words if word in _PART_OF}, key=_RANK.__getitem__)
    side = next((_SIDE_OF[word] for word in words if word in _SIDE_OF), "")
    if "image" in parts and len(parts) > 1 and parts[1] in ("width", "height"):
        parts = parts[1:]
    return Meaning(side, parts[0] if parts else "", words)


def _split(word: str) -> tuple[str, ...]:
    """The words of one written together: "humanbox"."""
    for ending in ("bbox", "box", "label", "name", "id"):
        if word.endswith(ending) and word[: -len(ending)] in _SIDE_OF:
            return word[: -len(ending)], ending
    return (word,)


USUAL = ("image", "human_box", "object_box", "verb", "object", "phrase", "score", "interactions", "response")
"""The keys that shoe writes and its prompt asks for."""


def role(key: str) -> str | None:
    """The usual key that means what another does; None for a key of which nothing is known."""
    said = meaning(key)
    if said.part == "box":
        return "object_box" if said.side == "object" else "human_box" if said.side else "box"
    return said.part or said.side or (key if key in USUAL else None)
