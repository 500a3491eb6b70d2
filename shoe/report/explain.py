"""Why protocols disagree, in the terminal and as JSON."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from shoe.attribution.explain import Explained
from shoe.attribution.near_duplicates import NearDuplicates
from shoe.attribution.rules import Difference
from shoe.attribution.verified import VERDICTS, FalsePositives
from shoe.report.text import count, percent, points, present, say, table, words
from shoe.scoring.entries import Means

_MOST_CLASSES = 10
_FIGURES = ("mAP", "rare", "non-rare")
_SAME = 5e-13
"""AP of a class that no rule moves differs by less, from the order of sums."""


class MovedClass(NamedTuple):
    """A class whose AP two protocols see differently; ``rules`` are the shares of those that move it, largest first."""

    name: str
    before: float
    after: float
    rules: dict[str, float]


def moved_classes(found: Explained, difference: Difference) -> list[MovedClass]:
    """The classes that are in both means and whose AP differs, by how much it does."""
    classes = found.report.truth.classes
    before, after = (measured.ap for measured in difference.measured)
    by = np.nan_to_num(after - before)
    moved = []
    for k in np.argsort(-np.abs(by), kind="stable").tolist():
        if abs(by[k]) <= _SAME:
            break
        shares = sorted(((s.name, float(s.ap[k])) for s in difference.switches), key=lambda share: -abs(share[1]))
        rules = {name: share for name, share in shares if abs(share) > _SAME}
        moved.append(MovedClass(classes.labels[k], float(before[k]), float(after[k]), rules))
    return moved


def print_explained(found: Explained, to: Console) -> None:
    """Print the figures, each difference by its rules, and what the annotation does to them."""
    results = found.report.strict_results
    rows = [(r.options.protocol, *map(percent, (r.map, r.map_rare, r.map_non_rare)), str(r.classes)) for r in results]
    to.print(table("protocol", *_FIGURES, "classes", rows=rows))
    for difference in found.differences:
        _print_difference(found, difference, to)
    _print_near_duplicates(found.near_duplicates, to)
    if found.false_positives:
        _print_false_positives(found.false_positives, to)
    else:
        say(to, "With --image-labels anno.mat: which false positives anybody verified.")
    for result in results:
        say(to, f"signature  {found.report.signature_of(result).short()}")


def _print_difference(found: Explained, difference: Difference, to: Console) -> None:
    names = f"{difference.before.protocol} → {difference.after.protocol}"
    if not difference.switches:
        say(to, f"{names}: the same rules", style="bold")
        return
    moving = [s for s in difference.switches if any(share for share in s.share)]
    rows = [(s.name, s.before, s.after, *map(points, s.share)) for s in moving]
    rows.append(("together", "", "", *map(points, difference.means)))
    to.print(table(names, "from", "to", *_FIGURES, names=3, rows=rows))
    if len(moving) < len(difference.switches):
        still = ", ".join(f"{s.name} ({s.before}, {s.after})" for s in difference.switches if s not in moving)
        say(to, f"no effect   {still}")
    moved = moved_classes(found, difference)
    if moved:
        shown = [
            (
                words(c.name),
                percent(c.before),
                percent(c.after),
                ", ".join(_share(*rule) for rule in list(c.rules.items())[:2]),
            )
            for c in moved[:_MOST_CLASSES]
        ]
        to.print(
            table(
                f"most moved of {len(moved)}", difference.before.protocol, difference.after.protocol, "by", rows=shown
            )
        )


def _share(rule: str, share: float) -> str:
    return f"{rule.removeprefix('strict.')} {points(share)}"


def _print_near_duplicates(found: list[NearDuplicates], to: Console) -> None:
    protocols = list(found[0].means)
    rows = [
        (
            f"IoU ≥ {each.threshold:g}",
            *map(count, (each.humans, each.objects, each.triplets, each.images)),
            *(percent(means.map) for means in each.means.values()),
        )
        for each in found
    ]
    columns = ("persons", "objects", "triplets", "images", *protocols)
    to.print(table("annotated twice", *columns, rows=rows))
    say(to, "persons, objects: boxes of an image that another one nearly is; triplets: of one class, both boxes so.")
    say(to, "Under the protocols: mAP where such triplets are merged into one.")


def _print_false_positives(found: list[FalsePositives], to: Console) -> None:
    rows = []
    for each in found:
        for name, counts in ((f"{each.protocol}, all", each.all), ("  as many as truths", each.top)):
            total = max(sum(counts.values()), 1)
            rows.append((name, *(f"{count(counts[v])} ({100 * counts[v] / total:.0f} %)" for v in VERDICTS)))
    to.print(table("false positives", "class in image", "verified wrong", "ambiguous", "never verified", rows=rows))
    rows = [(e.protocol, *map(percent, (e.means.map, e.without_unknown.map, e.verified_only.map))) for e in found]
    to.print(table("mAP", "as it is", "less never verified", "less ambiguous, too", rows=rows))
    say(to, "as many as truths: among the best predictions of each class, as many as it has ground truths.")


def explained_dict(found: Explained) -> dict[str, Any]:
    """The keys of ``shoe explain --json``; fractions 0..1, and what is absent has no key."""
    told: dict[str, Any] = present(
        {
            "protocols": {
                r.options.protocol: {"signature": str(found.report.signature_of(r))}
                | Means(r.map, r.map_rare, r.map_non_rare)._asdict()
                for r in found.report.strict_results
            },
            "differences": [_difference_dict(found, difference) for difference in found.differences],
            "near_duplicates": [_duplicates_dict(each) for each in found.near_duplicates],
            "false_positives": {each.protocol: _false_dict(each) for each in found.false_positives} or None,
        }
    )
    return told


def _difference_dict(found: Explained, difference: Difference) -> dict[str, Any]:
    before, after = (~np.isnan(measured.ap) for measured in difference.measured)
    return {
        "before": difference.before.protocol,
        "after": difference.after.protocol,
        **difference.means._asdict(),
        "rules": [
            {"name": s.name, "before": s.before, "after": s.after, **s.share._asdict()} for s in difference.switches
        ],
        "classes": [
            {"class": c.name, "before": c.before, "after": c.after, "rules": c.rules}
            for c in moved_classes(found, difference)
        ],
        "left_mean": int((before & ~after).sum()),
        "entered_mean": int((after & ~before).sum()),
    }


def _duplicates_dict(each: NearDuplicates) -> dict[str, Any]:
    return {
        "threshold": each.threshold,
        "humans": each.humans,
        "objects": each.objects,
        "triplets": each.triplets,
        "images": each.images,
        "classes": each.classes,
        "protocols": {protocol: means._asdict() for protocol, means in each.means.items()},
    }


def _false_dict(each: FalsePositives) -> dict[str, Any]:
    return {
        "all": each.all,
        "top": each.top,
        "without_never_verified": each.without_unknown._asdict(),
        "verified_only": each.verified_only._asdict(),
    }
