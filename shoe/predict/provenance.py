"""The first line of a file of predictions: every choice that they rest on, as data and in one sentence."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from shoe.llm.ledger import canonical
from shoe.predict.backend import BackendConfig
from shoe.predict.lines import VERSION
from shoe.predict.pairs import PairRule
from shoe.predict.records import Paired
from shoe.predict.scored import Scoring
from shoe.predict.visual import Visual
from shoe.predict.ways import Way
from shoe.version import __version__

_FORM = "shoe predictions"
_DIGEST_BYTES = 8


def how_asked(way: Way, visual: Visual, config: BackendConfig, scoring: Scoring) -> dict[str, Any]:
    """The choices from the prompt on, JSON."""
    return {
        "visual": msgspec.to_builtins(visual),
        "ask": {"way": way.name, "prompt": way.digest, "rounds": way.rounds, "seed": way.seed},
        "model": config.identity(),
        "confidence": {"policy": scoring.policy, "power": scoring.power},
    }


def how_paired(boxes: Mapping[str, Any], rule: str, settings: PairRule, paired: Iterable[Paired]) -> dict[str, Any]:
    """The choices up to the pairs, JSON, and what came of them: 16 hex digits of all pairs."""
    pairs = {"rule": rule, **msgspec.to_builtins(settings)}
    return {"boxes": dict(boxes), "pairs": pairs, "paired": digest_of(paired)}


def digest_of(paired: Iterable[Paired]) -> str:
    """16 hex digits of the pairs of pictures."""
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for record in paired:
        digest.update(canonical(msgspec.to_builtins(record)))
    return digest.hexdigest()


def sentence(by: Mapping[str, Any]) -> str:
    """Say what matters most of all choices.

    Args:
        by: of :func:`how_paired`, unless whole pictures were asked about, and :func:`how_asked`.
    """
    model, way, confidence = by["model"], by["ask"]["way"], by["confidence"]
    said = []
    if "pairs" in by:
        boxes = by["boxes"]
        source = boxes.get("detector") or boxes.get("file") or "a file of pairs"
        threshold = f" from {boxes['threshold']}" if "threshold" in boxes else ""
        marks = "+".join(by["visual"]["marks"]) or "none"
        said = [f"boxes of {source}{threshold}", f"pairs by {by['pairs']['rule']}", f"shown by {marks}"]
    power = f" x detections^{confidence['power']:g}" if "pairs" in by and confidence["policy"] != "none" else ""
    return ", ".join(
        [*said, f"{Path(model['model']).name} asked by {way}", f"confidence {confidence['policy']}{power}"]
    )


def first_line_of(by: Mapping[str, Any]) -> bytes:
    """Make the first line of a file of predictions.

    Args:
        by: all choices, JSON.
    """
    first = {"format": _FORM, "version": VERSION, "says": sentence(by), "by": {"shoe": __version__, **by}}
    return msgspec.json.encode(first) + b"\n"
