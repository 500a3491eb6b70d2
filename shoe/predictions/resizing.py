"""Sizes of images as models saw them: the rules by which preprocessors resize, as ``--boxes`` names them.

``smart`` is the rule of Qwen2-VL's image processor (``smart_resize`` in transformers, image_processing_qwen2_vl.py):
both sides become multiples of a factor and, where their product leaves a range of pixels, are scaled into it first.
"""

from __future__ import annotations

import re

import numpy as np

from shoe.core.arrays import Floats

SCALES = {
    "resized:WxH": "pixels of the image resized to W x H",
    "resized:max=N": "pixels of the image resized so that its longer side is N",
    "resized:multiple=N": "pixels of the image whose sides were rounded to multiples of N",
    "resized:smart=N": "pixels of the image as Qwen-VL's processors resize it: N is 28 (Qwen2-VL, 2.5) or 32 (3)",
    "resized:smart=N:MIN:MAX": "the same with other min_pixels and max_pixels than the models' own",
}
_FIXED = re.compile(r"resized:([1-9]\d{0,4})x([1-9]\d{0,4})")
_RULE = re.compile(r"resized:(max|multiple)=([1-9]\d{0,4})")
_SMART = re.compile(r"resized:smart=([1-9]\d{0,3})(?::([1-9]\d{0,8}):([1-9]\d{0,8}))?")
# What the checkpoints' preprocessor_config.json say, in units of the factor squared: Qwen3-VL's lower end is 65,536.
_FEWEST, _MOST = {32: 64}, 16384
_USUAL_FEWEST = 4


def is_resizing(word: str) -> bool:
    """Tell whether a word names a rule."""
    if smart := _SMART.fullmatch(word):
        return smart[2] is None or int(smart[2]) <= int(smart[3])
    return bool(_FIXED.fullmatch(word) or _RULE.fullmatch(word))


def resized(word: str, sizes: Floats) -> Floats:
    """Resize (n, 2) widths and heights in pixels by the rule that a word names.

    Returns:
        (n, 2) or, where all images get one size, (2,).
    """
    if fixed := _FIXED.fullmatch(word):
        return np.array([float(fixed[1]), float(fixed[2])])
    if smart := _SMART.fullmatch(word):
        factor = int(smart[1])
        fewest = int(smart[2] or _FEWEST.get(factor, _USUAL_FEWEST) * factor**2)
        return _smart(sizes, factor, fewest, int(smart[3] or _MOST * factor**2))
    kind, _, number = word.removeprefix("resized:").partition("=")
    n = float(number)
    if kind == "max":
        fitted: Floats = np.maximum(np.rint(sizes * (n / sizes.max(axis=1, keepdims=True))), 1)
        return fitted
    rounded: Floats = np.maximum(np.rint(sizes / n) * n, n)
    return rounded


def _smart(sizes: Floats, factor: int, fewest: int, most: int) -> Floats:
    """(n, 2) sides as multiples of a factor, with ``fewest`` to ``most`` pixels."""
    pixels = sizes.prod(axis=1, keepdims=True)
    fitted = np.rint(sizes / factor) * factor
    area = fitted.prod(axis=1, keepdims=True)
    smaller = np.maximum(np.floor(sizes / np.sqrt(pixels / most) / factor) * factor, factor)
    larger = np.ceil(sizes * np.sqrt(fewest / pixels) / factor) * factor
    chosen: Floats = np.where(area > most, smaller, np.where(area < fewest, larger, fitted))
    return chosen
