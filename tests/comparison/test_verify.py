"""A run is equal to what is measured anew, or what in it is other is said, though its figures may be the same."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from shoe.comparison.run import Run
from shoe.comparison.verify import verify
from shoe.scoring.evidence.draws import Interval
from shoe.scoring.evidence.facts import Spread
from tests.comparison.samples import report_of, scenes_of
from tests.present import present

FOUND = Run.from_report(report_of(scenes_of(3)), "model", Spread({"a": 0.5, "b": 0.25}), Interval((0.1, 0.2), None, 3))


def strict(**columns: Callable[[Any], Any]) -> Run:
    part = FOUND.strict[0]
    entries = replace(part.entries, **{name: of(getattr(part.entries, name)) for name, of in columns.items()})
    return replace(FOUND, strict=(replace(part, entries=entries),))


def semantic(part: str, **columns: Callable[[Any], Any]) -> Run:
    of = getattr(FOUND.semantic, part)
    made = replace(of, **{name: edit(getattr(of, name)) for name, edit in columns.items()})
    return replace(FOUND, semantic=replace(present(FOUND.semantic), **{part: made}))


@pytest.mark.parametrize(
    ("edited", "name"),
    [
        (strict(image=np.zeros_like), "strict:qpic"),
        (strict(score=lambda score: score / 2), "strict:qpic"),
        (strict(truth_image=lambda image: image[::-1]), "strict:qpic"),
        (strict(**dict.fromkeys(("category", "image", "score", "credit"), lambda of: of[:-1])), "strict:qpic"),
        (semantic("entries", image=np.zeros_like), "semantic:map"),
        (semantic("f1", unmatched_image=np.zeros_like), "semantic:mf1"),
        (semantic("above_delta", sigma=lambda sigma: sigma / 2), "above delta"),
        (replace(FOUND, images=("other", *FOUND.images[1:])), "image list"),
        (replace(FOUND, classes=replace(FOUND.classes, rare=~FOUND.classes.rare)), "class table"),
        (replace(FOUND, notes=("all is well",)), "notes"),
        (replace(FOUND, absent={"semantic": "no reason"}), "absent"),
        (replace(FOUND, spread=Spread({"a": 0.99, "b": 0.25})), "raters"),
        (replace(FOUND, spread=Spread({"x": 0.5, "b": 0.25})), "raters"),
        (replace(FOUND, interval=Interval((0.1, 0.3), None, 3)), "interval of map"),
        (replace(FOUND, interval=Interval((0.1, 0.2), (0.0, 1.0), 3)), "interval of mf1"),
    ],
)
def test_what_was_edited_is_said(edited: Run, name: str) -> None:
    verdict = verify(edited, FOUND)
    assert not verdict.equal
    assert [each.name for each in verdict.mismatches] == [name]
    assert all("edited" in reason for reason in verdict.reasons)


def test_what_is_equal_or_was_not_asked_for_is_no_mismatch() -> None:
    assert verify(FOUND, FOUND).equal
    assert verify(replace(FOUND, spread=None, interval=None), FOUND).equal
    assert verify(strict(score=lambda score: score + 1e-12), FOUND).equal
    # Another input is the only reason.
    other = replace(strict(image=np.zeros_like), facts={**FOUND.facts, "predictions-sha": "0"})
    assert verify(other, FOUND).reasons == ("other predictions",)
