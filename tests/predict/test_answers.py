"""The file of answers, against an endpoint that counts: killed and gone on, without probabilities, refusing them."""

import json
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from shoe.core.errors import MissingExtraError, ShoeError
from shoe.llm.budget import Budget, Price
from shoe.llm.cache import open_cache
from shoe.predict.answers import Answers
from shoe.predict.backends import BackendConfig
from shoe.predict.backends.endpoint import Endpoint
from shoe.predict.backends.transformers import Transformers
from shoe.predict.questions import Question
from shoe.predict.records import Pair
from tests.errors import error_with, input_error
from tests.predict import vlm_server
from tests.predict.asking import Noise, questions

pytest.importorskip("PIL")
PICTURES = 40


def endpoint(url: str, **settings: object) -> Endpoint:
    return Endpoint(model="m", base_url=url, most_tokens=1, **settings)  # type: ignore[arg-type]


def asking(path: Path, config: BackendConfig, asked: Sequence[Question], **options: object) -> dict[str, int]:
    return dict(Answers(path, config).ask(lambda: asked, **options))  # type: ignore[arg-type]


@pytest.mark.slow
def test_nothing_is_asked_twice_and_answers_stand_beside_what_was_asked(tmp_path: Path) -> None:
    path, asked = tmp_path / "answers.jsonl", questions(4)
    with vlm_server.VlmServer(vlm_server.made_up) as server:
        config = endpoint(server.url, price=Price(input=1.0, output=10.0))
        plan = Answers(path, config).plan(lambda: asked)
        assert (plan.total, plan.known, plan.answer_tokens) == (12, 0, 12)
        assert plan.cost == pytest.approx((plan.text_tokens + 10 * plan.answer_tokens) / 1e6)
        assert asking(path, config, asked[:5], budget=Budget(max_requests=3)) == {"probabilities": 3, "unasked": 2}
        # A question that comes twice is one, and those that are answered cost nothing.
        assert asking(path, config, [*asked, *asked]) == {"probabilities": 12}
        assert asking(path, config, asked) == {"probabilities": 12}
        assert server.requests == 12
        assert Answers(path, config).plan(lambda: asked).known == 12
        kept = list(Answers(path, config).answers_to(asked))
    assert [(one.image, one.verb) for one in kept] == [(q.about["image"], q.about["verb"]) for q in asked]
    assert all(one.tokens and one.tokens[0].text == one.text for one in kept)
    # Another model, another way to decode: other answers, which do not go into this file.
    with input_error("'top': 20", "'top': 5", "ledger of m"):
        asking(path, endpoint("http://127.0.0.1:9/v1", top=5), asked)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "edited"),
    [
        ('"choices":[', '"chosen":['),
        ('"message":{', '"message":7,"was":{'),
        ('"way":', '"path":'),
        ('"image":"', '"image":"\n'),
    ],
)
def test_an_answer_that_was_edited_is_named_by_file_and_line(tmp_path: Path, written: str, edited: str) -> None:
    path, asked = tmp_path / "answers.jsonl", questions(2)
    with vlm_server.VlmServer(vlm_server.made_up) as server:
        config = endpoint(server.url)
        asking(path, config, asked)
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join([*lines[:3], lines[3].replace(written, edited), *lines[4:]]))
        with input_error(record="line 4", source=str(path)):
            Answers(path, config).plan(lambda: asked)
        with input_error(record="line 4", source=str(path)):
            list(Answers(path, config).answers_to(asked))


@pytest.mark.slow
def test_an_answer_is_about_the_picture_and_the_scores_of_who_looks_it_up(tmp_path: Path) -> None:
    """Two pictures with one content are asked about once, and boxes of another score need no new answer."""
    path = tmp_path / "answers.jsonl"
    pairs = [Pair((0, 0, 9, 9), (5, 5, 20, 20), "horse", score) for score in (0.5, 0.9)]
    asked = [
        Question([Noise(1)], "Is it?", about={"image": image, "way": "phrase", "pair": pair})
        for image, pair in zip(("a.png", "b.png"), pairs, strict=True)
    ]
    with vlm_server.VlmServer(vlm_server.made_up) as server:
        config = endpoint(server.url)
        assert asking(path, config, asked) == {"probabilities": 1}
        found = list(Answers(path, config).answers_to(asked))
    assert [(one.image, one.pair) for one in found] == [("a.png", pairs[0]), ("b.png", pairs[1])]


