"""Semantic part of a diagnosis: relations of wrong words to right words, SHOE-mAP lost by errors, vocabulary gap.

SHOE-mAP is computed for the same images, ground truths and predictions as mAP in the error analysis, so that gains in
SHOE-mAP can be compared with gains in mAP.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.benchmarks.signature import Signature, sign
from shoe.core.arrays import Floats, Indices, Ints, argmax_per_run
from shoe.core.documents import Count, Document, Fraction
from shoe.diagnosis.error_gains import ErrorAnalysis
from shoe.diagnosis.error_types import NO_PART, ErrorType, State
from shoe.diagnosis.relations import PredictedWords, Relation, predicted_words
from shoe.diagnosis.vocabulary_gap import MOST, KnownAps, Tables, VocabularyGap, cached_means, vocabulary_gap
from shoe.lexicon.resolve import lexicon_metadata
from shoe.scoring.entries import Entries, Means
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Overlaps
from shoe.scoring.score import unfit_scores
from shoe.scoring.scorer import Matches, Scorer
from shoe.similarity import Similarity

# Wrong words in predictions with right boxes: the verb of interaction errors, the object of object-class errors.
#
# In an *object-class error*, both boxes of a prediction match the boxes of one ground truth, but its object differs
# from the object of this ground truth. The decision flow compares boxes and labels together. It therefore classifies
# such a prediction as an object box error or, if another box in the same place has the predicted label, as an
# association error.

_EXAMPLES = 5
_RIGHT_OBJECT = (ErrorType.TRUE_POSITIVE, ErrorType.DUPLICATE, ErrorType.INTERACTION)


class WrongWord(Document, frozen=True):
    """Word of a class (label), word that was predicted instead, and number of predictions with this error (times)."""

    label: str
    predicted: str
    times: Count


class Related(Document, frozen=True, kw_only=True):
    """Wrong words with one semantic relation to the right word.

    Attributes:
        count: number of wrong words.
        share: ``count`` as a fraction of all wrong words.
        similarity: mean similarity of the predicted words to the right words, 0..1.
        commonest: most frequent pairs of right and predicted word, at most five.
    """

    count: Count
    share: Fraction
    similarity: Fraction | None = None
    commonest: list[WrongWord]


@dataclass(frozen=True, slots=True, eq=False)
class WrongWords:
    """The m predictions with a wrong verb (or object), and the relations of wrong words to right words."""

    part: str  # "verb" or "object"
    prediction: Indices  # (m,) rows of the predictions, ascending
    truth: Indices  # (m,) row of the ground truth that contains the right word
    relation: NDArray[np.int8]  # (m,) ``Relation`` of predicted and right word, as int8
    sense: NDArray[np.int32]  # (m,) sense of the predicted word, or -1 if not looked up
    similarity: Floats  # (m,) similarity of predicted and right word, 0..1
    types: dict[str, int]  # number of errors by error type
    by_relation: dict[str, Related]  # wrong words by name of their relation to the right word, such as "more_general"
    words: tuple[WrongWord, ...]  # all pairs of right and predicted word, the most frequent first


def _split(analysis: ErrorAnalysis, pairs: Overlaps, words: PredictedWords) -> WrongWords:
    row = words.row[analysis.task.truth.hoi[pairs.truth]]
    word = getattr(analysis.task.predictions, words.part)[pairs.prediction]
    similarity, relation = words.table.values[row, word], words.relation[row, word]
    best = argmax_per_run(pairs.prediction, similarity, -relation.astype(np.float64), pairs.iou)
    row, word, relation, similarity = row[best], word[best], relation[best], similarity[best]
    prediction = pairs.prediction[best]
    types = np.bincount(analysis.types[prediction], minlength=len(ErrorType)).tolist()
    by_type = {type_.label: types[type_] for type_ in ErrorType if types[type_]}
    by_relation = {
        each.label: Related(
            count=int(chosen.sum()),
            share=float(chosen.mean()),
            similarity=float(similarity[chosen].mean()),
            commonest=list(_counted(words, row[chosen], word[chosen])[:_EXAMPLES]),
        )
        for each in Relation
        if (chosen := relation == each).any()
    }
    columns = prediction, pairs.truth[best], relation, words.sense[row, word], similarity
    return WrongWords(words.part, *columns, by_type, by_relation, _counted(words, row, word))


def _counted(words: PredictedWords, row: Indices, word: Ints) -> tuple[WrongWord, ...]:
    labels = list(dict.fromkeys(words.labels))
    label = np.array([labels.index(own) for own in words.labels])
    times = np.bincount(label[row] * len(words.words) + word)
    cells = np.argsort(-times, kind="stable")[: np.count_nonzero(times)]
    return tuple(
        WrongWord(labels[cell // len(words.words)], words.words[cell % len(words.words)], count)
        for cell, count in zip(cells.tolist(), times[cells].tolist(), strict=True)
    )


@dataclass(frozen=True, eq=False)
class SemanticDiagnosis:
    """Errors of predictions when words are compared by meaning.

    Each oracle of the error analysis with exact labels is applied unchanged, and its result is scored by SHOE. A fixed
    prediction has the boxes and the label of its ground truth. Removed predictions and removed ground truths are
    deleted. Because oracles fix errors of exact labels, an oracle can lower SHOE-mAP:

    - ``false_positive`` removes predictions with other words that SHOE counts as right. Other oracles can remove such
      predictions too, because they remove errors without a target and duplicates of fixed predictions.
    - ``missed_gt`` and ``false_negative`` remove ground truths that match only under SHOE. Their predictions become
      unmatched, and may count as false positives.

    Some fixes have no effect on SHOE-mAP. If several predictions have the same meaning as a ground truth, SHOE matches
    the prediction with the highest score, fixed or not. If ground truths have equal boxes and class, their fixed
    predictions are identical, and only one of them counts.
    """

    analysis: ErrorAnalysis  # error analysis with exact labels, which defines the errors
    source: Similarity  # similarity map
    options: SemanticOptions  # options of the semantic protocol. ``no_interaction`` must be that of the analysis.
    most: int = MOST  # maximum number of confusions (right word, predicted word) listed in the vocabulary gap
    _known: KnownAps = field(default_factory=dict, init=False, repr=False)

    @property
    def signature(self) -> Signature:
        """Signature of the results, which names data, options and version of shoe."""
        truth = self.analysis.task.truth
        similarity = {"map": self.source.name, "map-sha": self.source.digest} | lexicon_metadata()
        facts = truth.signature_fields() | self.analysis.facts | similarity | self.analysis.choices
        return sign(facts, self.analysis.variant.strict, self.options, truth.benchmark.protocols)

    @cached_property
    def _tables(self) -> Tables:
        return Tables.from_analysis(self.analysis)

    @cached_property
    def _similarities(self) -> HoiSimilarity:
        return HoiSimilarity.from_task(self._tables.task, self.source, self.options)

    @cached_property
    def words(self) -> tuple[PredictedWords, PredictedWords]:
        """Predicted verbs and predicted objects, with their relations to the words of the classes."""
        return predicted_words(self._tables.task, self._similarities, self.options.object_words)

    @cached_property
    def _wrong(self) -> tuple[WrongWords, WrongWords]:
        """Interaction errors and object-class errors, with the relations of wrong words to right words.

        If a prediction matches the boxes of several ground truths, it is compared with the ground truth whose word is
        most similar. Ties are broken by the order of ``Relation``, then by the largest pair IoU, then by the first row.
        """
        analysis, task, options = self.analysis, self.analysis.task, self.analysis.variant.strict
        pairs = task.overlaps(options.coordinates, options.rule)
        in_scope = (analysis.truth_status != NO_PART)[pairs.truth] & (analysis.types != NO_PART)[pairs.prediction]
        pairs = pairs.select(in_scope)
        pairs = pairs.select(np.argsort(pairs.prediction, kind="stable"))  # by prediction, then by ground truth
        type_ = analysis.types[pairs.prediction]
        predicted = task.object_label[task.predictions.object[pairs.prediction]]
        wrong_verb = (type_ == ErrorType.INTERACTION) & (predicted == task.truth.interactions.object[pairs.truth])
        verbs, objects = self.words
        wrong_objects = _split(analysis, pairs.select(~np.isin(type_, _RIGHT_OBJECT)), objects)
        return _split(analysis, pairs.select(wrong_verb), verbs), wrong_objects

    @property
    def interaction(self) -> WrongWords:
        """Interaction errors with the right object, by the relation of the predicted verb to the right verb."""
        return self._wrong[0]

    @property
    def object_class(self) -> WrongWords:
        """Predictions with right boxes and a wrong object, by the relation of this object to the right object."""
        return self._wrong[1]

    @cached_property
    def absent(self) -> dict[str, str]:
        """Reason for each part of the semantic diagnosis that cannot be measured, by name of the part."""
        if (unfit := unfit_scores(self.analysis.task.predictions)) is not None:
            return {"map": unfit}
        return {} if len(self.analysis.scope.truth) else {"map": "no ground truth"}

    @cached_property
    def _scored(self) -> tuple[Scorer, Matches]:
        scorer = Scorer(self._tables.task, self._similarities, self.options)
        return scorer, scorer.match(scorer.map_rows)

    @cached_property
    def means(self) -> Means:
        """SHOE-mAP before any fix, over all, rare and non-rare classes; each is None if SHOE-mAP cannot be measured."""
        if self.absent:
            return Means(None, None, None)
        scorer, matches = self._scored
        return cached_means(scorer.entries(matches), self._known)

    @cached_property
    def deltas(self) -> dict[str, Means]:
        """Gain in SHOE-mAP from fixing one error type or group, by name; empty if SHOE-mAP cannot be measured."""
        states = {} if self.absent else self.analysis.states
        after = {name: cached_means(self._entries_after(state), self._known) for name, state in states.items()}
        return {name: means.minus(self.means) for name, means in after.items()}

    def _entries_after(self, state: State) -> Entries:
        tables, (scorer, _) = self._tables, self._scored
        if state.counted.all() and (state.found_by == tables.found_by).all():
            # Only predictions are removed: the overlaps and similarities of all other predictions can be reused.
            rows = scorer.map_rows
            return scorer.entries(scorer.match(rows[tables.remaining(state)[rows]]))
        near = None
        if state.kept.all() and (state.found_by == tables.found_by).all():  # only ground truths are removed
            near = scorer.near.select(state.counted[scorer.near.truth])
            near = replace(near, truth=np.cumsum(state.counted)[near.truth] - 1)
        after = Scorer(tables.after(state), self._similarities, self.options, near)
        return after.entries(after.match(after.map_rows))

    @cached_property
    def vocabulary_gap(self) -> VocabularyGap | None:
        """Gain in SHOE-mAP over exact word matching, and its causes; None if SHOE-mAP cannot be measured."""
        if self.absent:
            return None
        return vocabulary_gap(self._tables, *self._scored, self._known, self.words, self.most)
