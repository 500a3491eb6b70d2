"""What earlier answers of a rater say about those to come: how many tokens a prompt and an answer take."""

from __future__ import annotations

import numpy as np

from shoe.llm.budget import Usage, usage_of
from shoe.llm.ledger import answers
from shoe.llm.states import pending
from shoe.rating.estimate import Progress
from shoe.rating.job import Outcome
from shoe.rating.questions import Question, describe
from shoe.rating.session import Raters, RaterSession

_LATEST = 1 << 18
"""Bytes of a ledger's end that are looked at."""


def measured_progress(raters: Raters, outcome: Outcome) -> dict[str, Progress]:
    """Say per rater what its kept answers tell about the rest of its work."""
    found: dict[str, Progress] = {}
    start = 0
    for session in raters.sessions:
        end = start + len(session.config.columns)
        states = {part: rated.states[:, start:end] for part, rated in outcome.parts.items()}
        answered = {part: int(np.count_nonzero(~pending(some))) for part, some in states.items()}
        zeros = {part: int(np.count_nonzero(some == 0)) for part, some in states.items()}
        found[session.config.name] = Progress(answered, zeros, *_tokens(session, raters))
        start = end
    return found


def _tokens(session: RaterSession, raters: Raters) -> tuple[float | None, float | None]:
    """Input tokens for each character of a prompt, and output tokens for each pair."""
    told = [(entry, usage) for entry in answers(session.ledger.path, _LATEST) if (usage := usage_of(entry["answer"]))]
    if not told:
        return None, None
    senses = iter(describe([name for entry, _ in told for pair in entry["pairs"] for name in pair]))
    characters = 0
    for entry, _ in told:
        group = [Question(b"", entry["part"], next(senses), next(senses)) for _ in entry["pairs"]]
        characters += raters.prompts.length(group, several=session.config.pairs_per_request > 1)
    pairs = sum(len(entry["pairs"]) for entry, _ in told)
    total = Usage(*map(sum, zip(*(usage for _, usage in told), strict=True)))
    return total.input / characters, total.output / pairs
