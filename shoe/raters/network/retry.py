"""The one layer of retries: exponential back-off with jitter, bounded tries, over at once when the job stops."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from shoe.raters.network.errors import Transient

if TYPE_CHECKING:
    from tenacity import RetryCallState
    from tenacity.asyncio import AsyncRetrying

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0


def retrying(tries: int, sleep: Callable[[float], Awaitable[None]], stopped: Callable[[], bool]) -> AsyncRetrying:
    """Say how attempts that fail with :class:`Transient` are made again; the last one's error is raised.

    The n-th wait is drawn from 0 to 2^(n-1) times half a second, at most a minute, but is never shorter than what the
    endpoint asked for ("full jitter", so that requests that failed together do not come back together).

    Args:
        tries: attempts in all.
        sleep: waits for some seconds or until the job stops.
        stopped: whether the job stops: then no further attempt is made.
    """
    from tenacity import retry_if_exception_type, wait_random_exponential
    from tenacity.asyncio import AsyncRetrying

    jitter = wait_random_exponential(multiplier=_FIRST_WAIT, max=_LONGEST_WAIT)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        return max(jitter(state), getattr(error, "retry_after", None) or 0.0)

    return AsyncRetrying(
        stop=lambda state: state.attempt_number >= tries or stopped(),
        wait=wait,
        retry=retry_if_exception_type(Transient),
        sleep=sleep,
        reraise=True,
    )
