"""What attacks on a file would earn, in the terminal."""

from __future__ import annotations

from msgspec.structs import astuple
from rich.console import Console

from shoe.comparison.run import Run
from shoe.comparison.verify import Verdict
from shoe.core.errors import many
from shoe.diagnosis.protocol_differences import Difference, Explained, NearDuplicates
from shoe.report.text import count, percent, points, say, table, words
from shoe.scoring.evidence.audit import Audit
from shoe.scoring.evidence.calibration import CalibrationReport, ModelCalibration, calibration
from shoe.scoring.score import Report

_HEADINGS = {"map": "mAP", "mf1": "mF1", "gt_miss_rate": "GT missed", "prediction_miss_rate": "unmatched"}


def print_audit(found: Audit, to: Console) -> None:
    """One table a protocol: the figures as they are, then what each attack adds, in points."""
    say(to, "what each attack on the file adds to its figures, in points; a sound figure gains nothing by any of them")
    for protocol, honest in found.protocols.items():
        shown = [name for name in _HEADINGS if getattr(honest, name) is not None]
        rows = [["as it is", *(f"{100 * getattr(honest, name):.2f}" for name in shown)]]
        for attack in found.attacks:
            gains = attack.protocols[protocol].gains
            rows.append([attack.name, *(points(getattr(gains, name)) for name in shown)])
        to.print(table(protocol, *(_HEADINGS[name] for name in shown), rows=rows))
    for attack in found.attacks:
        say(to, f"{attack.name:18} {attack.about}")


# How far scores are from shares of right predictions, in the terminal.


def calibrated(run: Run, bins: int) -> ModelCalibration:
    """Measure the calibration of a run under each of its protocols."""
    found = [calibration(one.entries, bins, one.options.protocol, str(one.signature)) for one in run.strict]
    if run.semantic is not None:
        protocol = run.semantic.options.protocol
        found.append(calibration(run.semantic.entries, bins, protocol, str(run.signature)))
    return ModelCalibration(run.name, found)


def print_calibration(found: CalibrationReport, to: Console) -> None:
    """A table of all files and protocols; of one file, the reliability of each bin of scores below."""
    say(to, "scores beside the share of right predictions; error: expected calibration error")
    rows = [
        [
            model.predictions,
            *(one.protocol, percent(one.map), percent(one.error), percent(one.tied_share)),
            percent(None) if one.ranked is None else f"{one.ranked:,}",
        ]
        for model in found.models
        for one in model.protocols
    ]
    to.print(table("predictions", "protocol", "mAP %", "error %", "tied %", "ranked", rows=rows))
    for one in found.models[0].protocols if len(found.models) == 1 else ():
        rows = [
            [f"{each.low:.2f} to {each.high:.2f}", f"{each.predictions:,}", percent(each.score), percent(each.right)]
            for each in one.bins
            if each.predictions
        ]
        if one.bins:
            to.print(table(f"scores, {one.protocol}", "predictions", "mean score %", "right %", rows=rows))


# Why protocols disagree, in the terminal.

_MOST_CLASSES = 10
_FIGURES = ("mAP", "rare", "non-rare")


def print_explained(report: Report, found: Explained, to: Console) -> None:
    """Print the figures, each difference by its rules, and what the annotation does to them."""
    results = report.strict_results
    rows = [(r.protocol, *map(percent, (r.map, r.map_rare, r.map_non_rare)), str(r.classes)) for r in results]
    to.print(table("protocol", *_FIGURES, "classes", rows=rows))
    for difference in found.differences:
        _print_difference(difference, to)
    _print_near_duplicates(found.near_duplicates, to)
    if found.false_positives:
        _print_false_positives(found, to)
    else:
        say(to, "With --image-labels anno.mat: which false positives anybody verified.")
    for result in results:
        say(to, f"signature  {report.signature_of(result).short()}")


def _print_difference(found: Difference, to: Console) -> None:
    names = f"{found.before} → {found.after}"
    if not found.rules:
        say(to, f"{names}: the same rules", style="bold")
        return
    shares = {rule.name: (rule.map, rule.map_rare, rule.map_non_rare) for rule in found.rules}
    rows = [(s.name, s.before, s.after, *map(points, shares[s.name])) for s in found.rules if any(shares[s.name])]
    rows.append(("together", "", "", *map(points, (found.map, found.map_rare, found.map_non_rare))))
    to.print(table(names, "from", "to", *_FIGURES, names=3, rows=rows))
    still = [f"{s.name} ({s.before}, {s.after})" for s in found.rules if not any(shares[s.name])]
    if still:
        say(to, f"no effect   {', '.join(still)}")
    if found.classes:
        moved = [
            (
                words(c.name),
                percent(c.before),
                percent(c.after),
                ", ".join(_share(*rule) for rule in list(c.rules.items())[:2]),
            )
            for c in found.classes[:_MOST_CLASSES]
        ]
        to.print(table(f"most moved of {len(found.classes)}", found.before, found.after, "by", rows=moved))


def _share(rule: str, share: float) -> str:
    return f"{rule.removeprefix('strict.')} {points(share)}"


def _print_near_duplicates(found: list[NearDuplicates], to: Console) -> None:
    protocols = list(found[0].protocols)
    rows = [
        (
            f"IoU ≥ {each.threshold:g}",
            *map(count, (each.humans, each.objects, each.triplets, each.images)),
            *(percent(means.map) for means in each.protocols.values()),
        )
        for each in found
    ]
    columns = ("persons", "objects", "triplets", "images", *protocols)
    to.print(table("annotated twice", *columns, rows=rows))
    say(to, "persons, objects: boxes of an image that another one nearly is; triplets: of one class, both boxes so.")
    say(to, "Under the protocols: mAP where such triplets are merged into one.")


def _print_false_positives(found: Explained, to: Console) -> None:
    rows = []
    for protocol, each in found.false_positives.items():
        for name, verdicts in ((f"{protocol}, all", each.all), ("  as many as truths", each.top)):
            counts = astuple(verdicts)
            total = max(sum(counts), 1)
            rows.append((name, *(f"{count(number)} ({100 * number / total:.0f} %)" for number in counts)))
    to.print(table("false positives", "class in image", "verified wrong", "ambiguous", "never verified", rows=rows))
    maps = {
        protocol: (found.protocols[protocol].map, each.without_unknown.map, each.verified_only.map)
        for protocol, each in found.false_positives.items()
    }
    rows = [(protocol, *map(percent, of)) for protocol, of in maps.items()]
    to.print(table("mAP", "as it is", "less never verified", "less ambiguous, too", rows=rows))
    say(to, "as many as truths: among the best predictions of each class, as many as it has ground truths.")


# What became of a run, in the terminal.


def print_verdict(name: str, verdict: Verdict, to: Console) -> None:
    """Say that a run is equal, or what differs and why."""
    if verdict.equal:
        say(to, f"{name}: equal: {many(len(verdict.figures), 'figure')}, options, version and hashes", "bold")
        return
    say(to, f"{name}: different: {'; '.join(verdict.reasons)}", "bold")
    rows = [
        [key, percent(each.run), percent(each.now), "equal" if each.equal else "differs"]
        for key, each in verdict.figures.items()
    ]
    to.print(table("figure", "run", "now", "", rows=rows))
    for each in verdict.mismatches:
        say(to, f"{each.name:<10} {each.run} in the run, {each.now} now: {each.why}")
