"""SWIG-HOI's two evaluators, literally and slowly, from docs/protocols.md 5 and docs/swig.md; no code of ``shoe``.

Ground truth is {image: [(class, human box, object box)]}, predictions {image: [(class, score, human box, object box)]},
in the order of the file. A class is its number; ``kind`` says of each "unseen", "rare", "" or "unscored".
"""

from collections.abc import Mapping, Sequence

from tests.oracles.average_precision import eleven_point
from tests.oracles.boxes import Box, iou_continuous

Truth = Mapping[str, Sequence[tuple[int, Box, Box]]]
Predictions = Mapping[str, Sequence[tuple[int, float, Box, Box]]]

MOST_OF_CLASS, MOST_OF_IMAGE = 19_999, 2_000


def evaluate(predictions: Predictions, truth: Truth, kind: Sequence[str], protocol: str) -> dict[str, float]:
    """The means of "swig-hoi" or "choir": full, rare, non-rare and unseen, as fractions."""
    if protocol == "choir":
        predictions = {image: best_of_image(rows) for image, rows in predictions.items()}
    ap = {number: average_precision(number, predictions, truth) for number, of in enumerate(kind) if of != "unscored"}

    def mean(*kinds: str) -> float:
        values = [value for number, value in ap.items() if kind[number] in kinds]
        return sum(values) / len(values)

    seen = mean("rare", "")
    full = seen if protocol == "choir" else mean("rare", "", "unseen")
    return {"full": full, "rare": mean("rare"), "non-rare": mean(""), "unseen": mean("unseen"), "seen": seen}


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
    taken: set[tuple[str, int]] = set()
    hits = []
    for image, (_, _, human, target) in ranked:
        best, which = 0.0, -1
        for index, (other_human, other_target) in enumerate(of_class[image]):
            overlap = min(iou_continuous(human, other_human), iou_continuous(target, other_target))
            if overlap > best:
                best, which = overlap, index
        hit = best >= 0.5 and (image, which) not in taken
        if hit:
            taken.add((image, which))
        hits.append(int(hit))
    return eleven_point(hits, positives, "exact")
