"""The semantic part of a diagnosis: relations of wrong words to right ones, cost of errors in SHOE-mAP, vocabulary gap.

It covers the images, ground truths and predictions of the error analysis, with or without no_interaction. So its
SHOE-mAP is that of these tables, and strict and semantic deltas can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.protocol_options import SemanticOptions
from shoe.benchmarks.protocols import Signature, sign
from shoe.core.arrays import Floats, Indices, Ints, first_largest
from shoe.core.documents import Count, Document, Fraction
from shoe.diagnosis.analysis import ErrorAnalysis
from shoe.diagnosis.error_types import NO_PART, ErrorType, State
from shoe.diagnosis.relations import PredictedWords, Relation, predicted_words
from shoe.diagnosis.vocabulary_gap import MOST, SharedLists, Tables, VocabularyGap, vocabulary_gap
from shoe.lexicon.resolve import lexicon_facts
from shoe.scoring.entries import Entries, Means
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Overlaps
from shoe.scoring.score import unfit_scores
from shoe.scoring.scorer import Matches, Scorer
from shoe.similarity import Similarity

# Wrong words where both boxes are right: the verb of interaction errors, the object of object-class errors.
#
# An *object-class error* is a prediction whose two boxes are those of one ground truth if labels do not count, though
# its
# object is not that ground truth's. The decision flow asks for place and label at once, so it files such a prediction
# as
# an object box error, or as an association error where another box in that place has the label.

_EXAMPLES = 5
_RIGHT_OBJECT = (ErrorType.TRUE_POSITIVE, ErrorType.DUPLICATE, ErrorType.INTERACTION)


class WrongWord(Document, frozen=True):
    """A class's word, a word predicted instead, and their number."""

    label: str
    predicted: str
    times: Count


class Related(Document, frozen=True, kw_only=True):
    """The wrong words of one semantic relation.

    Attributes:
        count: number of wrong words.
        share: share of all wrong words, above 0, at most 1.
        similarity: mean similarity, 0..1.
        commonest: the most frequent words, at most five.
    """

    count: Count
    share: Fraction
    similarity: Fraction | None = None
    commonest: list[WrongWord]


@dataclass(frozen=True, slots=True, eq=False)
class WrongWords:
    """m errors with a wrong word.

    Attributes:
        part: "verb" or "object".
        prediction: (m,) rows of the predictions, ascending.
        truth: (m,) row of the ground truth that each is compared with.
        relation: (m,) int8 ``Relation``.
        sense: (m,) sense of the predicted word; -1 where none was looked up.
        similarity: (m,) of the predicted word to the ground truth's, 0..1.
        types: number of errors by error type.
        by_relation: relations that occur, by name, as "more_general".
        words: all wrong words, the most frequent first.
    """

    part: str
    prediction: Indices
    truth: Indices
    relation: NDArray[np.int8]
    sense: NDArray[np.int32]
    similarity: Floats
    types: dict[str, int]
    by_relation: dict[str, Related]
    words: tuple[WrongWord, ...]


def wrong_words(
    analysis: ErrorAnalysis, verbs: PredictedWords, objects: PredictedWords
) -> tuple[WrongWords, WrongWords]:
    """Classify interaction errors and object-class errors by the semantic relation of the wrong word.

    Where a prediction has the boxes of several ground truths, it is compared with the one whose word is most similar to
    its own; of equally similar ones with that of the first relation, then of the largest pair IoU, then the first.

    Args:
        verbs: similarities and relations of all verbs.

    Returns:
        Interaction errors, and object-class errors.
    """
    pairs = _right_boxes(analysis)
    type_ = analysis.types[pairs.prediction]
    same_object = analysis.task.object_label[analysis.task.predictions.object[pairs.prediction]]
    same = same_object == analysis.task.truth.interactions.object[pairs.truth]
    wrong_object = ~np.isin(type_, _RIGHT_OBJECT)
    return (
        _split(analysis, pairs.select((type_ == ErrorType.INTERACTION) & same), verbs),
        _split(analysis, pairs.select(wrong_object), objects),
    )


def _right_boxes(analysis: ErrorAnalysis) -> Overlaps:
    """Return predictions and ground truths in scope whose boxes both overlap enough, whatever their labels.

    They are sorted by prediction, then by ground truth.
    """
    options = analysis.variant.strict
    pairs = analysis.task.overlaps(options.coordinates, options.rule)
    part = (analysis.truth_status != NO_PART)[pairs.truth] & (analysis.types != NO_PART)[pairs.prediction]
    pairs = pairs.select(part)
    return pairs.select(np.argsort(pairs.prediction, kind="stable"))


def _split(analysis: ErrorAnalysis, pairs: Overlaps, words: PredictedWords) -> WrongWords:
    row = words.row[analysis.task.truth.hoi[pairs.truth]]
    word = words.of(analysis.task.predictions)[pairs.prediction]
    similarity, relation = words.table.values[row, word], words.relation[row, word]
    best = first_largest(pairs.prediction, similarity, -relation.astype(np.float64), pairs.iou)
    row, word, relation, similarity = row[best], word[best], relation[best], similarity[best]
    prediction = pairs.prediction[best]
    types = np.bincount(analysis.types[prediction], minlength=len(ErrorType)).tolist()
    return WrongWords(
        part=words.part,
        prediction=prediction,
        truth=pairs.truth[best],
        relation=relation,
        sense=words.sense[row, word],
        similarity=similarity,
        types={type_.label: types[type_] for type_ in ErrorType if types[type_]},
        by_relation={
            each.label: Related(
                count=int(chosen.sum()),
                share=float(chosen.mean()),
                similarity=float(similarity[chosen].mean()),
                commonest=list(_counted(words, row[chosen], word[chosen])[:_EXAMPLES]),
            )
            for each in Relation
            if (chosen := relation == each).any()
        },
        words=_counted(words, row, word),
    )


