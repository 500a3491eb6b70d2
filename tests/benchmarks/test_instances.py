"""Files of fredzzhang/hicodet, and counts of ground truth files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoe.benchmarks import benchmark
from shoe.benchmarks.summary import Counted, Differs, compare_with_published, statistics, summary
from shoe.benchmarks.truth import read_truth_file
from shoe.core.errors import InputError
from tests.benchmarks.samples import INSTANCES, PPDM_MIXED, parsed, read
from tests.damage import DROP, changed
from tests.mentions import mentions
from tests.present import present

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


# Counts of ground truth files


def test_the_sample_is_summed_up() -> None:
    facts = summary("instances.json", read_truth_file(INSTANCES)).to_dict()
    published = facts.pop("published")
    about = {"file": "instances.json", "format": "hicodet instances JSON", "dataset": "hico-det"}
    counts = {"images": 28, "empty_images": 2, "triplets": 95, "classes": 44, "rare_classes": 1, "non_rare_classes": 43}
    kinds = {"no_interaction_triplets": 19, "repeated_triplets": 0, "overlapping_triplets": 1}
    pairs = {"drawn": 95, "merged": 75, "merged_at": 0.5}
    others = {"split": "test2015/part", "pairs": pairs, "coordinates": {"pixels_1": 28}}
    assert facts == about | counts | kinds | others
    assert (published["split"], published["matches"]) == ("test2015", False)
    numbers = {"images": (28, 9658), "empty_images": (2, 112), "triplets": (95, 33405), "classes": (44, 600)}
    assert {name: (n["found"], n["published"]) for name, n in published["differs"].items()} == numbers


def test_a_split_that_nobody_published_is_compared_to_nothing() -> None:
    info = summary("", read_truth_file(PPDM_MIXED))
    assert (info.published, info.coordinates) == (None, {"pixels_0": 14, "pixels_1": 6})


def test_images_left_out_are_counted_only_where_there_are_some(tmp_path: Path) -> None:
    records = parsed(PPDM_MIXED)
    records[0]["hoi_annotation"][0]["object_id"] = 99
    assert summary("", read(tmp_path, records)).left_out_images == 1
    assert summary("", read_truth_file(PPDM_MIXED)).left_out_images is None


def test_statistics_count_every_triplet_once() -> None:
    truth = read_truth_file(INSTANCES)
    counts = statistics("", truth)
    by_kind: tuple[Sequence[Counted], ...] = (counts.classes, counts.verbs, counts.objects)
    assert [len(rows) for rows in by_kind] == [600, 117, 80]
    for rows in by_kind:
        triplets = [row.triplets for row in rows]
        assert sum(triplets) == 95
        assert triplets == sorted(triplets, reverse=True)
        assert all(row.images <= row.triplets for row in rows)
    assert sum(row.rare for row in counts.classes) == 138
    horse = next(row for row in counts.objects if row.name == "horse")
    shown = np.unique(truth.interactions.image[truth.interactions.object == truth.classes.objects.index("horse")])
    assert horse.images == len(shown)


def test_a_split_is_known_by_its_size_when_its_name_says_nothing() -> None:
    counts = {"images": 7656, "empty_images": 0, "triplets": 14811, "classes": 60}
    hico_det = benchmark("hico-det")
    found, other = (compare_with_published(hico_det, name, counts) for name in ("my_copy", "test_hico_sg1"))
    assert found is not None
    assert (found.split, found.matches, found.differs) == ("test_hico_sg2", True, {})
    assert compare_with_published(hico_det, "my_copy", counts | {"triplets": 14810}) is None
    assert present(other).differs == {"images": Differs(7656, 8515), "triplets": Differs(14811, 14475)}


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("file", "split"),
    [
        ("hico_det/instances_test2015.json", "test2015"),
        *((f"hico_det_sg/test_hico_sg{i}.json.gz", f"test_hico_sg{i}") for i in (1, 2, 3)),
    ],
)
def test_the_real_files_match_what_was_published(shared_data: Path, file: str, split: str) -> None:
    published = summary(file, read_truth_file(shared_data / file)).published
    assert published is not None
    assert (published.split, published.matches, published.differs) == (split, True, {})
