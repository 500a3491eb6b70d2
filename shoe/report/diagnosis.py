"""Diagnosis of models in the terminal and as JSON."""

from collections.abc import Mapping

from msgspec.structs import asdict
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoe.benchmarks.truth import GroundTruth
from shoe.core.documents import Document
from shoe.core.errors import pluralize, printable
from shoe.diagnosis.diagnose import Diagnosis
from shoe.diagnosis.error_gains import ErrorAnalysis
from shoe.diagnosis.error_types import ERRORS, GROUPS, NAMES
from shoe.diagnosis.pairs import PairDiagnosis
from shoe.diagnosis.record import ModelFigures
from shoe.diagnosis.relations import Relation
from shoe.diagnosis.semantics import Related, SemanticDiagnosis
from shoe.diagnosis.vocabulary_gap import ConfusionExample, VocabularyGap
from shoe.report.text import all_notes, decimals, percent, points, print_line, print_more, table, table_of_models, words

Models = Mapping[str, Diagnosis | PairDiagnosis]
"""Diagnoses by name of the model."""
RELATIONS = {each.label: each.label.replace("_", " ") for each in Relation}
RELATIONS |= {"same": "same meaning", "unresolved": "not in WordNet"}
"""Names of semantic relations in tables."""
_SHOWN, _EXAMPLES = 10, 5
_NO_WORD, _UNRELATED = "(nothing)", ("unrelated", "unresolved")


def print_semantics(found: SemanticDiagnosis, to: Console, *, verbose: bool = True) -> None:
    """Print SHOE-mAP, if measured, as mAP of exact words plus gains; ``verbose`` adds tables of wrong words."""
    wide, gap = to.width >= 140, found.vocabulary_gap
    if gap is not None:
        sentence = (
            f"SHOE-mAP {percent(gap.map)} under {found.source.name} = {percent(gap.exact_map)} with exact matches of "
            f"words, {points(gap.matching)} from other matches, {points(gap.false_positives)} from further false "
            f"positives, {points(gap.credit)} from credit for similar words (verbs {points(gap.verb_credit)}, "
            f"objects {points(gap.object_credit)})"
        )
        print_line(to, sentence, "bold")
    if not verbose:
        return
    to.print(_relation_table(found, wide=wide))
    if gap is None or not gap.confusions:
        return
    to.print(_confusion_table(gap, wide=wide))
    if (rest := len(gap.confusions) - _SHOWN + gap.further) > 0:
        left = 1 - sum(confusion.share for confusion in gap.confusions[:_SHOWN])
        print_line(to, f"{rest:,} further confusions account for {percent(max(left, 0.0))} % of the credit")
    for number, confusion in enumerate(gap.confusions[:_EXAMPLES], 1):
        _print_example(number, confusion.examples[0], to)
    print_line(to, "")


def _relation_table(found: SemanticDiagnosis, *, wide: bool) -> Table:
    made = table("semantic relation", "verbs", "%", "similarity", "objects", "%", "similarity")
    if wide:
        made.add_column("commonest verb ← predicted", no_wrap=True)
        made.add_column("commonest object ← predicted", no_wrap=True)
    parts = (found.interaction, found.object_class)
    for relation, label in RELATIONS.items():
        cases = [wrong.by_relation.get(relation) for wrong in parts]
        if any(cases):
            figures: list[str] = []
            for case in cases:
                figures += [f"{case.count:,}", percent(case.share), decimals(case.similarity, 2)] if case else [""] * 3
            made.add_row(label, *figures, *(map(_commonest, cases) if wide else ()))
    made.add_section()
    totals = [cell for wrong in parts for cell in (f"{len(wrong.prediction):,}", "", "")]
    made.add_row("all wrong words", *totals, *(["", ""] if wide else []))
    return made


def _commonest(related: Related | None) -> str:
    most = related.commonest[0] if related else None
    return f"{printable(most.label, 20)} ← {printable(most.predicted, 24) or _NO_WORD}  {most.times:,}" if most else ""


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


