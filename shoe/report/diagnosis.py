"""Diagnosis of models in the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import asdict
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoe.benchmarks.truth import GroundTruth
from shoe.core.documents import Document
from shoe.core.errors import many, printable
from shoe.diagnosis.analysis import ErrorAnalysis
from shoe.diagnosis.diagnose import Diagnosis
from shoe.diagnosis.error_types import ERRORS, GROUPS, NAMES
from shoe.diagnosis.localisation import PairFigures
from shoe.diagnosis.pairs import PairDiagnosis
from shoe.diagnosis.record import ModelFigures
from shoe.diagnosis.semantics import Related, SemanticDiagnosis, WrongWords
from shoe.diagnosis.sweeps import Sweep
from shoe.diagnosis.vocabulary_gap import ConfusionExample, VocabularyGap
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
"""Names of semantic relations in tables."""
_WIDE_SEMANTICS = 140
"""Terminal width in columns from which on the commonest confusions and senses are shown."""
_SHOWN, _EXAMPLES = 10, 5
_NO_WORD = "(nothing)"


def print_semantics(found: SemanticDiagnosis, to: Console) -> None:
    """Print the semantic diagnosis of one model: relations of wrong words, and what explains the vocabulary gap."""
    wide, gap = to.width >= _WIDE_SEMANTICS, found.vocabulary_gap
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
    """Return a table of models: SHOE-mAP, its gain over exact matches, and percent of wrong words related to labels."""
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
    return (
        f"SHOE-mAP {percent(gap.map)} under {similarity} = {percent(gap.exact_map)} with exact matches of words, "
        f"{points(gap.matching)} other matches, {points(gap.false_positives)} further false positives, "
        f"{points(gap.credit)} credit for meaning (verbs {points(gap.verb_credit)}, "
        f"objects {points(gap.object_credit)})"
    )


def _relation_table(found: SemanticDiagnosis, *, wide: bool) -> Table:
    made = table("semantic relation", "verbs", "%", "similarity", "objects", "%", "similarity")
    if wide:
        made.add_column("commonest verb ← predicted", no_wrap=True)
        made.add_column("commonest object ← predicted", no_wrap=True)
    parts = (found.interaction, found.object_class)
    for relation, label in RELATIONS.items():
        cases = [wrong.by_relation.get(relation) for wrong in parts]
        if any(cases):
            figures = [
                cell
                for case in cases
                for cell in ((f"{case.count:,}", percent(case.share), fixed(case.similarity, 2)) if case else [""] * 3)
            ]
            made.add_row(label, *figures, *([_commonest(case) for case in cases] if wide else []))
    made.add_section()
    totals = [cell for wrong in parts for cell in (f"{len(wrong.prediction):,}", "", "")]
    made.add_row("all wrong words", *totals, *(["", ""] if wide else []))
    return made


def _commonest(related: Related | None) -> Text:
    if related is None:
        return Text("")
    most = related.commonest[0]
    return Text(f"{printable(most.label, 20)} ← {printable(most.predicted, 24) or _NO_WORD}  {most.times:,}")


def _confusion_table(gap: VocabularyGap, *, wide: bool) -> Table:
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
    if not len(wrong.prediction):
        return None
    related = sum(each.count for name, each in wrong.by_relation.items() if name not in ("unrelated", "unresolved"))
    return related / len(wrong.prediction)


_WIDE = 126
"""Terminal width in columns from which on each error is explained."""
_ROOMY = 100
"""Terminal width in columns from which on the deltas of several models have two decimals."""
_BAR = 14
_PARTS = {"negative_ap": "negative AP", "interaction_map": "interaction mAP", "map": "SHOE-mAP"}
_NARROW = (
    *("human\nbox", "object\nbox", "both\nboxes", "assoc-\niation", "dupli-\ncate", "inter-\naction", "missed\nGT"),
    *("false\npos.", "false\nneg."),
)
"""Headings of ``NAMES`` for tables with one column per error."""
_RULES = {
    "paper": (
        "this mAP: Diag-HOI's papers, IoU above 0.5, area under the curve, a mean over all classes with ground truth",
        "other mAPs of one file: --variant released, as score --protocol diag (11 points); score (the benchmark's own)",
    ),
    "released": (
        "this mAP: Diag-HOI's toolbox, as score --protocol diag: IoU of 0.5, 11 points, without classes never hit",
        "other mAPs of one file: --variant paper (area under the curve); score (the benchmark's own protocol)",
    ),
    "role": (
        "this mAP: of actions with a role, whatever the object, as role AP of scenario 1; area under the curve",
        "other mAPs of one file: --by class (action and object); score (the benchmark's own protocols)",
    ),
}
"""Explanation of the mAP by variant or ``role``, because three commands report different mAPs of the same file."""
SWEEPS = {
    "nms": "without pairs that overlap a better one by more than a threshold (NMS)",
    "detection": "without pairs whose detection scores less than a threshold",
    "score": "without triplets that score less than a threshold",
}


def print_diagnoses(models: Models, truth: GroundTruth, to: Console, *, sweeps: bool = False) -> None:
    """Print the diagnosis of one model, or of several side by side, and with ``sweeps`` metrics at thresholds."""
    first = next(iter(models.values()))
    counted = f"{many(first.pairs.images, 'image')} and {many(len(first.scope.truth), 'triplet')} that count"
    say(to, f"{truth.classes.name} · {printable(truth.split)} · {counted}", "bold")
    for line in _of_models({name: found.warnings for name, found in models.items()}):
        say(to, line, "bold")
    several = len(models) > 1
    (_print_several if several else _print_one)(models, to)
    if several and (semantics := {name: each.semantic for name, each in models.items() if each.semantic}):
        seeds = [each.analysis.seed for each in semantics.values() if each.analysis.drawn]
        seed = f" (seed {seeds[0]} alone)" if seeds else ""
        say(to, f"SHOE-mAP, and what the same oracles add to it{seed}; * costs most")
        to.print(_deltas_table(semantics, to))
        say(to, "SHOE-mAP: with exact matches of words, what meaning adds, and wrong words related to the right ones")
        to.print(semantic_table(semantics))
    for name, found in models.items():
        for curve in found.sweeps if sweeps else ():
            say(to, f"{name}: {SWEEPS[curve.by]}" if several else SWEEPS[curve.by])
            to.print(_sweep_table(curve))
    for line in _notes(models):
        say(to, line)
    for name, found in models.items():
        prefix = f"{name}: " if several else ""
        say(to, f"signature  {prefix}{found.signature.short()}")
        if found.semantic is not None:
            say(to, f"           {prefix}{found.semantic.signature.short()}")
    say(to, "           in full: --json -", "dim")


def verdict(found: ErrorAnalysis) -> str:
    """Return a sentence about the error whose fix adds most mAP, or "" if no fix adds any."""
    for error in ERRORS:
        if error.name == found.worst:
            gain = points(found.deltas[error.name].map)
            return f"costs most: {error.label} ({error.meaning}): {gain} mAP if fixed alone"
    return ""


def _print_one(models: Models, to: Console) -> None:
    ((name, found),) = models.items()
    if isinstance(found, Diagnosis):
        right = found.counts["true_positive"]
        counted = right + found.counts["false_positive"]
        part = f"{counted:,} of " if counted != len(found.table) else ""
        total, hits = many(len(found.table), "prediction"), many(right, "true positive")
        say(to, f"{name} · {part}{total} · {hits} · {_how(found)}")
        parts = zip(("mAP", "rare", "non-rare"), found.means, strict=True)
        means = [*parts, *((part, mean.map) for part, mean in found.parts.items())]
        say(to, "   ".join(f"{part} {percent(value)}" for part, value in means), "bold")
        for line in _RULES["role" if found.variant.by == "role" else found.variant.name]:
            say(to, line, "dim")
        say(to, verdict(found), "bold")
        to.print(_error_table(found, wide=to.width >= _WIDE))
        steps = table("fixed one after the other", "mAP", "rare", "non-rare", "gain")
        steps.add_row("none", *map(percent, found.means), "")
        for error, step in zip(ERRORS, found.progression, strict=True):
            steps.add_row(f"+ {error.label}", *map(percent, step.means), points(step.delta.map))
        to.print(steps)
    else:
        say(to, f"{name} · {many(len(found.table), 'pair')}")
    to.print(_sub_task_table(models))
    if found.semantic is not None:
        print_semantics(found.semantic, to)


def _print_several(models: Models, to: Console) -> None:
    found = {name: each for name, each in models.items() if isinstance(each, Diagnosis)}
    if found:
        how = _how(next(iter(found.values())))
        say(to, f"mAP, and what fixing one error alone would add to it ({how}); * costs most")
        to.print(_deltas_table(found, to))
        say(to, "number of cases")
        made = table_of_models("model", *_NARROW)
        for name, each in found.items():
            made.add_row(words(name), *(_short(each.counts[error]) for error in NAMES))
        to.print(made)
    to.print(_sub_task_table(models))


def _how(found: Diagnosis) -> str:
    """Return the settings that the short signature does not show."""
    if found.variant.name == "released":
        return "as Diag-HOI's toolbox"
    if found.choice == "greedy":
        return "as Diag-HOI's paper, greedy fixes"
    if not found.drawn:
        return f"as Diag-HOI's paper, seed {found.seed}"
    # Semantic deltas score each fixed state again, so they are computed for one seed only.
    semantic = f"; Δ SHOE: seed {found.seed}" if found.semantic and found.semantic.deltas else ""
    return f"as Diag-HOI's paper, mean ± sd over seeds {found.seed} to {found.seed + found.seeds - 1}{semantic}"


def _error_table(found: Diagnosis, *, wide: bool) -> Table:
    by_meaning = found.semantic.deltas if found.semantic is not None else {}
    spread = ["±"] if found.drawn else []
    made = table(
        "error", "cases", "Δ mAP", *spread, "rare", "non-rare", *found.parts, *(["Δ SHOE"] if by_meaning else [])
    )
    made.add_column("")
    if wide:
        made.add_column("what is wrong", no_wrap=True)
    most = max(found.deltas[error.name].map or 0.0 for error in ERRORS)
    for group in (ERRORS, GROUPS):
        ranked = sorted(group, key=lambda error: -(found.deltas[error.name].map or 0.0))
        for error in ranked:
            delta = found.deltas[error.name]
            cells = [error.label, f"{found.counts[error.name]:,}", points(delta.map)]
            cells += [percent(found.spreads[error.name].map)] if spread else []
            cells += map(points, [*delta[1:], *(found.part_deltas[part][error.name] for part in found.parts)])
            cells += [points(by_meaning[error.name].map)] if by_meaning else []
            cells += [_bar(delta.map, most) if group is ERRORS else "", *([error.meaning] if wide else [])]
            made.add_row(*cells, end_section=group is ERRORS and error is ranked[-1])
    return made


def _deltas_table(models: Mapping[str, Diagnosis] | Mapping[str, SemanticDiagnosis], to: Console) -> Table:
    digits = 2 if to.width >= _ROOMY else 1
    made = table_of_models("model", "mAP", *_NARROW)
    for name, found in models.items():
        gains = [found.deltas[error].map if error in found.deltas else None for error in NAMES]
        cells: list[str | Text] = [points(gain, digits) for gain in gains]
        worst = max(range(len(ERRORS)), key=lambda k: gains[k] or 0.0)
        if (gains[worst] or 0.0) > 0:
            cells[worst] = Text(f"{cells[worst]}*", style="bold")
        made.add_row(words(name), percent(found.means.map), *cells)
    return made


def _sub_task_table(models: Models) -> Table:
    """Return metrics of pairs and interactions, as in Table 2 of the papers; for one model by rarity as in Table 5."""
    headings = ("pairs per\nimage", "pair\nrecall", "one to\none", "pair\nprecision", "human\nrecall", "object\nrecall")
    several = len(models) > 1
    made = table_of_models("model" if several else "classes", *headings, "negative\nAP", "interaction\nmAP")
    for name, found in models.items():
        named, negative = found.interaction_map, found.negative_ap
        parts = (named.map, named.map_rare, named.map_non_rare) if named else (None, None, None)
        cells = fixed(found.pairs.per_image, 1), percent(negative.all_points if negative else None)
        _add_sub_tasks(made, name if several else "all", found.pairs, parts[0], *cells)
        if not several:
            _add_sub_tasks(made, "rare", found.pairs_rare, parts[1])
            _add_sub_tasks(made, "non-rare", found.pairs_non_rare, parts[2])
    return made


def _add_sub_tasks(
    to: Table, name: str, pairs: PairFigures, interaction: float | None, per_image: str = "", negative: str = ""
) -> None:
    shares = (pairs.recall, pairs.recall_one_to_one, pairs.precision, pairs.human_recall, pairs.object_recall)
    to.add_row(words(name), per_image, *map(percent, shares), negative, percent(interaction))


def _sweep_table(curve: Sweep) -> Table:
    made = table(
        "threshold", "pairs per\nimage", "pair\nrecall", "one to\none", "pair\nprecision", "mAP", "rare", "non-rare"
    )
    for point in curve.points:
        shares = (point.recall, point.recall_one_to_one, point.precision, point.map, point.map_rare, point.map_non_rare)
        made.add_row(f"{point.threshold:g}", fixed(point.per_image, 1), *map(percent, shares))
    return made


def _notes(models: Models) -> list[str]:
    notes: dict[str, list[str]] = {}
    for name, found in models.items():
        absent = {**found.absent, **(found.semantic.absent if found.semantic else {})}
        notes[name] = [f"{_PARTS.get(part, part)}: not measured: {why}" for part, why in absent.items()]
        notes[name] += [line for line in found.notes if line not in found.warnings]
    return _of_models(notes)


def _of_models(notes: Mapping[str, Iterable[str]]) -> list[str]:
    """Return each line once, with the names of its models unless it is about all models."""
    names: dict[str, list[str]] = {}
    for name, lines in notes.items():
        for line in lines:
            names.setdefault(line, []).append(name)
    return [line if len(models) == len(notes) else f"{', '.join(models)}: {line}" for line, models in names.items()]


def _bar(value: float | None, most: float) -> str:
    eighths = round(8 * _BAR * value / most) if value and value > 0 else 0
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _short(count: int) -> str:
    return f"{count:,}" if count < 10_000 else f"{count / 1000:,.0f}k"


Models = Mapping[str, Diagnosis | PairDiagnosis]
"""Diagnoses by name of the model."""


class Model(ModelFigures, frozen=True):
    """Diagnosis of one of several models, named after its file without the ending."""

    name: str


class OneModel(ModelFigures, frozen=True):
    """Diagnosis of one model, with its dataset and split."""

    dataset: str
    split: str
    name: str


class SeveralModels(Document, frozen=True):
    """Diagnoses of several models, with their dataset and split."""

    dataset: str
    split: str
    models: list[Model]


def document(models: Models, truth: GroundTruth, *, sweeps: bool = False) -> OneModel | SeveralModels:
    """Return the metrics of one or more models with the same ground truth, with ``sweeps`` at several thresholds."""
    data = truth.classes.name, truth.split
    figures = {name: asdict(found.figures(sweeps=sweeps)) for name, found in models.items()}
    if len(figures) > 1:
        return SeveralModels(*data, [Model(name, **values) for name, values in figures.items()])
    ((name, values),) = figures.items()
    return OneModel(*data, name, **values)
