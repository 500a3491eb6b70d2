"""SWIG-HOI's two evaluators, literally and slowly, from docs/protocols.md 5 and docs/swig.md; no code of ``shoe``.

Ground truth is {image: [(class, human box, object box)]}, predictions {image: [(class, score, human box, object box)]},
in the order of the file. A class is its number; ``kind`` says of each "unseen", "rare", "" or "unscored".
"""

from collections.abc import Mapping, Sequence

Box = tuple[float, float, float, float]
Truth = Mapping[str, Sequence[tuple[int, Box, Box]]]
Predictions = Mapping[str, Sequence[tuple[int, float, Box, Box]]]

MOST_OF_CLASS, MOST_OF_IMAGE = 19_999, 2_000


def evaluate(predictions: Predictions, truth: Truth, kind: Sequence[str], protocol: str) -> dict[str, float]:
    """The means of "swig-hoi" or "choir": full, rare, non-rare and unseen, as fractions."""
    if protocol == "choir":
        predictions = {image: best_of_image(rows) for image, rows in predictions.items()}
    ap = {number: average_precision(number, predictions, truth) for number, of in enumerate(kind) if of != "unscored"}
    seen = [ap[number] for number in ap if kind[number] != "unseen"]
    return {
        "full": mean(seen if protocol == "choir" else list(ap.values())),
        "rare": mean([ap[number] for number in ap if kind[number] == "rare"]),
        "non-rare": mean([ap[number] for number in ap if kind[number] == ""]),
        "unseen": mean([ap[number] for number in ap if kind[number] == "unseen"]),
        "seen": mean(seen),
    }


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def best_of_image(rows: Sequence[tuple[int, float, Box, Box]]) -> list[tuple[int, float, Box, Box]]:
    """The best rows of an image, which keep their order; of equal scores at the cut the first."""
    ranked = sorted(range(len(rows)), key=lambda place: -rows[place][1])[:MOST_OF_IMAGE]
    return [rows[place] for place in sorted(ranked)]


def average_precision(number: int, predictions: Predictions, truth: Truth) -> float:
    of_class = {image: [(h, o) for c, h, o in rows if c == number] for image, rows in truth.items()}
    positives = sum(map(len, of_class.values()))
    ranked = [(image, row) for image in truth for row in predictions.get(image, ()) if row[0] == number]
    # An ascending stable sort, taken from its end: equal scores come in the opposite order.
    ranked = sorted(ranked, key=lambda each: each[1][1])[::-1][:MOST_OF_CLASS]
    if not positives or not ranked:
        return 0.0
    taken: set[tuple[str, int]] = set()
    hits = 0
    curve = []
    for place, (image, (_, _, human, target)) in enumerate(ranked, start=1):
        best, which = 0.0, -1
        for index, (other_human, other_target) in enumerate(of_class[image]):
            overlap = min(iou(human, other_human), iou(target, other_target))
            if overlap > best:
                best, which = overlap, index
        if best >= 0.5 and (image, which) not in taken:
            taken.add((image, which))
            hits += 1
        curve.append((hits / positives, hits / place))
    total = 0.0
    for tenth in range(11):
        total += max((precision for recall, precision in curve if recall >= tenth / 10), default=0.0)
    return total / 11


def iou(one: Box, other: Box) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return width * height / (areas - width * height)
