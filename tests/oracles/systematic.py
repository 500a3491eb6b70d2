"""Algorithm 1 of the HICO-DET-SG paper, written down line by line over scenes: lists of (object, verb) pairs."""

import math

import numpy as np

Pair = tuple[int, int]
Scene = list[Pair]


def select(all_combinations: list[Pair], ratio: float, seed: int) -> list[Pair]:
    """What scikit-learn's ``train_test_split(train_size=ratio, random_state=seed)`` puts into the test."""
    number = len(all_combinations) - math.floor(ratio * len(all_combinations))
    return [all_combinations[i] for i in np.random.RandomState(seed).permutation(len(all_combinations))[:number]]


def algorithm_1(
    dataset: list[Scene], ratio: float, seed: int, verify: str, tries: int
) -> tuple[int, list[int], list[int]] | None:
    """Return the seed that held, and which scenes are train and test; None where none did."""
    all_combinations = sorted({pair for scene in dataset for pair in scene})
    for _ in range(tries):
        test_combinations = select(all_combinations, ratio, seed)
        train_data, test_data = [], []
        for number, scene in enumerate(dataset):
            total = sum(test_combinations.count(hoi) for hoi in scene)
            if total == len(scene):
                test_data.append(number)
            elif total == 0:
                train_data.append(number)
        if VERIFY[verify](all_combinations, test_combinations, [dataset[n] for n in train_data]):
            return seed, train_data, test_data
        seed += 1
    return None


def paper(all_combinations: list[Pair], test_combinations: list[Pair], train: list[Scene]) -> bool:
    """Every object with several verbs, and every verb with several objects, in the training data."""
    return _partners(all_combinations, train, lambda _: 2)


def possible(all_combinations: list[Pair], test_combinations: list[Pair], train: list[Scene]) -> bool:
    """The same, of those that have several; all others occur."""
    return _partners(all_combinations, train, lambda there_are: min(2, there_are))


def _partners(all_combinations, train, wanted) -> bool:  # type: ignore[no-untyped-def]
    shown = {pair for scene in train for pair in scene}
    for side in (0, 1):
        for word in {pair[side] for pair in all_combinations}:
            there_are = len([pair for pair in all_combinations if pair[side] == word])
            if len([pair for pair in shown if pair[side] == word]) < wanted(there_are):
                return False
    return True


def released(all_combinations: list[Pair], test_combinations: list[Pair], train: list[Scene]) -> bool:
    """The released program's ``checker``: object and verb of each test combination are in some training one."""
    train_combinations = [pair for pair in all_combinations if pair not in test_combinations]
    return all(
        any(test[0] == other[0] for other in train_combinations)
        and any(test[1] == other[1] for other in train_combinations)
        for test in test_combinations
    )


VERIFY = {"paper": paper, "possible": possible, "released": released}
