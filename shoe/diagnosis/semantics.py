"""The semantic part: how wrong words relate to the right ones, what each error costs SHOE-mAP, and the vocabulary gap.

Everything looks at what the error analysis looks at: its images, ground truths and predictions, with or without
no_interaction. So SHOE-mAP here is that of these tables, and deltas of both kinds compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from shoe.diagnosis.after_fixes import SharedLists, Tables
from shoe.diagnosis.analysis import ErrorAnalysis
from shoe.diagnosis.oracles import State
from shoe.diagnosis.relations import PredictedWords, predicted_words
from shoe.diagnosis.vocabulary_gap import MOST, VocabularyGap, vocabulary_gap
from shoe.diagnosis.wrong_words import WrongWords, wrong_words
from shoe.lexicon.resolve import lexicon_facts
from shoe.protocols.options import SemanticOptions
from shoe.protocols.signature import Signature, sign
from shoe.scoring.entries import Entries, Means
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.score import unfit_scores
from shoe.scoring.scorer import Matches, Scorer
from shoe.similarity import Similarity

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
        """How the figures came about."""
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
        """The predicted verbs, and objects, beside the classes' senses."""
        return predicted_words(self._tables.task, self._similarities, self.options.object_words)

    @cached_property
    def _wrong(self) -> tuple[WrongWords, WrongWords]:
        return wrong_words(self.analysis, *self.words)

    @property
    def interaction(self) -> WrongWords:
        """Interaction errors by the relation of the verb to the right one."""
        return self._wrong[0]

    @property
    def object_class(self) -> WrongWords:
        """Object-class errors by the relation of the object to the right one."""
        return self._wrong[1]

    @cached_property
    def absent(self) -> dict[str, str]:
        """For each part that cannot be measured, why."""
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
        """What each strict oracle alone adds to SHOE-mAP, by its error's name; it may be negative."""
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
        """What explains the gain over exact matches of words; None where SHOE-mAP is absent."""
        if self.absent:
            return None
        return vocabulary_gap(self._tables, *self._scored, self._lists, self.words, self.most)
