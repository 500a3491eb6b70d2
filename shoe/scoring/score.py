"""Score predictions: strictly under any number of protocols, semantically, and signed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoe.datasets.truth import GroundTruth
from shoe.errors import InputError, OptionError, quote, unknown_name
from shoe.frames import BoxSpace, Frame
from shoe.interactions import Interactions
from shoe.matching.meaning import Meaning
from shoe.matching.task import Boxes, Task
from shoe.scoring.options import SemanticOptions, StrictOptions, changed
from shoe.scoring.protocols import SEMANTIC, STRICT
from shoe.scoring.semantic import SemanticResult, semantic_score
from shoe.scoring.signature import Signature, sign
from shoe.scoring.strict import StrictResult, strict_score
from shoe.similarity import Similarity, load_similarity
from shoe.similarity.table import Basis, SimilarityTable

DEFAULT_PROTOCOLS = ("hico-det", "shoe")


@dataclass(frozen=True, slots=True)
class Words:
    """How the predicted words of one part of speech fared."""

    words: int
    labels: int
    """Words that are a name of the dataset (up to case, separators and inflection)."""
    unresolved: tuple[str, ...]
    """Words without a sense in the lexicon: they match an equal word only."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What the similarities of the matched pairs rest on; shares of all verb and object comparisons of matches."""

    verbs: Words
    objects: Words
    basis: dict[str, float]
    """Share of each ``Basis``, by its name in lower case; empty without a match."""
    lexical: bool
    """Whether unrated pairs took a value from WordNet's graph (``unrated=wup``)."""

    @property
    def rated_share(self) -> float | None:
        """Share that rests on ratings, zeros among them, or on identical senses."""
        return self._share("rated", "zero", "identical")

    @property
    def fallback_share(self) -> float | None:
        """Share that rests on equal spelling, or on WordNet's graph where that was asked for."""
        return self._share("same_word", *(["unrated"] if self.lexical else []))

    @property
    def unrated_share(self) -> float | None:
        """Share that counted 0 because nobody rated the pair, or the word has no sense."""
        return self._share("unresolved", *([] if self.lexical else ["unrated"]))

    def _share(self, *names: str) -> float | None:
        return sum(self.basis[name] for name in names) if self.basis else None


@dataclass(frozen=True, slots=True)
class Profile:
    """Facts about the predictions that explain surprising figures."""

    images: int
    """Images with at least one prediction."""
    unknown_images: tuple[str, ...]
    constant_scores: bool
    """All predictions have one and the same score."""
    outside_share: float | None
    """Share of predictions with a box that leaves its image by more than a pixel; None where no size is known."""


@dataclass(frozen=True, eq=False)
class Report:
    """Everything that one evaluation says.

    Attributes:
        task: what was scored, and against what.
        facts: what else is in the signature: how predictions were read, the map and its content hash.
        strict_results: one result a protocol, in the order asked for.
        semantic: the semantic result; None when not asked for, or not measurable.
        meaning: the similarities behind it.
        absent: for each part that could not be measured, why.
        notes: what the readers of the files want to be known, one line each.
    """

    task: Task
    facts: dict[str, str]
    strict_results: tuple[StrictResult, ...]
    semantic: SemanticResult | None
    meaning: Meaning | None
    absent: dict[str, str]
    notes: tuple[str, ...] = ()

    @property
    def truth(self) -> GroundTruth:
        """What was scored against."""
        return self.task.truth

    @property
    def predictions(self) -> Interactions:
        """What was scored."""
        return self.task.predictions

    @cached_property
    def profile(self) -> Profile:
        """Facts about the predictions."""
        return _profile(self.task)

    @cached_property
    def resolution(self) -> Resolution | None:
        """How predicted words fared; None without the semantic part."""
        if self.semantic is None or self.meaning is None:
            return None
        return _resolution(self.task, self.meaning, self.semantic)

    @property
    def strict(self) -> StrictResult | None:
        """The first strict result."""
        return self.strict_results[0] if self.strict_results else None

    @property
    def signature(self) -> Signature:
        """How the figures of ``strict`` and ``semantic`` came about."""
        strict = self.strict.options if self.strict else None
        return sign(self.truth, self.facts, strict, self.semantic.options if self.semantic else None)

    def signature_of(self, result: StrictResult) -> Signature:
        """How the figures of one strict protocol came about."""
        return sign(self.truth, {k: v for k, v in self.facts.items() if not k.startswith("map")}, result.options)


def score(
    predictions: Interactions,
    truth: GroundTruth,
    *,
    similarity: str | Path = "hico-det",
    protocols: Sequence[str] = DEFAULT_PROTOCOLS,
    options: Sequence[str] = (),
    reading: Mapping[str, str] | None = None,
) -> Report:
    """Score predictions against a ground truth.

    Args:
        predictions: what a model said; words may be any.
        truth: what is so.
        similarity: name of a shipped map or baseline, or a map's folder.
        protocols: names of strict protocols and at most one semantic; ``all`` means every strict protocol and ``shoe``.
        options: ``NAME=VALUE`` settings that change the protocols' choices.
        reading: how the file was read, for the signature: the box convention, where scores came from.

    Returns:
        A report; ``report.strict.map``, ``report.semantic.map``, ``str(report.signature)``.

    Raises:
        OptionError: for an unknown protocol, option or value.
        InputError: when predictions and ground truth have no image in common.
    """
    strict_options, semantic_options = choose(protocols, options, truth)
    task = Task(predictions, truth)
    _check_images(task)
    facts = {"frame": _frame_names(predictions), **(reading or {})}
    absent: dict[str, str] = {}
    semantic = meaning = None
    if semantic_options is not None:
        outside = _score_outside(predictions)
        if outside is not None:
            absent["semantic"] = f"a score of {outside:g}: SHOE needs scores in 0..1 (protocols.md A6)"
        else:
            source = load_similarity(similarity, semantic_options.ensemble)
            facts |= {"map": source.name, "map-sha": source.digest}
            meaning = build_meaning(task, source, semantic_options)
            semantic = semantic_score(task, meaning, semantic_options)
    return Report(
        task=task,
        facts=facts,
        strict_results=tuple(strict_score(task, o) for o in strict_options),
        semantic=semantic,
        meaning=meaning,
        absent=absent,
    )


