"""HICO-DET's ground truth, in every form that people have it in; which form a file has is seen from its content."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shoe.benchmarks import fields
from shoe.benchmarks.annotations import Annotations, in_words_of
from shoe.benchmarks.classes import HoiClasses, classes_of
from shoe.benchmarks.hico_det.bbox_mat import read_bbox_mat
from shoe.benchmarks.hico_det.image_labels import read_image_labels
from shoe.benchmarks.hico_det.instances import is_instances, read_instances
from shoe.benchmarks.hico_det.ppdm import is_ppdm, read_ppdm
from shoe.benchmarks.truth import GroundTruth
from shoe.core.errors import InputError, OptionError, quote
from shoe.core.interactions import Interactions
from shoe.io.files import parse_json, read_bytes
from shoe.io.matlab import is_matlab
from shoe.io.native import read_native

_ZIP_MAGIC = b"PK"
_FORMS = "instances_test2015.json (hicodet), test_hico.json (PPDM, QPIC, SG), anno_bbox.mat, or a native table (.npz)"


def read_ground_truth(
    path: str | Path,
    dataset: str = "hico-det",
    *,
    classes: HoiClasses | None = None,
    image_labels: str | Path | None = None,
    split: str | None = None,
) -> GroundTruth:
    """Read ground truth; all forms of the same annotations give the same table.

    Triplets and images keep the order of the file, and images without triplets stay listed. Only the PPDM/QPIC form
    does not say how large an image is. Boxes keep their file's numbers; the table
    says what these count (``Coordinates``).

    Args:
        path: ``instances_{test,train}2015.json``, ``test_hico.json`` and its relatives, ``anno_bbox.mat``, or a native
            table; JSON may be gzip-compressed.
        dataset: whose class numbers the file uses.
        classes: a class table that takes the place of the dataset's own.
        image_labels: the official ``anno.mat``, for the known-object setting with image labels.
        split: "test2015" or "train2015": which of them to take from a file that holds both ("test2015" unless told).

    Raises:
        InputError: naming file, image, field, what was found and what was expected.
        OptionError: for an unknown dataset, or a split that the file does not hold.
    """
    numbering = classes_of(dataset)
    classes = numbering if classes is None else classes
    annotations = _read(path, numbering, split)
    interactions = in_words_of(classes, annotations, path)
    found = _split(interactions.images, path)
    if split not in (None, found):
        raise OptionError(f"{path} holds no images of the split {quote(split)}; it holds {found}")
    labels = None if image_labels is None else read_image_labels(image_labels, interactions.images, classes, numbering)
    return GroundTruth(interactions, classes, found, labels, annotations.form, annotations.left_out)


def _read(path: str | Path, numbering: HoiClasses, split: str | None) -> Annotations:
    data = read_bytes(path)
    if data.startswith(_ZIP_MAGIC):
        return _from_table(read_native(path))
    if is_matlab(data):
        return read_bbox_mat(path, data, numbering, split)
    if data.lstrip()[:1] not in (b"[", b"{"):
        raise InputError(path, found=quote(data[:12]), expected=_FORMS)
    document = parse_json(path, data)
    if is_instances(document):
        return read_instances(document, path)
    if is_ppdm(document):
        return read_ppdm(document, path, numbering)
    keys = f" with {', '.join(map(quote, list(document)[:8]))}" if isinstance(document, dict) and document else ""
    raise InputError(path, found=fields.shown(document) + keys, expected=_FORMS)


def _from_table(table: Interactions) -> Annotations:
    return Annotations(
        form="native table",
        images=table.images,
        image=table.image.astype(np.int64),
        human_boxes=table.human_boxes,
        object_boxes=table.object_boxes,
        verbs=table.verbs,
        objects=table.objects,
        verb=table.verb.astype(np.int64),
        object=table.object.astype(np.int64),
        coordinates=table.coordinates,
        sizes=table.sizes.astype(np.int64),
    )


def _split(images: tuple[str, ...], path: str | Path) -> str:
    """The split that all image names name; the file's own name if they name several or none."""
    for split in ("test2015", "train2015"):
        if images and all(split in name for name in images):
            return split
    return Path(path).name.split(".", 1)[0]
