"""Every format of the same predictions is read into the same triplets."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from shoe.core.boxes import Coordinates
from shoe.predictions import read_predictions, read_predictions_with_notes
from tests.predictions import samples
from tests.predictions.reading import words

BY_CLASS = ("thid.pkl", "detections.mat")  # these keep triplets in the order of their classes


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_all_formats_are_recognised_by_their_content_and_hold_the_same_triplets(tmp_path: Path, name: str) -> None:
    table, sizes, nameless = samples.base(), samples.sizes(samples.base()), tmp_path / "predictions"
    nameless.write_bytes((samples.FOLDER / name).read_bytes())
    read, notes = read_predictions_with_notes(nameless, sizes=sizes)
    assert (notes.format, notes.triplets, notes.images) == (samples.SAMPLES[name], len(read), len(read.images))
    assert read_predictions(samples.FOLDER / name, format=samples.SAMPLES[name], sizes=sizes).equals(read)
    order = sorted if name in BY_CLASS else list
    assert name == "phrases.jsonl" or order(samples.rows(read)) == order(samples.rows(table))
    assert read.images == table.images
    assert (read.coordinates == (Coordinates.PIXELS_0 if name == "detections.mat" else Coordinates.CONTINUOUS)).all()


def test_phrases_are_split_into_verb_and_object() -> None:
    table, notes = read_predictions_with_notes(samples.FOLDER / "phrases.jsonl")
    expected = samples.base()
    gerund = dict(zip(samples.CLASSES.verbs, samples.CLASSES.gerunds, strict=True))
    spoken = ((gerund[verb].replace("_", " "), thing.replace("_", " ")) for verb, thing in words(expected))
    parsed = sum(said == right for said, right in zip(words(table), spoken, strict=True))
    assert parsed >= 0.9 * len(expected)
    assert (notes.scores_defaulted, table.score.tolist()) == (len(table), [1] * len(table))


def test_a_compressed_file_is_read_as_it_is(tmp_path: Path) -> None:
    packed = tmp_path / "qpic.json.gz"
    packed.write_bytes(gzip.compress((samples.FOLDER / "qpic.json").read_bytes()))
    assert read_predictions(packed).equals(read_predictions(samples.FOLDER / "qpic.json"))


def test_sizes_from_elsewhere_are_kept() -> None:
    table = samples.base()
    known = {table.images[1]: (640, 427)}
    read = read_predictions(samples.FOLDER / "qpic.json", sizes=known)
    assert np.array_equal(read.sizes[:2], [[0, 0], [640, 427]])
