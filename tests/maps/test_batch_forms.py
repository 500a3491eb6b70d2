"""Batches at endpoints of other providers: Google's, with files of its own form, and endpoints without batches."""

import pytest

from shoe.core.errors import OptionError, ShoeError
from shoe.llm.limits import Limits
from tests.llm.http import Heard, Says, says_json
from tests.llm.server import Server
from tests.llm.server_google import KEY, GoogleServer
from tests.llm.server_plan import Plan
from tests.maps.asking import Memory, in_groups, questions, rater, ratings
from tests.maps.test_openai_batch import ended, rated

COUNT = 30


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOE_TEST_KEY", KEY)


def test_googles_batches_give_the_answers_of_openais() -> None:
    memory = Memory()
    with Server(Plan()) as server:
        expected = rated(server, Memory(), COUNT)
    with GoogleServer(Plan()) as google:
        assert rated(google, memory, COUNT, api_key_env="SHOE_TEST_KEY") == expected
        assert google.stats()["batches"] == 1
    files = [str(event["file"]) for event in memory.events if event["event"] == "uploaded"]
    batches = [event["batch"] for event in memory.events if event["event"] == "started"]
    assert files[0].startswith("files/")
    assert batches == ["batches/batch-1"]
    assert KEY not in str(memory.events)


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_process_that_ends_asks_google_nothing_twice(at: int) -> None:
    with GoogleServer(Plan()) as google:
        second = ended(google, at, COUNT, api_key_env="SHOE_TEST_KEY")
        assert len(rated(google, second, COUNT, api_key_env="SHOE_TEST_KEY")) == COUNT
        assert google.stats()["batches"] == 1


def test_answers_that_google_has_deleted_are_asked_for_again() -> None:
    with GoogleServer(Plan()) as google:
        second = ended(google, 3, COUNT, api_key_env="SHOE_TEST_KEY")
        while google.google.status("batch-1") != "completed":
            pass
        google.google.delete_files()
        assert len(rated(google, second, COUNT, api_key_env="SHOE_TEST_KEY")) == COUNT
        assert google.stats()["batches"] == 2


def test_the_file_and_the_key_stay_at_googles_server() -> None:
    with Server(Plan()) as other, GoogleServer(Plan()) as google:
        google.google.elsewhere = other.url.removesuffix("/v1")
        with pytest.raises(ShoeError, match="after 1 tries"):
            rated(google, Memory(), COUNT, api_key_env="SHOE_TEST_KEY", limits=Limits(tries=1))
        assert other.stats()["answers"] == {}


def test_a_rater_with_batches_at_anthropic_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(OptionError, match=r'Anthropic .*kind = "openai"'):
        rater("https://api.anthropic.com/v1", "openai-batch")
    rater("https://api.anthropic.com/v1", "openai")


class NoBatches(Server):
    async def reply(self, heard: Heard) -> Says | None:
        return await super().reply(heard) if heard.path == "/stats" else says_json({"detail": "Not Found"}, 404)


def test_an_endpoint_without_batches_is_one_line_before_anything_is_paid() -> None:
    memory = Memory()
    with NoBatches(Plan()) as server:
        config, backend = rater(server.url, "openai-batch")
        with pytest.raises(ShoeError, match=r'HTTP 404: .*kind = "openai"'):
            backend.rate(in_groups(questions(3), config.pairs_per_request), memory)
    assert not ratings(backend, memory)
