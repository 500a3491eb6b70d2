"""Notes on reports, and audits, calibration, protocol differences and verdicts in the terminal."""

from __future__ import annotations

import numpy as np
from msgspec.structs import astuple
from rich.console import Console

from shoe.comparison.run import Run
from shoe.comparison.verify import Verdict
from shoe.core.errors import many, printable
from shoe.diagnosis.protocol_differences import Difference, Explained, NearDuplicates
from shoe.report.text import count, percent, points, say, table, words
from shoe.scoring.entries import F1Figures
from shoe.scoring.evidence.audit import Audit
from shoe.scoring.evidence.collect import CalibrationReport, Evidence, ModelCalibration, calibration
from shoe.scoring.evidence.facts import Profile, Words
from shoe.scoring.score import Report
from shoe.scoring.semantic import SemanticResult
from shoe.scoring.strict import StrictResult

_WORDS_SHOWN = 8
_TAU_BY = {
    "dataset": "the best {best} of all predictions",
    "image": "the best {best} of each image's",
    "score": "those with a score of {tau} or more",
    "best": "as many of the best as make it highest",
}


def notes(report: Report, evidence: Evidence) -> list[str]:
    """Return the notes on a report for the terminal and the JSON, one line each, the most urgent first."""
    lines = report.warnings
    lines += [f"{part}: not measured: {why}" for part, why in report.absent.items()]
    lines += [line for line in (report.notes.lines() if report.notes else []) if line not in lines]
    lines += _prediction_lines(report, evidence)
    lines += [_rule_line(report.strict)] if report.strict else []
    for result in report.strict_results:
        lines += _strict_lines(result, report)
    if report.semantic:
        lines += _semantic_lines(report.semantic, evidence.profile)
    if report.strict and report.strict.tied_share and report.strict.ties_matter:
        lines.append(_tie_line(report.strict.options.protocol, report.strict.tied_share, order_free=False))
    if evidence.orders:
        spans = (f"{name} {percent(low)} to {percent(high)}" for name, (low, high) in evidence.orders.items())
        lines.append(f"order      lines, images and ground truths in other orders: mAP by {', '.join(spans)}")
    return lines + _tau_lines(report, evidence.tau) + _map_lines(evidence)


def _prediction_lines(report: Report, evidence: Evidence) -> list[str]:
    facts, found, lines = evidence.profile, evidence.resolution, []
    if facts.repeats:
        verb = "repeats" if facts.repeats == 1 else "repeat"
        is_charged = report.semantic is not None and report.semantic.options.repeats != "matched"
        charged = ", which SHOE counts as false positives: remove what was written twice" if is_charged else ""
        lines.append(f"repeats    {many(facts.repeats, 'prediction')} {verb} another one exactly{charged}")
    if facts.outside_share:
        lines.append(f"boxes      {percent(facts.outside_share)} % of predictions have a box that leaves its image")
    if found is not None and facts.images:
        lines += [_part_line("verbs", found.verbs), _part_line("objects", found.objects)]
    return lines


def _strict_lines(result: StrictResult, report: Report) -> list[str]:
    options, name = result.options, result.options.protocol
    lines = []
    parts = (("mAP", result.map), ("rare", result.map_rare), ("non-rare", result.map_non_rare))
    absent = [part for part, value in parts if value is None]
    if absent:
        skips = options.zero_tp == "skip" or options.unpredicted == "full-only"
        why = "no class that this protocol counts" if skips else "no ground truth of such a class"
        lines.append(f"{name}: no {', '.join(absent)}: {why}")
    if options.zero_tp == "skip":
        known = [value for _, value in parts if value is not None]
        is_below = len(known) == len(parts) and known[0] < min(known[1:])
        lines.append(
            f"{name}: classes with predictions and no true positive are left out; those without predictions count "
            "0 in mAP and are left out of rare and non-rare" + (", so that mAP is below both" if is_below else "")
        )
    truthless = int((~np.isnan(result.ap) & (report.truth.triplets_per_class == 0)).sum())
    if truthless:
        lines.append(
            f"{name}: {truthless:,} of its {result.classes:,} classes have no ground truth in this file and count 0"
        )
    if options.known_object == "boxes":
        lines.append(f"{name}: an image is known to show an object by its annotated boxes (better: --image-labels)")
    return lines