def _print_example(number: int, found: ConfusionExample, to: Console) -> None:
    true, predicted = f"{found.verb.label} {found.object.label}", f"{found.verb.predicted} {found.object.predicted}"
    human, thing = (" ".join(f"{edge:.0f}" for edge in box) for box in (found.human_box, found.object_box))
    print_line(
        to,
        f"{number}. {found.image}: {true} ← {predicted}, similarity {found.similarity:.2f}, score {found.score:.2f}, "
        f"human [{human}], object [{thing}], pair IoU {found.iou:.2f}",
    )


_PARTS = {"negative_ap": "negative AP", "interaction_map": "interaction mAP", "map": "SHOE-mAP"}
_NARROW = (
    *("human\nbox", "object\nbox", "both\nboxes", "assoc-\niation", "dupli-\ncate", "inter-\naction", "missed\nGT"),
    *("false\npos.", "false\nneg."),
)
"""Headings of ``NAMES`` for tables with one column per error."""
_RULES = {
    "paper": (
        "this mAP: Diag-HOI's papers (IoU above 0.5, area under the curve, mean over all classes with ground truth)",
        "other mAPs of this file: `--variant released` (11 points, as `shoe score --protocol diag`); `shoe score` "
        "(protocols of the benchmark)",
    ),
    "released": (
        "this mAP: Diag-HOI's toolbox and `shoe score --protocol diag` (IoU of 0.5, 11 points, without classes with no "
        "true positive)",
        "other mAPs of this file: `--variant paper` (area under the curve); `shoe score` (protocols of the benchmark)",
    ),
    "role": (
        "this mAP: mean over actions with a role, for any object, as role AP of scenario 1; area under the curve",
        "other mAPs of this file: `--by class` (action and object); `shoe score` (protocols of the benchmark)",
    ),
}
"""Explanation of the mAP by variant or ``role``, because three commands report different mAPs of the same file."""
SWEEPS = {
    "nms": "without pairs whose overlap with a pair of higher score exceeds a threshold (NMS)",
    "detection": "without pairs whose detection score is below a threshold",
    "score": "without triplets whose score is below a threshold",
}


def print_diagnoses(
    models: Models, truth: GroundTruth, to: Console, *, sweeps: bool = False, verbose: bool = False
) -> None:
    """Print the diagnoses of models; ``sweeps`` adds metrics by threshold, and ``verbose`` adds all other tables."""
    first = next(iter(models.values()))
    counted = f"{pluralize(first.pairs.images, 'image')} and {pluralize(len(first.scope.truth), 'triplet')} evaluated"
    print_line(to, f"{truth.classes.name} · {printable(truth.split)} · {counted}", "bold")
    for line in all_notes({name: found.warnings for name, found in models.items()}):
        print_line(to, line, "bold")
    several = len(models) > 1
    (_print_several if several else _print_one)(models, to, verbose=verbose)
    if several and (semantics := {name: each.semantic for name, each in models.items() if each.semantic}):
        seeds = [each.analysis.seed for each in semantics.values() if each.analysis.drawn]
        seed = f" (seed {seeds[0]} alone)" if seeds else ""
        print_line(to, f"SHOE-mAP, and its gain if one kind of error were fixed{seed}; *: largest gain")
        to.print(_deltas_table(semantics, to))
        if verbose:
            parts = "exact matches of words, gain by similar words, and wrong words related to the correct words"
            print_line(to, f"SHOE-mAP: {parts}")
            steps = ("SHOE-\nmAP", "exact\nmatch", "match-\ning", "false\npos.", "verbs'\ncredit", "objects'\ncredit")
            made = table_of_models("model", *steps, "related\nverbs, %", "related\nobjects, %")
            for name, each in semantics.items():
                cells = ["–"] * 5
                if (gap := each.vocabulary_gap) is not None:
                    gains = (gap.matching, gap.false_positives, gap.verb_credit, gap.object_credit)
                    cells = [percent(gap.exact_map), *map(points, gains)]
                for wrong in (each.interaction, each.object_class):
                    counts = (of.count for of_kind, of in wrong.by_relation.items() if of_kind not in _UNRELATED)
                    cells.append(percent(sum(counts) / len(wrong.prediction) if len(wrong.prediction) else None))
                made.add_row(words(name), percent(each.means.map), *cells)
            to.print(made)
    for name, found in models.items():
        for curve in found.sweeps if sweeps else ():
            print_line(to, f"{name}: {SWEEPS[curve.by]}" if several else SWEEPS[curve.by])
            headings = ("pairs per\nimage", "pair\nrecall", "one to\none", "pair\nprecision", "mAP", "rare", "non-rare")
            made = table("threshold", *headings)
            for p in curve.points:
                shares = (p.recall, p.recall_one_to_one, p.precision, p.map, p.map_rare, p.map_non_rare)
                made.add_row(f"{p.threshold:g}", decimals(p.per_image, 1), *map(percent, shares))
            to.print(made)
    for line in _notes(models, verbose=verbose):
        print_line(to, line)
    if not verbose:
        print_more(to)
        return
    for name, found in models.items():
        prefix = f"{name}: " if several else ""
        print_line(to, f"signature  {prefix}{found.signature.short()}")
        if found.semantic is not None:
            print_line(to, f"           {prefix}{found.semantic.signature.short()}")
    print_line(to, "           `--json -` prints the full signatures", "dim")


