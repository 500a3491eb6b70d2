from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from shoe.benchmarks import benchmark
from shoe.benchmarks.summary import Counted, Differs, compare_with_published, statistics, summary
from shoe.benchmarks.truth import read_truth_file
from tests.benchmarks.samples import INSTANCES, PPDM_MIXED, parsed, read
from tests.present import present


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
