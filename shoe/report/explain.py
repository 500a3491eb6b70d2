"""Why protocols disagree, in the terminal."""

from __future__ import annotations

from msgspec.structs import astuple
from rich.console import Console

from shoe.attribution.explain import Explained
from shoe.attribution.near_duplicates import NearDuplicates
from shoe.attribution.rules import Difference
from shoe.report.text import count, percent, points, say, table, words
from shoe.scoring.score import Report

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
