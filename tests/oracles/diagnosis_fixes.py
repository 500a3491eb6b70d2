"""The oracles of Diag-HOI on one image: one function for each, and the choice that the papers leave to chance.

The decisions are listed, with their sources, in ``diagnosis``; numbers here are those of that list.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tests.oracles.boxes import iou_pixels_strict
from tests.oracles.diagnosis import Diagnosed, ErrorType, Typed, reaches


class Candidate(NamedTuple):
    """A truth that a prediction may be fixed to: image, row of the prediction, row of the truth.

    ``holder`` is the score of the true positive that the truth has now; None for a free one.
    """

    image: str
    prediction: int
    truth: int
    holder: float | None


Choose = Callable[[list[Candidate]], Candidate]
"""Picks one of several candidates, which come in the order of the truth's rows. It is not asked about one alone."""


def greedy(candidates: Sequence[Candidate]) -> Candidate:
    """A free truth, else the one whose true positive scores least; of ties the first (14)."""
    return min(candidates, key=lambda c: (c.holder is not None, c.holder or 0.0))


@dataclass(slots=True, eq=False)
class Entry:
    """A prediction as the fixes have left it; ``truth`` is the place of the truth that it is the true positive of."""

    source: Typed
    hoi: int
    type: ErrorType
    truth: int | None


@dataclass(slots=True)
class State:
    """One image after some fixes.

    ``entries`` are ranked by score; ``aimed`` holds places of truths at which a fix was aimed; ``left_out`` places of
    truths that no longer count; ``best`` is the best map of ``released``: for each truth a prediction that might be
    fixed to it.
    """

    image: Diagnosed
    entries: list[Entry]
    best: list[Typed | None]
    aimed: set[int] = field(default_factory=set)
    left_out: set[int] = field(default_factory=set)

    def holder(self, place: int) -> Entry | None:
        return next((entry for entry in self.entries if entry.truth == place), None)

    def of(self, kind: ErrorType) -> list[Entry]:
        return [entry for entry in self.entries if entry.type == kind]

    def remove(self, entries: Iterable[Entry]) -> None:
        gone = set(entries)
        self.entries = [entry for entry in self.entries if entry not in gone]


def unfixed(image: Diagnosed) -> State:
    best = _best_map(image) if image.variant == "released" else []
    return State(image, [Entry(p, p.hoi, p.type, p.truth) for p in image.predictions], best)


def human_box(state: State, choose: Choose) -> None:
    """S1 151: put the human where the object's partner is, and name what they do."""
    _fix(state, "human_box", choose, lambda p: _of_its_verb(state, p, p.objects))


def object_box(state: State, choose: Choose) -> None:
    """S1 153: put the object where the human's partner is, and name what they do."""
    _fix(state, "object_box", choose, lambda p: _of_its_verb(state, p, p.humans))


def association(state: State, choose: Choose) -> None:
    """S1 157: change what must be changed to reach a pair, each pair once (10)."""

    def nearest(p: Typed) -> list[int]:
        changes = {}
        for place, truth in enumerate(state.image.truth):
            if place not in p.humans and place not in p.objects:
                continue
            if any(_one_pair(state.image, place, other) for other in state.aimed):
                continue
            changes[place] = (place not in p.humans) + (place not in p.objects) + (truth.verb != p.verb)
        return [place for place, number in changes.items() if number == min(changes.values())]

    _fix(state, "association", choose, nearest)


def interaction(state: State, choose: Choose) -> None:
    """S1 165: name what the pair does."""
    _fix(state, "interaction", choose, lambda p: [place for place in p.humans if place in p.objects])


def both_boxes(state: State, _: Choose) -> None:
    """S1 155: remove."""
    state.remove(state.of("both_boxes"))


def duplicate(state: State, _: Choose) -> None:
    """S1 163: remove."""
    state.remove(state.of("duplicate"))


def missed_gt(state: State, choose: Choose) -> None:
    """S1 169 and 8.4: missed truths no longer count."""
    state.left_out |= missed(state, choose)


def false_positive(state: State, _: Choose) -> None:
    """S1 177: remove all that is not a true positive."""
    state.entries = state.of("true_positive")


def false_negative(state: State, _: Choose) -> None:
    """S1 179: as many truths as true positives."""
    state.left_out |= unmatched(state)


