"""HICO-DET's training set as HAKE writes it: ``hico-det-training-set-instance-level.json``, or the archive with it.

One object with an entry for each image, by its file name: triplets with the HOI's number from 1, two boxes, the
image's size, and states of body parts, which are not read. Boxes are the official ones, pixel indices counted from 1:
they are those of PPDM's and the SG files plus 1. Images without a triplet are there, with an empty list.
"""

import io
import re
import tarfile
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta, Struct

from shoe.benchmarks.base import Benchmark, TruthFormat
from shoe.benchmarks.checks import check_range
from shoe.core.coordinates import Coordinates
from shoe.core.errors import InputError, quote
from shoe.core.rows import Rows
from shoe.io.json import parse_json
from shoe.io.typed import Box, Whole, explained

_TAR_MAGIC = slice(257, 262), b"ustar"


class _Triplet(Struct, gc=False):
    hoi_id: Whole
    human_bbox: Box
    object_bbox: Box
    width: Whole
    height: Whole


class _Image(Struct, gc=False):
    labels: Annotated[list[_Triplet], Meta(extra={"item": "triplet"})]


def is_hake(data: bytes) -> bool:
    """Tell whether a file is an object of images with HAKE's labels, or an archive of one file that is."""
    data = _unpacked(data)
    return re.match(rb'\s*\{\s*"[^"]+"\s*:\s*\{', data) is not None and b'"labels"' in data and b'"human_bbox"' in data


def read_hake(path: str | Path, data: bytes, benchmark: Benchmark, _split: str | None) -> Rows:
    """Read a file; :class:`shoe.benchmarks.base.TruthFormat` says what the arguments are.

    Raises:
        InputError: naming the image and field that break the format.
    """
    document = parse_json(path, _unpacked(data))
    images: list[str] = []
    entries: list[_Image] = []
    for name, entry in document.items():
        record = f"image {quote(name)}"
        try:
            images.append(benchmark.image_name(name))
            entries.append(msgspec.convert(entry, _Image))
        except msgspec.ValidationError as error:
            raise explained(path, error, entry, _Image, record=record) from None
        except ValueError:
            raise InputError(path, record=record, found=quote(name), expected="the name of an image") from None
    image = np.repeat(np.arange(len(images)), [len(entry.labels) for entry in entries])
    triplets = [triplet for entry in entries for triplet in entry.labels]
    hoi = np.array([triplet.hoi_id for triplet in triplets], np.float64).astype(np.int64)
    check_range(path, (images, image), "hoi_id", hoi, len(benchmark.classes), first=1)
    sizes = [(entry.labels[0].width, entry.labels[0].height) if entry.labels else (0, 0) for entry in entries]
    return Rows(
        images=images,
        image=image,
        human_boxes=np.array([triplet.human_bbox for triplet in triplets], np.float64).reshape(-1, 4),
        object_boxes=np.array([triplet.object_bbox for triplet in triplets], np.float64).reshape(-1, 4),
        **benchmark.classes.columns_of(hoi - 1),
        coordinates=np.full(len(images), Coordinates.PIXELS_1, np.uint8),
        sizes=np.array(sizes, np.float64).reshape(-1, 2),
    )


def _unpacked(data: bytes) -> bytes:
    """The first JSON of an archive, as HAKE is handed out; other data, and archives without one, as they are."""
    where, magic = _TAR_MAGIC
    if data[where] != magic:
        return data
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                content = archive.extractfile(member) if member.name.endswith(".json") else None
                if content is not None:
                    return content.read()
    except (tarfile.TarError, EOFError, OSError, ValueError):
        pass
    return data


FORMAT = TruthFormat("HAKE instance-level JSON", "hico-det-instance-level.tar.gz (HAKE)", is_hake, read_hake)
