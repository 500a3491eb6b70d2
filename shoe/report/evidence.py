"""Notes on reports; audits, calibration, differences of protocols, and verification of runs in the terminal."""

import numpy as np
from msgspec.structs import astuple
from rich.console import Console

from shoe.comparison.run import Run
from shoe.comparison.verify import Verdict
from shoe.core.errors import pluralize, printable
from shoe.diagnosis.protocol_differences import Difference, Explained
from shoe.report.text import all_notes, count, percent, points, print_line, print_lines, print_more, table, words
from shoe.scoring.evidence.audit import Audit
from shoe.scoring.evidence.collect import CalibrationReport, Evidence, ModelCalibration, calibration
from shoe.scoring.evidence.facts import Words
from shoe.scoring.score import Report
from shoe.scoring.strict import StrictResult

_WORDS_SHOWN = 8
THRESHOLD_NOTE = (
    "threshold  SHOE-mF1, GT missed and unmatched count confident predictions only. The paper does not define the "
    "confidence threshold; set it with `--option tau-by=...` (docs/protocols.md, A22)"
)


def threshold_names(tau: float) -> dict[str, str]:
    """Return {value of option ``tau-by``: text on which predictions are confident at the threshold ``tau``}."""
    best, score = f"best {1 - tau:.0%}", f"score of {tau:g} or more"
    return {"dataset": f"{best} of all", "image": f"{best} per image", "score": score, "best": "highest SHOE-mF1"}


def notes(report: Report, evidence: Evidence) -> list[str]:
    """Return all notes on a report and its ``evidence`` (explanations of metrics), one line each, most urgent first."""
    lines = [*essential_notes(report, evidence), *detail_notes(report, evidence)]
    if report.semantic is not None and len(set(report.tau_readings.values())) > 1:
        names = threshold_names(report.semantic.options.tau)
        values = (f"{percent(figures.mf1)} (tau-by={by}: {names[by]})" for by, figures in report.tau_readings.items())
        by_threshold = f"SHOE-mF1 by threshold: {', '.join(values)}; used: {report.semantic.options.tau_by}"
        lines.append(f"{THRESHOLD_NOTE}. {by_threshold}")
    return lines


def essential_notes(report: Report, evidence: Evidence) -> list[str]:
    """Return the notes to read before the scores are trusted, such as doubtful input and metrics not measured."""
    lines = [*report.warnings]
    lines += [f"{part}: not measured: {why}" for part, why in report.absent.items()]
    lines += [line for line in (report.notes.lines() if report.notes else []) if line not in lines]
    if share := evidence.profile.outside_share:
        lines.append(f"boxes      {percent(share)} % of predictions have a box that extends beyond its image")
    lines += [_part_line(name, part) for name, part in _parts(evidence) if any(part.unresolved)]
    for result in report.strict_results:
        lines += _strict_lines(result, report)
    if report.semantic and report.semantic.prediction_miss_rate is None:
        tau = report.semantic.options.tau
        lines.append(f"unmatched predictions: not measured: no prediction is confident (tau = {tau:g})")
    # The second line of the report gives the number of labels.
    return [*lines, *(line for line in report.doubts if not line.startswith("words "))]


def detail_notes(report: Report, evidence: Evidence) -> list[str]:
    """Return the notes that explain the metrics: vocabulary, protocol, ties, origin of similarities, and bounds."""
    lines = [_part_line(name, part) for name, part in _parts(evidence) if not any(part.unresolved)]
    if strict := report.strict:
        options = strict.options
        classes = f"{options.ap} AP over {strict.classes:,} class{'' if strict.classes == 1 else 'es'}"
        classes += ", without no_interaction" if options.no_interaction == "exclude" else ""
        classes += " and without classes with predictions but no true positive" if options.zero_tp == "skip" else ""
        others = "`shoe diagnose` and other protocols define mAP differently"
        lines.append(f"mAP        {options.protocol}: {classes}. {others}")
        if strict.tied_share and strict.ties_matter:
            lines.append(_tie_line(options.protocol, strict.tied_share, order_free=False))
    if semantic := report.semantic:
        if semantic.tied_share and semantic.ties_matter:
            line = _tie_line(semantic.options.protocol, semantic.tied_share, order_free=semantic.options.order_free)
            error = 100 * (semantic.map_error or 0)
            lines.append(f"{line} ± {error:.2f}" if error >= 0.005 else line)
        if (share := semantic.components_share) is not None:
            lines.append(
                f"separate   in {percent(share)} % of matches and false positives with words other than the label, "
                "verb and object are compared separately, because no rater compared the whole interactions"
            )
    found = evidence.resolution
    if found is not None and found.basis and evidence.profile.images:
        shares = (found.rated_share, found.fallback_share, found.learned_share, found.unrated_share)
        bases = ("ratings or equal meanings", "equal spellings only", "predicted from ratings", "none")
        based = ", ".join(f"{percent(share)} % {basis}" for share, basis in zip(shares, bases, strict=True))
        lines.append(f"similarity of compared words is based on: {based}")
    return lines + bounds_notes(evidence)


