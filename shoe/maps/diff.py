"""Compare two maps: shared pairs, their values in both maps, and the scores of predictions with each map."""

from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np
from msgspec import structs

from shoe.core.documents import Correlation, Count, Document, Fraction
from shoe.core.errors import InputError
from shoe.core.statistics import pearson, spearman
from shoe.lexicon.senses import POS, Part
from shoe.lexicon.store import glosses, lexicon
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.score import Report, score
from shoe.scoring.semantic import SemanticResult, semantic_score
from shoe.similarity import SimilarityMap

_LARGEST = 10


class ValueDifference(Document, frozen=True):
    """A pair of senses that has different values in map a and in map b.

    Attributes:
        a, b: value of the pair in map a and in map b, 0 to 1.
        lemmas: for each of the two senses, its words as one text, such as "mount, hop on".
        glosses: WordNet's definitions of both senses; absent unless requested.
    """

    class_synset: str
    synset: str
    a: Fraction
    b: Fraction
    lemmas: list[str]
    glosses: list[str] | None = None


class PartDiff(Document, frozen=True, kw_only=True):
    """Comparison of the rated pairs of one part of speech in two similarity maps.

    Attributes:
        shared, only_a, only_b: number of pairs that are rated in both maps, in map a only, and in map b only.
        pearson, spearman: correlation of the values of shared pairs.
        mean_difference: mean absolute difference of the values of shared pairs; absent if there are no shared pairs.
        largest: at most 10 shared pairs whose values differ most, the largest difference first.
    """

    shared: Count
    only_a: Count
    only_b: Count
    pearson: Correlation | None = None
    spearman: Correlation | None = None
    mean_difference: float | None = None
    largest: list[ValueDifference]


class ClassMove(Document, frozen=True):
    """HOI class whose average precision differs between map a and map b.

    Attributes:
        ground_truths: number of ground truths of the class.
        a, b: average precision with map a and with map b.
    """

    label: str
    ground_truths: Count
    a: Fraction
    b: Fraction


class MapSide(Document, frozen=True):
    """Name, digest, raters and ensemble of a similarity map that is compared with another map."""

    name: str
    digest: str
    raters: list[str]
    ensemble: str | None = None  # not written: the published schema allows it


class ScoredBy(Document, frozen=True, kw_only=True):
    """SHOE-mAP and SHOE-mF1 with one similarity map, and their signature; an undefined score is absent."""

    map: Fraction | None = None
    mf1: Fraction | None = None
    signature: str


class ScoreDiff(Document, frozen=True):
    """Scores of one prediction file with similarity maps a and b, and up to 10 classes whose AP differs most."""

    a: ScoredBy
    b: ScoredBy
    classes: list[ClassMove]


class MapDiff(Document, frozen=True):
    """Comparison of two similarity maps a and b: rated pairs, and scores of the same predictions."""

    a: MapSide
    b: MapSide
    ensemble: str
    verbs: PartDiff
    objects: PartDiff
    score: ScoreDiff | None = None

    @classmethod
    def from_maps(cls, a: SimilarityMap, b: SimilarityMap, reports: tuple[Report, Report] | None = None) -> Self:
        """Return the comparison of similarity maps a and b; ``reports`` score the same predictions with a and b."""
        verbs, objects = (_compare_part(a, b, part) for part in POS)
        of_a, of_b = (MapSide(each.name, each.digest, [rater.name for rater in each.raters]) for each in (a, b))
        moved = None
        if reports:
            scores = ((semantic_of(each), str(each.signature)) for each in reports)
            under_a, under_b = (ScoredBy(map=of.map, mf1=of.mf1, signature=signature) for of, signature in scores)
            moved = ScoreDiff(under_a, under_b, class_moves(*reports)[:_LARGEST])
        return cls(of_a, of_b, a.ensemble, verbs, objects, moved)

    @property
    def parts(self) -> dict[Part, PartDiff]:
        """Comparison per part of speech: {"verb": ``verbs``, "object": ``objects``}."""
        return {"verb": self.verbs, "object": self.objects}

    def with_glosses(self) -> Self:
        """Return a copy with WordNet's definitions of the senses of the ``largest`` differences."""

        def glossed(part: PartDiff) -> PartDiff:
            defined = glosses(sorted({name for pair in part.largest for name in (pair.class_synset, pair.synset)}))
            both = ((pair, [defined[pair.class_synset], defined[pair.synset]]) for pair in part.largest)
            return structs.replace(part, largest=[structs.replace(pair, glosses=texts) for pair, texts in both])

        return structs.replace(self, verbs=glossed(self.verbs), objects=glossed(self.objects))


