"""What ``shoe predict --json`` holds."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from shoe.report.schemas.kinds import Closed, Count, MaybeCount, MaybeFraction


class Ceiling(Closed):
    """Which true pairs, persons and objects are within reach of what is asked; absent where there are none."""

    truths: Count
    recall: MaybeFraction = UNSET
    human_recall: MaybeFraction = UNSET
    object_recall: MaybeFraction = UNSET


class Questions(Closed):
    """Questions, those of them that were answered before, and what the others may take at most."""

    total: Count
    known: Count
    text_tokens: Count
    answer_tokens: Count
    cost: Annotated[float, Meta(ge=0, description="in the currency of the price")] | UnsetType = UNSET


class Predict(Closed):
    """What was asked, and what came of it; a dry run has no predictions."""

    by: Annotated[dict[str, Any], Meta(description="every choice, as in the file's first line")]
    pictures: Count
    questions: Questions
    part: Annotated[str, Meta(description="which one of how many, as 3/16")] | UnsetType = UNSET
    pairs: MaybeCount = UNSET
    ceiling: Ceiling | UnsetType = UNSET
    seconds_per_question: Annotated[float, Meta(ge=0)] | UnsetType = UNSET
    predictions: MaybeCount = UNSET
    tied: MaybeCount = UNSET
    refused: MaybeCount = UNSET
    unread: MaybeCount = UNSET