def _strict_lines(result: StrictResult, report: Report) -> list[str]:
    options, lines = result.options, []
    parts = {"mAP": result.map, "rare": result.map_rare, "non-rare": result.map_non_rare}
    known = [value for value in parts.values() if value is not None]
    if absent := [part for part, value in parts.items() if value is None]:
        skips = options.zero_tp == "skip" or options.unpredicted == "full-only"
        why = "no class that this protocol counts" if skips else "no ground truth of such a class"
        lines.append(f"{', '.join(absent)}: not measured: {why}")
    if options.zero_tp == "skip":
        line = "classes with predictions but no true positive are left out; classes without predictions count 0 in mAP "
        is_below = not absent and known[0] < min(known[1:])
        lines.append(f"{line}and are left out of rare and non-rare{', so mAP is below both' if is_below else ''}")
    if truthless := int((~np.isnan(result.ap) & (report.truth.triplets_per_class == 0)).sum()):
        classes = f"{truthless:,} of its {result.classes:,} classes"
        lines.append(f"{classes} have no ground truth in this file and count 0")
    if options.known_object == "boxes":
        lines.append("annotated boxes decide whether an image shows an object; more exact: --image-labels")
    return [f"{options.protocol}: {line}" for line in lines]


def _tie_line(protocol: str, share: float, *, order_free: bool) -> str:
    line = f"ties       {protocol}: {percent(share)} % of predictions have a score equal to that of another prediction "
    changes = "their order in the file changes mAP (`--bounds` shows by how much)"
    free = "mAP is the mean over all orders of predictions with equal scores"
    return f"{line}of their class; {free if order_free else changes}"


def bounds_notes(evidence: Evidence) -> list[str]:
    """Return lines on how much the order of lines, unrated pairs and single raters change metrics (``--bounds``)."""
    lines = []
    if evidence.orders:
        ranges = (f"{name} {percent(low)} to {percent(high)}" for name, (low, high) in evidence.orders.items())
        lines.append(f"order      mAP with the lines, images and ground truths in other orders: {', '.join(ranges)}")
    if interval := evidence.interval:
        spans = (("SHOE-mAP", interval.map), ("SHOE-mF1", interval.mf1))
        figures = [f"{name} {percent(ends[0])} to {percent(ends[1])}" for name, ends in spans if ends]
        lines.append(
            f"unrated    {pluralize(interval.unrated_pairs, 'pair')} of senses in the matches have no rating; 90 % "
            f"intervals if all pairs were rated: {', '.join(figures)} (docs/protocols.md, 10.7)"
        )
    if spread := evidence.spread:
        lines.append(
            f"raters     SHOE-mAP with the ratings of one rater at a time: {percent(spread.low)} to "
            f"{percent(spread.high)}, standard deviation {100 * spread.deviation:.2f}; pairs without a rating by that "
            "rater keep the rating of all raters"
        )
    return lines


def _parts(evidence: Evidence) -> list[tuple[str, Words]]:
    found = evidence.resolution
    return [("verbs", found.verbs), ("objects", found.objects)] if found and evidence.profile.images else []


