"""Scores of interaction alone, which triplets in the form of QPIC may have beside their own: ``action_score``.

Diag-HOI's toolbox asks for them: what a model thinks of the verb *given the boxes*, without the scores of detection.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from shoe.benchmarks import benchmark, fields
from shoe.core.arrays import Floats
from shoe.core.errors import InputError
from shoe.io.files import read_bytes
from shoe.predictions.qpic import HOIS, is_gen_vlkt, is_ppdm, is_qpic, records_of
from shoe.predictions.source import Source, collection_paused, open_source

_FIELD = "action_score"


def read_action_scores(path: str | Path, *, dataset: str = "hico-det") -> Floats | None:
    """Read the ``action_score`` of triplets in a file of QPIC, CDN, GEN-VLKT or PPDM.

    Args:
        path: the file.
        dataset: whose class numbers the file uses.

    Returns:
        (n,) in the order of the rows that ``read_predictions`` gives; None where the file has none, or another form.

    Raises:
        InputError: naming the triplet that has no score, or one that is no finite number, while others have one.
    """
    if not Path(path).is_file() or _FIELD.encode() not in read_bytes(path):
        return None
    with collection_paused():
        source = open_source(path, benchmark(dataset).classes, None)
        if source.kind != "document" or not (is_qpic(source) or is_gen_vlkt(source) or is_ppdm(source)):
            return None
        return _read(source)


def _read(source: Source) -> Floats | None:
    records = records_of(source)
    try:
        triplets = fields.flat([record[HOIS] for record in records])
        if not any(_FIELD in triplet for triplet in triplets):
            return None
        scores = fields.number_column([triplet[_FIELD] for triplet in triplets])
        if not np.isfinite(scores).all():
            raise ValueError
    except (TypeError, KeyError, ValueError, OverflowError):
        _explain(source, records)
    return scores


def _explain(source: Source, records: Sequence[Any]) -> NoReturn:
    """Raise the error of the first place that breaks the form."""
    path = source.path
    for number, record in enumerate(records):
        where = source.place(number)
        for i, triplet in enumerate(fields.take(path, where, record, HOIS, list)):
            place = f"{where}: triplet {i}"
            value = fields.take(path, place, triplet, _FIELD, object)
            if type(value) not in (int, float) or not np.isfinite(float(value)):
                found = fields.shown(value)
                raise InputError(path, record=place, field=_FIELD, found=found, expected="a finite number")
    fields.unexplained(path, f"triplets with {_FIELD}")
