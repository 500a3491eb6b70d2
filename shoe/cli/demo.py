"""``shoe demo``: score a packaged sample, without any input files."""

from os.path import relpath
from shlex import quote

import msgspec

_LONGEST = 150

_INTRODUCTION = """\
{images} real HICO-DET test images. The predictions are SYNTHETIC: generated from the annotations, not by a model.
Their metrics show how to read a report, and are not results of any real model."""

_READING = """\
mAP       strict: a prediction counts only if its words are the labels of the dataset ("ride", "bicycle").
SHOE-mAP  semantic: a prediction counts from 0 to 1 by its similarity in meaning ("sitting astride a bike").
missed    ground truths without a matched prediction, and confident predictions without a matched ground truth."""

_REPLIES = """
The free-text predictions are also given as raw replies in the formats of two models; shoe extracts words and boxes:"""

_NEXT = """\
Next:
  shoe score {predictions} --ground-truth {truth}
  shoe similarity "ride horse" "straddle pony"
  shoe score YOUR_PREDICTIONS --ground-truth instances_test2015.json --protocol all"""


def demo() -> None:
    """Score a packaged sample with strict and semantic metrics: 200 real images, synthetic predictions.

    Example: shoe demo
    """
    from shoe.benchmarks.truth import read_truth_file
    from shoe.demo import PREDICTIONS, REPLIES, TRUTH
    from shoe.predictions import read_predictions
    from shoe.report.score import comparison_table
    from shoe.report.text import console, print_line
    from shoe.scoring.score import score

    truth = read_truth_file(TRUTH)
    sizes = dict(zip(truth.interactions.images, map(tuple, truth.interactions.sizes.tolist()), strict=True))
    files = {**PREDICTIONS, "raw replies": REPLIES}
    reports = {name: score(read_predictions(path, sizes=sizes), truth) for name, path in files.items()}
    to = console()
    for line in _INTRODUCTION.format(images=len(truth.interactions.images)).splitlines():
        print_line(to, line)
    to.print(comparison_table({f"{name} (synthetic)": report for name, report in reports.items()}))
    for line in (_READING + "\n" + _REPLIES).splitlines():
        print_line(to, line)
    for line in REPLIES.read_text("utf-8").splitlines()[:2]:
        reply = " ".join(msgspec.json.decode(line)["response"].split())
        print(f"  {reply}" if len(reply) <= _LONGEST else f"  {reply[:_LONGEST]} ...")
    print()
    # In a checkout the relative paths are shorter; after installation the absolute paths can be.
    predictions, truth_file = (quote(min(str(p), relpath(p), key=len)) for p in (PREDICTIONS["free text"], TRUTH))
    print(_NEXT.format(predictions=predictions, truth=truth_file))
