from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoe.benchmarks.truth import read_truth_file
from shoe.core.errors import InputError
from tests.benchmarks.samples import INSTANCES, parsed, read
from tests.damage import DROP, changed
from tests.mentions import mentions

FIRST = "image 'HICO_test2015_00000001.jpg'"
XYXY = "[x1, y1, x2, y2]"
BROKEN = [
    ("verbs", DROP, "verbs: … 'annotation', 'filenames', 'size', 'empty', 'objects', 'correspondence', 'rare'"),
    ("objects", {}, "objects: … object of 0 … list"),
    ("objects.3", 7, "objects: item 4: … 7"),
    ("filenames", "x", "filenames: … 'x' … list"),
    ("filenames.0", 5, "filenames: item 1: … 5"),
    ("filenames.1", "HICO_test2015_00000001.jpg", "'HICO_test2015_00000001.jpg' twice"),
    ("filenames.0", DROP, "annotation: … 28 images … 27"),
    ("size.0", DROP, "sizes: … (27, 2) … (28, 2)"),
    ("size.0", [640], "size: item 1: … [640] … [width, height]"),
    ("size.0", [-640, 480], "record 1: sizes: … -640 x 480"),
    ("size", [side[::-1] for side in parsed(INSTANCES)["size"]], "images: … exchanged?"),
    ("correspondence", DROP, "correspondence: … only"),
    ("correspondence.4", [4, 0], "correspondence: item 5: … [4, 0] … [hoi, object, verb]"),
    ("correspondence.4.2", 1e30, "correspondence: item 5: … [4, 0, 1e+30] … [hoi, object, verb]"),
    ("size.3.1", 0.5, "size: item 4: … [640, 0.5] … [width, height]"),
    ("annotation.0", [], f"{FIRST}: … [] … 'boxes_h'"),
    ("annotation.0", None, f"{FIRST}: … None … 'boxes_h'"),
    ("annotation.0.hoi", DROP, f"{FIRST}: hoi: … 'boxes_h', 'boxes_o', 'object', 'verb'"),
    ("annotation.0.verb.0", DROP, f"{FIRST}: verb: … 1 … 2 … hoi"),
    ("annotation.0.hoi", "24", f"{FIRST}: hoi: … '24' … list"),
    ("annotation.0.hoi.1", "245", f"{FIRST}: triplet 2: hoi: … '245' … whole number"),
    ("annotation.0.verb.1", 0.5, f"{FIRST}: triplet 2: verb: … 0.5 … whole number"),
    ("annotation.0.verb.1", True, f"{FIRST}: triplet 2: verb: … True … whole number"),
    ("annotation.0.verb.1", 2**40, f"{FIRST}: triplet 2: verb: … 1099511627776 … whole number"),
    ("annotation.0.verb.1", 117, f"{FIRST}: triplet 2: verb: … 117 … 0 to 116"),
    ("annotation.0.object.1", -1, f"{FIRST}: triplet 2: object: … -1 … 0 to 79"),
    ("annotation.0.hoi.1", 600, f"{FIRST}: triplet 2: hoi: … 600 … 0 to 599"),
    ("annotation.0.hoi.1", 244, f"{FIRST}: triplet 2: hoi: … 244 … object 8 and verb 87"),
    # One that correspondence does not number any more.
    ("correspondence.245.0", 7, f"{FIRST}: triplet 1: hoi: … 245 … object 8 and verb 87"),
    ("annotation.0.boxes_h.1", [1, 2, 3], f"{FIRST}: triplet 2: boxes_h: … [1, 2, 3] … {XYXY}"),
    ("annotation.0.boxes_o.0", [1, 2, 3, "4"], f"{FIRST}: triplet 1: boxes_o: … [1, 2, 3, '4'] … {XYXY}"),
    ("annotation.0.boxes_o.0", [1, 2, 3, None], f"boxes_o: … [1, 2, 3, None] … {XYXY}"),
    ("annotation.0.boxes_o.0", [[1, 2, 3, 4]], f"boxes_o: … list of 1 … {XYXY}"),
    ("annotation.0.boxes_o.0", 7, f"triplet 1: boxes_o: … 7 … {XYXY}"),
    ("annotation.0.boxes_o.0", [9, 2, 3, 4], f"record 1 ({FIRST[6:]}): object box: … [9, 2, 3, 4] … x1, y1"),
    ("objects.8", "boat\x1b[2J", rf"{FIRST}: triplet 1: object: … 'boat\x1b[2J'"),
    ("verbs.87", "roe", "verb: … 'roe' … 117 verbs … row?"),
]


@pytest.mark.parametrize(("place", "value", "values"), BROKEN)
def test_a_broken_rule_is_named(tmp_path: Path, place: str, value: Any, values: str) -> None:
    keys = (int(key) if key.isdigit() else key for key in place.split("."))
    with pytest.raises(InputError, match=mentions(f"{tmp_path}/truth.json: … {values}")):
        read(tmp_path, changed(parsed(INSTANCES), *keys, value))


def test_sizes_are_not_needed(tmp_path: Path) -> None:
    document = parsed(INSTANCES)
    del document["size"]
    assert not read(tmp_path, document).interactions.sizes.any()


def test_the_files_own_word_lists_say_what_its_numbers_mean(tmp_path: Path) -> None:
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
