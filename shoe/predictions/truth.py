"""Ground truth, and what else shoe knows where ground truth is wanted: told as what it is."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from shoe.benchmarks import DEFAULT, benchmark, truth
from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.classes import HoiClasses
from shoe.benchmarks.truth import GroundTruth
from shoe.core.errors import InputError
from shoe.predictions.formats.registry import SWAPPED, recognised, refuse_others
from shoe.predictions.source import open_source


def read_ground_truth(
    path: str | Path,
    dataset: str | Benchmark = DEFAULT,
    *,
    classes: HoiClasses | None = None,
    image_labels: str | Path | None = None,
    split: str | None = None,
) -> GroundTruth:
    """Read ground truth; all formats of the same annotations give the same table.

    >>> import shoe.demo
    >>> truth = read_ground_truth(shoe.demo.TRUTH)
    >>> truth.classes.name, len(truth.classes), truth.split
    ('hico-det', 600, 'test2015')

    Triplets and images keep the order of the file, and images without triplets stay listed. Boxes keep their file's
    numbers; the table says what these count (``Coordinates``). Of HICO-DET's formats only PPDM's and QPIC's does not
    say how large an image is.

    Args:
        path: a file of one of the benchmark's formats, seen from its content (HICO-DET:
            ``instances_{test,train}2015.json``, ``test_hico.json`` and its relatives, ``anno_bbox.mat``), or a native
            table (.npz); JSON may be gzip-compressed.
        dataset: whose ground truth it is: a benchmark, or its name.
        classes: a class table that takes the place of the benchmark's own.
        image_labels: a file of image-level labels, for the known-object setting (HICO-DET: the official ``anno.mat``).
        split: which split to take from a file that holds several (HICO-DET: "test2015" unless told); or the name of a
            split of the classes, whose parts then have figures of their own ("rf-uc": unseen and seen classes), or a
            file that names the unseen ones, one on each line.

    Raises:
        InputError: naming file, image, field, what was found and what was expected; predictions, maps and
            V-COCO's annotations are told as what they are.
        OptionError: for an unknown benchmark, or a split that is no class split and that the file does not hold.
    """
    try:
        return truth.read_ground_truth(path, dataset, classes=classes, image_labels=image_labels, split=split)
    except InputError as error:
        if error.source != str(path):
            raise
        of = benchmark(dataset)
        expected = f"ground truth of {of.name}"
        source = known = None
        with suppress(InputError):
            source = open_source(path, of)
            known = recognised(source)
        if source is not None:
            refuse_others(source, expected)
        if known is None:
            raise
        found = f"predictions (format {known.name})"
        raise InputError(path, found=found, expected=expected, hint=SWAPPED) from None
