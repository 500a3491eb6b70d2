"""A study as it is kept: its items, and what each rater sees in which order."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import numpy as np

from shoe.benchmarks.base import Benchmark
from shoe.core.seeded import random_numbers
from shoe.io.files import read_bytes, replacing
from shoe.io.json import read_typed
from shoe.lexicon.wordnet import glosses
from shoe.similarity import Similarity
from shoe.similarity.ensemble import HIGHEST
from shoe.study.sampling import DIFFERS, Sample, draw

FILE = "study.json"
_TRAINING, _GOLD_SHARE, _REPEAT_SHARE = 5, 0.03, 0.1
_OTHER_SEED = 1 << 16
_GOLD_STREAM, _ORDER_STREAM = (7 << 28) + (1 << 20), (7 << 28) + (2 << 20)


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pair of interactions: words and WordNet names of both, what differs, and of a gold item the rating expected."""

    verb_a: str
    object_a: str
    verb_b: str
    object_b: str
    words_a: tuple[str, str]
    words_b: tuple[str, str]
    part: str
    gold: int | None = None

    @property
    def senses(self) -> tuple[str, str, str, str]:
        """The WordNet names, by which a table of answers knows the item."""
        return self.verb_a, self.object_a, self.verb_b, self.object_b


class Study(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``study.json`` holds.

    Attributes:
        dataset: whose classes the items are of.
        similarity: name and hash of the map whose levels the strata are.
        seed: from which everything drawn follows.
        raters: how many pages there are.
        items: all that are rated, gold ones last.
        training: shown first, to try the keys; not kept.
        glosses: WordNet's definition of each sense.
    """

    dataset: str
    similarity: str
    seed: int
    raters: int
    items: list[Item]
    training: list[Item]
    glosses: dict[str, str]

    @property
    def id(self) -> str:
        """12 hex digits of the content."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:12]

    @property
    def names(self) -> list[str]:
        """R names of the raters."""
        return [f"rater-{number + 1}" for number in range(self.raters)]


def new_study(of: Benchmark, similarity: Similarity, items: int, raters: int, seed: int) -> tuple[Study, Sample]:
    """Draw a study: its items by stratum, 3 % gold items beside them, and five to try the keys.

    Gold items are a class beside itself (4), and two classes that differ in both words and that the map holds for
    entirely different (0).

    Raises:
        OptionError: if there are not so many pairs.
        MissingWordNetError: without WordNet's files, which have the definitions that raters see.
    """
    sample = draw(of.classes, similarity, items + _TRAINING, seed)
    rows = _shuffled(np.arange(items + _TRAINING), _GOLD_STREAM, seed)
    drawn = [_item(of, int(sample.a[i]), int(sample.b[i]), DIFFERS[sample.differs[i]]) for i in rows]
    others = draw(of.classes, similarity, items + _TRAINING, seed + _OTHER_SEED)
    made = drawn[_TRAINING:] + _gold(of, others, drawn, max(2, round(items * _GOLD_SHARE)), seed)
    senses = {name for item in [*made, *drawn] for name in item.senses}
    identity = f"{similarity.name} {similarity.digest}"
    told = {name: gloss.rstrip(": ") for name, gloss in glosses(sorted(senses), "shoe study new").items()}
    return Study(of.name, identity, seed, raters, made, drawn[:_TRAINING], told), sample


def order_of(study: Study, rater: int) -> list[tuple[int, int]]:
    """What one rater sees: (item, occasion) in an order of its own, a tenth of the items a second time.

    A repeat stands at least half of the list after its first showing, so nobody remembers it.
    """
    items = _shuffled(np.arange(len(study.items)), _ORDER_STREAM + 2 * rater, study.seed)
    half = len(items) // 2
    early = items[:half]
    repeated = early[[study.items[i].gold is None for i in early]][: round(len(items) * _REPEAT_SHARE)]
    shown = [(int(item), 1) for item in items]
    for number, item in enumerate(repeated.tolist()):
        place = shown.index((item, 1)) + half
        shown.insert(min(len(shown), place + number % 7), (item, 2))
    return shown


def write_study(folder: Path, study: Study) -> None:
    """Write ``study.json``."""
    with replacing(folder / FILE) as stream:
        stream.write(msgspec.json.format(msgspec.json.encode(study), indent=1))


def load_study(folder: Path) -> Study:
    """Read ``study.json``.

    Raises:
        InputError: where it is not there, or holds something else.
    """
    path = folder / FILE
    return read_typed(path, read_bytes(path), Study, lambda _document, number, _: f"record {number}")


def _item(of: Benchmark, a: int, b: int, part: str, gold: int | None = None) -> Item:
    classes = of.classes
    words_a, words_b = (
        (classes.verbs[classes.verb[k]].replace("_", " "), classes.objects[classes.object[k]].replace("_", " "))
        for k in (a, b)
    )
    (verb_a, verb_b), (object_a, object_b) = (
        (senses[a], senses[b]) for senses in (classes.verb_synsets, classes.object_synsets)
    )
    return Item(verb_a, object_a, verb_b, object_b, words_a, words_b, part, gold)


def _gold(of: Benchmark, others: Sample, drawn: list[Item], number: int, seed: int) -> list[Item]:
    """Gold items from another draw, none of which is an item of the study's."""
    rows = _shuffled(np.arange(len(others.a)), _GOLD_STREAM + 1, seed)
    known = {item.senses for item in drawn}

    def some(most: int, pairs: list[tuple[int, int]], rating: int) -> list[Item]:
        items = {(item := _item(of, a, b, "gold", rating)).senses: item for a, b in pairs}
        return [item for senses, item in items.items() if senses not in known][:most]

    apart = [i for i in rows if others.level[i] == 0 and DIFFERS[others.differs[i]] == "both"]
    found = some(number // 2, [(int(others.a[i]), int(others.b[i])) for i in apart], 0)
    return found + some(number - len(found), [(int(others.a[i]), int(others.a[i])) for i in rows], HIGHEST)


def _shuffled(rows: np.ndarray, stream: int, seed: int) -> np.ndarray:
    return rows[np.argsort(random_numbers(stream + (seed << 8), (len(rows),)), kind="stable")]
