"""Endpoints that answer and say nothing: the run stops soon, and once they are put right, goes on."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.llm.http import Heard, Says, says_json
from tests.llm.server import Endpoint, Server
from tests.llm.server_plan import Plan
from tests.maps.test_kills import ONE, Work, kept, one

USELESS = {"choices": [{"message": {"role": "assistant", "content": "I cannot say."}, "finish_reason": "stop"}]}


class Mute(Endpoint):
    """Says the same to everybody after some good answers, until it is put right."""

    def __init__(self, says: Says, good: int = 0) -> None:
        super().__init__(Plan())
        self.says, self.good = says, good

    async def chat(self, heard: Heard) -> Says | None:
        self.counts["asked"] += 1
        return await super().chat(heard) if self.counts["asked"] <= self.good else self.says


def stopped(folder: Path, mute: Mute, options: Sequence[str] = ()) -> tuple[Mapping[str, Any], int]:
    """A run that stops, then one of the endpoint as it should be: the map's account, and how many answers were kept."""
    with Server(endpoint=mute) as server:
        work = one(folder, server, "limits = {concurrency = 4}")
        code, out, errors = work.run()
        assert (code, out) == (2, "")
        assert errors.splitlines()[-1].startswith("shoe: one: ")
        assert "no usable answer" in errors
        assert not (folder / "map").exists()
        in_vain = kept(work)
        mute.good = 10**9
        work.built(*options)
        return server.stats(), in_vain


@pytest.mark.slow
@pytest.mark.parametrize(("good", "most"), [(0, 20), (40, 50)])
@pytest.mark.parametrize("body", [b'{"choices": []}', b"", b"null"])
def test_what_says_nothing_stops_the_run_and_is_not_kept(body: bytes, good: int, most: int, tmp_path: Path) -> None:
    mute = Mute(Says(body), good)
    counted, in_vain = stopped(tmp_path, mute)
    assert in_vain == good
    assert mute.counts["asked"] - counted["requests"] <= most + 4
    assert set(counted["answers"]["m1"].values()) == {1}


@pytest.mark.slow
def test_what_talks_past_the_question_stops_the_run_and_its_answers_can_be_asked_again(tmp_path: Path) -> None:
    counted, in_vain = stopped(tmp_path, Mute(says_json(USELESS), good=30), ["--ask-again", "unparsable"])
    assert 50 <= in_vain - 30 <= 58
    assert set(counted["answers"]["m1"].values()) == {1}


@pytest.mark.slow
def test_a_batch_in_which_many_lines_hold_nothing_is_no_endpoint_that_says_nothing(tmp_path: Path) -> None:
    with Server(Plan(rates={"no choices": 0.4})) as server:
        Work(tmp_path, ONE.format(url=server.url, more="").replace('"openai"', '"openai-batch"')).built()
        assert len(server.stats()["unreadable"]["m1"]) > 50
