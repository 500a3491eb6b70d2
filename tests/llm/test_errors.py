"""What responses mean, byte by byte."""

import re
from collections.abc import Mapping
from email.utils import formatdate
from time import time

import orjson
import pytest

from shoe.core.errors import ShoeError
from shoe.llm import errors
from shoe.llm.endpoint import Endpoint
from shoe.llm.errors import NoResponseFormatError, RejectedError, Transient, answer, http_error, retry_after
from shoe.llm.ledger import State
from shoe.maps.rating_answers import read_chat
from tests.mentions import mentions

PLACE = Endpoint("rater 'r'", "https://host/v1", "SOME_KEY", "sk-secret")
NONE: Mapping[str, str] = {}
DEEP = b'{"error": {"message": ' + b"[" * 300 + b"]" * 300 + b'}, "choices": [1]}'
"""What JSON readers take, and a line of the ledger cannot hold."""


def judged(status: int, body: bytes, headers: Mapping[str, str] = NONE) -> Exception:
    return http_error(PLACE, "gpt", status, headers, body)


@pytest.mark.parametrize(
    ("body", "raw"),
    [
        (b'{"content": "x"}', {}),
        (b'{"content": null, "refusal": "no"}', {}),
        (b'{"content": [{"type": "text", "text": "3"}]}', {}),
        (b'{"content": null}, "finish_reason": "content_filter"', {}),
        (b'{"content": ""}, "finish_reason": "length"', {}),
        (b'{"content": "3"}, "finish_reason": "none"', {}),
        (b'{"content": "Bearer sk-secret"}', {"message": {"content": "Bearer [key]"}}),
        (b'{"content": "3"}, "a": [{"sk-secret": "x sk\\u002dsecret"}]', {"a": [{"[key]": "x [key]"}]}),
    ],
)
def test_what_a_model_said_is_an_answer_and_never_holds_the_key(body: bytes, raw: dict[str, object]) -> None:
    whole = b'{"choices": [{"message": ' + body + b"}]}"
    assert answer(PLACE, "gpt", 203, NONE, whole) == answer(PLACE, "gpt", 200, NONE, whole)
    (choice,) = answer(PLACE, "gpt", 200, NONE, whole)["choices"]
    assert choice == orjson.loads(whole)["choices"][0] | raw


@pytest.mark.parametrize(
    ("headers", "body", "kind"),
    [
        *((NONE, b"", "empty"), (NONE, b" \r\n", "empty"), (NONE, b"{}", "hollow")),
        ({"Content-Type": "text/html; charset=utf-8"}, b"<html>", "html"),
        *((NONE, b'{"choices": []}', "hollow"), (NONE, b'{"choices": null}', "hollow")),
        (NONE, b'{"choices": [1], "error": null}', "hollow"),
        (NONE, b'{"choices": [{"message": null, "finish_reason": "stop"}]}', "hollow"),
        (NONE, b'{"choices": [{"message": {"content": null}}]}', "hollow"),
        (NONE, b'{"choices": [{"message": {"content": " \\n"}, "finish_reason": "stop"}]}', "hollow"),
        (NONE, b'{"choices": [{"message": {"content": [{"type": "text", "text": ""}]}}]}', "hollow"),
        *((NONE, broken, "cut") for broken in (b"null", b"[1]", b'{"choices": [{"mess', b"\xff{", DEEP)),
        (NONE, b'{"error": {"message": "upstream", "code": 429}}', "429"),
        (NONE, b'{"error": "overloaded"}', "502"),
        (NONE, b'{"error": {"message": "m", "code": "odd"}, "choices": null}', "502"),
    ],
)
def test_success_without_an_answer_is_tried_again(headers: Mapping[str, str], body: bytes, kind: str) -> None:
    for status in (200, 204, 206):
        with pytest.raises(Transient) as failed:
            answer(PLACE, "gpt", status, headers, body)
        assert failed.value.kind == kind


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 524, 529])
def test_what_may_pass_is_tried_again(status: int) -> None:
    failed = judged(status, b'{"error": {"message": "busy sk-secret"}}', {"Retry-After": "7"})
    assert isinstance(failed, Transient)
    assert (failed.kind, failed.detail, failed.retry_after) == (str(status), "busy [key]", 7.0)
    assert failed.overload == (status in (408, 429, 503, 504, 529))


