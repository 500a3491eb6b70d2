"""HICO-DET's exact-label protocols: one an evaluator of the field (docs/protocols.md 0.3)."""

from dataclasses import replace

from shoe.core.coordinates import CommonCoordinates
from shoe.core.iou import Overlap
from shoe.protocols.named import DIAG
from shoe.protocols.options import Interpolation, StrictOptions, Ties

_OFFICIAL = StrictOptions(protocol="hico-det")
_PYTHON_FAMILY = StrictOptions(
    coordinates=CommonCoordinates.RAW, overlap=Overlap.PIXELS_CROSSING, ap=Interpolation.ELEVEN_ARANGE, cap=100
)

PROTOCOLS = {
    options.protocol: options
    for options in (
        _OFFICIAL,
        replace(_OFFICIAL, protocol="hico-det-known-object", known_object="labels"),
        replace(_PYTHON_FAMILY, protocol="ppdm", coordinates=CommonCoordinates.INDICES, cap=None),
        replace(_PYTHON_FAMILY, protocol="qpic", empty_images="ignore"),
        replace(_PYTHON_FAMILY, protocol="gen-vlkt", cap_ties="first-copies"),
        StrictOptions(
            protocol="upt",
            coordinates=CommonCoordinates.EDGES,
            overlap=Overlap.CONTINUOUS,
            threshold_at=">",
            ap=Interpolation.ELEVEN_LINSPACE,
            empty_images="ignore",
        ),
        StrictOptions(
            protocol="thid",
            coordinates=CommonCoordinates.RAW,
            overlap=Overlap.CONTINUOUS,
            ties=Ties.REVERSED,
            class_cap=19_999,
            no_interaction="exclude",
            truthless="zero",
        ),
        DIAG,
    )
}
"""By name."""

ABOUT = {
    "hico-det": "official Matlab script, default setting (1)",
    "hico-det-known-object": "official Matlab script, known-object setting (1)",
    "ppdm": "PPDM's Python evaluator (2.5)",
    "qpic": "QPIC's and CDN's Python evaluator, top 100; images without truth are ignored by its bug (2.2)",
    "gen-vlkt": "GEN-VLKT's Python evaluator, top 100; tied scores at the cut take one row twice by its bug (2.3)",
    "upt": "pocket, as SCG, UPT and PViC use it (3)",
    "thid": "THID's and INP-CC's evaluator, 520 classes (5)",
    "diag": "Diag-HOI's evaluator, 520 classes; classes without a true positive are skipped (8.5)",
}
"""One line a protocol, with its section in docs/protocols.md."""
