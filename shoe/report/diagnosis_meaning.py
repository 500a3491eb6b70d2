"""A diagnosis by meaning in the terminal: how near wrong words are, and which confusions explain the gain."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoe.core.errors import printable
from shoe.diagnosis.confusions import Box, Example
from shoe.diagnosis.misses import Kind
from shoe.diagnosis.wording import Wording
from shoe.report.findings import Semantic, WrongWords
from shoe.report.remarks import percent
from shoe.report.text import points, say, table, table_of_models, words

NEARNESS = {
    "same": "same meaning",
    "more_general": "more general",
    "more_specific": "more specific",
    "opposite": "opposite",
    "sibling": "sibling",
    "near": "near",
    "unrelated": "unrelated",
    "unresolved": "not in WordNet",
}
"""How nearness is called."""
_WIDE = 140
"""Columns from which on there is room for the commonest confusions and for senses."""
_SHOWN, _EXAMPLES = 10, 5
_NO_WORD = "(nothing)"


def print_meaning(found: Semantic, to: Console) -> None:
    """Print what one model's words cost it."""
    wide = to.width >= _WIDE
    if found.wording is not None:
        say(to, _ladder(found.wording, found.similarity), "bold")
    to.print(_nearness_table(found, wide=wide))
    if found.wording is None or not found.wording.confusions:
        return
    wording = found.wording
    to.print(_confusion_table(wording, wide=wide))
    rest = len(wording.confusions) - _SHOWN + wording.further
    if rest > 0:
        left = 1 - sum(confusion.share for confusion in wording.confusions[:_SHOWN])
        say(to, f"and {rest:,} further confusions, which have {percent(max(left, 0.0))} % of the credit")
    for number, confusion in enumerate(wording.confusions[:_EXAMPLES], 1):
        say(to, f"{number}. {_example(confusion.examples[0])}")
    say(to, "")


def meaning_table(models: Sequence[tuple[str, Semantic]]) -> Table:
    """One row a model: SHOE-mAP, where its gain over equal words comes from, and how many wrong words are near."""
    headings = ("SHOE-\nmAP", "equal\nwords", "match-\ning", "charg-\ning", "verbs'\ncredit", "objects'\ncredit")
    made = table_of_models("model", *headings, "near\nverbs, %", "near\nobjects, %")
    for model, found in models:
        wording = found.wording
        parts = ["–"] * 5
        if wording is not None:
            steps = (wording.matching, wording.charging, wording.verb_credit, wording.object_credit)
            parts = [percent(wording.equal_map), *map(points, steps)]
        shares = (percent(_share_near(wrong)) for wrong in (found.verbs, found.objects))
        made.add_row(words(model), percent(found.means.map), *parts, *shares)
    return made


def _ladder(wording: Wording, similarity: str) -> str:
    """Add up the gain in one line."""
    credit = f"{points(wording.credit)} credit for meaning (verbs {points(wording.verb_credit)}, objects "
    return (
        f"SHOE-mAP {percent(wording.map)} under {similarity} = {percent(wording.equal_map)} with equal words alone, "
        f"{points(wording.matching)} other matches, {points(wording.charging)} charged predictions, {credit}"
        f"{points(wording.object_credit)})"
    )


def _nearness_table(found: Semantic, *, wide: bool) -> Table:
    """Wrong verbs of localised pairs and wrong objects in the right place, by what they are to the right word."""
    made = table("wrong words", "verbs", "%", "similarity", "objects", "%", "similarity")
    if wide:
        made.add_column("commonest verb (true ← said)", no_wrap=True)
        made.add_column("commonest object (true ← said)", no_wrap=True)
    sides = [{kind.nearness: kind for kind in wrong.kinds} for wrong in (found.verbs, found.objects)]
    for nearness, label in NEARNESS.items():
        kinds = [side.get(nearness) for side in sides]
        if any(kinds):
            figures = [cell for kind in kinds for cell in _figures(kind)]
            made.add_row(label, *figures, *([_commonest(kind) for kind in kinds] if wide else []))
    made.add_section()
    totals = [cell for wrong in (found.verbs, found.objects) for cell in (f"{wrong.total:,}", "", "")]
    made.add_row("all", *totals, *(["", ""] if wide else []))
    return made


def _figures(kind: Kind | None) -> tuple[str, str, str]:
    return ("", "", "") if kind is None else (f"{kind.count:,}", percent(kind.share), f"{kind.similarity:.2f}")


def _commonest(kind: Kind | None) -> Text:
    if kind is None:
        return Text("")
    label, said, count = kind.commonest[0]
    return Text(f"{printable(label, 20)} ← {printable(said, 24) or _NO_WORD}  {count:,}")


def _confusion_table(wording: Wording, *, wide: bool) -> Table:
    """What explains the credit, the largest first."""
    made = table("word", "gain", "%", "matches", "similarity")
    made.add_column("true ← said", overflow="fold")
    made.add_column("nearness", no_wrap=True)
    if wide:
        made.add_column("senses (true ← said)", no_wrap=True)
    for confusion in wording.confusions[:_SHOWN]:
        word = confusion.word
        figures = (points(confusion.gain), percent(confusion.share), f"{confusion.matches:,}", f"{word.similarity:.2f}")
        pair = Text(f"{printable(word.label, 24)} ← {printable(word.said, 30) or _NO_WORD}")
        senses = [Text(f"{word.label_sense or '–'} ← {word.sense or '–'}")] if wide else []
        made.add_row(confusion.part, *figures, pair, NEARNESS[word.nearness], *senses)
    return made


def _example(found: Example) -> str:
    true, said = f"{found.verb.label} {found.object.label}", f"{found.verb.said} {found.object.said}"
    return (
        f"{found.image}: {true} ← {said}, similarity {found.similarity:.2f}, score {found.score:.2f}, "
        f"human {_numbers(found.human_box)}, object {_numbers(found.object_box)}, pair IoU {found.iou:.2f}"
    )


def _numbers(box: Box) -> str:
    return f"[{' '.join(f'{edge:.0f}' for edge in box)}]"


def _share_near(wrong: WrongWords) -> float | None:
    """Share of wrong words that are something to the right one."""
    if not wrong.total:
        return None
    return sum(kind.count for kind in wrong.kinds if kind.nearness not in ("unrelated", "unresolved")) / wrong.total
