"""Diagnosis of predictions, by triplet and by role: each part is computed when it is first asked for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from shoe.benchmarks.classes import HoiClasses, parse_classes
from shoe.benchmarks.protocol_options import Interpolation, SemanticOptions, changed
from shoe.benchmarks.protocols import SEMANTIC
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats
from shoe.core.boxes import Coordinates, Overlap
from shoe.core.errors import OptionError, unknown_name
from shoe.core.interactions import Interactions
from shoe.core.public import Rows, as_lines, as_table
from shoe.core.roles import NO_BOX, RoleTruth, Single
from shoe.diagnosis.analysis import ErrorAnalysis
from shoe.diagnosis.error_types import ERRORS, ROLE_FLOW, VARIANTS, Variant, does
from shoe.diagnosis.examples import ErrorExample, examples
from shoe.diagnosis.localisation import Localised, PairRules, localise
from shoe.diagnosis.pairs import (
    NEEDS,
    NO_INTERACTION_CHOICES,
    PAIRS_NEED,
    InteractionMap,
    OfPairs,
    interaction_map,
    why_absent,
)
from shoe.diagnosis.record import ModelFigures
from shoe.diagnosis.semantics import SemanticDiagnosis
from shoe.predictions.boxes.check import examine_boxes
from shoe.predictions.notes import ReadNotes
from shoe.predictions.pair_predictions import Pairs, pairs_of, triplet_scores
from shoe.scoring.matching.persons import PersonMatches
from shoe.scoring.matching.task import Task
from shoe.scoring.score import coordinate_names, warnings
from shoe.similarity import Similarity, similarity_for

# A diagnosis by role: triplets of a person, a box and its role in an action, as V-COCO scores them (protocols.md 4).
#
# V-COCO compares no object categories, and its official files do not have them. By role, a class is an action with a
# role
# ("hit-instr"), whatever the object; actions without roles have no part. Persons are as the official evaluation takes
# them: predictions whose person overlaps most with one that nobody annotated leave, whatever they say. And where nobody
# drew the box of a role, an empty one is right (scenario 1): both are the same box here, one that no other overlaps.

VIEWS = ("class", "role")
_ANYTHING = "anything"
_NOWHERE = (-99.0, -99.0, -99.0, -99.0)
"""What stands for a box that ends before it begins, which the official script takes, and which overlaps nothing."""


def by_role(predictions: Interactions, truth: GroundTruth, variant: Variant) -> tuple[Task, Variant]:
    """Make a task by role.

    ``predictions`` are by person, or triplets. A variant with the shared map classifies as the toolbox does for
    persons.

    Returns:
        A task whose R classes are the benchmark's entries, in their order; and the variant with V-COCO's IoU and AP:
        inclusive pixels, all points, 0 for an entry without a true positive (protocols.md 8.5).

    Raises:
        OptionError: if the benchmark is not scored by person, or the file lacks its persons.
    """
    roles, benchmark = truth.roles, truth.benchmark
    if roles is None:
        expected = "a file that has persons with and without objects, too" if len(benchmark.actions) else "v-coco"
        raise OptionError(f"by role: found ground truth of {benchmark.name} ({truth.format}), expected {expected}")
    classes = _classes(truth)
    made = replace(
        truth,
        interactions=_truths(truth, roles, classes),
        classes=classes,
        class_split=None,
        benchmark=replace(
            benchmark, load_classes=lambda: classes, flow=ROLE_FLOW if variant.shared_map else benchmark.flow
        ),
    )
    of_task = _predictions(PersonMatches.of(Task(predictions, truth), roles, Overlap.PIXELS), classes)
    strict = replace(
        variant.strict, overlap=Overlap.PIXELS, ap=Interpolation.ALL_POINTS, zero_tp="zero", unpredicted="zero"
    )
    return Task(replace(of_task, notes=predictions.notes), made), replace(variant, strict=strict, by="role")


def _classes(truth: GroundTruth) -> HoiClasses:
    actions = truth.benchmark.actions
    rows = ["verb\tobject\tgerund\tverb_synset\tobject_synset\trare"]
    rows += [
        f"{name}\t{_ANYTHING}\t{actions.all[action].gerund}\t\t\t"
        for name, (action, _) in zip(actions.entry_names, actions.entries, strict=True)
    ]
    return parse_classes("\n".join(rows), truth.classes.name)


def _truths(truth: GroundTruth, roles: RoleTruth, classes: HoiClasses) -> Interactions:
    """Return one ground-truth row for each role of each action of a person, person by person."""
    person, entry = np.nonzero(does(roles, truth.benchmark.actions))
    boxes = roles.boxes[roles.role[person, entry]].astype(np.float64)
    boxes[~roles.has_role[person, entry]] = NO_BOX
    images = truth.interactions.images
    return Interactions.from_columns(
        images=images,
        image=np.repeat(np.arange(len(images)), np.diff(roles.offsets))[person],
        human_boxes=roles.person_boxes[person].astype(np.float64),
        object_boxes=boxes,
        verb=classes.verb[entry],
        object=np.zeros(len(person), np.int32),
        verbs=classes.verbs,
        objects=classes.objects,
        sizes=truth.interactions.sizes,
        coordinates=Coordinates.PIXELS_0,
    )


def _predictions(found: PersonMatches, classes: HoiClasses) -> Interactions:
    said = found.said
    ignored = np.append(found.truth.ignored, False)[found.person]
    record, entry = np.nonzero(~np.isnan(said.score) & ~ignored[:, None])
    box = said.role[record, entry]
    boxes = _enclosing(said.boxes[box])
    boxes[found.empty[box]] = NO_BOX
    return Interactions.from_columns(
        images=said.images,
        image=said.image[record],
        human_boxes=_enclosing(said.person_boxes[record]),
        object_boxes=boxes,
        verb=classes.verb[entry],
        object=np.zeros(len(record), np.int32),
        verbs=classes.verbs,
        objects=classes.objects,
        score=said.score[record, entry].astype(np.float64),
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
    "pairs are those that triplets name: where a limit per image cut all triplets of a pair, the pair is not known "
    "here, neither to pair precision nor to negative AP"
)
_BEST_OF_TRIPLETS = (
    "a pair's interaction score is the highest of its triplets, which is that of all verbs if the file keeps the best "
    "triplets of an image, and too low if it leaves out verbs by another rule"
)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Diagnosis(ErrorAnalysis, OfPairs):
    """Diagnosis of triplets; each part is computed on first use.

    The error analysis (``types``, ``counts``, ``means``, ``deltas``, ``progression``, ...) is inherited from
    ``ErrorAnalysis``.

    Attributes:
        similarity: map for the semantic part; None without one.
        pair_file: the model's pairs from a file of their own; None where pairs come from the triplets.
        action_scores: (n,) interaction scores of the triplets; None where they are not known.
        read: notes on reading the predictions.
    """

    similarity: Similarity | None = None
    options: SemanticOptions = SEMANTIC["shoe"]
    pair_file: Pairs | None = None
    rules: PairRules = field(default_factory=PairRules)
    action_scores: Floats | None = None
    read: ReadNotes | None = None

    @property
    def table(self) -> Interactions:
        """Diagnosed table: a row per triplet."""
        return self.task.predictions

    @cached_property
    def localised(self) -> Localised:  # type: ignore[override]  # computed when it is first asked for
        """The model's pairs against the ground truth."""
        pairs = self.pair_file or pairs_of(self.table, self.action_scores)
        return localise(pairs, self.task.truth, self.rules, self.variant.strict.no_interaction, self.task)

    @cached_property
    def interaction_map(self) -> InteractionMap | None:
        """Interaction mAP of localised pairs (IJCV paper 4.2.2); None without their scores."""
        scores, pairs = self.action_scores, self.pair_file
        if scores is None and pairs is not None and pairs.verb_scores is not None:
            scores = triplet_scores(pairs, self.table)
        return None if scores is None else interaction_map(self, scores)

    @property
    def absent(self) -> dict[str, str]:
        """For each part that cannot be measured, the reason."""
        needs = NEEDS if self.pair_file is None else NEEDS | {"negative_ap": PAIRS_NEED["negative_ap"]}
        return why_absent(self.negative_ap, self.interaction_map, needs)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the figures, one line each, the most urgent first."""
        applied = self.read.applied(len(self.table)) if self.read else "xyxy"
        urgent = self.read.urgent() if self.read else []
        return *urgent, *warnings(self.task, examine_boxes(self.table, self.task.truth.interactions, applied))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers of the figures, one line each: the warnings, then all others."""
        lines = [*self.warnings, *(self.read.lines() if self.read else [])]
        if self.pair_file is None:
            lines += [_CUT] if self.action_scores is None else [_CUT, _BEST_OF_TRIPLETS]
        return tuple(dict.fromkeys(lines))

    @cached_property
    def semantic(self) -> SemanticDiagnosis | None:
        """Semantic relations of wrong words, deltas of SHOE-mAP and the vocabulary gap; None without a similarity."""
        return None if self.similarity is None else SemanticDiagnosis(self, self.similarity, self.options)

    def __repr__(self) -> str:
        return as_lines(self._title, self._rows, self.notes)

    def _repr_html_(self) -> str:
        return as_table(self._title, self._rows, self.notes)

    @property
    def _title(self) -> str:
        return f"{self.task.truth!r}, {len(self.table):,} predictions, diagnosed: {self.signature.short()}"

    @property
    def _rows(self) -> Rows:
        errors = {name.replace("_", " "): {"Δ mAP": delta.map} for name, delta in self.deltas.items()}
        return {"before any fix": {"mAP": self.means.map}, **errors}

    def to_dict(self, *, sweeps: bool = False) -> dict[str, Any]:
        """Return all figures, with the keys of ``shoe diagnose --json``."""
        return self.figures(sweeps=sweeps).to_dict()

    def figures(self, *, sweeps: bool = False) -> ModelFigures:
        """All figures, as ``shoe diagnose --json`` has them."""
        named = self.interaction_map
        return ModelFigures.of(
            self,
            self.semantic,
            signature=str(self.signature),
            ground_truths=len(self.scope.truth),
            predictions=len(self.table),
            interaction_map=named and named.map,
            interaction_map_rare=named and named.map_rare,
            interaction_map_non_rare=named and named.map_non_rare,
            absent=self.absent,
            notes=self.notes,
            **self._figures(sweeps=sweeps),
        )

    def examples(self, error: str, most: int = 6) -> list[ErrorExample]:
        """Return the best-scored cases of an error type, as "human_box", of as many images and kinds as possible.

        Raises:
            OptionError: for an error that has no cases, as "false_positive".
        """
        names = [each.name for each in ERRORS]
        if error not in names:
            raise unknown_name("error", error, names)
        return examples(self, error, most)


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
    """Diagnose predictions: all that ``shoe diagnose`` says of them (IJCV paper; docs/protocols.md 8).

    Args:
        predictions: n triplets of a model; words may be any.
        variant: ``paper``, or ``released`` for what the papers' toolbox does (see ``shoe.diagnosis.error_types``).
        choice: which of several possible fixes an error gets, in ``paper``: a random one (``seeded``), or a
            ground truth that nothing finds yet, else the one whose true positive scores least (``greedy``).
        seed: the first seed for ``seeded``, 0 to 2**32 - 1.
        seeds: how many seeds figures are the means of, 1 to 1000.
        no_interaction: whether the classes that say a person does nothing take part: ``exclude`` or ``keep`` (IJCV
            paper 2.4 and 6.6).
        similarity: name of a shipped map or baseline, a map's folder, or "dataset": the benchmark's own map, for the
            semantic part; None: leave meaning out.
        protocol: the semantic protocol: ``shoe``, ``shoe-robust`` or ``shoe-literal``.
        by: what a class is: ``class``, as the class table has it; or ``role``, an action with a role, as V-COCO scores
            persons, without the semantic part. ``role`` for predictions by person, which name no objects, if absent.
        pairs: the model's pairs before classification (``read_pairs``); those of the triplets if absent.
        action_scores: (n,) interaction scores of the triplets (``read_action_scores``); those of ``pairs`` if absent.
        rules: how pairs are counted; as the papers' toolbox does if absent.
        notes: how the predictions were read, for the signature and the notes; absent, those that the table carries.

    Returns:
        A diagnosis, whose parts are computed when they are first asked for.

    Raises:
        OptionError: for an unknown variant, choice, protocol or map, or a seed out of range.
        InputError: when predictions and ground truth have no image in common; and, from the parts that need them, when
            scores or pairs are not those of the triplets.

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
        raise OptionError("by class: found predictions by person, which name no objects, expected by role")
    if nameless or by == "role":
        if pairs is not None:
            raise OptionError("by role: found a file of pairs, expected predictions alone")
        task, reading = by_role(predictions, truth, reading)
        similarity = action_scores = None
    notes = notes or predictions.notes
    read = {} if notes is None else notes.facts
    strict = changed(reading.strict, [f"strict.no-interaction={no_interaction}"])
    options = changed(SEMANTIC[protocol], [f"no-interaction={no_interaction}"])
    return Diagnosis(
        task=task,
        variant=replace(reading, strict=strict),
        choice=choice,
        seed=seed,
        seeds=seeds,
        facts={"coordinates": coordinate_names(task.predictions)} | read,
        similarity=None if similarity is None else similarity_for(truth.benchmark, similarity, options.ensemble),
        options=options,
        pair_file=pairs,
        rules=rules or PairRules(),
        action_scores=action_scores,
        read=notes,
    )