def _part_line(part: str, words: Words) -> str:
    labels = "1 is a label" if words.labels == 1 else f"{words.labels:,} are labels"
    different = pluralize(words.words, "different word")
    line = f"{part:<10} {different}, {labels} of the dataset (strict mAP ignores all other words)"
    if unresolved := [word for word in words.unresolved if word]:
        shown = ", ".join(f'"{printable(word, longest=30)}"' for word in unresolved[:_WORDS_SHOWN])
        more = f" and {len(unresolved) - _WORDS_SHOWN:,} more" if len(unresolved) > _WORDS_SHOWN else ""
        line += f"; {len(unresolved):,} without a sense in WordNet (similarity 0 to all labels): {shown}{more}"
    return line


_HEADINGS = {
    "map": "mAP",
    "mf1": "mF1",
    "mf1_best_tau": "mF1\nbest tau",
    "gt_miss_rate": "GT\nmissed",
    "prediction_miss_rate": "unmatched",
    "no_overlap_rate": "no\noverlap",
}


def print_audit(found: Audit, to: Console) -> None:
    """Print, per protocol, a table of metrics and of the points that each attack adds to them; describe the attacks."""
    print_lines(to, found.notes, "bold")
    title = "points that each attack on the file adds to a metric"
    print_line(to, f"{title}; a sound metric gains nothing from any attack")
    for protocol, honest in found.protocols.items():
        names = [name for name in _HEADINGS if getattr(honest, name) is not None]
        made = table(protocol, *(_HEADINGS[name] for name in names))
        made.add_row("as it is", *(f"{100 * getattr(honest, name):.2f}" for name in names))
        for attack in found.attacks:
            made.add_row(attack.name, *(points(getattr(attack.protocols[protocol].gains, name)) for name in names))
        to.print(made)
    print_lines(to, (f"{attack.name:18} {attack.about}" for attack in found.attacks))


def calibrated(run: Run, bins: int) -> ModelCalibration:
    """Return the calibration of the scores of a run, per strict protocol and for SHOE, with ``bins`` bins of scores."""
    results = [calibration(each.entries, bins, each.options.protocol, str(each.signature)) for each in run.strict]
    if run.semantic is not None:
        results.append(calibration(run.semantic.entries, bins, run.semantic.options.protocol, str(run.signature)))
    return ModelCalibration(run.name, results, [*(run.absent or {}).values(), *run.notes])


def print_calibration(found: CalibrationReport, to: Console) -> None:
    """Print the calibration error of each file and protocol; for a single file, also each bin that is not empty."""
    print_lines(to, all_notes({model.predictions: model.notes for model in found.models}), "bold")
    print_line(to, "mean score compared with the percentage of right predictions; error: expected calibration error")
    made = table("predictions", "protocol", "mAP %", "error %", "tied %", "ranked")
    for name, each in ((model.predictions, each) for model in found.models for each in model.protocols):
        figures = map(percent, (each.map, each.error, each.tied_share))
        made.add_row(name, each.protocol, *figures, "–" if each.ranked is None else count(each.ranked))
    to.print(made)
    for each in found.models[0].protocols if len(found.models) == 1 else ():
        bins = [(f"{b.low:.2f} to {b.high:.2f}", b.predictions, b.score, b.right) for b in each.bins if b.predictions]
        rows = ((scores, count(number), percent(score), percent(right)) for scores, number, score, right in bins)
        if each.bins:
            to.print(table(f"scores, {each.protocol}", "predictions", "mean score %", "right %", rows=rows))


_FIGURES = ("mAP", "rare", "non-rare")


