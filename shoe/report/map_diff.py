"""Two maps beside each other, in the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoe.lexicon.expressions import Part
from shoe.maps.diff import PartDiff, lemmas_of
from shoe.maps.effect import ClassMove, class_moves, semantic_of
from shoe.report.map_tables import count, fixed, heading, present, table
from shoe.report.notes import percent
from shoe.report.text import say, words
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
        largest = [
            {
                "class_synset": pair.class_synset,
                "synset": pair.synset,
                "a": pair.a,
                "b": pair.b,
                "lemmas": [lemmas_of(pair.class_synset), lemmas_of(pair.synset)],
            }
            | ({"glosses": [glosses[pair.class_synset], glosses[pair.synset]]} if glosses else {})
            for pair in diff.largest
        ]
        figures = {key: value for key, value in asdict(diff).items() if key != "largest"}
        found[f"{part}s"] = present(figures) | {"largest": largest}
    if reports:
        found["score"] = {
            side: present({"map": semantic_of(r).map, "mf1": semantic_of(r).mf1, "signature": str(r.signature)})
            for side, r in zip(("a", "b"), reports, strict=True)
        } | {"classes": [asdict(move) for move in _most_moved(reports)]}
    return found


def print_diff(maps: Maps, parts: Parts, glosses: Mapping[str, str], reports: Reports | None, to: Console) -> None:
    """Print a comparison."""
    for side, similarity in zip("AB", maps, strict=True):
        say(to, f"{side}  {heading(similarity)}", style="bold")
    say(to, f"value of a pair: {maps[0].ensemble} of the raters that rated it, 0 to 1")
    to.print(_counts_table(parts))
    for part, diff in parts.items():
        if diff.largest:
            to.print(_largest_table(part, diff, glosses))
    if reports:
        to.print(_score_table(reports))
        moves = _most_moved(reports)
        if moves:
            to.print(_moves_table(moves))
        for side, report in zip("AB", reports, strict=True):
            say(to, f"signature {side}  {report.signature.short()}")


def _most_moved(reports: Reports) -> list[ClassMove]:
    return class_moves(*reports)[:_MOVES]


def _counts_table(parts: Parts) -> Table:
    made = table("part", right=("shared pairs", "only A", "only B", "Pearson", "Spearman", "mean |B - A|"))
    for part, diff in parts.items():
        counts = (diff.shared, diff.only_a, diff.only_b)
        figures = (diff.pearson, diff.spearman, diff.mean_difference)
        made.add_row(f"{part}s", *map(count, counts), *map(fixed, figures))
    return made


def _largest_table(part: Part, diff: PartDiff, glosses: Mapping[str, str]) -> Table:
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in ("A", "B"):
        made.add_column(column, justify="right", no_wrap=True)
    made.add_column(f"largest disagreements, {part}s: class")
    made.add_column("other sense")
    for pair in diff.largest:
        senses = (_in_words(synset, glosses) for synset in (pair.class_synset, pair.synset))
        made.add_row(fixed(pair.a, 2), fixed(pair.b, 2), *senses)
    return made


def _in_words(synset: str, glosses: Mapping[str, str]) -> Text:
    lemmas = f"{synset} ({lemmas_of(synset)})"
    return words(f"{lemmas}: {glosses[synset]}" if glosses else lemmas, longest=300)


def _score_table(reports: Reports) -> Table:
    made = table("score", right=("A", "B", "B - A"))
    a, b = map(semantic_of, reports)
    for title, of_a, of_b in (("SHOE-mAP", a.map, b.map), ("SHOE-mF1", a.mf1, b.mf1)):
        made.add_row(title, percent(of_a), percent(of_b), _signed(of_a, of_b))
    return made


def _moves_table(moves: list[ClassMove]) -> Table:
    made = table("classes that move most", right=("ground truths", "AP under A", "AP under B", "B - A"))
    for move in moves:
        made.add_row(
            words(move.label), count(move.ground_truths), percent(move.a), percent(move.b), _signed(move.a, move.b)
        )
    return made


def _signed(a: float | None, b: float | None) -> str:
    return "–" if a is None or b is None else f"{100 * (b - a):+.2f}"