Fix = Callable[[State, Choose], None]
ORACLES: dict[str, Fix] = {
    "human_box": human_box,
    "object_box": object_box,
    "both_boxes": both_boxes,
    "association": association,
    "duplicate": duplicate,
    "interaction": interaction,
    "missed_gt": missed_gt,
    "false_positive": false_positive,
    "false_negative": false_negative,
}
PROGRESSIVE = tuple(name for name in ORACLES if not name.startswith("false"))
"""The order of progressive deltas: that of S1 3.2 (19)."""


def _of_its_verb(state: State, p: Typed, places: Sequence[int]) -> list[int]:
    """Those that leave its action as it is; all, if none does (11)."""
    own = [place for place in places if state.image.truth[place].verb == p.verb]
    return own or list(places)


def _one_pair(image: Diagnosed, a: int, b: int) -> bool:
    """Whether two truths are of one person and object, each drawn anew (10)."""
    one, other = image.truth[a], image.truth[b]
    return a == b or (
        one.noun == other.noun
        and reaches(iou_pixels_strict(one.human, other.human), image.variant)
        and reaches(iou_pixels_strict(one.object, other.object), image.variant)
    )


def unmatched(state: State) -> set[int]:
    return {place for place in range(len(state.image.truth)) if state.holder(place) is None}


def missed(state: State, choose: Choose) -> set[int]:
    """Places of truths that no fix of an error in the state would find (15); none in images that the script skips."""
    if state.image.variant == "released":
        return {place for place in unmatched(state) if state.best[place] is None and state.image.predictions}
    rest = State(state.image, [replace(entry) for entry in state.entries], [], set(state.aimed))
    for fix in (human_box, object_box, association, interaction):
        fix(rest, choose)
    return unmatched(rest)


def missed_truths(images: Iterable[Diagnosed], choose: Choose = greedy) -> set[tuple[str, int]]:
    """Image name and row of each missed truth, those of images without predictions included."""
    found = set()
    for image in images:
        state = unfixed(image)
        places = missed(state, choose) if image.predictions else unmatched(state)
        found |= {(image.name, image.truth[place].row) for place in places}
    return found


def _fix(state: State, kind: ErrorType, choose: Choose, possible: Callable[[Typed], list[int]]) -> None:
    if state.image.variant == "released":
        _fix_by_best_map(state, kind)
        return
    for entry in state.of(kind):
        places = possible(entry.source)
        if places:
            _aim(state, entry, _chosen(state, entry.source, places, choose))
        else:
            state.remove([entry])  # 13


def _chosen(state: State, p: Typed, places: list[int], choose: Choose) -> int:
    if len(places) == 1:
        return places[0]
    held = {entry.truth: entry.source.score for entry in state.entries}
    candidates = [Candidate(state.image.name, p.row, state.image.truth[k].row, held.get(k)) for k in places]
    return places[candidates.index(choose(candidates))]


def _aim(state: State, entry: Entry, place: int) -> None:
    """Make a prediction the true positive of a truth; the lower in rank of it and the former one leaves (12)."""
    state.aimed.add(place)
    former = state.holder(place)
    if former is not None and state.entries.index(former) < state.entries.index(entry):
        state.remove([entry])
    else:
        _make_true(state, entry, place)


def _make_true(state: State, entry: Entry, place: int) -> None:
    """Make a prediction the true positive of a truth, instead of the one that the truth has."""
    state.remove(former for former in state.entries if former.truth == place)
    entry.hoi, entry.type, entry.truth = state.image.truth[place].hoi, "true_positive", place


def _fix_by_best_map(state: State, kind: ErrorType) -> None:
    """8.4: the prediction that the best map gives a truth becomes its true positive; others of the type leave."""
    for place, p in enumerate(state.best):
        if p is not None and p.type == kind:
            _make_true(state, next(entry for entry in state.entries if entry.source is p), place)
    state.remove(state.of(kind))


def _best_map(image: Diagnosed) -> list[Typed | None]:
    """8.4: for each truth, in file order, the first prediction above its own true positive that shares a box with it.

    True positives and predictions that the map holds already are passed over. The object box is asked only where the
    human box is correct nowhere.
    """
    found: list[Typed | None] = []
    for place in range(len(image.truth)):
        best = None
        for p in image.predictions:
            if p.truth == place:
                break
            if p.truth is not None or any(p is used for used in found):
                continue
            if place in (p.humans if p.human_correct else p.objects):
                best = p
                break
        found.append(best)
    return found
