"""What the keys of free text mean: whose they are, the human's or the object's, and what stands under them.

A key is read by its words, so that ``human_box``, ``personBBox``, ``subject-location`` and ``box_of_person`` are one
thing, whatever a prompt called it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from shoe.predictions.formats.flat_columns import SCORE_NAMES
from shoe.predictions.vlm.images import plain

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


# What the keys around an answer say: which may hold it, and which what was asked, thought, paid, or would be right.
#
# The tables are of keys in plain spelling (lower case, words joined by "_"), or of the words of keys.


def _words(text: str) -> list[str]:
    return text.split()


ANSWERS = tuple(
    _words(
        "response responses reply raw_response model_response model_output raw_output output outputs output_text "
        "generated_text generation generated completion completions prediction predictions pred predict predicted "
        "answer model_answer caption result results resps filtered_resps raw text body message choices candidates "
        "content parts value tool_calls function function_call arguments args delta data"
    )
)
"""Keys of a record that an answer stands under, the likelier first."""
BESIDE_BOXES = frozenset(
    _words("response reply raw_response model_response model_output output generated_text answer completion prediction")
)
"""Those of them that hold an answer also where a record has two boxes, which are then what was asked about."""
WRAPPERS = frozenset(ANSWERS) | frozenset(_words("parsed input refusal text_output generated_texts"))
"""Keys of an object that says nothing of its own."""
CHATS = tuple(_words("messages conversations conversation chat history dialog turns"))
SPEAKERS = ("role", "from", "speaker")
MODEL = frozenset(_words("assistant model gpt bot chatbot ai output"))
THOUGHTS = frozenset(_words("thinking reasoning redacted_thinking thought image image_url"))
"""Types of blocks that are no answer."""
CALLS = frozenset(_words("tool_use function_call function tool_call"))
"""Types of blocks that call a tool: what it is called with is the answer."""
BLOCKS = THOUGHTS | CALLS
STOPPED = frozenset(_words("finish_reason stop_reason done_reason incomplete_details prompt_feedback"))
LENGTH = frozenset(_words("length max_tokens max_output_tokens max_length max_new_tokens model_length"))
"""Why a model stopped before its answer was complete."""
REFUSALS = frozenset(
    _words("safety image_safety content_filter refusal prohibited_content blocklist spii recitation blocked")
)
"""Why a model gave no answer, where that is its own choice or its guard's."""
FAILURES = frozenset(_words("errored expired canceled cancelled failed"))

_ASKED = frozenset(
    _words("prompt prompts question query queries instruction instructions system input inputs user tools schema")
)
_TRUE = frozenset(_words("gt ground truth solution expected gold annotation annotations"))
_RIGHT = frozenset(_words("reference correct target true right label"))
_SAID = frozenset(_words("answer answers response output text completion reply"))
_LABELS = frozenset(_words("label labels"))
_BESIDE = frozenset(
    _words(
        "reference model id usage metadata time created date tokens token logprobs logprob thinking thought thoughts "
        "reasoning reason error errors status image images prompt_feedback"
    )
)
_ERRORS = frozenset(_words("error errors error_message"))
_DATA = ("[", "{", "<")


@lru_cache(8192)
def is_asked(key: object) -> bool:
    """Whether a key holds what the model was given."""
    return not _ASKED.isdisjoint(meaning(key).words)


@lru_cache(8192)
def is_beside(key: object) -> bool:
    """Whether a key holds neither an answer nor a word of the interaction, but facts of the run."""
    words = meaning(key).words
    return not (_ASKED.isdisjoint(words) and _TRUE.isdisjoint(words) and _BESIDE.isdisjoint(words))


def is_error(key: object) -> bool:
    """Whether a key holds what went wrong."""
    return isinstance(key, str) and plain(key) in _ERRORS


def is_truth(key: object, value: Any) -> bool:
    """Whether a key holds what would be right; "label" does where data stand under it and not a word."""
    words = meaning(key).words
    if not _TRUE.isdisjoint(words) or not (_RIGHT.isdisjoint(words) or _SAID.isdisjoint(words)):
        return True
    return not _LABELS.isdisjoint(words) and len(words) == 1 and isinstance(value, str) and holds_data(value)


def holds_data(text: str) -> bool:
    """Whether a text may hold boxes or data."""
    return any(mark in text for mark in _DATA)
