"""The decision table."""

from itertools import product

import numpy as np

from shoe.diagnosis.error_types import FLOW, ErrorType, decide


def one_by_one(triplet: bool, first: bool, pair: bool, human: bool, object_: bool) -> ErrorType:
    """Figure 2 of the IJCV paper, as nested questions."""
    if pair:
        if not triplet:
            return ErrorType.INTERACTION
        return ErrorType.TRUE_POSITIVE if first else ErrorType.DUPLICATE
    if human and object_:
        return ErrorType.ASSOCIATION
    if object_:
        return ErrorType.HUMAN_BOX
    return ErrorType.OBJECT_BOX if human else ErrorType.BOTH_BOXES


def test_the_table_asks_the_questions_of_the_figure() -> None:
    names = ("triplet", "first", "pair", "human", "object")
    # A true positive is about a triplet, a triplet is a pair, and a pair has both boxes.
    cases = [c for c in product((False, True), repeat=5) if c[1] <= c[0] <= c[2] <= (c[3] and c[4])]
    facts = {name: np.array([case[i] for case in cases]) for i, name in enumerate(names)}
    assert decide(facts, FLOW).tolist() == [one_by_one(*case) for case in cases]
    assert {one_by_one(*case) for case in cases} == set(ErrorType)


def test_another_flow_is_another_table() -> None:
    """Facts have any names; what no rule covers has no type."""
    flow = ((("role",), "human_box"), (("near", "far"), "association"))
    facts = {"role": [True, False, False], "near": [True, True, True], "far": [True, True, False]}
    found = decide({name: np.array(values) for name, values in facts.items()}, flow)
    assert found.tolist() == [ErrorType.HUMAN_BOX, ErrorType.ASSOCIATION, -1]


def test_labels_are_the_names_of_the_figures() -> None:
    labels = ["true_positive", "human_box", "object_box", "both_boxes", "association", "interaction", "duplicate"]
    assert [type_.label for type_ in ErrorType] == labels
