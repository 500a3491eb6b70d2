"""``shoe demo``: a first result without any file of one's own."""

from pathlib import Path

import msgspec

_LONGEST = 150

_INTRODUCTION = """\
{images} real HICO-DET test images; the predictions are SYNTHETIC: made from the annotations with a seed, by no model.
Their figures show how to read a report, and say nothing about any real model."""

_READING = """\
mAP       strict: a prediction counts only if its words are the dataset's own labels ("ride", "bicycle").
SHOE-mAP  semantic: it counts by how close in meaning it is ("sitting astride a bike"), from 0 to 1.
missed    ground truths without a matched prediction, and confident predictions without a matched ground truth."""

_REPLIES = """
The free text also comes as raw replies, in the forms of two models; words, boxes and their units are found in each:"""

_NEXT = """\
Next:
  shoe score {predictions} --ground-truth {truth}
  shoe similarity "ride horse" "straddle pony"
  shoe score YOUR_PREDICTIONS --ground-truth instances_test2015.json --protocol all"""


def demo() -> None:
    """Score a packaged sample: 200 real images, synthetic detector and free-text predictions, strict beside semantic.

    Example: shoe demo
    """
    from os.path import relpath
    from shlex import quote

    from shoe.benchmarks.truth import read_ground_truth
    from shoe.demo import PREDICTIONS, REPLIES, TRUTH
    from shoe.predictions import read_predictions
    from shoe.report.terminal import comparison_table, console
    from shoe.report.text import say
    from shoe.scoring.score import score

    truth = read_ground_truth(TRUTH)
    sizes = dict(zip(truth.interactions.images, map(tuple, truth.interactions.sizes.tolist()), strict=True))
    files = {**PREDICTIONS, "raw replies": REPLIES}
    reports = {name: score(read_predictions(path, sizes=sizes), truth) for name, path in files.items()}
    to = console()
    for line in _INTRODUCTION.format(images=len(truth.interactions.images)).splitlines():
        say(to, line)
    to.print(comparison_table({f"{name} (synthetic)": report for name, report in reports.items()}))
    for line in (_READING + "\n" + _REPLIES).splitlines():
        say(to, line)
    print("".join(f"  {reply}\n" for reply in _shown(REPLIES)))
    # From a checkout the short form of the paths is the one to read and to type.
    predictions, truth_file = (quote(min(str(p), relpath(p), key=len)) for p in (PREDICTIONS["free text"], TRUTH))
    print(_NEXT.format(predictions=predictions, truth=truth_file))


def _shown(path: Path) -> list[str]:
    """The first replies of two forms, short enough for a line each."""
    lines = path.read_text("utf-8").splitlines()[:2]
    replies = [" ".join(msgspec.json.decode(line)["response"].split()) for line in lines]
    return [reply if len(reply) <= _LONGEST else f"{reply[:_LONGEST]} ..." for reply in replies]
