"""SWIG-HOI's exact-label protocols, whose "full" means are over different classes (docs/swig.md)."""

from dataclasses import replace

from shoe.core.coordinates import CommonCoordinates
from shoe.core.iou import Overlap
from shoe.protocols.named import DIAG
from shoe.protocols.options import StrictOptions, Ties

_THID = StrictOptions(
    protocol="swig-hoi",
    coordinates=CommonCoordinates.RAW,
    overlap=Overlap.CONTINUOUS,
    ties=Ties.REVERSED,
    class_cap=19_999,
    truthless="zero",
)

PROTOCOLS = {
    options.protocol: options for options in (_THID, replace(_THID, protocol="choir", cap=2_000, unseen="apart"), DIAG)
}
"""By name."""

ABOUT = {
    "swig-hoi": "THID's and INP-CC's evaluator: full is all 5,539 classes of the test set, unseen ones among them (5)",
    "choir": "CHOIR's evaluator: full is the 4,148 classes seen in training; the best 2,000 of an image (5)",
    "diag": "Diag-HOI's evaluator; classes without a true positive are skipped (8.5)",
}
"""One line a protocol, with its section in docs/protocols.md."""
