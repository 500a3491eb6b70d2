"""Decision to spend money, and the exit code at the end of a budget, for `map build`, `map complete` and `predict`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from shoe.cli.output import confirm, say

if TYPE_CHECKING:
    from shoe.llm.budget import Budget

BUDGET_REACHED = 3
"""Exit code of a run that ended at --max-cost or --max-requests, with all answers saved."""


def approve_spending(
    configs: Iterable[Any],
    about: Callable[[], str],
    max_cost: float | None,
    *,
    yes: bool,
    example: str,
    detail: Callable[[], object] = lambda: None,
) -> None:
    """Ask for confirmation before a run that costs money, unless the user has accepted the cost.

    The user accepts any cost with ``--yes``, and the cost of models with a price with ``--max-cost``. A model without a
    price costs money if its endpoint may charge. ``configs`` are the settings of the endpoints' models. ``about``
    returns the expected cost of the models with a price as text, "" for nothing; ``example`` says how a price is set.
    Raise OptionError if confirmation is needed, and standard input is not a terminal.
    """
    configs = list(configs)
    unpriced = [config for config in configs if config.price is None]
    if unpriced and max_cost is not None:
        say(f"--max-cost does not limit {_names(unpriced)}: no price is set ({example})")
    charged = [config for config in unpriced if (place := getattr(config, "place", None)) and place.may_charge]
    is_open = max_cost is None and any(config.price and not config.price.is_free for config in configs)
    known = about() if is_open and not yes else ""
    if yes or not (charged or known):
        return
    unknown = [f"the unknown cost of {_names(charged)}, which has no price ({example})"] if charged else []
    cost = " plus ".join([*([known] if known else []), *unknown])
    confirm(f"Spend {cost}", f"this run will cost {cost}: add --yes to accept, or --dry-run for details", detail)


def end_at_budget(budget: Budget) -> None:
    """End the command with exit code 3 if the run ended because its budget was used up."""
    import typer

    if budget.reason in ("cost", "requests"):
        raise typer.Exit(BUDGET_REACHED)


def _names(configs: Iterable[Any]) -> str:
    return ", ".join(getattr(config, "name", config.model) for config in configs)
