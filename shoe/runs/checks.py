"""What a run must have to be believed: what can be computed again from the file itself is, and has to agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite

import numpy as np

from shoe.core.errors import quote
from shoe.protocols.signature import Signature
from shoe.runs.run import OF_RUN, Run
from shoe.scoring.score import SEMANTIC_FACTS

_LONGEST = 500
_FACTS = ("shoe", "data", "split", "images", "truths", "truth-sha", "class-list", "class-list-sha", *OF_RUN)


class DamagedError(ValueError):
    """Something in a run cannot have been written by shoe; its text says what."""


def check_facts(facts: Mapping[str, str]) -> None:
    """Facts have to be there, and plain.

    Raises:
        DamagedError: naming the one that is not.
    """
    missing = next((name for name in _FACTS if name not in facts), None)
    if missing is not None:
        raise DamagedError(f"no {missing} among its facts")
    check_plain("fact", [*facts, *facts.values()])


def check_plain(what: str, texts: Iterable[str]) -> None:
    """Texts that are shown have to be printable and short.

    Raises:
        DamagedError: naming the one that is not.
    """
    for text in texts:
        if not text.isprintable() or len(text) > _LONGEST:
            raise DamagedError(f"the {what} {quote(text)}, which is no plain text of at most {_LONGEST} characters")


def check_signature(text: str, facts: Mapping[str, str], *options: Mapping[str, str], strict: bool = False) -> None:
    """A signature has to be that of facts and options.

    ``options`` are settings in the signature's order; ``strict``: it is that of one strict protocol, which no map
    moves.

    Raises:
        DamagedError: if it is another one.
    """
    left_out = (*OF_RUN, *(SEMANTIC_FACTS if strict else ()))
    items = {name: value for name, value in facts.items() if name not in left_out}
    for each in options:
        items |= each
    if text != str(Signature(tuple(items.items()))):
        raise DamagedError("a signature that is not the one of its facts and options")


def check_run(run: Run) -> None:
    """Parts of a run have to agree with each other.

    Raises:
        DamagedError: naming what does not.
    """
    if not run.all_parts:
        raise DamagedError("no protocol")
    protocols = [each.options.protocol for each in run.strict]
    protocols += [each.options.protocol for each in run.by_person]
    check_plain("protocol", protocols + ([run.semantic.options.protocol] if run.semantic else []))
    if len(set(protocols)) < len(protocols) or any(":" in name for name in protocols):
        raise DamagedError("a protocol twice, or with a colon in its name")
    if len(set(run.images)) < len(run.images):
        raise DamagedError("an image twice")
    counts = {"images": len(run.images), "class-list": len(run.classes)}
    if run.truth is not None:
        counts["truths"] = len(run.truth[0])
    for name, number in counts.items():
        if run.facts[name] != str(number):
            raise DamagedError(f"{quote(run.facts[name])} {name} by its facts, {number} in it")
    if not run.facts["predictions"].isdecimal():
        raise DamagedError(f"{quote(run.facts['predictions'])} predictions")
    if run.classes.digest != run.facts["class-list-sha"]:
        raise DamagedError("another class table than its facts say")
    split = {"class-split": run.class_split.name, "class-split-sha": run.class_split.digest} if run.class_split else {}
    if any(run.facts.get(name) != split.get(name) for name in ("class-split", "class-split-sha")):
        raise DamagedError("another class split than its facts say")
    if run.semantic is not None and run.absent:
        raise DamagedError("a part that is both absent and there")
    for part in run.parts.values():
        if run.truth and not all(map(np.array_equal, run.truth, (part.truth_category, part.truth_image))):
            raise DamagedError("ground truths that are not the same in all its parts")
    check_plain("name", [run.name])
    for of in run.by_person:
        check_plain("action", [*of.names, of.left_out])
    if run.class_split is not None:
        check_plain("class split", [*run.class_split.parts, run.class_split.source, run.class_split.about])
    check_plain("reason", [*(run.absent or {}), *(run.absent or {}).values()])
    if run.spread is not None:
        check_plain("rater", run.spread.raters)
        if len(run.spread.raters) < 2 or not all(0 <= value <= 1 for value in run.spread.raters.values()):
            raise DamagedError("raters that are fewer than two, or whose figures are outside 0 to 1")
    if run.interval is not None:
        ends = [pair for pair in (run.interval.map, run.interval.mf1) if pair is not None]
        if run.interval.unrated_pairs < 0 or not all(low <= high and isfinite(high - low) for low, high in ends):
            raise DamagedError("an interval with ends that are no figures")