@pytest.mark.parametrize(
    ("status", "body", "values"),
    [
        (400, b'{"error": {"message": "bad \\u001b[31m sk-secret"}}', "HTTP 400: bad \ufffd[31m [key]"),
        (400, b"", "HTTP 400: no reason"),
        (401, b'{"error": {"message": "Incorrect API key: sk-s****t"}}', "HTTP 401: … SOME_KEY"),
        (403, b'{"error": {"message": "not in your region"}}', "SOME_KEY: not in your region"),
        (404, b'{"error": {"message": "no such model"}}', "HTTP 404: no such model … 'gpt'"),
        (413, b"too large", "HTTP 413: too large"),
        (402, b'{"error": "pay"}', "HTTP 402: pay"),
        (422, b'{"detail": [{"loc": ["body", "seed"]}]}', "HTTP 422: [{"),
        (429, b'{"error": {"message": "quota", "code": "insufficient_quota"}}', "credit … : quota"),
    ],
)
def test_what_will_not_pass_is_one_line_without_the_key(status: int, body: bytes, values: str) -> None:
    failed = judged(status, body)
    assert isinstance(failed, ShoeError)
    assert re.match(mentions(f"rater 'r': https://host/v1: … {values}"), str(failed))
    assert "sk-s" not in str(failed)
    assert str(failed).isprintable()


def test_a_missing_key_and_a_redirection_that_is_not_followed_are_named_as_such() -> None:
    place = Endpoint("rater 'r'", "https://host/v1", "", "")
    assert "api_key_env" in str(http_error(place, "gpt", 401, NONE, b""))
    assert "to http://other/v1" in str(judged(307, b"", {"Location": "http://other/v1"}))


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("words", ["Unknown parameter: 'response_format'", "guided decoding is off", "JSON_SCHEMA?"])
def test_not_knowing_response_format_is_told_from_other_faults(status: int, words: str) -> None:
    assert isinstance(judged(status, f'{{"error": {{"message": "{words}"}}}}'.encode()), NoResponseFormatError)


@pytest.mark.parametrize("code", ["content_filter", "content_policy_violation", "invalid_prompt"])
def test_a_content_filter_is_an_answer_and_a_refusal(code: str) -> None:
    """Were it a reason to stop, one such pair would stop every run."""
    body = {"error": {"message": "Your prompt was flagged", "code": code}}
    for status in (400, 403):
        assert answer(PLACE, "gpt", status, NONE, orjson.dumps(body)) == body
    assert read_chat(body, ["417"]) == [State.REFUSED]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"message": "Messages must alternate", "code": "invalid_prompt"}),
        (403, {"message": "Your input was flagged", "code": 403}),
        (422, {"message": "odd"}),
    ],
)
def test_what_one_request_meets_is_told_from_what_all_do(status: int, error: object) -> None:
    assert isinstance(judged(status, orjson.dumps({"error": error})), RejectedError)
    assert not isinstance(judged(403, b"no"), RejectedError)


@pytest.mark.parametrize(
    ("text", "more", "seconds"),
    [
        *(("", {}, None), ("2", {}, 2.0), ("0.25", {}, 0.25), ("99999999", {}, errors.LONGEST_PAUSE)),
        *(("-1", {}, None), ("nan", {}, None), ("soon", {}, None), ("9", {"retry-after-ms": "1500"}, 1.5)),
        *(("Wed, 21 Oct 2015 07:28:00 GMT", {}, 0.0), ("Wed, 99 Oct 2015 07:28:00 GMT", {}, None)),
        ("Fri, 31 Dec 9999 23:59:59 GMT", {}, errors.LONGEST_PAUSE),
        (formatdate(10_007, usegmt=True), {"Date": formatdate(10_000, usegmt=True)}, 7.0),  # the endpoint's own clock
    ],
)
def test_retry_after_is_read_and_bounded(text: str, more: dict[str, str], seconds: float | None) -> None:
    assert retry_after({"Retry-After": text, **more}) == seconds
    left = retry_after({"Retry-After": formatdate(time() + 60, usegmt=True)})
    assert left is not None
    assert 50 < left <= 60


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": {"message": "m", "code": "c"}}', ("m", "c")),
        (b'{"error": {"message": "m", "type": "t", "code": null}}', ("m", "t")),
        *((b'{"detail": "d"}', ("d", "")), (b'{"error": "e"}', ("e", "")), (b'"text"', ("text", ""))),
        *((b"[]", ("[]", "")), (b"plain \xff", ("plain \ufffd", "")), (b"", ("", ""))),
        *((deep, ("values nested hundreds deep", "")) for deep in (DEEP, b"[" * 900 + b"]" * 900)),
    ],
)
def test_words_of_any_error(body: bytes, words: tuple[str, str]) -> None:
    assert errors.message_and_code(body) == words
