from importlib.resources import files
from pathlib import Path

import numpy as np
import orjson
import pytest

from shoe.benchmarks import benchmark
from shoe.benchmarks.classes import coco_categories, read_classes
from shoe.benchmarks.truth import read_truth_file
from shoe.core.errors import InputError, OptionError
from tests.benchmarks.samples import INSTANCES, parsed
from tests.mentions import mentions

HEADER = "verb\tobject\tgerund\tverb_synset\tobject_synset\trare"

USUAL = benchmark("hico-det").classes


def test_hico_det_has_its_classes_in_the_order_of_its_files() -> None:
    classes, document = USUAL, parsed(INSTANCES)
    assert (len(classes), len(classes.verbs), len(classes.objects)) == (600, 117, 80)
    assert (list(classes.verbs), list(classes.objects)) == (document["verbs"], document["objects"])
    rows = np.column_stack([np.arange(600), classes.object, classes.verb])
    assert rows.tolist() == document["correspondence"]
    assert np.flatnonzero(classes.rare).tolist() == sorted(document["rare"])
    assert classes.of[classes.verb, classes.object].tolist() == list(range(600))
    assert (classes.of >= 0).sum() == 600
    assert classes.labels[139] == "ride horse"


def test_no_interaction_has_no_verb_synset_and_everything_else_has() -> None:
    assert USUAL.no_interaction.sum() == 80
    assert [not synset for synset in USUAL.verb_synsets] == USUAL.no_interaction.tolist()
    assert all(USUAL.object_synsets)
    assert len(set(USUAL.verb_synsets) - {""}) == 119


def test_coco_categories_are_80_of_90() -> None:
    categories = coco_categories()
    assert (len(categories), min(categories), max(categories)) == (80, 1, 90)
    assert set(categories.values()) == set(USUAL.objects)
    assert (categories[1], categories[19], categories[90]) == ("person", "horse", "toothbrush")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", "line 1: … '' … verb"),
        ("verb,object", "line 1: … 'verb,object'"),
        (f"{HEADER}\nride\thorse", "line 2: … 'ride\\thorse' … six fields"),
        (f"{HEADER}\nride\thorse\t\t\t\tyes", "six fields … ''"),
        (f"{HEADER}\nride\thorse\t\t\t\t\nride\thorse\t\t\t\t", "class twice"),
        (HEADER, "no classes"),
        (f"{HEADER}\neat\thot dog\t\t\t\t\nhold\tHot_Dog\t\t\t\t", "line 3: object: … 'Hot_Dog' … 'hot dog'"),
        (f"{HEADER}\nsit_on\tbench\t\t\t\t\nsit-on\tchair\t\t\t\t", "line 3: verb: … 'sit-on' … 'sit_on'"),
        (f"{HEADER}\nride\thorse\t\tride.v.01\thorze.n.01\t",
         "line 2: object_synset: … 'horze.n.01' … WordNet 3.0 … airplane.n.01 … horse.n.01?"),
        (f"{HEADER}\nride\thorse\t\tride.v.99\thorse.n.01\t", "line 2: verb_synset: … 'ride.v.99'"),
        (f"{HEADER}\nride\thorse\t\tride.n.01\thorse.n.01\t", "line 2: verb_synset: … 'ride.n.01'"),
    ],
)  # fmt: skip
def test_a_broken_class_table_is_refused(tmp_path: Path, text: str, values: str) -> None:
    (tmp_path / "classes.tsv").write_text(text)
    with pytest.raises(InputError, match=mentions(values)):
        read_classes(tmp_path / "classes.tsv", USUAL)


def test_a_table_is_told_apart_by_its_content(tmp_path: Path) -> None:
    packaged = (files("shoe.benchmarks") / "hico_det" / "classes.tsv").read_text("utf-8")
    line = f"{HEADER}\nride\thorse\triding\tride.v.0{{}}\thorse.n.01\trare"
    found = []
    for text in (packaged, line.format(1), line.format(2)):
        (tmp_path / "classes.tsv").write_text(text)
        found.append(read_classes(tmp_path / "classes.tsv", USUAL))
    assert [each.digest == USUAL.digest for each in found] == [True, False, False]
    assert found[1].digest != found[2].digest
    assert found[1].rare.tolist() == [True]


def test_a_class_table_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "classes.tsv").write_bytes(b"\xff\xfe")
    for path, values in (
        (tmp_path / "classes.tsv", "UTF-8 … class table"),
        (tmp_path / "class.tsv", "class.tsv: … classes.tsv?"),
        (tmp_path, f"{tmp_path}: … folder"),
    ):
        with pytest.raises(InputError, match=mentions(values)):
            read_classes(path, USUAL)


def test_an_unknown_dataset_is_answered_with_the_nearest() -> None:
    for ask in (benchmark, lambda name: read_truth_file(INSTANCES, name)):
        with pytest.raises(OptionError, match=mentions("dataset 'hicodet' … hico-det?")):
            ask("hicodet")


@pytest.mark.real_data
def test_the_packaged_synsets_are_the_datasets_own(shared_data: Path) -> None:
    info = orjson.loads((shared_data / "hico_det" / "hoi_info.json").read_bytes())
    for k, synset in enumerate(USUAL.verb_synsets):
        (entry,) = info[f"{k + 1:03d}"]
        verb = USUAL.verb[k]
        words = USUAL.objects[USUAL.object[k]], USUAL.verbs[verb], USUAL.gerunds[verb]
        assert tuple(entry[of] for of in ("synset", "obj_class", "action", "action_gerund")) == (synset, *words)
