"""What the keys of free text mean: they have many names in practice."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from shoe.predictions.names import SCORE_NAMES

# Role of a key, after lower case, "_" for "-" and " ", "box" for "bbox" and "bounding_box", and without "_2d".
KEYS = {
    "image": ("image", "image_id", "image_name", "image_path", "img", "img_id", "img_path", "file", "file_name",
              "filename"),
    "human_box": ("human_box", "person_box", "subject_box", "sub_box", "subj_box", "h_box", "box_human", "box_person",
                  "human", "person", "subject"),
    "object_box": ("object_box", "obj_box", "o_box", "box_object", "target_box"),
    "object": ("object", "object_name", "object_label", "object_category", "object_class", "obj", "noun", "target"),
    "verb": ("verb", "action", "predicate", "relation", "relationship"),
    "phrase": ("phrase", "interaction", "hoi", "text", "description", "caption", "triplet"),
    "score": SCORE_NAMES,
    "items": ("interactions", "hois", "triplets", "relations", "relationships"),
    "response": ("response", "reply", "output", "answer", "completion", "content", "raw", "raw_response"),
    "width": ("width", "image_width", "img_width"),
    "height": ("height", "image_height", "img_height"),
}  # fmt: skip
ROLES = {key: role for role, keys in KEYS.items() for key in keys}
BOX_KEYS = ("box", "coordinates")
WORD_KEYS = ("label", "name", "category", "class")


@lru_cache(4096)
def role(key: Any) -> str | None:
    """Return what a key means, None if nothing known."""
    if not isinstance(key, str):
        return None
    plain = key.strip().lower().replace("-", "_").replace(" ", "_").replace("bounding_box", "box")
    plain = plain.replace("bbox", "box").removesuffix("_2d")
    return ROLES.get(plain, plain if plain in BOX_KEYS or plain in WORD_KEYS else None)
