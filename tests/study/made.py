"""Pictures for studies: drawn scenes of a person and a thing, and the ground truth that they illustrate."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoe.benchmarks import benchmark
from shoe.core.interactions import Interactions
from shoe.core.io.native import write_native

SIZE = (320, 240)
HUMAN, THING = (30.0, 30.0, 130.0, 220.0), (110.0, 120.0, 300.0, 210.0)


def scene(path: Path, words: str, size: Sequence[int] = SIZE, boxes: tuple[Any, Any] = (HUMAN, THING)) -> None:
    """Draw a person and a thing in their boxes, in colours that follow from the words, which stand on it."""
    image, draw = pytest.importorskip("PIL.Image"), pytest.importorskip("PIL.ImageDraw")
    shade = sum(map(ord, words)) % 90
    made = image.new("RGB", size, (150 + shade, 190, 235 - shade))
    on = draw.Draw(made)
    on.rectangle((0, size[1] * 0.7, *size), fill=(110, 150 - shade, 90))
    (x1, y1, x2, y2), thing = boxes
    width, neck = x2 - x1, y1 + (y2 - y1) * 0.3
    on.ellipse(thing, fill=(200 - shade, 80 + shade, 60))
    on.ellipse((x1 + width * 0.3, y1, x1 + width * 0.7, neck), fill=(230, 190, 160))
    on.polygon([(x1 + width / 2, neck - 4), (x2, y2), (x1, y2)], fill=(50, 70 + shade, 140))
    on.text((thing[0] + 8, (thing[1] + thing[3]) / 2 - 5), words, fill="white")
    made.save(path, quality=85)


def written(folder: Path, *lines: str) -> Path:
    path = folder / "answers.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def illustrated(folder: Path) -> tuple[Path, Path]:
    """A ground truth of HICO-DET with one picture of each class, and the folder of the pictures."""
    classes, images = benchmark("hico-det").classes, folder / "images"
    images.mkdir()
    names = [f"HICO_test2015_{k + 1:08d}.jpg" for k in range(len(classes))]
    for name, label in zip(names, classes.labels, strict=True):
        scene(images / name, label)
    table = Interactions.from_columns(
        images=names, image=range(len(classes)), human_boxes=np.tile(HUMAN, (len(classes), 1)),
        object_boxes=np.tile(THING, (len(classes), 1)), verb=classes.verb, object=classes.object,
        verbs=classes.verbs, objects=classes.objects, sizes=np.tile(SIZE, (len(classes), 1)),
    )  # fmt: skip
    write_native(table, folder / "truth.npz")
    return folder / "truth.npz", images
