"""All that is to be asked about pictures: a question for each pair, or what a way to ask makes of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shoe.benchmarks.base import Benchmark
from shoe.predict.ask import Question
from shoe.predict.images import Picture
from shoe.predict.records import Paired
from shoe.predict.visual import Visual, shown, whole
from shoe.predict.ways import Way

WHOLE = "image"
"""The way to ask that needs no pairs."""


def questions(
    pictures: Sequence[Picture], paired: Mapping[str, Paired], way: Way, visual: Visual, benchmark: Benchmark
) -> Iterator[Question]:
    """Make all questions, those about one picture one after the other, in the same order each time.

    Args:
        pictures: those that are asked about.
        paired: their pairs, by name; not looked at where whole pictures are asked about.
        way: how it is asked.
        visual: how pairs are shown.
        benchmark: whose verbs are asked about.
    """
    for picture in pictures:
        if way.name == WHOLE:
            yield way.about_image(picture.name, whole(picture, visual))
            continue
        pairs = paired[picture.name].pairs
        for pair in pairs:
            yield from way.about_pair(picture.name, pair, shown(picture, pair, pairs, visual), benchmark)
