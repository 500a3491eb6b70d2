"""The semantic part of a diagnosis in the terminal: relations of wrong words, and what explains the vocabulary gap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoe.core.errors import printable
from shoe.diagnosis.semantics import SemanticDiagnosis
from shoe.diagnosis.vocabulary_gap import ConfusionExample, VocabularyGap
from shoe.diagnosis.wrong_words import Related, WrongWords
from shoe.report.text import fixed, percent, points, say, table, table_of_models, words

RELATIONS = {
    "same": "same meaning",
    "more_general": "more general",
    "more_specific": "more specific",
    "opposite": "opposite",
    "sibling": "sibling",
    "similar": "similar",
    "unrelated": "unrelated",
    "unresolved": "not in WordNet",
}
"""How semantic relations are called."""
_WIDE = 140
"""Columns from which on there is room for the commonest confusions and for senses."""
_SHOWN, _EXAMPLES = 10, 5
_NO_WORD = "(nothing)"


def print_semantics(found: SemanticDiagnosis, to: Console) -> None:
    """Print what one model's words cost it."""
    wide, gap = to.width >= _WIDE, found.vocabulary_gap
    if gap is not None:
        say(to, _sum(gap, found.source.name), "bold")
    to.print(_relation_table(found, wide=wide))
    if gap is None or not gap.confusions:
        return
    to.print(_confusion_table(gap, wide=wide))
    rest = len(gap.confusions) - _SHOWN + gap.further
    if rest > 0:
        left = 1 - sum(confusion.share for confusion in gap.confusions[:_SHOWN])
        say(to, f"and {rest:,} further confusions, which have {percent(max(left, 0.0))} % of the credit")
    for number, confusion in enumerate(gap.confusions[:_EXAMPLES], 1):
        say(to, f"{number}. {_example(confusion.examples[0])}")
    say(to, "")


def semantic_table(models: Mapping[str, SemanticDiagnosis]) -> Table:
    """One row per model: SHOE-mAP, what explains its gain over exact matches, and how many wrong words are related."""
    headings = ("SHOE-\nmAP", "exact\nmatch", "match-\ning", "false\npos.", "verbs'\ncredit", "objects'\ncredit")
    made = table_of_models("model", *headings, "related\nverbs, %", "related\nobjects, %")
    for model, found in models.items():
        gap = found.vocabulary_gap
        parts = ["–"] * 5
        if gap is not None:
            steps = (gap.matching, gap.false_positives, gap.verb_credit, gap.object_credit)
            parts = [percent(gap.exact_map), *map(points, steps)]
        shares = (percent(_share_related(wrong)) for wrong in (found.interaction, found.object_class))
        made.add_row(words(model), percent(found.means.map), *parts, *shares)
    return made


def _sum(gap: VocabularyGap, similarity: str) -> str:
    """Add up the gain in one line."""
    credit = f"{points(gap.credit)} credit for meaning (verbs {points(gap.verb_credit)}, objects "
    return (
        f"SHOE-mAP {percent(gap.map)} under {similarity} = {percent(gap.exact_map)} with exact matches of words, "
        f"{points(gap.matching)} other matches, {points(gap.false_positives)} further false positives, {credit}"
        f"{points(gap.object_credit)})"
    )


def _relation_table(found: SemanticDiagnosis, *, wide: bool) -> Table:
    """Wrong verbs of localised pairs and wrong objects between right boxes, by their relation to the right word."""
    made = table("semantic relation", "verbs", "%", "similarity", "objects", "%", "similarity")
    if wide:
        made.add_column("commonest verb ← predicted", no_wrap=True)
        made.add_column("commonest object ← predicted", no_wrap=True)
    parts = (found.interaction, found.object_class)
    for relation, label in RELATIONS.items():
        cases = [wrong.by_relation.get(relation) for wrong in parts]
        if any(cases):
            figures = [cell for case in cases for cell in _figures(case)]
            made.add_row(label, *figures, *([_commonest(case) for case in cases] if wide else []))
    made.add_section()
    totals = [cell for wrong in parts for cell in (f"{len(wrong.prediction):,}", "", "")]
    made.add_row("all wrong words", *totals, *(["", ""] if wide else []))
    return made


def _figures(of: Related | None) -> tuple[str, str, str]:
    return ("", "", "") if of is None else (f"{of.count:,}", percent(of.share), fixed(of.similarity, 2))


def _commonest(of: Related | None) -> Text:
    if of is None:
        return Text("")
    most = of.commonest[0]
    return Text(f"{printable(most.label, 20)} ← {printable(most.predicted, 24) or _NO_WORD}  {most.times:,}")


def _confusion_table(gap: VocabularyGap, *, wide: bool) -> Table:
    """What explains the credit, the largest first."""
    made = table("word", "gain", "%", "matches", "similarity")
    made.add_column("true ← predicted", overflow="fold")
    made.add_column("relation", no_wrap=True)
    if wide:
        made.add_column("senses (true ← predicted)", no_wrap=True)
    for confusion in gap.confusions[:_SHOWN]:
        word = confusion.word
        figures = (points(confusion.gain), percent(confusion.share), f"{confusion.matches:,}", f"{word.similarity:.2f}")
        pair = Text(f"{printable(word.label, 24)} ← {printable(word.predicted, 30) or _NO_WORD}")
        senses = [Text(f"{word.label_sense or '–'} ← {word.sense or '–'}")] if wide else []
        made.add_row(confusion.part, *figures, pair, RELATIONS[word.relation], *senses)
    return made


def _example(found: ConfusionExample) -> str:
    true, predicted = f"{found.verb.label} {found.object.label}", f"{found.verb.predicted} {found.object.predicted}"
    return (
        f"{found.image}: {true} ← {predicted}, similarity {found.similarity:.2f}, score {found.score:.2f}, "
        f"human {_numbers(found.human_box)}, object {_numbers(found.object_box)}, pair IoU {found.iou:.2f}"
    )


def _numbers(box: Sequence[float]) -> str:
    return f"[{' '.join(f'{edge:.0f}' for edge in box)}]"


def _share_related(wrong: WrongWords) -> float | None:
    """Share of wrong words that have a relation to the right one."""
    if not len(wrong.prediction):
        return None
    related = sum(each.count for name, each in wrong.by_relation.items() if name not in ("unrelated", "unresolved"))
    return related / len(wrong.prediction)
