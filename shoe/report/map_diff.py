"""Two maps beside each other, in the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from shoe.lexicon.expressions import Part
from shoe.maps.diff import PartDiff, class_moves, lemmas_of, semantic_of
from shoe.report.map_info import heading
from shoe.report.notes import percent
from shoe.report.text import count, fixed, present, say, table, words
from shoe.scoring.score import Report
from shoe.similarity import SimilarityMap

_MOVES = 10

Maps = tuple[SimilarityMap, SimilarityMap]
Parts = Mapping[Part, PartDiff]
Reports = tuple[Report, Report]


def diff_dict(maps: Maps, parts: Parts, glosses: Mapping[str, str], reports: Reports | None) -> dict[str, Any]:
    """Collect a comparison in the documented keys; glosses are absent where WordNet is."""
    a, b = ({"name": m.name, "digest": m.digest, "raters": [rater.name for rater in m.raters]} for m in maps)
    found: dict[str, Any] = {"a": a, "b": b, "ensemble": maps[0].ensemble}
    for part, diff in parts.items():
        found[f"{part}s"] = asdict(diff)
        for pair in found[f"{part}s"]["largest"]:
            senses = pair["class_synset"], pair["synset"]
            pair["lemmas"] = [lemmas_of(sense) for sense in senses]
            pair["glosses"] = [glosses[sense] for sense in senses] if glosses else None
    if reports:
        of_a, of_b = (
            {"map": s.map, "mf1": s.mf1, "signature": str(r.signature)} for r in reports for s in [semantic_of(r)]
        )
        found["score"] = {"a": of_a, "b": of_b, "classes": [asdict(move) for move in class_moves(*reports)[:_MOVES]]}
    told: dict[str, Any] = present(found)
    return told


def print_diff(maps: Maps, parts: Parts, glosses: Mapping[str, str], reports: Reports | None, to: Console) -> None:
    """Print a comparison."""
    for side, similarity in zip("AB", maps, strict=True):
        say(to, f"{side}  {heading(similarity)}", style="bold")
    say(to, f"value of a pair: {maps[0].ensemble} of the raters that rated it, 0 to 1")
    rows = (
        (
            f"{part}s",
            *map(count, (d.shared, d.only_a, d.only_b)),
            *map(fixed, (d.pearson, d.spearman, d.mean_difference)),
        )
        for part, d in parts.items()
    )
    to.print(table("part", "shared pairs", "only A", "only B", "Pearson", "Spearman", "mean |B - A|", rows=rows))
    for part, diff in parts.items():
        if diff.largest:
            largest = table("A", "B", names=0)
            largest.add_column(f"largest disagreements, {part}s: class")
            largest.add_column("other sense")
            for pair in diff.largest:
                senses = (_in_words(synset, glosses) for synset in (pair.class_synset, pair.synset))
                largest.add_row(fixed(pair.a, 2), fixed(pair.b, 2), *senses)
            to.print(largest)
    if reports:
        a, b = map(semantic_of, reports)
        scores = (("SHOE-mAP", a.map, b.map), ("SHOE-mF1", a.mf1, b.mf1))
        to.print(table("score", "A", "B", "B - A", rows=((title, *_beside(*figures)) for title, *figures in scores)))
        if moves := class_moves(*reports)[:_MOVES]:
            moved = ((words(m.label), count(m.ground_truths), *_beside(m.a, m.b)) for m in moves)
            to.print(table("classes that move most", "ground truths", "AP under A", "AP under B", "B - A", rows=moved))
        for side, report in zip("AB", reports, strict=True):
            say(to, f"signature {side}  {report.signature.short()}")


def _in_words(synset: str, glosses: Mapping[str, str]) -> Text:
    lemmas = f"{synset} ({lemmas_of(synset)})"
    return words(f"{lemmas}: {glosses[synset]}" if glosses else lemmas, longest=300)


def _beside(a: float | None, b: float | None) -> tuple[str, str, str]:
    """Two fractions in percent, and their difference."""
    return percent(a), percent(b), "–" if a is None or b is None else f"{100 * (b - a):+.2f}"