def choose(
    protocols: Sequence[str], options: Sequence[str], truth: GroundTruth
) -> tuple[list[StrictOptions], SemanticOptions | None]:
    """Turn names and settings into options.

    Raises:
        OptionError: for an unknown name or value, two semantic protocols, or a setting without its protocol.
    """
    names = [n for name in protocols for n in ([*STRICT, "shoe"] if name == "all" else [name])]
    for name in names:
        if name not in STRICT and name not in SEMANTIC:
            raise unknown_name("protocol", name, [*STRICT, *SEMANTIC, "all"])
    semantic_names = [name for name in dict.fromkeys(names) if name in SEMANTIC]
    if len(semantic_names) > 1:
        raise OptionError(f"protocols: found {' and '.join(semantic_names)}, expected one semantic protocol a run")
    changed(SEMANTIC["shoe"], options)  # a wrong setting is refused even where its part is not asked for
    strict = [changed(STRICT[name], options) for name in dict.fromkeys(names) if name in STRICT]
    if truth.image_labels is None:
        strict = [replace(o, known_object="boxes") if o.known_object == "labels" else o for o in strict]
    semantic = changed(SEMANTIC[semantic_names[0]], options) if semantic_names else None
    return strict, semantic


def build_meaning(task: Task, similarity: Similarity, options: SemanticOptions) -> Meaning:
    """Tables of similarities for a task under the options of a semantic protocol."""
    return Meaning.build(
        task,
        similarity,
        how=options.combine,
        weight=options.weight,
        senses=options.senses,
        object_words=options.object_words,
        sense=options.sense,
        unrated=options.unrated,
        direction=options.direction,
    )


def _check_images(task: Task) -> None:
    known, unknown = task.truth.interactions.images, task.alignment.unknown
    if known and unknown and len(unknown) == len(task.predictions.images):
        expected = f"names of the ground truth's images, as {quote(known[0])}"
        raise InputError("predictions", field="image", found=quote(unknown[0]), expected=expected)


def _frame_names(predictions: Interactions) -> str:
    names = [Frame(f).name.lower().replace("_", "-") for f in np.flatnonzero(np.bincount(predictions.frames)).tolist()]
    return "+".join(names) or "none"


def _constant(predictions: Interactions) -> bool:
    return len(predictions) > 0 and bool((predictions.score == predictions.score[0]).all())


def _score_outside(predictions: Interactions) -> float | None:
    low, high = predictions.score.min(initial=0.0), predictions.score.max(initial=1.0)
    if low < 0:
        return float(low)
    return float(high) if high > 1 else None


def _profile(task: Task) -> Profile:
    predictions = task.predictions
    sizes = np.concatenate([task.truth.interactions.sizes, [[0, 0]]])[task.alignment.truth_image]
    known = np.flatnonzero(np.repeat((sizes > 0).all(axis=1), np.diff(predictions.offsets)))
    outside_share = None
    if len(known):
        limit = np.repeat(sizes, np.diff(predictions.offsets), axis=0)[known] + 1
        boxes = Boxes(predictions, BoxSpace.EDGES)
        outside = np.zeros(len(known), bool)
        for corners in (boxes.human(known), boxes.object(known)):
            outside |= (corners[:, :2] < -1).any(axis=1) | (corners[:, 2:] > limit).any(axis=1)
        outside_share = float(outside.mean())
    return Profile(
        images=int((np.diff(predictions.offsets) > 0).sum()),
        unknown_images=task.alignment.unknown,
        constant_scores=_constant(predictions),
        outside_share=outside_share,
    )


def _resolution(task: Task, meaning: Meaning, result: SemanticResult) -> Resolution:
    matched = np.flatnonzero(result.matches.prediction >= 0)
    hoi, rows = task.truth.hoi[matched], result.matches.prediction[matched]
    verb_basis = meaning.verbs.basis[meaning.verb_row[hoi], task.predictions.verb[rows]]
    object_basis = meaning.objects.basis[meaning.object_row[hoi], task.predictions.object[rows]]
    counts = np.bincount(np.concatenate([verb_basis, object_basis]), minlength=len(Basis))
    return Resolution(
        verbs=_words(task.verb_label, meaning.verbs),
        objects=_words(task.object_label, meaning.objects),
        basis={b.name.lower(): float(counts[b] / counts.sum()) for b in Basis} if len(matched) else {},
        lexical=result.options.unrated == "wup",
    )


def _words(label: NDArray[np.int32], table: SimilarityTable) -> Words:
    return Words(words=len(label), labels=int((label >= 0).sum()), unresolved=table.unresolved)
