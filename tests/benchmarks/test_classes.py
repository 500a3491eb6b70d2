from importlib.resources import files
from pathlib import Path

import numpy as np
import orjson
import pytest

from shoe.benchmarks import benchmark
from shoe.benchmarks.classes import coco_categories, read_classes
from shoe.core.errors import InputError, OptionError
from tests.benchmarks.samples import INSTANCES, parsed

HEADER = "verb\tobject\tgerund\tverb_synset\tobject_synset\trare"

USUAL = benchmark("hico-det").classes


def test_hico_det_has_its_classes_in_the_order_of_its_files() -> None:
    classes = benchmark("hico-det").classes
    document = parsed(INSTANCES)
    assert (len(classes), len(classes.verbs), len(classes.objects)) == (600, 117, 80)
    assert list(classes.verbs) == document["verbs"]
    assert list(classes.objects) == document["objects"]
    rows = np.column_stack([np.arange(600), classes.object, classes.verb])
    assert rows.tolist() == document["correspondence"]
    assert np.flatnonzero(classes.rare).tolist() == sorted(document["rare"])
    assert classes.of[classes.verb, classes.object].tolist() == list(range(600))
    assert (classes.of >= 0).sum() == 600
    assert classes.labels[139] == "ride horse"


def test_no_interaction_has_no_verb_synset_and_everything_else_has() -> None:
    classes = benchmark("hico-det").classes
    assert classes.no_interaction.sum() == 80
    assert [not synset for synset in classes.verb_synsets] == classes.no_interaction.tolist()
    assert all(classes.object_synsets)
    assert len(set(classes.verb_synsets) - {""}) == 119


def test_coco_categories_are_80_of_90() -> None:
    categories = coco_categories()
    assert len(categories) == 80
    assert (min(categories), max(categories)) == (1, 90)
    assert set(categories.values()) == set(benchmark("hico-det").classes.objects)
    assert (categories[1], categories[19], categories[90]) == ("person", "horse", "toothbrush")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: found '', expected verb"),
        ("verb,object", "line 1: found 'verb,object', expected"),
        (f"{HEADER}\nride\thorse", "line 2: found 'ride\\thorse', expected six fields"),
        (f"{HEADER}\nride\thorse\t\t\t\tyes", "expected six fields, the last: ''"),
        (
            f"{HEADER}\nride\thorse\t\t\t\t\nride\thorse\t\t\t\t",
            "found a class twice, expected each verb and object pair",
        ),
        (HEADER, "found no classes, expected one line per class below the header"),
        (
            f"{HEADER}\neat\thot dog\t\t\t\t\nhold\tHot_Dog\t\t\t\t",
            "line 3: object: found 'Hot_Dog', expected 'hot dog' as in another line",
        ),
        (
            f"{HEADER}\nsit_on\tbench\t\t\t\t\nsit-on\tchair\t\t\t\t",
            "line 3: verb: found 'sit-on', expected 'sit_on' as",
        ),
        (
            f"{HEADER}\nride\thorse\t\tride.v.01\thorze.n.01\t",
            "line 2: object_synset: found 'horze.n.01', expected a noun of WordNet 3.0, such as airplane.n.01, "
            "or an empty cell (did you mean horse.n.01?)",
        ),
        (f"{HEADER}\nride\thorse\t\tride.v.99\thorse.n.01\t", "line 2: verb_synset: found 'ride.v.99', expected"),
        (f"{HEADER}\nride\thorse\t\tride.n.01\thorse.n.01\t", "line 2: verb_synset: found 'ride.n.01', expected"),
    ],
)
def test_a_broken_class_table_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "classes.tsv").write_text(text)
    with pytest.raises(InputError) as raised:
        read_classes(tmp_path / "classes.tsv", USUAL)
    assert message in str(raised.value)


def test_the_packaged_table_passes_as_a_file(tmp_path: Path) -> None:
    packaged = files("shoe.benchmarks") / "hico_det" / "classes.tsv"
    (tmp_path / "classes.tsv").write_bytes(packaged.read_bytes())
    assert read_classes(tmp_path / "classes.tsv", USUAL).digest == benchmark("hico-det").classes.digest


def test_a_class_table_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "classes.tsv").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="found bytes that are not UTF-8, expected a tab-separated class table"):
        read_classes(tmp_path / "classes.tsv", USUAL)
    with pytest.raises(InputError, match=r"found no such file, expected a file \(did you mean classes.tsv\?\)"):
        read_classes(tmp_path / "class.tsv", USUAL)
    with pytest.raises(InputError, match="found a folder"):
        read_classes(tmp_path, USUAL)


def test_a_table_is_told_apart_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(f"{HEADER}\nride\thorse\triding\tride.v.01\thorse.n.01\trare")
    (tmp_path / "b.tsv").write_text(f"{HEADER}\nride\thorse\triding\tride.v.02\thorse.n.01\trare")
    a, b = (read_classes(tmp_path / name, USUAL) for name in ("a.tsv", "b.tsv"))
    assert a.digest != b.digest
    assert a.rare.tolist() == [True]


def test_an_unknown_dataset_is_answered_with_the_nearest() -> None:
    with pytest.raises(OptionError, match=r"unknown dataset 'hicodet' \(did you mean hico-det\?\)"):
        benchmark("hicodet")


@pytest.mark.real_data
def test_the_packaged_synsets_are_the_datasets_own(shared_data: Path) -> None:
    info = orjson.loads((shared_data / "hico_det" / "hoi_info.json").read_bytes())
    classes = benchmark("hico-det").classes
    for k, synset in enumerate(classes.verb_synsets):
        (entry,) = info[f"{k + 1:03d}"]
        assert (entry["synset"], entry["obj_class"]) == (synset, classes.objects[classes.object[k]])
        assert (entry["action"], entry["action_gerund"]) == (
            classes.verbs[classes.verb[k]],
            classes.gerunds[classes.verb[k]],
        )
