"""Read ground truth; predictions, similarity maps and other files given by mistake are recognised and refused."""

from contextlib import suppress
from pathlib import Path

from shoe.benchmarks import DEFAULT, benchmark, truth
from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.classes import HoiClasses
from shoe.benchmarks.truth import GroundTruth
from shoe.core.errors import InputError
from shoe.predictions.formats.matlab_cells import IMAGE_LABELS_VARIABLE, refuse_other_matlab
from shoe.predictions.formats.registry import SWAPPED_HINT, recognise, refuse_others
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
    ('hico-det', 600, 'test2015/part')

    Triplets and images keep the order of the file, and images without triplets stay listed. Box coordinates keep the
    numbers of the file; the table states their coordinate system (``Coordinates``). All formats of HICO-DET contain the
    image sizes, except the formats of PPDM and QPIC.

    Args:
        path: a file in a format of the benchmark, recognised by its content (HICO-DET:
            ``instances_{test,train}2015.json``, ``test_hico.json`` and similar files, ``anno_bbox.mat``), or a native
            table (.npz); JSON may be gzip-compressed.
        dataset: the benchmark of the ground truth, or its name.
        classes: class table that replaces the benchmark's own.
        image_labels: file of image-level labels, for the known-object setting (HICO-DET: the official ``anno.mat``).
        split: split to read from a file with several splits (HICO-DET: "test2015" by default). Or a class split, whose
            unseen and seen classes are evaluated separately: a name such as "rf-uc", or a file with an unseen class per
            line.

    Raises:
        InputError: naming the file, image and field, the value found and the value expected. For predictions,
            similarity maps and V-COCO annotations the message names the kind of file.
        OptionError: for an unknown benchmark, or a split that is neither a class split nor in the file.
    """
    try:
        return truth.read_truth_file(path, dataset, classes=classes, image_labels=image_labels, split=split)
    except InputError as error:
        if error.source != str(path):
            raise
        expected = f"ground truth of {benchmark(dataset).name}"
        source = known = None
        with suppress(InputError):
            source = open_source(path, benchmark(dataset))
            known = recognise(source)
        if source is not None:
            refuse_others(source, expected)
            if source.kind == "matlab":
                with_boxes = f"{expected} with boxes, as in anno_bbox.mat"
                refuse_other_matlab(source.path, source.data, with_boxes, [IMAGE_LABELS_VARIABLE])
        if known is None:
            raise
        found = f"predictions (format {known.name})"
        raise InputError(path, found=found, expected=expected, hint=SWAPPED_HINT) from None