def _compare_part(a: SimilarityMap, b: SimilarityMap, part: Part) -> PartDiff:
    rated_a, rated_b = a.tables[part].rated, b.tables[part].rated
    rows_a = np.flatnonzero(rated_a)
    table = a.tables[part][rows_a]
    rows_b = b.tables[part].rows_of(table.class_sense, table.sense)
    shared = rows_b >= 0
    shared[shared] = rated_b[rows_b[shared]]
    pairs = table[shared]
    value_a, value_b = a.pair_values(part)[rows_a[shared]], b.pair_values(part)[rows_b[shared]]
    difference = np.abs(value_b - value_a)
    order = np.argsort(-difference, kind="stable")[: min(_LARGEST, np.count_nonzero(difference))]
    largest = zip(pairs[order].names(), value_a[order].tolist(), value_b[order].tolist(), strict=True)
    return PartDiff(
        shared=len(pairs),
        only_a=int(rated_a.sum()) - len(pairs),
        only_b=int(rated_b.sum()) - len(pairs),
        pearson=pearson(value_a, value_b),
        spearman=spearman(value_a, value_b),
        mean_difference=float(difference.mean()) if len(pairs) else None,
        largest=[ValueDifference(*names, of_a, of_b, [*map(lemmas_of, names)]) for names, of_a, of_b in largest],
    )


def lemmas_of(synset: str) -> str:
    """Return the lemmas of a synset, given its name, as one text such as "mount, hop on"."""
    words = lexicon()
    return ", ".join(lemma.replace("_", " ") for lemma in words.lemmas(words.synset(synset)))


def scored(predictions: Path, ground_truth: Path, map_name: str, dataset: str) -> Report:
    """Score a prediction file of any recognised format under protocol ``shoe`` only.

    Raise InputError if a file is invalid, a prediction's score is outside 0 to 1, or the files have no image in common;
    raise OptionError if the dataset or the map (a name or folder) does not exist.
    """
    from shoe.predictions import read_predictions_with_notes
    from shoe.predictions.truth import read_ground_truth

    truth = read_ground_truth(ground_truth, dataset)
    table, notes = read_predictions_with_notes(predictions, dataset=dataset, truth=truth.interactions)
    report = score(table, truth, similarity=map_name, protocols=["shoe"], notes=notes)
    if report.semantic is None:
        raise InputError(predictions, found=report.absent["semantic"].split(":")[0], expected="scores from 0 to 1")
    return report


def semantic_of(report: Report) -> SemanticResult:
    """Return the SHOE result of a report; raise ValueError if the report has none."""
    if report.semantic is None:
        raise ValueError("the report has no semantic score")
    return report.semantic


def rescore(report: Report, similarity: SimilarityMap) -> Report:
    """Return a copy of the report with SHOE scores by another similarity map; other scores stay the same."""
    options = semantic_of(report).options
    similarities = HoiSimilarity.from_task(report.task, similarity, options)
    facts = report.facts | {"map": similarity.name, "map-sha": similarity.digest}
    semantic = semantic_score(report.task, similarities, options)
    return replace(report, facts=facts, similarities=similarities, semantic=semantic)


def class_moves(a: Report, b: Report) -> list[ClassMove]:
    """Return all classes whose defined SHOE average precision differs in two reports, the largest difference first."""
    ap_a, ap_b = semantic_of(a).ap, semantic_of(b).ap
    difference = np.nan_to_num(np.abs(ap_b - ap_a))
    order = np.argsort(-difference, kind="stable")[: np.count_nonzero(difference)].tolist()
    truths, labels = a.truth.triplets_per_class.tolist(), a.truth.classes.labels
    return [ClassMove(labels[k], truths[k], float(ap_a[k]), float(ap_b[k])) for k in order]
