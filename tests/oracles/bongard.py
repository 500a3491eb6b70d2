"""Bongard problems, literally: Algorithm 1 of the supplement with plain lists, both oracles with plain sets."""

from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import count

import numpy as np

from shoe.core.arrays import numbers_at

Image = Sequence[int]
"""The regions of an image."""
Instance = tuple[list[int], list[int]]
Word = tuple[str, str]


def sampled(
    concept: str,
    positives: Sequence[Image],
    negatives: Sequence[Image],
    seed: int,
    overlap: int,
    most: int,
    rejections: int,
) -> list[Instance]:
    """Algorithm 1: sample an instance, compare it with all that are kept, keep it if it shares few images with each."""
    stream = int.from_bytes(blake2b(f"{seed} {concept}".encode(), digest_size=4).digest(), "little")
    kept: list[tuple[Instance, set[tuple[str, int]]]] = []
    rejected = 0
    for candidate in count():
        if min(len(positives), len(negatives)) < 7 or rejected == rejections or len(kept) == most:
            return [instance for instance, _ in kept]
        numbers = numbers_at(np.array(stream), np.arange(28 * candidate, 28 * candidate + 28)).tolist()
        shown, sides = set(), []
        for number, (side, images) in enumerate((("positive", positives), ("negative", negatives))):
            left, regions = list(range(len(images))), []
            for draw in range(7):
                image = left.pop(numbers[14 * number + draw] % len(left))
                regions.append(images[image][numbers[14 * number + 7 + draw] % len(images[image])])
                shown.add((side, image))
            sides.append(regions)
        overlaps = [len(shown & other) for _, other in kept]
        if max(overlaps, default=0) < overlap:
            kept.append(((sides[0], sides[1]), shown))
            rejected = 0
        else:
            rejected += 1
    raise AssertionError


def answered(
    positives: Sequence[Sequence[Word]], negatives: Sequence[Sequence[Word]], query: Sequence[Word], by_image: bool
) -> bool | None:
    """The paper's oracle: what it says of a query; None where it has no concept.

    A picture is what was detected in it; ``by_image`` gives it one vote for an interaction, however often it is there.
    """
    of_negatives = {word for picture in negatives for word in picture}
    votes: Counter[Word] = Counter()
    for picture in positives:
        for word in set(picture) if by_image else picture:
            if word not in of_negatives:
                votes[word] += 1
    if not votes:
        return None
    most = max(votes.values())
    return any(word in query for word, number in votes.items() if number == most)


def answered_by_meaning(
    positives: Sequence[Sequence[Word]],
    negatives: Sequence[Sequence[Word]],
    query: Sequence[Word],
    classes: Sequence[Word],
    sigma: Callable[[Word, Word], float],
) -> bool | None:
    """The soft oracle: what it says of a query; None where it has no concept."""

    def best(of: Word, words: Sequence[Word]) -> float:
        return max((sigma(of, word) for word in words), default=0.0)

    value, limit = {}, {}
    for of in classes:
        votes = sum(best(of, picture) for picture in positives) / 6
        against = max(best(of, picture) for picture in negatives)
        value[of], limit[of] = votes * (1 - against), (votes + against) / 2
    most = max(value.values())
    if most <= 0:
        return None
    winners = [of for of in classes if value[of] >= most - 1e-9]
    return any(best(of, query) >= limit[of] for of in winners)


def counted(
    predictions: Sequence[tuple[Word, float, Sequence[float], Sequence[float]]], crop: Sequence[float], top: int
) -> list[Word]:
    """What of an image's predictions (words, score, human box, object box) counts in a crop of it."""

    def inside(box: Sequence[float]) -> bool:
        width = max(0.0, min(box[2], crop[2]) - max(box[0], crop[0]))
        height = max(0.0, min(box[3], crop[3]) - max(box[1], crop[1]))
        return width * height >= 0.5 * (box[2] - box[0]) * (box[3] - box[1])

    there = [each for each in predictions if inside(each[2]) and inside(each[3])]
    scores = sorted((score for _, score, _, _ in there), reverse=True)
    return [words for words, score, _, _ in there if len(there) <= top or score >= scores[top - 1]]
