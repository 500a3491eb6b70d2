"""A diagnosis by meaning: how near wrong words are, what each type of error costs SHOE-mAP, and what words alone cost.

Everything looks at what the strict diagnosis looks at: its images, ground truths and predictions, with or without
no_interaction. So SHOE-mAP here is that of these tables, and deltas of both kinds compare.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from shoe.core.errors import unknown_name
from shoe.diagnosis.deltas import Means
from shoe.diagnosis.diagnosis import NAMES, Diagnosis
from shoe.diagnosis.mended import Tables
from shoe.diagnosis.misses import Misses, misses_of
from shoe.diagnosis.sides import sides_of
from shoe.diagnosis.wording import MOST, Wording, wording_of
from shoe.lexicon.resolve import lexicon_digest
from shoe.protocols.named import SEMANTIC
from shoe.protocols.options import SemanticOptions
from shoe.protocols.signature import Signature, sign
from shoe.scoring.ranking import mean_over
from shoe.scoring.score import build_meaning, score_outside
from shoe.scoring.scorer import Matches, Scorer
from shoe.similarity import load_similarity

_NOTHING = Means(None, None, None)
_OF_DIAGNOSIS = ("diagnosis", "choice", "seed")


@dataclass(frozen=True, eq=False)
class SemanticDiagnosis:
    """What is wrong with predictions once words are read for their meaning.

    Attributes:
        diagnosis: the strict one, whose errors these are.
        options: the semantic protocol as it was applied.
        facts: what else is in the signature: the map.
        interaction: interaction errors by how near the verb is.
        object_class: object-class errors by how near the object is.
        means: SHOE-mAP before any fix, over all, rare and non-rare classes.
        deltas: what each strict oracle alone adds to it, by the diagnosis' names. It can be negative: see
            :func:`diagnose_meaning`.
        wording: what explains the gain over equal words; None where SHOE-mAP is absent.
        absent: for each part that could not be measured, why.
    """

    diagnosis: Diagnosis
    options: SemanticOptions
    facts: dict[str, str]
    interaction: Misses
    object_class: Misses
    means: Means
    deltas: dict[str, Means]
    wording: Wording | None
    absent: dict[str, str]

    @property
    def signature(self) -> Signature:
        """How the figures came about."""
        strict = {name: value for name, value in self.diagnosis.signature.items if name in _OF_DIAGNOSIS}
        truth = self.diagnosis.task.truth
        facts = truth.facts() | self.diagnosis.facts | self.facts | strict
        return sign(facts, self.diagnosis.variant.strict, self.options, truth.benchmark.protocols)


def diagnose_meaning(
    diagnosis: Diagnosis, *, similarity: str | Path = "hico-det", protocol: str = "shoe", most: int = MOST
) -> SemanticDiagnosis:
    """Read a diagnosis for meaning.

    Each strict oracle is applied as it is, and what it leaves is scored by SHOE: a fixed prediction has the boxes and
    the label of its ground truth, a removed one is gone, a ground truth that is not counted too. Fixes are of strict
    errors, and lower SHOE-mAP where meaning had found what they take away:

    - ``false_positive`` removes predictions in other words, right as they are to SHOE; so do oracles that remove an
      error as the duplicate of a fixed one, or for want of a target;
    - ``missed_gt`` and ``false_negative`` remove ground truths that only SHOE finds; what it matched with them is left
      over, and charged.

    And a fix does not take hold in SHOE where its rules are others: of several predictions that all say what a ground
    truth says, the most confident is matched, fixed or not; of ground truths with the same boxes and class, the fixed
    predictions would be exact repeats, of which one counts.

    Args:
        diagnosis: of the predictions.
        similarity: name of a shipped map or baseline, or a map's folder.
        protocol: ``shoe`` or ``shoe-literal``; its choice about no_interaction is the diagnosis'.
        most: confusions to list.

    Raises:
        OptionError: for an unknown map or protocol.
        InputError: for a map that is broken.
    """
    if protocol not in SEMANTIC:
        raise unknown_name("semantic protocol", protocol, SEMANTIC)
    options = replace(SEMANTIC[protocol], no_interaction=diagnosis.variant.strict.no_interaction)
    source = load_similarity(similarity, options.ensemble)
    tables = Tables.of(diagnosis)
    meaning = build_meaning(tables.task, source, options)
    sides = sides_of(tables.task, meaning, options.object_words)
    interaction, object_class = misses_of(diagnosis, *sides)

    means, deltas, wording, absent = _NOTHING, {}, None, {}
    outside = score_outside(diagnosis.task.predictions)
    if outside is not None:
        absent["map"] = f"a score of {outside!r}: SHOE needs scores in 0..1"
    elif not len(tables.truth):
        absent["map"] = "no ground truth"
    else:
        scorer = Scorer(tables.task, meaning, options)
        matches = scorer.match(scorer.map_rows)
        means = _means(scorer, matches)
        for name in NAMES:
            mended = Scorer(tables.after(diagnosis.states[name]), meaning, options)
            deltas[name] = _means(mended, mended.match(mended.map_rows)).minus(means)
        wording = wording_of(tables, scorer, matches, means.map or 0.0, sides, most)
    return SemanticDiagnosis(
        diagnosis=diagnosis,
        options=options,
        facts={"map": source.name, "map-sha": source.digest, "lexicon-sha": lexicon_digest()},
        interaction=interaction,
        object_class=object_class,
        means=means,
        deltas=deltas,
        wording=wording,
        absent=absent,
    )


def _means(scorer: Scorer, matches: Matches) -> Means:
    ap, counted = scorer.average_precision(matches)[0].ap, scorer.in_mean
    rare = scorer.task.truth.classes.rare
    return Means(mean_over(ap, counted), mean_over(ap, counted & rare), mean_over(ap, counted & ~rare))