def print_explained(report: Report, found: Explained, to: Console, *, verbose: bool = False) -> None:
    """Print mAP by protocol, effects of rules, and false positives by image label; ``verbose`` adds all details."""
    print_lines(to, found.notes if verbose else report.warnings, "bold")
    results = report.strict_results
    rows = ((r.protocol, *map(percent, (r.map, r.map_rare, r.map_non_rare)), str(r.classes)) for r in results)
    to.print(table("protocol", *_FIGURES, "classes", rows=rows))
    if verbose:
        for difference in found.differences:
            _print_difference(difference, to)
        made = table("annotated twice", "persons", "objects", "triplets", "images", *found.near_duplicates[0].protocols)
        for each in found.near_duplicates:
            counts = map(count, (each.humans, each.objects, each.triplets, each.images))
            means = (percent(means.map) for means in each.protocols.values())
            made.add_row(f"IoU ≥ {each.threshold:g}", *counts, *means)
        to.print(made)
        print_line(to, "persons, objects: boxes that overlap another box of the same image by this IoU.")
        print_line(to, "triplets: triplets of the same class whose human and object boxes both overlap by this IoU.")
        print_line(to, "Columns named after protocols: mAP after such triplets are merged.")
    elif found.differences:
        changes = []
        for difference in found.differences:
            name = difference.after
            for rule in difference.rules:
                if rule.map or rule.map_rare or rule.map_non_rare:
                    changes.append((name, rule.name.removeprefix("strict."), rule.before, rule.after, points(rule.map)))
                    name = ""
            if name:
                changes.append((name, "no effect on mAP", "", "", points(0.0)))
        headings = f"change from {found.differences[0].before}", "rule", "from", "to", "mAP"
        to.print(table(*headings, names=4, rows=changes))
    if found.false_positives:
        _print_false_positives(found, to)
    elif verbose:
        print_line(to, "`--image-labels anno.mat` also counts which false positives the annotators verified.")
    if verbose:
        print_lines(to, (f"signature  {report.signature_of(result).short()}" for result in results))
    else:
        print_more(to)


def _print_difference(found: Difference, to: Console) -> None:
    names = f"{found.before} → {found.after}"
    if not found.rules:
        print_line(to, f"{names}: the same rules", style="bold")
        return
    shares = {rule.name: (rule.map, rule.map_rare, rule.map_non_rare) for rule in found.rules}
    rows = [(r.name, r.before, r.after, *map(points, shares[r.name])) for r in found.rules if any(shares[r.name])]
    rows.append(("together", "", "", *map(points, (found.map, found.map_rare, found.map_non_rare))))
    to.print(table(names, "from", "to", *_FIGURES, names=3, rows=rows))
    if without_effect := [f"{r.name} ({r.before}, {r.after})" for r in found.rules if not any(shares[r.name])]:
        print_line(to, f"no effect  {', '.join(without_effect)}")
    if found.classes:
        made = table(f"largest changes of {len(found.classes)}", found.before, found.after, "change by rule")
        for c in found.classes[:10]:
            rules = (f"{rule.removeprefix('strict.')} {points(share)}" for rule, share in [*c.rules.items()][:2])
            made.add_row(words(c.name), percent(c.before), percent(c.after), ", ".join(rules))
        to.print(made)


def _print_false_positives(found: Explained, to: Console) -> None:
    made = table("false positives", "class in image", "verified wrong", "ambiguous", "never verified")
    means = table("mAP", "as it is", "without never verified", "and without ambiguous")
    for protocol, each in found.false_positives.items():
        for name, verdicts in ((f"{protocol}, all", each.all), ("  as many as truths", each.top)):
            counts = astuple(verdicts)
            total = max(sum(counts), 1)
            made.add_row(name, *(f"{count(number)} ({100 * number / total:.0f} %)" for number in counts))
        figures = found.protocols[protocol].map, each.without_unknown.map, each.verified_only.map
        means.add_row(protocol, *map(percent, figures))
    to.print(made)
    to.print(means)
    print_line(to, "as many as truths: only the n best predictions of each class, n being its number of ground truths.")


def print_verdict(name: str, verdict: Verdict, to: Console) -> None:
    """Print whether scoring the run ``name`` again gave equal results; if not, the differences and their reasons."""
    if verdict.equal:
        figures = pluralize(len(verdict.figures), "figure")
        print_line(to, f"{name}: equal: {figures}, options, version and hashes", "bold")
        return
    print_line(to, f"{name}: different: {'; '.join(verdict.reasons)}", "bold")
    made = table("figure", "run", "now", "")
    for key, figure in verdict.figures.items():
        made.add_row(key, percent(figure.run), percent(figure.now), "equal" if figure.equal else "differs")
    to.print(made)
    print_lines(to, (f"{m.name:<10} {m.run} in the run, {m.now} now: {m.why}" for m in verdict.mismatches))
