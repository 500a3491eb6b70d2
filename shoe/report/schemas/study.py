"""Schema of ``shoe study report``."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from shoe.report.schemas.kinds import Closed, Count, Fraction

Correlation = Annotated[float, Meta(le=1)]
Ends = Annotated[list[float], Meta(min_length=2, max_length=2, description="low and high")]
Levels = Annotated[list[Count], Meta(min_length=5, max_length=5, description="how often 0, 1, 2, 3 and 4")]


class StudyFigure(Closed):
    """A figure, and its 95 % interval over items and raters."""

    value: float | UnsetType = UNSET
    interval: Ends | UnsetType = UNSET


class StudyReference(Closed):
    """Another measure beside the mean ratings; the intervals by name are over items alone."""

    items: Count
    spearman: StudyFigure
    agreement: StudyFigure
    fisher: Ends | UnsetType = UNSET
    bonett_wright: Ends | UnsetType = UNSET
    bootstrap: Ends | UnsetType = UNSET
    p: Fraction | UnsetType = UNSET


class StudyAgreement(Closed):
    """How far raters agree."""

    items: Count
    raters: Count
    ratings: Count
    alpha: dict[str, StudyFigure]
    kappa: StudyFigure
    ceiling: StudyFigure
    spread: float | UnsetType = UNSET
    standard_error: float | UnsetType = UNSET
    reference: StudyReference | UnsetType = UNSET


class StudyRater(Closed):
    """One rater."""

    levels: Levels
    kappas: dict[str, Correlation]
    ceiling: Correlation | UnsetType = UNSET
    excluded: list[str] | UnsetType = UNSET


class StudyRetest(Closed):
    """Items that one rater rated twice."""

    answers: Count
    exact: Fraction
    kappa: Correlation | UnsetType = UNSET


class StudyPicture(Closed):
    """Ratings that were looked at again with the picture."""

    answers: Count
    changed: StudyFigure
    size: StudyFigure


class StudyPlaced(Closed):
    """A person, or a rater of the map, in one rater model."""

    name: str
    person: bool
    bias: float
    noise: float
    rho: Correlation | UnsetType = UNSET


class StudyEnsemble(Closed):
    """Some of the map's raters, and whether the study cannot tell them from the ensemble nearest to people."""

    raters: list[str]
    agreement: Fraction
    among_best: bool


class StudyBeside(Closed):
    """People and the raters of a map."""

    items: Count
    raters: list[StudyPlaced]
    ensembles: list[StudyEnsemble]
    left_out: list[str]


class StudyPopulation(Closed):
    """What the items stand for: how many pairs, and as how many evenly drawn ones they say as much."""

    pairs: Annotated[float, Meta(gt=0)]
    effective: Annotated[float, Meta(gt=0)]


class StudyReport(Closed):
    """What a study's ratings say."""

    holes: Count
    all: StudyAgreement
    raters: dict[str, StudyRater]
    by_majority: list[Levels]
    rules: list[str]
    population: StudyPopulation | UnsetType = UNSET
    without_excluded: StudyAgreement | UnsetType = UNSET
    parts: dict[str, StudyAgreement] | UnsetType = UNSET
    retest: StudyRetest | UnsetType = UNSET
    picture: StudyPicture | UnsetType = UNSET
    beside: StudyBeside | UnsetType = UNSET


class TestersResult(Closed):
    """How some Bongard problems were answered, and how many are kept."""

    problems: Count
    testers: Annotated[list[Count], Meta(min_length=2, max_length=2, description="of a problem, fewest and most")]
    right: StudyFigure
    positive: StudyFigure
    negative: StudyFigure
    kept: Count
    dropped: Count
    waiting: Count
    kept_by_guessing: Fraction
    alpha: float | UnsetType = UNSET


class TestersOne(Closed):
    """One tester."""

    problems: Count
    right: Fraction
    solved: Fraction
    seconds: float | UnsetType = UNSET


class TestersReport(Closed):
    """What testers answered about Bongard problems."""

    all: TestersResult
    testers: dict[str, TestersOne]
    groups: dict[str, TestersResult] | UnsetType = UNSET


class MetricDifference(Closed):
    """A figure of one measure less that of another; adjusted is p by Holm's correction over all pairs of measures."""

    figure: str
    first: str
    second: str
    significant: bool
    value: float | UnsetType = UNSET
    interval: Ends | UnsetType = UNSET
    p: Fraction | UnsetType = UNSET
    adjusted: Fraction | UnsetType = UNSET


class MetricNearest(Closed):
    """The measure that is nearest to people, and those that the judgements cannot tell from it."""

    measure: str
    not_told_apart: list[str]


class MetricLevel(Closed):
    """How measures rank predictions, models on an image, or models."""

    number: Count
    figures: dict[str, dict[str, StudyFigure]]
    differences: list[MetricDifference]
    nearest: dict[str, MetricNearest]


class StudyMetric(Closed):
    """Measures held against people's judgements of predictions; at level model with each figure that models have."""

    images: Count
    raters: Count
    ratings: Count
    holes: Count
    people: StudyFigure
    models: dict[str, float]
    measures: Annotated[dict[str, str], Meta(description="signature of each")]
    scores: dict[str, dict[str, float]]
    levels: dict[str, MetricLevel]
    opposite: dict[str, list[list[str]]]
