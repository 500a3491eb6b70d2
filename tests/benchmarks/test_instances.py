from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoe.benchmarks.truth import read_truth_file
from shoe.core.errors import InputError
from tests.benchmarks.samples import INSTANCES, parsed, read
from tests.mentions import mentions

Document = dict[str, Any]


def _last(document: Document, place: str) -> tuple[Any, Any]:
    """What holds a value, and its key there; its place is keys and indices joined by dots."""
    *path, last = [int(key) if key.isdigit() else key for key in place.split(".")]
    holder: Any = document
    for key in path:
        holder = holder[key]
    return holder, last


def _set(place: str, value: Any) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        holder, key = _last(document, place)
        holder[key] = value

    return change


def _drop(place: str) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        holder, key = _last(document, place)
        del holder[key]

    return change


FIRST = "image 'HICO_test2015_00000001.jpg'"
XYXY = "[x1, y1, x2, y2]"
BROKEN = [
    (_drop("verbs"), "verbs: … 'annotation', 'filenames', 'size', 'empty', 'objects', 'correspondence', 'rare'"),
    (_set("objects", {}), "objects: … object of 0 … list"),
    (_set("objects.3", 7), "objects: item 4: … 7"),
    (_set("filenames", "x"), "filenames: … 'x' … list"),
    (_set("filenames.0", 5), "filenames: item 1: … 5"),
    (_set("filenames.1", "HICO_test2015_00000001.jpg"), "'HICO_test2015_00000001.jpg' twice"),
    (_drop("filenames.0"), "annotation: … 28 images … 27"),
    (_drop("size.0"), "sizes: … (27, 2) … (28, 2)"),
    (_set("size.0", [640]), "size: item 1: … [640] … [width, height]"),
    (_set("size.0", [-640, 480]), "record 1: sizes: … -640 x 480"),
    (lambda document: document.update(size=[side[::-1] for side in document["size"]]), "images: … exchanged?"),
    (_drop("correspondence"), "correspondence: … only"),
    (_set("correspondence.4", [4, 0]), "correspondence: item 5: … [4, 0] … [hoi, object, verb]"),
    (_set("correspondence.4.2", 1e30), "correspondence: item 5: … [4, 0, 1e+30] … [hoi, object, verb]"),
    (_set("size.3.1", 0.5), "size: item 4: … [640, 0.5] … [width, height]"),
    (_set("annotation.0", []), f"{FIRST}: … [] … 'boxes_h'"),
    (_set("annotation.0", None), f"{FIRST}: … None … 'boxes_h'"),
    (_drop("annotation.0.hoi"), f"{FIRST}: hoi: … 'boxes_h', 'boxes_o', 'object', 'verb'"),
    (_drop("annotation.0.verb.0"), f"{FIRST}: verb: … 1 … 2 … hoi"),
    (_set("annotation.0.hoi", "24"), f"{FIRST}: hoi: … '24' … list"),
    (_set("annotation.0.hoi.1", "245"), f"{FIRST}: triplet 2: hoi: … '245' … whole number"),
    (_set("annotation.0.verb.1", 0.5), f"{FIRST}: triplet 2: verb: … 0.5 … whole number"),
    (_set("annotation.0.verb.1", True), f"{FIRST}: triplet 2: verb: … True … whole number"),
    (_set("annotation.0.verb.1", 2**40), f"{FIRST}: triplet 2: verb: … 1099511627776 … whole number"),
    (_set("annotation.0.verb.1", 117), f"{FIRST}: triplet 2: verb: … 117 … 0 to 116"),
    (_set("annotation.0.object.1", -1), f"{FIRST}: triplet 2: object: … -1 … 0 to 79"),
    (_set("annotation.0.hoi.1", 600), f"{FIRST}: triplet 2: hoi: … 600 … 0 to 599"),
    (_set("annotation.0.hoi.1", 244), f"{FIRST}: triplet 2: hoi: … 244 … object 8 and verb 87"),
    # One that correspondence does not number any more.
    (_set("correspondence.245.0", 7), f"{FIRST}: triplet 1: hoi: … 245 … object 8 and verb 87"),
    (_set("annotation.0.boxes_h.1", [1, 2, 3]), f"{FIRST}: triplet 2: boxes_h: … [1, 2, 3] … {XYXY}"),
    (_set("annotation.0.boxes_o.0", [1, 2, 3, "4"]), f"{FIRST}: triplet 1: boxes_o: … [1, 2, 3, '4'] … {XYXY}"),
    (_set("annotation.0.boxes_o.0", [1, 2, 3, None]), f"boxes_o: … [1, 2, 3, None] … {XYXY}"),
    (_set("annotation.0.boxes_o.0", [[1, 2, 3, 4]]), f"boxes_o: … list of 1 … {XYXY}"),
    (_set("annotation.0.boxes_o.0", 7), f"triplet 1: boxes_o: … 7 … {XYXY}"),
    (_set("annotation.0.boxes_o.0", [9, 2, 3, 4]), f"record 1 ({FIRST[6:]}): object box: … [9, 2, 3, 4] … x1, y1"),
    (_set("objects.8", "boat\x1b[2J"), rf"{FIRST}: triplet 1: object: … 'boat\x1b[2J'"),
    (_set("verbs.87", "roe"), "verb: … 'roe' … 117 verbs … row?"),
]


@pytest.mark.parametrize(("change", "values"), BROKEN)
def test_a_broken_rule_is_named(tmp_path: Path, change: Callable[[Document], None], values: str) -> None:
    document = parsed(INSTANCES)
    change(document)
    with pytest.raises(InputError, match=mentions(f"{tmp_path}/truth.json: … {values}")):
        read(tmp_path, document)


def test_sizes_are_not_needed(tmp_path: Path) -> None:
    document = parsed(INSTANCES)
    del document["size"]
    assert not read(tmp_path, document).interactions.sizes.any()


def test_the_files_own_word_lists_say_what_its_numbers_mean(tmp_path: Path) -> None:
    """A file whose lists are ordered in another way says the same."""
    document = parsed(INSTANCES)
    for part, column in (("verbs", 2), ("objects", 1)):
        last = len(document[part]) - 1
        document[part].reverse()
        for row in document["correspondence"]:
            row[column] = last - row[column]
        for entry in document["annotation"]:
            entry[part[:-1]] = [last - i for i in entry[part[:-1]]]
    assert read(tmp_path, document).interactions.equals(read_truth_file(INSTANCES).interactions)


@pytest.mark.real_data
def test_the_real_test_set_has_the_published_numbers(shared_data: Path) -> None:
    truth = read_truth_file(shared_data / "hico_det" / "instances_test2015.json")
    table = truth.interactions
    assert (len(table.images), len(table)) == (9658, 33405)
    counts = truth.triplets_per_class
    assert (counts.min(), counts.max(), int((counts == 0).sum())) == (2, 898, 0)
    assert int(counts[truth.classes.no_interaction].sum()) == 4295
    actual = table.select(~truth.classes.no_interaction[truth.hoi])
    assert int((actual.offsets[1:] > actual.offsets[:-1]).sum()) == 8528
    assert min(table.human_boxes.min(), table.object_boxes.min()) == 1
    assert (np.maximum(table.human_boxes, table.object_boxes)[:, 2:] <= table.sizes[table.image]).all()
