"""What the lines of a batch's files mean, byte by byte."""

import pytest

from shoe.core.errors import ShoeError
from shoe.llm.batch_state import result_of
from shoe.llm.endpoint import Endpoint
from shoe.llm.errors import NoResponseFormatError, Transient

PLACE = Endpoint("rater 'r'", "https://host/v1", "SOME_KEY", "sk-secret")


@pytest.mark.parametrize(
    ("rest", "name", "kind"),
    [
        (b'"response": {"status_code": 500, "body": "b"}}', "c", Transient),
        (b'"response": null, "error": {"code": "batch_expired"}}', "c", Transient),
        (b'"response": {"status_code": 401, "body": null}}', "c", ShoeError),
        (b'"response": {"status_code": 400, "body": "guided"}}', "c", NoResponseFormatError),
        (b'"custom_id": ["c"], "response": {"status_code": 200}}', "", Transient),
        *((b'"response": null, "error": {"code": 5}}', "", Transient), (b'"response": 5}', "", Transient)),
        *((b'"response": {"status_code": "x"}}', "", Transient), (b'"a": 0}', "", Transient), (b"\xff", "", Transient)),
        (b'"response": {"status_code": 200, "body": "{"}}', "c", Transient),
        (b'"response": {"status_code": 200, "body": {}}}', "c", Transient),
        (b'"response": {"status_code": 200, "body": {"a": ' + b"[" * 300 + b"]" * 300 + b"}}}\n", "c", Transient),
        (b'"a": ' + b"[" * 900 + b"]" * 900, "", Transient),
    ],
)
def test_what_is_no_answer_is_a_reason(rest: bytes, name: str, kind: type[Exception]) -> None:
    found, reason = result_of(PLACE, "m", b'{"custom_id": "c", ' + rest)
    assert (found, isinstance(reason, kind)) == (name, True)


def test_an_answer_is_kept_as_it_is_but_for_the_key_and_a_list_is_no_line() -> None:
    body = b'{"choices": [{"message": {"content": "3"}}], "a": "sk-secret"}'
    line = b'{"custom_id": "c", "response": {"status_code": 200, "body": %b}}' % body
    assert result_of(PLACE, "m", line) == ("c", {"choices": [{"message": {"content": "3"}}], "a": "[key]"})
    assert result_of(PLACE, "m", b"[]")[0] == ""
