"""Tables for tests: small ones by hand, and any that are valid from hypothesis."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from shoe.core.boxes import Coordinates
from shoe.core.interactions import Interactions
from shoe.lexicon.store import ids_of
from shoe.similarity.ensemble import MISSING
from shoe.similarity.pairs import RatedPairs


def one_triplet(**changes: Any) -> Interactions:
    return Interactions.from_columns(**(columns_of_one_triplet() | changes))


def columns_of_one_triplet() -> dict[str, Any]:
    return {
        "images": ["a.jpg"], "image": [0], "human_boxes": [[0, 0, 10, 20]], "object_boxes": [[5.5, 5, 30, 40]],
        "verb": [0], "object": [0], "verbs": ["ride"], "objects": ["horse"],
    }  # fmt: skip


def pairs_by_name(pairs: Mapping[tuple[str, str], Sequence[int | None]], raters: int) -> RatedPairs:
    """The sorted table of {(class synset, synset): ratings 0..4 or None} by so many raters."""
    senses = ids_of(name for pair in pairs for name in pair).reshape(-1, 2)
    given = [[MISSING if rating is None else rating for rating in ratings] for ratings in pairs.values()]
    return RatedPairs(senses[:, 0], senses[:, 1], np.array(given, np.int8).reshape(len(pairs), raters)).by_name()


_names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_coordinate = st.floats(-1000, 1000, width=64)


@st.composite
def _boxes(draw: st.DrawFn, *, pixels: bool) -> list[float]:
    """One box; a box in pixels may be one pixel wide or high."""
    if pixels:
        x, y, width, height = (draw(st.integers(low, 500)) for low in (1, 1, 0, 0))
        return [x, y, x + width, y + height]
    x1, y1 = draw(_coordinate), draw(_coordinate)
    return [x1, y1, x1 + draw(st.floats(0.5, 100)), y1 + draw(st.floats(0.5, 100))]


@st.composite
def tables(draw: st.DrawFn, *, max_images: int = 5, max_triplets: int = 4) -> Interactions:
    """Any valid table: odd names, unknown sizes, mixed frames, images without triplets, unused words."""
    images = draw(st.lists(_names, unique=True, max_size=max_images))
    verbs = draw(st.lists(_names, unique=True, min_size=1, max_size=4))
    objects = draw(st.lists(_names, unique=True, min_size=1, max_size=4))
    frames = [draw(st.sampled_from(Coordinates)) for _ in images]
    image = np.repeat(np.arange(len(images)), [draw(st.integers(0, max_triplets)) for _ in images])
    size = st.tuples(st.integers(1, 9000), st.integers(1, 9000)) | st.just((0, 0))
    return Interactions.from_columns(
        images=images,
        image=image,
        human_boxes=[draw(_boxes(pixels=frames[i] != Coordinates.CONTINUOUS)) for i in image],
        object_boxes=[draw(_boxes(pixels=frames[i] != Coordinates.CONTINUOUS)) for i in image],
        verb=[draw(st.integers(0, len(verbs) - 1)) for _ in image],
        object=[draw(st.integers(0, len(objects) - 1)) for _ in image],
        score=[draw(st.floats(allow_nan=False, allow_infinity=False)) for _ in image],
        verbs=verbs,
        objects=objects,
        sizes=[draw(size) for _ in images],
        coordinates=frames,
    )