def _counted(words: PredictedWords, row: Indices, word: Ints) -> tuple[WrongWord, ...]:
    labels = list(dict.fromkeys(words.labels))
    label = np.array([labels.index(own) for own in words.labels])
    times = np.bincount(label[row] * len(words.words) + word)
    cells = np.flatnonzero(times)
    cells = cells[np.argsort(-times[cells], kind="stable")]
    return tuple(
        WrongWord(labels[cell // len(words.words)], words.words[cell % len(words.words)], count)
        for cell, count in zip(cells.tolist(), times[cells].tolist(), strict=True)
    )


_NOTHING = Means(None, None, None)


@dataclass(frozen=True, eq=False)
class SemanticDiagnosis:
    """What is wrong with predictions once words are read for their meaning.

    Each strict oracle is applied as it is, and what it leaves is scored by SHOE: a fixed prediction has the boxes and
    the label of its ground truth, a removed one is gone, a ground truth that is not counted too. Fixes are of strict
    errors, and lower SHOE-mAP where meaning had found what they take away:

    - ``false_positive`` removes predictions in other words, right as they are to SHOE; so do oracles that remove an
      error as the duplicate of a fixed one, or for want of a target;
    - ``missed_gt`` and ``false_negative`` remove ground truths that only SHOE finds; what it matched with them is
      unmatched then, and may count as a false positive.

    And a fix does not take hold in SHOE where its rules are others: of several predictions that all mean what a ground
    truth says, the most confident is matched, fixed or not; of ground truths with the same boxes and class, the fixed
    predictions would be exact repeats, of which one counts.

    Attributes:
        analysis: the strict one, whose errors these are.
        options: the semantic protocol as it was applied; its choice about no_interaction is the analysis'.
        most: confusions that the vocabulary gap lists.
    """

    analysis: ErrorAnalysis
    source: Similarity
    options: SemanticOptions
    most: int = MOST

    @property
    def signature(self) -> Signature:
        """Signature of the figures."""
        truth = self.analysis.task.truth
        similarity = {"map": self.source.name, "map-sha": self.source.digest} | lexicon_facts()
        facts = truth.facts() | self.analysis.facts | similarity | self.analysis.choices
        return sign(facts, self.analysis.variant.strict, self.options, truth.benchmark.protocols)

    @cached_property
    def _tables(self) -> Tables:
        return Tables.of(self.analysis)

    @cached_property
    def _similarities(self) -> HoiSimilarity:
        return HoiSimilarity.of(self._tables.task, self.source, self.options)

    @cached_property
    def words(self) -> tuple[PredictedWords, PredictedWords]:
        """Predicted verbs and objects, compared with the classes' senses."""
        return predicted_words(self._tables.task, self._similarities, self.options.object_words)

    @cached_property
    def _wrong(self) -> tuple[WrongWords, WrongWords]:
        return wrong_words(self.analysis, *self.words)

    @property
    def interaction(self) -> WrongWords:
        """Interaction errors by the relation of the predicted verb to the right one."""
        return self._wrong[0]

    @property
    def object_class(self) -> WrongWords:
        """Object-class errors by the relation of the predicted object to the right one."""
        return self._wrong[1]

    @cached_property
    def absent(self) -> dict[str, str]:
        """For each part that cannot be measured, the reason."""
        unfit = unfit_scores(self.analysis.task.predictions)
        if unfit is not None:
            return {"map": unfit}
        return {} if len(self.analysis.scope.truth) else {"map": "no ground truth"}

    @cached_property
    def _lists(self) -> SharedLists:
        return SharedLists()

    @cached_property
    def _scored(self) -> tuple[Scorer, Matches]:
        scorer = Scorer(self._tables.task, self._similarities, self.options)
        return scorer, scorer.match(scorer.map_rows)

    @cached_property
    def means(self) -> Means:
        """SHOE-mAP before any fix, over all, rare and non-rare classes."""
        if self.absent:
            return _NOTHING
        scorer, matches = self._scored
        return self._lists.means(scorer.entries(matches))

    @cached_property
    def deltas(self) -> dict[str, Means]:
        """Gain of each strict oracle alone in SHOE-mAP, by its error's name; it may be negative."""
        deltas = {}
        for name, state in self.analysis.states.items() if not self.absent else ():
            deltas[name] = self._lists.means(self._entries_after(state)).minus(self.means)
        return deltas

    def _entries_after(self, state: State) -> Entries:
        tables, (scorer, _) = self._tables, self._scored
        if state.counted.all() and (state.found_by == tables.found_by).all():
            # Nothing but predictions is gone: what is known of all the others stays.
            rows = scorer.map_rows
            return scorer.entries(scorer.match(rows[tables.kept(state)[rows]]))
        after = Scorer(tables.after(state), self._similarities, self.options)
        return after.entries(after.match(after.map_rows))

    @cached_property
    def vocabulary_gap(self) -> VocabularyGap | None:
        """Explanation of the gain over exact matches of words; None where SHOE-mAP is absent."""
        if self.absent:
            return None
        return vocabulary_gap(self._tables, *self._scored, self._lists, self.words, self.most)