def verdict(found: ErrorAnalysis) -> str:
    """Return a sentence about the kind of error whose fix adds most mAP, or "" if no fix adds mAP."""
    if (error := next((each for each in ERRORS if each.name == found.worst), None)) is None:
        return ""
    gain = points(found.deltas[error.name].map)
    return f"costs most: {error.label} ({error.meaning}): {gain} mAP if only this kind of error were fixed"


def _print_one(models: Models, to: Console, *, verbose: bool) -> None:
    ((name, found),) = models.items()
    if isinstance(found, Diagnosis):
        right = found.counts["true_positive"]
        counted = right + found.counts["false_positive"]
        part = f"{counted:,} of " if counted != len(found.table) else ""
        total, hits = pluralize(len(found.table), "prediction"), pluralize(right, "true positive")
        print_line(to, f"{name} · {part}{total} · {hits} · {_how(found)}")
        parts = zip(("mAP", "rare", "non-rare"), found.means, strict=True)
        means = [*parts, *((part, mean.map) for part, mean in found.parts.items())]
        print_line(to, "   ".join(f"{part} {percent(value)}" for part, value in means), "bold")
        rule, others = _RULES["role" if found.variant.by == "role" else found.variant.name]
        for line in (rule, others) if verbose else (rule,):
            print_line(to, line, "dim")
        print_line(to, verdict(found), "bold")
        to.print(_error_table(found, wide=to.width >= 126))
        if verbose:
            steps = table("fixed one after the other", "mAP", "rare", "non-rare", "gain")
            steps.add_row("none", *map(percent, found.means), "")
            for error, step in zip(ERRORS, found.progression, strict=True):
                steps.add_row(f"+ {error.label}", *map(percent, step.means), points(step.delta.map))
            to.print(steps)
    else:
        print_line(to, f"{name} · {pluralize(len(found.table), 'pair')}")
    if verbose or not isinstance(found, Diagnosis):
        to.print(_sub_task_table(models))
    if found.semantic is not None:
        print_semantics(found.semantic, to, verbose=verbose)


def _print_several(models: Models, to: Console, *, verbose: bool) -> None:
    if found := {name: each for name, each in models.items() if isinstance(each, Diagnosis)}:
        how = _how(next(iter(found.values())))
        print_line(to, f"mAP, and its gain if one kind of error were fixed ({how}); *: largest gain")
        to.print(_deltas_table(found, to))
        if verbose:
            made = table_of_models("model", *_NARROW)
            for name, each in found.items():
                counts = (each.counts[error] for error in NAMES)
                made.add_row(words(name), *(f"{n:,}" if n < 10_000 else f"{n / 1000:,.0f}k" for n in counts))
            print_line(to, "number of cases")
            to.print(made)
    if verbose or len(found) < len(models):
        to.print(_sub_task_table(models))


