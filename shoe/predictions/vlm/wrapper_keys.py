"""What the keys around an answer say: which may hold it, and which what was asked, thought, paid, or would be right.

The tables are of keys in plain spelling (lower case, words joined by "_"), or of the words of keys.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from shoe.predictions.vlm.images import plain
from shoe.predictions.vlm.keys import meaning


def _words(text: str) -> list[str]:
    return text.split()


ANSWERS = tuple(
    _words(
        "response responses reply raw_response model_response model_output raw_output output outputs output_text "
        "generated_text generation generated completion completions prediction predictions pred predict predicted "
        "answer model_answer caption result results resps filtered_resps raw text body message choices candidates "
        "content parts value tool_calls function function_call arguments args delta data"
    )
)
"""Keys of a record that an answer stands under, the likelier first."""
BESIDE_BOXES = frozenset(
    _words("response reply raw_response model_response model_output output generated_text answer completion prediction")
)
"""Those of them that hold an answer also where a record has two boxes, which are then what was asked about."""
WRAPPERS = frozenset(ANSWERS) | frozenset(_words("parsed input refusal text_output generated_texts"))
"""Keys of an object that says nothing of its own."""
CHATS = tuple(_words("messages conversations conversation chat history dialog turns"))
SPEAKERS = ("role", "from", "speaker")
MODEL = frozenset(_words("assistant model gpt bot chatbot ai output"))
THOUGHTS = frozenset(_words("thinking reasoning redacted_thinking thought image image_url"))
"""Types of blocks that are no answer."""
CALLS = frozenset(_words("tool_use function_call function tool_call"))
"""Types of blocks that call a tool: what it is called with is the answer."""
BLOCKS = THOUGHTS | CALLS
STOPPED = frozenset(_words("finish_reason stop_reason done_reason incomplete_details prompt_feedback"))
LENGTH = frozenset(_words("length max_tokens max_output_tokens max_length max_new_tokens model_length"))
"""Why a model stopped before its answer was complete."""
REFUSALS = frozenset(
    _words("safety image_safety content_filter refusal prohibited_content blocklist spii recitation blocked")
)
"""Why a model gave no answer, where that is its own choice or its guard's."""
FAILURES = frozenset(_words("errored expired canceled cancelled failed"))

_ASKED = frozenset(
    _words("prompt prompts question query queries instruction instructions system input inputs user tools schema")
)
_TRUE = frozenset(_words("gt ground truth solution expected gold annotation annotations"))
_RIGHT = frozenset(_words("reference correct target true right label"))
_SAID = frozenset(_words("answer answers response output text completion reply"))
_LABELS = frozenset(_words("label labels"))
_BESIDE = frozenset(
    _words(
        "reference model id usage metadata time created date tokens token logprobs logprob thinking thought thoughts "
        "reasoning reason error errors status image images prompt_feedback"
    )
)
_ERRORS = frozenset(_words("error errors error_message"))
_DATA = ("[", "{", "<")


@lru_cache(8192)
def is_asked(key: object) -> bool:
    """Whether a key holds what the model was given."""
    return not _ASKED.isdisjoint(meaning(key).words)


@lru_cache(8192)
def is_beside(key: object) -> bool:
    """Whether a key holds neither an answer nor a word of the interaction, but facts of the run."""
    words = meaning(key).words
    return not (_ASKED.isdisjoint(words) and _TRUE.isdisjoint(words) and _BESIDE.isdisjoint(words))


def is_error(key: object) -> bool:
    """Whether a key holds what went wrong."""
    return isinstance(key, str) and plain(key) in _ERRORS


def is_truth(key: object, value: Any) -> bool:
    """Whether a key holds what would be right; "label" does where data stand under it and not a word."""
    words = meaning(key).words
    if not _TRUE.isdisjoint(words) or not (_RIGHT.isdisjoint(words) or _SAID.isdisjoint(words)):
        return True
    return not _LABELS.isdisjoint(words) and len(words) == 1 and isinstance(value, str) and holds_data(value)


def holds_data(text: str) -> bool:
    """Whether a text may hold boxes or data."""
    return any(mark in text for mark in _DATA)
