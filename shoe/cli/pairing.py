"""The first half of ``shoe predict``: boxes and pairs of pictures, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoe.predict.choices import Choices
    from shoe.predict.detector import DetectorConfig
    from shoe.predict.images import Picture
    from shoe.predict.pairs import Pairs
    from shoe.predict.parts import Files


def find_pairs(
    pictures: Sequence[Picture],
    every: Sequence[Picture],
    choices: Choices,
    pairs: Path | None,
    files: Files,
    say: Callable[[str], None],
) -> Pairs | None:
    """Return the pairs that are asked about; None if whole pictures are.

    Args:
        pictures: pictures of the run, or of its part.
        every: pictures of all parts, which files from elsewhere are about.
        choices: settings of the run.
        pairs: file of pairs in place of boxes and a rule.
        files: files in which boxes and pairs are kept.
        say: callback for a line to the user.
    """
    from shoe.predict.detection_files import boxes_of
    from shoe.predict.pairs import Pairs, read_paired
    from shoe.predict.ways import WHOLE

    if choices.way.name == WHOLE:
        return None
    whole = files.whole or files
    remark = say if files.whole is None else lambda _: None  # the run for all parts says it
    if pairs:
        found = read_paired(pairs, every, choices.names, choices.benchmark).of(pictures)
    else:
        if choices.detector:
            _detect(pictures, choices, choices.detector, files)
            boxes = boxes_of(pictures, files.detections, choices.names, choices.benchmark, remark)
        else:
            boxes = boxes_of(every, whole.detections, choices.names, choices.benchmark, remark)
        found = Pairs.by_rule(pictures, boxes, choices.rule, choices.pairing, files.pairs)
    if files.whole is None:
        found.check()
    return found


def _detect(pictures: Sequence[Picture], choices: Choices, config: DetectorConfig, files: Files) -> None:
    """Have a detector look at pictures, but for those whose boxes are known."""
    from shoe.llm.progress import Progress
    from shoe.llm.recorder import Tally
    from shoe.predict.detector import Detector, detect_all

    detector = Detector(config)
    detector.check_labels(choices.names, choices.benchmark)
    tally = Tally("boxes", len(pictures))
    with Progress("", "pictures") as progress:

        def told(done: int) -> None:
            tally.done = done
            progress.show([tally])

        detect_all(pictures, detector, files.detections, told, files.boxes_elsewhere(detector.by, pictures))


def tell_pairs(
    found: Pairs, ground_truth: Path | None, dataset: str, facts: dict[str, Any], say: Callable[[str], None]
) -> None:
    """Say how many pairs there are, and which share of the true ones, if there is a ground truth."""
    from shoe.core.errors import many
    from shoe.predict.pairs import ceiling
    from shoe.predictions.truth import read_ground_truth

    pictures = len(found.records)
    say(f"{many(found.count, 'pair')} in {many(pictures, 'picture')}, {found.count / max(pictures, 1):.1f} in each")
    if ground_truth is None:
        return
    figures = ceiling(found.records, read_ground_truth(ground_truth, dataset))
    known = {name: getattr(figures, name) for name in ("recall", "human_recall", "object_recall", "truths")}
    facts["ceiling"] = {name: value for name, value in known.items() if value is not None}
    if figures.recall is not None:
        shares = f"{figures.human_recall or 0:.1%} of its persons, {figures.object_recall or 0:.1%} of its objects"
        say(f"{figures.recall:.1%} of {many(figures.truths, 'true pair')} are asked about (boxes: {shares})")