def _rule_line(result: StrictResult) -> str:
    options = result.options
    classes = f"{options.ap} AP over {result.classes:,} class{'' if result.classes == 1 else 'es'}"
    classes += ", without no_interaction" if options.no_interaction == "exclude" else ""
    classes += " and those predicted but never hit" if options.zero_tp == "skip" else ""
    return f"mAP        {options.protocol}: {classes}; other protocols and shoe diagnose have an mAP by other rules"


def _semantic_lines(result: SemanticResult, facts: Profile) -> list[str]:
    lines = []
    if result.prediction_miss_rate is None:
        lines.append(f"unmatched predictions: not measured: no prediction is confident (tau = {result.options.tau:g})")
    if result.tied_share and result.ties_matter:
        line = _tie_line(result.options.protocol, result.tied_share, order_free=result.options.order_free)
        error = 100 * (result.map_error or 0)
        lines.append(f"{line} ± {error:.2f}" if error >= 0.005 else line)
    if result.components_share is not None:
        lines.append(
            f"wholes     {percent(result.components_share)} % of matches and false positives that are no exact labels "
            "are compared by verb and object, as nobody rated these interactions as wholes"
        )
    if facts.constant_scores:
        lines.append("scores     all predictions have the same score, so that mAP cannot judge which were surer")
    return lines


def _tie_line(protocol: str, share: float, *, order_free: bool) -> str:
    line = f"ties       {protocol}: {percent(share)} % of predictions have the same score as another of their class"
    if order_free:
        return f"{line}: mAP is the mean over their orders"
    return f"{line}: where one is right and one wrong, the order of the file decides (--bounds: by how much)"


def _tau_lines(report: Report, readings: dict[str, F1Figures]) -> list[str]:
    """Return SHOE-mF1 under other interpretations of tau, unless all are equal."""
    if report.semantic is None or len(set(readings.values())) == 1:
        return []
    options = report.semantic.options
    names = {by: text.format(best=f"{1 - options.tau:.0%}", tau=f"{options.tau:g}") for by, text in _TAU_BY.items()}
    others = [f"{percent(figures.mf1)} of {names[by]}" for by, figures in readings.items() if by != options.tau_by]
    start = f"tau        SHOE-mF1, GT missed and unmatched are of {names[options.tau_by]} (tau-by={options.tau_by})"
    return [f"{start}; SHOE-mF1 would be {', '.join(others)} (docs/protocols.md, A22)"]


def _map_lines(evidence: Evidence) -> list[str]:
    lines, found = [], evidence.resolution
    if found is not None and found.basis and evidence.profile.images:
        lines.append(
            f"matches    words compared: {percent(found.rated_share)} % have a rated similarity or one meaning, "
            f"{percent(found.fallback_share)} % the same spelling alone, {percent(found.learned_share)} % a similarity "
            f"predicted from ratings, {percent(found.unrated_share)} % none"
        )
    if interval := evidence.interval:
        figures = [
            f"{name} {percent(ends[0])} to {percent(ends[1])}"
            for name, ends in (("SHOE-mAP", interval.map), ("SHOE-mF1", interval.mf1))
            if ends
        ]
        lines.append(
            f"unrated    matches rest on {many(interval.unrated_pairs, 'pair')} of senses that nobody rated; were all "
            f"rated, in 9 of 10 cases: {', '.join(figures)} (docs/protocols.md, 10.7)"
        )
    if spread := evidence.spread:
        lines.append(
            f"raters     SHOE-mAP by one rater alone: {percent(spread.low)} to {percent(spread.high)}, standard "
            f"deviation {100 * spread.deviation:.2f}; where that one has no rating, that of all together counts"
        )
    return lines


def _part_line(part: str, words: Words) -> str:
    labels = "1 is a label" if words.labels == 1 else f"{words.labels:,} are labels"
    line = f"{part:<10} {many(words.words, 'different word')}, {labels} of the dataset (strict figures count no others)"
    unresolved = [word for word in words.unresolved if word]
    if unresolved:
        shown = ", ".join(f'"{printable(word, longest=30)}"' for word in unresolved[:_WORDS_SHOWN])
        more = f" and {len(unresolved) - _WORDS_SHOWN:,} more" if len(unresolved) > _WORDS_SHOWN else ""
        line += f"; {len(unresolved):,} not in WordNet, so similar to none: {shown}{more}"
    return line


