"""Endpoints that are away for a while, or say once that they do not know one: the run waits, and goes on."""

from time import monotonic

import pytest

from shoe.core.errors import ShoeError
from shoe.llm.limits import Limits
from tests.llm.http import Heard, Says
from tests.llm.server import Endpoint, error
from tests.llm.server_plan import Plan
from tests.maps.asking import asked


class Away(Endpoint):
    """Is away for some seconds after so many answers; or denies every n-th request, or all from some on."""

    def __init__(self, status: int = 503, *, after: int = 10**9, seconds: float = 0.0, every: int = 10**9) -> None:
        super().__init__(Plan())
        self.status, self.after, self.seconds, self.every = status, after, seconds, every
        self.since = 0.0

    async def chat(self, heard: Heard) -> Says | None:
        self.counts["asked"] += 1
        if self.counts["asked"] >= self.after:
            self.since = self.since or monotonic()
            if monotonic() - self.since < self.seconds:
                self.counts["away"] += 1
                return error(self.status, "gone") if self.status else None
        return error(self.status, "a slip") if self.counts["asked"] % self.every == 0 else await super().chat(heard)


@pytest.mark.slow
@pytest.mark.parametrize("status", [pytest.param(503, marks=pytest.mark.slow), 0])
def test_an_outage_is_waited_out_by_one_request_at_a_time(status: int) -> None:
    found, counted, _ = asked(Away(status, after=40, seconds=2), 200)
    assert len(found) == 200
    assert counted["away"] <= 20 + 16 + 6


@pytest.mark.slow
def test_an_outage_that_lasts_too_long_ends_the_run() -> None:
    with pytest.raises(ShoeError, match=r": 20 .* 2 tries .* 503: gone"):
        asked(Away(after=40, seconds=10**9), 200, limits=Limits(tries=2, outage=1))


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_is_denied_once_is_asked_again_and_what_is_denied_three_times_in_a_row_stops(status: int) -> None:
    found, _, memory = asked(Away(status, every=50), 200)
    assert len(found) == 200
    assert [kind for kind, _ in memory.failures] == [str(status)] * 4
    denies = Away(status, after=40, seconds=10**9)
    with pytest.raises(ShoeError, match=f"HTTP {status}"):
        asked(denies, 200, limits=Limits(concurrency=4))
    assert denies.counts["away"] <= 3 + 4
