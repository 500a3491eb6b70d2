"""Diagnosis of predictions, by triplet and by role. Each part is computed on first use."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from shoe.benchmarks.classes import HoiClasses, parse_classes
from shoe.benchmarks.protocols import SEMANTIC
from shoe.benchmarks.scoring_options import Interpolation, SemanticOptions, changed
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats, Indices
from shoe.core.boxes import Coordinates, Overlap
from shoe.core.documents import flat_numbers
from shoe.core.errors import OptionError, unknown_name
from shoe.core.interactions import Interactions
from shoe.core.public import Drawn, Rows, as_drawing, as_lines, as_table
from shoe.core.roles import NO_BOX, RoleTruth, Single
from shoe.diagnosis.error_gains import ErrorAnalysis, Shown
from shoe.diagnosis.error_types import ROLE_FLOW, VARIANTS, ErrorType, Variant, performs
from shoe.diagnosis.localisation import Localised, PairRules, localise
from shoe.diagnosis.pairs import (
    NEEDS,
    NO_INTERACTION_CHOICES,
    PAIRS_NEED,
    InteractionMap,
    PairResults,
    interaction_map,
    why_absent,
)
from shoe.diagnosis.record import ModelFigures, error_figures, semantic_figures
from shoe.diagnosis.semantics import SemanticDiagnosis
from shoe.predictions.boxes.check import check_box_convention
from shoe.predictions.notes import ReadNotes
from shoe.predictions.numbering import check_numbering
from shoe.predictions.pair_predictions import Pairs, pairs_of, triplet_scores
from shoe.scoring.entries import Means
from shoe.scoring.inverted import inverted_scores
from shoe.scoring.matching.persons import PersonMatches
from shoe.scoring.matching.task import Task
from shoe.scoring.score import reading_facts, warnings
from shoe.similarity import Similarity, similarity_for

# A diagnosis by role (docs/v-coco.md): triplets of a person, a box and its role in an action, whatever the object.
# Predictions whose person overlaps most with a person without annotated actions are excluded, as in the official code.
# If the box of a role is not annotated, an empty box is right (scenario 1): both are represented by the same box, which
# overlaps with no other box.

VIEWS = ("class", "role")
_ANYTHING = "anything"
_NOWHERE = (-99.0, -99.0, -99.0, -99.0)
"""Replacement for a box with negative width or height. The official script accepts such boxes; they overlap nothing."""


def by_role(predictions: Interactions, truth: GroundTruth, variant: Variant) -> tuple[Task, Variant]:
    """Return the task and the variant of a diagnosis whose classes are actions with a role, such as "hit-instr".

    In the task, the classes are the (action, role) entries of the benchmark, in the same order. The variant has the IoU
    and AP of V-COCO: boxes of inclusive pixels, all-point AP, 0 for a class without a true positive (protocols.md 8.5).
    For ``released``, error types are those of the toolbox for V-COCO.

    Raises OptionError if the benchmark is not scored by person, or if the ground-truth file contains no persons.
    """
    roles, benchmark = truth.roles, truth.benchmark
    if roles is None:
        expected = "a file with all persons, also those without objects" if len(benchmark.actions) else "v-coco"
        raise OptionError(f"by=role: found ground truth of {benchmark.name} ({truth.format}), expected {expected}")
    header = ["verb\tobject\tgerund\tverb_synset\tobject_synset\trare"]
    lines = [
        f"{name}\t{_ANYTHING}\t{benchmark.actions.all[action].gerund}\t\t\t"
        for name, (action, _) in zip(benchmark.actions.entry_names, benchmark.actions.entries, strict=True)
    ]
    classes = parse_classes("\n".join(header + lines), truth.classes.name)
    flow = ROLE_FLOW if variant.shared_map else benchmark.flow
    scored, rows = replace(benchmark, load_classes=lambda: classes, flow=flow), _truths(truth, roles, classes)
    made = replace(truth, interactions=rows, classes=classes, class_split=None, benchmark=scored)
    of_task = _predictions(PersonMatches.from_task(Task(predictions, truth), roles, Overlap.PIXELS), classes)
    strict = replace(
        variant.strict, overlap=Overlap.PIXELS, ap=Interpolation.ALL_POINTS, zero_tp="zero", unpredicted="zero"
    )
    return Task(replace(of_task, notes=predictions.notes, bad=predictions.bad), made), replace(
        variant, strict=strict, by="role"
    )


def _truths(truth: GroundTruth, roles: RoleTruth, classes: HoiClasses) -> Interactions:
    """Return a ground-truth table with one row per person, action of the person and role of the action."""
    person, entry = np.nonzero(performs(roles, truth.benchmark.actions))
    boxes = roles.boxes[roles.role[person, entry]].astype(np.float64)
    boxes[roles.role[person, entry] < 0] = NO_BOX
    images = truth.interactions.images
    image = np.repeat(np.arange(len(images)), np.diff(roles.offsets))[person]
    humans, sizes = roles.person_boxes[person].astype(np.float64), truth.interactions.sizes
    return _table(classes, entry, images=images, image=image, human_boxes=humans, object_boxes=boxes, sizes=sizes)


def _predictions(found: PersonMatches, classes: HoiClasses) -> Interactions:
    said = found.predictions
    ignored = np.append(found.truth.ignored, False)[found.person]
    record, entry = np.nonzero(~np.isnan(said.score) & ~ignored[:, None])
    box = said.role[record, entry]
    boxes = _enclosing(said.boxes[box])
    boxes[found.empty[box]] = NO_BOX
    image, humans = said.image[record], _enclosing(said.person_boxes[record])
    score = said.score[record, entry].astype(np.float64)
    return _table(classes, entry, images=said.images, image=image, human_boxes=humans, object_boxes=boxes, score=score)


def _table(classes: HoiClasses, entry: Indices, **columns: Any) -> Interactions:
    return Interactions.from_columns(
        **columns,
        verb=classes.verb[entry],
        object=np.zeros(len(entry), np.int32),
        verbs=classes.verbs,
        objects=classes.objects,
        coordinates=Coordinates.PIXELS_0,
    )


def _enclosing(boxes: Single) -> Floats:
    made = boxes.astype(np.float64)
    made[~(np.isfinite(made).all(axis=1) & (made[:, :2] <= made[:, 2:]).all(axis=1))] = _NOWHERE
    return made


CHOICES = ("seeded", "greedy")
_SEEDS = 1 << 32
_MOST_SEEDS = 1000

_CUT = (
    "pairs are derived from the triplets: a pair of which a limit per image removed all triplets is missing in pair "
    "precision and negative AP"
)
_BEST_OF_TRIPLETS = (
    "the interaction score of a pair is the highest score of its triplets: it is correct if the file contains the "
    "best-scored triplets of an image, and may be too low if verbs were left out by another rule"
)


_EDGES = ("x1", "y1", "x2", "y2")


def _drawn(pair: Shown) -> Drawn:
    return f"{pair.verb} {pair.noun}", pair.human, pair.object


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Diagnosis(ErrorAnalysis, PairResults):
    """Diagnosis of triplets; each part is computed on first use.

    Attributes:
        similarity: similarity map for the semantic part, or None to omit this part.
        options: options of the semantic protocol.
        pair_file: pairs of the model from a separate file, or None if the pairs are derived from the triplets.
        rules: rules for counting pairs.
        action_scores: (n,) interaction scores of the triplets, or None if unknown.
        read: notes on reading the predictions, or None.
    """

    similarity: Similarity | None = None
    options: SemanticOptions = SEMANTIC["shoe"]
    pair_file: Pairs | None = None
    rules: PairRules = field(default_factory=PairRules)
    action_scores: Floats | None = None
    read: ReadNotes | None = None

    @property
    def table(self) -> Interactions:
        """Predictions that are diagnosed, one row per triplet."""
        return self.task.predictions

    @cached_property
    def localised(self) -> Localised:  # type: ignore[override]  # computed when it is first asked for
        """Predicted human-object pairs of the model, matched with the ground truth."""
        pairs = self.pair_file or pairs_of(self.table, self.action_scores)
        return localise(pairs, self.task.truth, self.rules, self.variant.strict.no_interaction, self.task)

    @cached_property
    def interaction_map(self) -> InteractionMap | None:
        """Mean AP of classifying the verbs of predictions that match a true pair; None without interaction scores."""
        scores, pairs = self.action_scores, self.pair_file
        if scores is None and pairs is not None and pairs.verb_scores is not None:
            scores = triplet_scores(pairs, self.table)
        return None if scores is None else interaction_map(self, scores)

    @property
    def absent(self) -> dict[str, str]:
        """Reason for each part of the diagnosis that cannot be measured, by name of the part."""
        needs = NEEDS if self.pair_file is None else NEEDS | {"negative_ap": PAIRS_NEED["negative_ap"]}
        return why_absent(self.negative_ap, self.interaction_map, needs)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the results, one line each, the most urgent first."""
        applied = self.read.conventions_of(len(self.table)) if self.read else "xyxy"
        urgent = self.read.urgent() if self.read else []
        boxes = check_box_convention(self.table, self.task.truth.interactions, applied)
        urgent += inverted_scores(self.task, self.variant.strict, ())
        return *urgent, *warnings(self.task, boxes, check_numbering(self.table, self.task.truth, self.read), self.read)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes on the results, one line each: first the warnings, then all other notes."""
        lines = [*self.warnings, *(self.read.lines() if self.read else [])]
        if self.pair_file is None:
            lines += [_CUT] if self.action_scores is None else [_CUT, _BEST_OF_TRIPLETS]
        return tuple(dict.fromkeys(lines))

    @cached_property
    def semantic(self) -> SemanticDiagnosis | None:
        """Diagnosis with words compared by meaning; None without a similarity map."""
        return None if self.similarity is None else SemanticDiagnosis(self, self.similarity, self.options)

    def __repr__(self) -> str:
        return as_lines(self._title, self._rows, self.notes)

    def _repr_html_(self) -> str:
        return as_table(self._title, self._rows, self.notes) + self._worst()

    def _worst(self) -> str:
        """Return an HTML drawing of the best-scored error of the type that costs most mAP; "" if there is none."""
        gains = {each.label: self.deltas[each.label].map or 0.0 for each in list(ErrorType)[1:]}
        error = max(gains, key=gains.__getitem__)
        if not (found := self.examples(error, 1)) or not (predicted := found[0].predicted):
            return ""
        drawn, truth = _drawn(predicted), found[0].truth
        title = f"{found[0].image}: {error.replace('_', ' ')} error, the most costly type ({found[0].score:.2f})"
        return as_drawing(title, found[0].size, drawn, _drawn(truth) if truth else None, found[0].overlap)

    @property
    def _title(self) -> str:
        return f"{self.task.truth!r}, {len(self.table):,} predictions, diagnosed: {self.signature.short()}"

    @property
    def _rows(self) -> Rows:
        errors = {name.replace("_", " "): {"Δ mAP": delta.map} for name, delta in self.deltas.items()}
        return {"before any fix": {"mAP": self.means.map}, **errors}

    def to_dict(self, *, sweeps: bool = False, flat: bool = False) -> dict[str, Any]:
        """Return all results as a dict with the keys of ``shoe diagnose --json``; ``sweeps`` adds threshold sweeps.

        With ``flat``, return only numbers, by the path of their keys: {"errors/human_box/delta_map": 0.007, ...}.
        """
        found = self.figures(sweeps=sweeps).to_dict()
        return flat_numbers(found) if flat else found

    def errors_table(self) -> dict[str, Any]:
        """Return a table of the error types as a dict of columns, for ``pandas.DataFrame`` and ``polars.DataFrame``.

        The columns are "error", "count", and the mAP gained by fixing the errors: "delta_map", "delta_map_rare" and
        "delta_map_non_rare", as fractions, NaN if there is no class to average.
        """
        deltas = [delta._asdict() for delta in self.deltas.values()]
        gains = {f"delta_{key}": [np.nan if row[key] is None else row[key] for row in deltas] for key in deltas[0]}
        return {"error": list(self.deltas), "count": [self.counts[name] for name in self.deltas], **gains}

    def predictions_table(self) -> dict[str, Any]:
        """Return a table of the n predictions as a dict of columns, for ``pandas.DataFrame`` and ``polars.DataFrame``.

        The columns are "image", the edges of both boxes as in the file ("hx1" to "hy2", "ox1" to "oy2"), "verb",
        "object", "score", and "error": its error type, "true_positive", or "" if it is excluded.
        """
        table = self.table
        sides = {"h": table.human_boxes, "o": table.object_boxes}
        errors = np.array([*(each.label for each in ErrorType), ""])  # the index -1 stands for left out
        return {
            "image": np.array(table.images)[table.image],
            **{f"{side}{edge}": boxes[:, at] for side, boxes in sides.items() for at, edge in enumerate(_EDGES)},
            "verb": np.array(table.verbs)[table.verb],
            "object": np.array(table.objects)[table.object],
            "score": table.score,
            "error": errors[self.types],
        }

    def figures(self, *, sweeps: bool = False) -> ModelFigures:
        """Return the results of ``shoe diagnose --json`` without dataset, split and name; ``sweeps`` adds sweeps."""
        named, semantic = self.interaction_map, self.semantic
        return ModelFigures(
            **error_figures(self),
            semantic=None if semantic is None else semantic_figures(semantic),
            signature=str(self.signature),
            ground_truths=len(self.scope.truth),
            predictions=len(self.table),
            **{f"interaction_{mean}": getattr(named, mean) for mean in Means._fields if named is not None},
            absent=self.absent,
            notes=self.notes,
            **self._figures(sweeps=sweeps),
        )


def diagnose(
    predictions: Interactions,
    truth: GroundTruth,
    *,
    variant: str = "paper",
    choice: str = "seeded",
    seed: int = 0,
    seeds: int = 20,
    no_interaction: str = "exclude",
    similarity: str | Path | None = "dataset",
    protocol: str = "shoe",
    by: str | None = None,
    pairs: Pairs | None = None,
    action_scores: Floats | None = None,
    rules: PairRules | None = None,
    notes: ReadNotes | None = None,
) -> Diagnosis:
    """Return the diagnosis of predictions that ``shoe diagnose`` prints (IJCV paper; docs/protocols.md 8).

    Args:
        predictions: n triplets of a model, with any verbs and objects.
        variant: ``paper``, or ``released`` for the behaviour of the papers' toolbox (see
            ``shoe.diagnosis.error_types``).
        choice: how ``paper`` chooses the fix target of an error if several ground truths are possible. ``seeded``: at
            random. ``greedy``: a ground truth without a true positive, else the one whose true positive has the lowest
            score.
        seed: first random seed for ``seeded``, 0 to 2**32 - 1.
        seeds: number of seeds over which results are averaged, 1 to 1000.
        no_interaction: whether the no_interaction classes take part: ``exclude`` or ``keep`` (IJCV
            paper 2.4 and 6.6).
        similarity: map for the semantic part: name of a shipped map or baseline, a map's folder, or "dataset" (the
            benchmark's own map). None omits the semantic part.
        protocol: the semantic protocol: ``shoe``, ``shoe-robust`` or ``shoe-literal``.
        by: ``class`` if classes are those of the class table, or ``role`` if a class is an action with a role, as in
            the scoring of V-COCO (without the semantic part and ``action_scores``). By default ``role`` for predictions
            per person without objects, else ``class``.
        pairs: pairs of the model from a separate file (``read_pairs``), by default the pairs of the triplets.
        action_scores: (n,) interaction scores of the triplets (``read_action_scores``), by default those of ``pairs``.
        rules: rules for counting pairs, by default those of the papers' toolbox.
        notes: notes on reading the predictions, shown in signature and report; by default those of ``predictions``.

    Returns:
        A diagnosis whose parts are computed on first use.

    Raises:
        OptionError: for an unknown variant, choice, protocol or map, a seed out of range, or a value of ``by`` that
            does not suit the predictions, the ground truth or ``pairs``.
        InputError: if predictions and ground truth have no image in common. Parts of the diagnosis that use
            ``action_scores`` or ``pairs`` raise InputError if these do not belong to the triplets.

    Example:
        >>> import shoe
        >>> from shoe.demo import PREDICTIONS, TRUTH
        >>> truth = shoe.read_ground_truth(TRUTH)
        >>> found = shoe.diagnose(shoe.read_predictions(PREDICTIONS["free text"]), truth)
        >>> found.worst, found.counts["object_box"], f"{found.deltas['object_box'].map:.4f}"
        ('object_box', 135, '0.2208')
        >>> found.pairs.truths, found.pairs.predictions
        (552, 372)
        >>> found.semantic.interaction.words[0]
        WrongWord(label='ride', predicted='racing', times=3)
        >>> found.examples("interaction", most=1)[0].predicted.verb
        'scooping up'
    """
    for name, value, values in (
        ("variant", variant, VARIANTS),
        ("choice", choice, CHOICES),
        ("choice for no_interaction", no_interaction, NO_INTERACTION_CHOICES),
        ("semantic protocol", protocol, SEMANTIC),
        ("kind of classes", by or VIEWS[0], VIEWS),
    ):
        if value not in values:
            raise unknown_name(name, value, values)
    if not 0 <= seed < _SEEDS:
        raise OptionError(f"seed: found {seed}, expected 0 to {_SEEDS - 1}")
    if not 1 <= seeds <= _MOST_SEEDS:
        raise OptionError(f"seeds: found {seeds}, expected 1 to {_MOST_SEEDS}")
    task, reading = Task(predictions, truth), VARIANTS[variant]
    task.check_images()
    nameless = predictions.roles is not None and not len(predictions)
    if nameless and by == "class":
        raise OptionError("by=class: the predictions (by person) have no object categories: use by=role")
    if nameless or by == "role":
        if pairs is not None:
            raise OptionError("by=role: a file of pairs is not supported: give only predictions")
        task, reading = by_role(predictions, truth, reading)
        similarity = action_scores = None
    notes = notes or predictions.notes
    strict = changed(reading.strict, [f"strict.no-interaction={no_interaction}"])
    options = changed(SEMANTIC[protocol], [f"no-interaction={no_interaction}"])
    return Diagnosis(
        task=task,
        variant=replace(reading, strict=strict),
        choice=choice,
        seed=seed,
        seeds=seeds,
        facts=reading_facts(task.predictions, notes),
        similarity=None if similarity is None else similarity_for(truth.benchmark, similarity, options.ensemble),
        options=options,
        pair_file=pairs,
        rules=rules or PairRules(),
        action_scores=action_scores,
        read=notes,
    )