_HEADINGS = {"map": "mAP", "mf1": "mF1", "gt_miss_rate": "GT missed", "prediction_miss_rate": "unmatched"}


def print_audit(found: Audit, to: Console) -> None:
    """Print a table per protocol: the metrics of the file, and what each attack adds in points."""
    say(to, "what each attack on the file adds to its figures, in points; a sound figure gains nothing by any of them")
    for protocol, honest in found.protocols.items():
        names = [name for name in _HEADINGS if getattr(honest, name) is not None]
        rows = [["as it is", *(f"{100 * getattr(honest, name):.2f}" for name in names)]]
        for attack in found.attacks:
            gains = attack.protocols[protocol].gains
            rows.append([attack.name, *(points(getattr(gains, name)) for name in names)])
        to.print(table(protocol, *(_HEADINGS[name] for name in names), rows=rows))
    for attack in found.attacks:
        say(to, f"{attack.name:18} {attack.about}")


def calibrated(run: Run, bins: int) -> ModelCalibration:
    """Return the calibration of a run under each of its protocols."""
    results = [calibration(each.entries, bins, each.options.protocol, str(each.signature)) for each in run.strict]
    if run.semantic is not None:
        protocol = run.semantic.options.protocol
        results.append(calibration(run.semantic.entries, bins, protocol, str(run.signature)))
    return ModelCalibration(run.name, results)


def print_calibration(found: CalibrationReport, to: Console) -> None:
    """Print the calibration errors of all files and protocols; of a single file, also each bin of scores."""
    say(to, "scores beside the share of right predictions; error: expected calibration error")
    rows = [
        [
            model.predictions,
            *(each.protocol, percent(each.map), percent(each.error), percent(each.tied_share)),
            "–" if each.ranked is None else f"{each.ranked:,}",
        ]
        for model in found.models
        for each in model.protocols
    ]
    to.print(table("predictions", "protocol", "mAP %", "error %", "tied %", "ranked", rows=rows))
    for each in found.models[0].protocols if len(found.models) == 1 else ():
        rows = [
            [f"{one.low:.2f} to {one.high:.2f}", f"{one.predictions:,}", percent(one.score), percent(one.right)]
            for one in each.bins
            if one.predictions
        ]
        if each.bins:
            to.print(table(f"scores, {each.protocol}", "predictions", "mean score %", "right %", rows=rows))


_MOST_CLASSES = 10
_FIGURES = ("mAP", "rare", "non-rare")


def print_explained(report: Report, found: Explained, to: Console) -> None:
    """Print mAP by protocol, each difference of protocols by rule, and effects of the annotation."""
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
    rows = [(r.name, r.before, r.after, *map(points, shares[r.name])) for r in found.rules if any(shares[r.name])]
    rows.append(("together", "", "", *map(points, (found.map, found.map_rare, found.map_non_rare))))
    to.print(table(names, "from", "to", *_FIGURES, names=3, rows=rows))
    without_effect = [f"{r.name} ({r.before}, {r.after})" for r in found.rules if not any(shares[r.name])]
    if without_effect:
        say(to, f"no effect   {', '.join(without_effect)}")
    if found.classes:
        moved = [
            (
                words(c.name),
                percent(c.before),
                percent(c.after),
                ", ".join(f"{rule.removeprefix('strict.')} {points(share)}" for rule, share in [*c.rules.items()][:2]),
            )
            for c in found.classes[:_MOST_CLASSES]
        ]
        to.print(table(f"most moved of {len(found.classes)}", found.before, found.after, "by", rows=moved))


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
    rows = [
        (protocol, *map(percent, (found.protocols[protocol].map, each.without_unknown.map, each.verified_only.map)))
        for protocol, each in found.false_positives.items()
    ]
    to.print(table("mAP", "as it is", "less never verified", "less ambiguous, too", rows=rows))
    say(to, "as many as truths: among the best predictions of each class, as many as it has ground truths.")


def print_verdict(name: str, verdict: Verdict, to: Console) -> None:
    """Print whether scoring again gives equal results, or the differences and their reasons."""
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