def _how(found: Diagnosis) -> str:
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
    last = ["Δ SHOE"] if by_meaning else []
    made = table("error", "cases", "Δ mAP", *spread, "rare", "non-rare", *found.parts, *last)
    made.add_column("")
    if wide:
        made.add_column("what is wrong", no_wrap=True)
    most = max(found.deltas[error.name].map or 0.0 for error in ERRORS)
    for group in (ERRORS, GROUPS):
        for error in (ranked := sorted(group, key=lambda error: -(found.deltas[error.name].map or 0.0))):
            delta = found.deltas[error.name]
            cells = [error.label, f"{found.counts[error.name]:,}", points(delta.map)]
            cells += [percent(found.spreads[error.name].map)] if spread else []
            cells += map(points, [*delta[1:], *(found.part_deltas[part][error.name] for part in found.parts)])
            cells += [points(by_meaning[error.name].map)] if by_meaning else []
            eighths = round(8 * 14 * max(delta.map or 0.0, 0.0) / most) if most > 0 and group is ERRORS else 0
            cells += ["█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip(), *([error.meaning] if wide else [])]
            made.add_row(*cells, end_section=group is ERRORS and error is ranked[-1])
    return made


def _deltas_table(models: Mapping[str, Diagnosis] | Mapping[str, SemanticDiagnosis], to: Console) -> Table:
    digits = 2 if to.width >= 100 else 1
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
    # As in Table 2 of the papers; for one model by rarity as in Table 5.
    headings = ("pairs per\nimage", "pair\nrecall", "one to\none", "pair\nprecision", "human\nrecall", "object\nrecall")
    several = len(models) > 1
    made = table_of_models("model" if several else "classes", *headings, "negative\nAP", "interaction\nmAP")
    for name, found in models.items():
        interaction, negative = found.interaction_map, found.negative_ap
        parts = (interaction.map, interaction.map_rare, interaction.map_non_rare) if interaction else (None, None, None)
        per_image, negative_ap = decimals(found.pairs.per_image, 1), percent(negative.all_points if negative else None)
        rows = [(name if several else "all", found.pairs, per_image, negative_ap)]
        rows += [] if several else [("rare", found.pairs_rare, "", ""), ("non-rare", found.pairs_non_rare, "", "")]
        for (row, pairs, number, ap), value in zip(rows, parts, strict=False):
            shares = (pairs.recall, pairs.recall_one_to_one, pairs.precision, pairs.human_recall, pairs.object_recall)
            made.add_row(words(row), number, *map(percent, shares), ap, percent(value))
    return made


def _notes(models: Models, *, verbose: bool) -> list[str]:
    notes: dict[str, list[str]] = {}
    for name, found in models.items():
        absent = {**found.absent, **(found.semantic.absent if found.semantic else {})}
        if not verbose:  # most files have no scores of the interaction alone
            absent = {part: why for part, why in absent.items() if part not in ("negative_ap", "interaction_map")}
        notes[name] = [f"{_PARTS.get(part, part)}: not measured: {why}" for part, why in absent.items()]
        notes[name] += [line for line in found.notes if line not in found.warnings]
    return all_notes(notes)


class Model(ModelFigures, frozen=True):
    """Diagnosis of one of several models, with the name of the model."""

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
    """Return the diagnoses of one or more models as a JSON document; ``sweeps`` adds metrics at several thresholds."""
    data = truth.classes.name, truth.split
    figures = {name: asdict(found.figures(sweeps=sweeps)) for name, found in models.items()}
    if len(figures) > 1:
        return SeveralModels(*data, [Model(name, **values) for name, values in figures.items()])
    ((name, values),) = figures.items()
    return OneModel(*data, name, **values)
