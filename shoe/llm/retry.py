"""The one layer of retries: exponential back-off with jitter, bounded tries, over at once when the run stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shoe.core.errors import MissingExtraError
from shoe.llm.errors import Transient

if TYPE_CHECKING:
    from tenacity import RetryCallState

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0


def policy(tries: int, stopped: Callable[[], bool]) -> dict[str, Any]:
    """Say how attempts that fail with :class:`Transient` are made again; the last one's error is raised.

    The n-th wait is drawn from 0 to 2^(n-1) times half a second, but no shorter than the endpoint asks for. Drawn from
    all of that ("full jitter"), so that requests that failed together do not come back together.

    Args:
        tries: attempts in all.
        stopped: whether the run stops: then no further attempt is made.

    Returns:
        Arguments of tenacity's ``Retrying`` or ``AsyncRetrying``, beside how to sleep.
    """
    try:
        from tenacity import retry_if_exception_type, wait_random_exponential
    except ImportError:
        raise MissingExtraError("asking an endpoint", "llm") from None

    jitter = wait_random_exponential(multiplier=_FIRST_WAIT, max=_LONGEST_WAIT)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        return max(jitter(state), getattr(error, "retry_after", None) or 0.0)

    def stop(state: RetryCallState) -> bool:
        return state.attempt_number >= tries or stopped()

    return {"stop": stop, "wait": wait, "retry": retry_if_exception_type(Transient), "reraise": True}
