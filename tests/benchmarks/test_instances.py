from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from shoe.benchmarks.truth import read_truth_file
from shoe.core.errors import InputError
from tests.benchmarks.samples import INSTANCES, parsed

Document = dict[str, Any]


def _set(place: str, value: Any) -> Callable[[Document], None]:
    """A change of one value: its place as keys and indices joined by dots."""

    def change(document: Document) -> None:
        *path, last = [int(key) if key.isdigit() else key for key in place.split(".")]
        holder: Any = document
        for key in path:
            holder = holder[key]
        holder[last] = value

    return change


def _drop(place: str) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        *path, last = [int(key) if key.isdigit() else key for key in place.split(".")]
        holder: Any = document
        for key in path:
            holder = holder[key]
        del holder[last]

    return change


FIRST = "image 'HICO_test2015_00000001.jpg'"
BROKEN = [
    (
        _drop("verbs"),
        "verbs: found only keys 'annotation', 'filenames', 'size', 'empty', 'objects', 'correspondence', 'rare'",
    ),
    (_set("objects", {}), "objects: found an object of 0, expected a list"),
    (_set("objects.3", 7), "objects: item 4: found 7, expected text"),
    (_set("filenames", "x"), "filenames: found 'x', expected a list"),
    (_set("filenames.0", 5), "filenames: item 1: found 5, expected text"),
    (_set("filenames.1", "HICO_test2015_00000001.jpg"), "found 'HICO_test2015_00000001.jpg' twice, expected distinct"),
    (_drop("filenames.0"), "annotation: found 28 images, expected 27, one per file name"),
    (_drop("size.0"), "sizes: found shape (27, 2), expected shape (28, 2)"),
    (_set("size.0", [640]), "size: item 1: found [640], expected [width, height]"),
    (_set("size.0", [-640, 480]), "record 1: sizes: found -640 x 480, expected width and height in whole pixels"),
    (
        lambda document: document.update(size=[side[::-1] for side in document["size"]]),
        "images: are width and height exchanged?",
    ),
    (_drop("correspondence"), "correspondence: found only"),
    (_set("correspondence.4", [4, 0]), "correspondence: item 5: found [4, 0], expected [hoi, object, verb]"),
    (_set("correspondence.4.2", 1e30), "correspondence: item 5: found [4, 0, 1e+30], expected [hoi, object, verb]"),
    (_set("size.3.1", 0.5), "size: item 4: found [640, 0.5], expected [width, height]"),
    (_set("annotation.0", []), f"{FIRST}: found [], expected an object with 'boxes_h'"),
    (_set("annotation.0", None), f"{FIRST}: found None, expected an object with 'boxes_h'"),
    (
        _drop("annotation.0.hoi"),
        f"{FIRST}: hoi: found only keys 'boxes_h', 'boxes_o', 'object', 'verb', expected this key",
    ),
    (_drop("annotation.0.verb.0"), f"{FIRST}: verb: found 1 entries, expected 2, as in hoi"),
    (_set("annotation.0.hoi", "24"), f"{FIRST}: hoi: found '24', expected a list"),
    (_set("annotation.0.hoi.1", "245"), f"{FIRST}: triplet 2: hoi: found '245', expected a whole number"),
    (_set("annotation.0.verb.1", 0.5), f"{FIRST}: triplet 2: verb: found 0.5, expected a whole number"),
    (_set("annotation.0.verb.1", True), f"{FIRST}: triplet 2: verb: found True, expected a whole number"),
    (_set("annotation.0.verb.1", 2**40), f"{FIRST}: triplet 2: verb: found 1099511627776, expected a whole number"),
    (_set("annotation.0.verb.1", 117), f"{FIRST}: triplet 2: verb: found 117, expected 0 to 116"),
    (_set("annotation.0.object.1", -1), f"{FIRST}: triplet 2: object: found -1, expected 0 to 79"),
    (_set("annotation.0.hoi.1", 600), f"{FIRST}: triplet 2: hoi: found 600, expected 0 to 599"),
    (
        _set("annotation.0.hoi.1", 244),
        f"{FIRST}: triplet 2: hoi: found 244 with object 8 and verb 87, expected the object and verb of this hoi",
    ),
    (_set("annotation.0.boxes_h.1", [1, 2, 3]), f"{FIRST}: triplet 2: boxes_h: found [1, 2, 3], expected [x1, y1, x2"),
    (_set("annotation.0.boxes_o.0", [1, 2, 3, "4"]), f"{FIRST}: triplet 1: boxes_o: found [1, 2, 3, '4'], expected"),
    (_set("annotation.0.boxes_o.0", [1, 2, 3, None]), "boxes_o: found [1, 2, 3, None], expected [x1, y1, x2, y2]"),
    (_set("annotation.0.boxes_o.0", [[1, 2, 3, 4]]), "boxes_o: found a list of 1, expected [x1, y1, x2, y2]"),
    (_set("annotation.0.boxes_o.0", 7), "triplet 1: boxes_o: found 7, expected [x1, y1, x2, y2]"),
    (
        _set("annotation.0.boxes_o.0", [9, 2, 3, 4]),
        "record 1 ('HICO_test2015_00000001.jpg'): object box: found [9, 2, 3, 4], expected finite x1, y1, x2, y2",
    ),
    (
        _set("objects.8", "boat\x1b[2J"),
        f"{FIRST}: triplet 1: object: found 'boat\\x1b[2J', expected one of the dataset's",
    ),
    (_set("verbs.87", "roe"), "verb: found 'roe', expected one of the dataset's 117 verbs (did you mean row?)"),
]


@pytest.mark.parametrize(("change", "message"), BROKEN)
def test_a_broken_rule_is_named(tmp_path: Path, change: Callable[[Document], None], message: str) -> None:
    document = parsed(INSTANCES)
    change(document)
    (tmp_path / "instances.json").write_bytes(orjson.dumps(document))
    with pytest.raises(InputError) as raised:
        read_truth_file(tmp_path / "instances.json")
    assert str(raised.value).startswith(f"{tmp_path}/instances.json: ")
    assert message in str(raised.value)


def test_a_hoi_that_correspondence_does_not_number_is_refused(tmp_path: Path) -> None:
    document = parsed(INSTANCES)
    document["correspondence"][245][0] = 7
    (tmp_path / "instances.json").write_bytes(orjson.dumps(document))
    with pytest.raises(InputError, match=r"triplet 1: hoi: found 245 with object 8 and verb 87"):
        read_truth_file(tmp_path / "instances.json")


def test_sizes_are_not_needed(tmp_path: Path) -> None:
    document = parsed(INSTANCES)
    del document["size"]
    (tmp_path / "instances.json").write_bytes(orjson.dumps(document))
    assert not read_truth_file(tmp_path / "instances.json").interactions.sizes.any()


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
    (tmp_path / "instances.json").write_bytes(orjson.dumps(document))
    assert read_truth_file(tmp_path / "instances.json").interactions.equals(read_truth_file(INSTANCES).interactions)


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
    assert (table.human_boxes[:, 2:] <= table.sizes[table.image]).all()
    assert (table.object_boxes[:, 2:] <= table.sizes[table.image]).all()