def test_answers_that_a_killed_run_left_out_of_the_cache_are_added_though_nothing_is_asked(tmp_path: Path) -> None:
    asked, store = questions(1), open_cache(str(tmp_path), print)
    with vlm_server.VlmServer(vlm_server.made_up) as server:
        config = endpoint(server.url)
        asking(tmp_path / "answers.jsonl", config, asked)  # as if killed before an answer reached the cache
        assert Answers(tmp_path / "answers.jsonl", config, store=store).ask(lambda: asked) == {"probabilities": 3}
        plan = Answers(tmp_path / "other.jsonl", config, store=store).plan(lambda: asked)
    assert (plan.known, plan.cached, server.requests) == (3, 3, 3)


def test_what_is_no_ledger_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "boxes.json"
    for content in ("[1, 2]", "[1,\n2]"):
        path.write_text(content)
        with input_error("ledger of m"):
            asking(path, endpoint("http://127.0.0.1:9/v1"), questions(1))
        assert path.read_text() == content


def test_a_model_that_cannot_be_opened_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "answers.jsonl"
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError):
        asking(path, Transformers(model="m"), questions(1))
    assert not path.exists()


@pytest.mark.slow
def test_killed_and_started_again_it_goes_on(tmp_path: Path) -> None:
    path, draw = tmp_path / "answers.jsonl", random.Random(0)
    with vlm_server.VlmServer(vlm_server.made_up, seconds=0.05) as server:
        command = [sys.executable, "-P", "-m", "tests.predict.asking", str(path), server.url, str(PICTURES)]
        ended = []
        for _ in range(3):
            before = server.requests
            run = subprocess.Popen(command, stdout=subprocess.PIPE)
            while server.requests == before and run.poll() is None:
                time.sleep(0.005)
            time.sleep(draw.random() * 0.1)
            run.kill()
            run.communicate()
            ended.append(run.returncode)
        finished = subprocess.run(command, capture_output=True, check=True, text=True)
        assert ended == [-9] * 3
        assert finished.stdout == f"{{'probabilities': {3 * PICTURES}}}\n"
        # What was in flight at a kill comes again under its old name, and is not generated again.
        assert set(server.generated.values()) == {1}
        assert len(server.generated) == 3 * PICTURES
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    keys = [line["keys"][0] for line in lines if "answer" in line]
    assert len(keys) == len(set(keys)) == 3 * PICTURES


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answering", "pictures", "found"),
    [
        (vlm_server.without_logprobs, 30, ("without logprobs", "token probabilities")),
        (vlm_server.refusing_logprobs, 30, ("HTTP 400: ", "request logprobs", "token probabilities")),
        (vlm_server.without_pictures, 3, ("all questions: ", "HTTP 400: ", "multimodal")),
        (vlm_server.declining, 30, ("refusals or empty", "answers.jsonl")),
    ],
)
def test_an_endpoint_that_cannot_answer_is_one_line(
    tmp_path: Path, answering: vlm_server.Answering, pictures: int, found: tuple[str, ...]
) -> None:
    with vlm_server.VlmServer(answering) as server:
        with error_with(ShoeError, "model 'm': ", *found) as error:
            asking(tmp_path / "answers.jsonl", endpoint(server.url), questions(pictures))
        assert "\n" not in str(error.value)
        assert server.requests < 90


def test_more_probabilities_than_an_endpoint_returns_are_not_requested_again(tmp_path: Path) -> None:
    path, asked = tmp_path / "answers.jsonl", questions(8)
    with vlm_server.VlmServer(vlm_server.few_logprobs) as server:
        assert asking(path, endpoint(server.url), asked) == {"probabilities": 24}
        assert 24 < server.requests <= 24 + 16  # at most one request more per concurrent request
        assert set(server.generated.values()) == {1}


@pytest.mark.slow
def test_without_confidence_answers_without_probabilities_are_a_state_of_their_own(tmp_path: Path) -> None:
    path, asked = tmp_path / "answers.jsonl", questions(2)
    with vlm_server.VlmServer(vlm_server.without_logprobs) as server:
        config = endpoint(server.url, parameters={"logprobs": None, "top_logprobs": None})
        assert asking(path, config, asked, probabilities=False) == {"text": 6}
    assert {one.tokens for one in Answers(path, config).read()} == {None}
