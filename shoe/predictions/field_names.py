"""Meaning of column names and keys in tables and replies: the side (human or object), and the part (kind of value).

Keys are split into words, so that ``human_box``, ``personBBox`` and ``box_of_person`` have the same meaning.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from shoe.lexicon.text import word_lists
from shoe.predictions.vlm.images import plain

SCORE_NAMES = ("score", "confidence", "conf", "probability", "prob")
_LISTS = word_lists("key_words.txt")
# Words that occur in keys. If a key has words of several parts, the first part in this table applies.
PARTS, SIDES = (
    {name.removeprefix(kind): words for name, words in _LISTS.items() if name.startswith(kind)}
    for kind in ("part.", "side.")
)
_PART_OF = {word: part for part, words in reversed(PARTS.items()) for word in words}
_RANK = {part: rank for rank, part in enumerate(PARTS)}
_SIDE_OF = {word: side for side, words in SIDES.items() for word in words}
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")

LAYOUTS = ("xywh", "cxcywh", "yxyx")  # box layouts that a key may name, as in bbox_xywh


class Meaning(NamedTuple):
    """Meaning of a key: its side ("human", "subject", "object" or ""), and its part, a key of :data:`PARTS` or "".

    ``words`` are the words of the key in lower case.
    """

    side: str
    part: str
    words: tuple[str, ...]


@lru_cache(8192)
def meaning(key: object) -> Meaning:
    """Return the meaning of a key, derived from its words.

    >>> meaning("personBBox")[:2], meaning("sub-name")[:2], meaning("predicate")[:2]
    (('human', 'box'), ('subject', 'label'), ('', 'verb'))
    """
    text = key if isinstance(key, str) and len(key) <= 100 else ""
    words = tuple(part for word in _WORD.findall(text) for part in _split(word.lower()))
    if not {"annotation", "annotations"}.isdisjoint(words):
        return Meaning("", "", words)
    parts = sorted({_PART_OF[word] for word in words if word in _PART_OF}, key=_RANK.__getitem__)
    of_model = not _MODELS.isdisjoint(words)  # the "o" of "gpt4o" is no object
    side = next((_SIDE_OF[word] for word in words if word in _SIDE_OF and not (of_model and len(word) == 1)), "")
    if "image" in parts and len(parts) > 1 and parts[1] in ("width", "height"):
        parts = parts[1:]
    return Meaning(side, parts[0] if parts else "", words)


def _split(word: str) -> tuple[str, ...]:
    """Return the two words of a compound like "humanbox"; for other words, the word itself."""
    for ending in ("bbox", "box", "label", "name", "id"):
        if word.endswith(ending) and word[: -len(ending)] in _SIDE_OF:
            return word[: -len(ending)], ending
    return (word,)


STANDARD_KEYS = ("image", "human_box", "object_box", "verb", "object", "phrase", "score", "interactions", "response")
"""Standard keys, which shoe writes and which its prompt requests."""


def role(key: str) -> str | None:
    """Return "human_box", "object_box" or "box" for a box key; else the part, the side, the standard key, or None."""
    info = meaning(key)
    if info.part == "box":
        return "object_box" if info.side == "object" else "human_box" if info.side else "box"
    return info.part or info.side or (key if key in STANDARD_KEYS else None)


# Keys of the wrapper around an answer, in plain spelling (lower case, words joined by "_"), and words of such keys.
def _sets(names: str) -> Iterator[frozenset[str]]:
    return (frozenset(_LISTS[name]) for name in names.split())


ANSWERS = _LISTS["answers"]
"""Keys under which a record may have the answer, the most likely first."""
(ANSWERS_WITH_BOXES,) = _sets("answers_with_boxes")
"""Keys of the answer even if the record has two boxes outside the answer; these boxes belong to the question."""
WRAPPERS = frozenset(ANSWERS).union(*_sets("wrappers"))
"""Keys of wrappers; their values are searched for the answer."""
CHATS = ("messages", "conversations", "conversation", "chat", "history", "dialog", "turns")
SPEAKERS = ("role", "from", "speaker")
# Names of the model; types of content blocks: no part of the answer, or calls of tools, whose arguments are the answer.
MODEL, THOUGHTS, CALLS = _sets("model thoughts calls")
BLOCKS = THOUGHTS | CALLS
# Keys of finish reasons; finish reasons of truncated answers, of refusals by the model or its filter, and of failures.
STOPPED, LENGTH, REFUSALS, FAILURES = _sets("stopped length refusals failures")
(RUNS,) = _sets("runs")
"""Keys that may say which model or run made a prediction."""
_UNSURE, _VERDICT_ONLY, _PROMPT, _TRUTH, _OF_TRUTH = _sets("unsure verdicts prompt truth of_truth")
_VERDICTS = _UNSURE | _VERDICT_ONLY  # the unsure keys also hold other words
(_OF_OTHERS,) = _sets("of_others")  # perhaps of the ground truth or of a person, except within a reply
_REFERENCE, _PREDICTED, _BESIDE_ANSWER, _RAW, _MAPPED = _sets("reference predicted beside_answer raw mapped")
_NOT_PREDICTED = _TRUTH.union(*_sets("not_predicted"))
_QUERIED = _NOT_PREDICTED | {"target"}  # in "target_verb"; "target" alone is the object
(_MODELS,) = _sets("models")
_PREDICTED |= _MODELS
_OF_EITHER = _PREDICTED | _NOT_PREDICTED
_DENIED, _NAMES, _CLASSES, _OF_PAIR, _ANSWER = _sets("denied names classes of_pair answer")
_ABOUT_VERB = _CLASSES.union(*_sets("about_verb"))
# Words of keys for a later version of an answer, or the chosen part, and for an earlier version.
LATER, _EARLIER, _DATA_KEYS, _METADATA, _ERRORS = _sets("later earlier data_keys metadata errors")
(_OF_TIME,) = _sets("of_time")  # perhaps in the image: "action_before", "action", "action_after"
_DATA = ("[", "{", "<")
_NO_WORDS = frozenset({"raw", "vl", "mini"})  # of "raw_output", "qwen2_5_vl" and "gpt4o_mini"
_LONGEST, _YES_NO = 60, frozenset({"yes", "no", "true", "false"})


@lru_cache(8192)
def is_prompt(key: object) -> bool:
    """Return whether a value under a key is input of the model, such as "prompt" or "question"."""
    return not _PROMPT.isdisjoint(meaning(key).words)


@lru_cache(8192)
def is_metadata(key: object) -> bool:
    """Return whether a key has a word for prompts, ground truth or metadata: "gt_box", but also "model_output"."""
    return not (_PROMPT | _TRUTH | _METADATA).isdisjoint(meaning(key).words)


def is_error(key: object) -> bool:
    """Return whether a key is for an error: "error", "errors" or "error_message"."""
    return isinstance(key, str) and plain(key) in _ERRORS


def is_truth(key: object, value: Any, *, has_answer: bool = False) -> bool:
    """Return whether a key is for ground truth, judged by its words, or by its value for keys such as "label".

    If ``has_answer`` (another key of the record is for the answer), "targets" and "labels" are for ground truth too.
    """
    words = meaning(key).words
    is_beside = has_answer and not _BESIDE_ANSWER.isdisjoint(words) and _PREDICTED.isdisjoint(words)
    if is_beside or not _TRUTH.isdisjoint(words) or not (_REFERENCE.isdisjoint(words) or _ANSWER.isdisjoint(words)):
        return True
    if isinstance(value, list):
        return words == ("reference",) and any(isinstance(each, dict) for each in value)
    return not _DATA_KEYS.isdisjoint(words) and len(words) == 1 and isinstance(value, str) and holds_data(value)


def marks_truth(key: object, value: Any) -> bool:
    """Return whether a key says that its record is an annotation: {"is_gt": true}, {"source": "gt"}."""
    if type(value) is bool:
        return value and not _TRUTH.isdisjoint(meaning(key).words)
    return isinstance(value, str) and plain(value) in _OF_TRUTH and meaning(key).part not in ("verb", "phrase", "box")


def is_of_pair(key: object) -> bool:
    """Return whether a key of a score is for the whole interaction: "hoi_score", "total"."""
    return not _OF_PAIR.isdisjoint(meaning(key).words)


def is_verdict(key: object) -> bool:
    """Return whether the value of a key may say whether an interaction is present: "label", "present", "is_valid"."""
    return bool(words := meaning(key).words) and _VERDICTS.issuperset(words)


def is_denied(key: object) -> bool:
    """Return whether a key holds interactions that the model denies or does not predict: "excluded_actions"."""
    return meaning(key).part in ("verb", "phrase") and not _DENIED.isdisjoint(meaning(key).words)


@lru_cache(8192)
def rank(key: object) -> int:
    """Return 0 for "object" and "score", and more for keys that such keys replace: "object_color", "box_score"."""
    info = meaning(key)
    if info.part == "score":
        of_pair = any(word in _OF_PAIR or meaning(word).part == "verb" for word in info.words)
        return 0 if len(info.words) == 1 else 2 - of_pair
    rest = {word for word in info.words if word not in _SIDE_OF and not word.isdigit()} - _NAMES
    return 0 if not rest or info.part not in ("", "label", "phrase") else 2 - _CLASSES.issuperset(rest)


@lru_cache(1024)
def verb_details(keys: tuple[object, ...]) -> frozenset[object]:
    """Return the keys of a record that only describe the verb of another key: "action_type" beside "action"."""
    kinds = {key: meaning_of_kind(key) for key in keys}
    words = {key: meaning(key).words for key in keys if kinds[key].part == "verb" or "interaction" in kinds[key].words}
    about = [key for key in words if meaning(key).side == "human" or not _ABOUT_VERB.isdisjoint(words[key])]
    return frozenset(about if len(about) < len(words) or not {"interaction", "hoi"}.isdisjoint(keys) else ())


@lru_cache(1024)
def unmapped(keys: tuple[object, ...]) -> frozenset[object]:
    """Return the keys of words as the model wrote them, beside words mapped to labels: "raw_verb" beside "verb"."""
    words = {key: frozenset(meaning(key).words) for key in keys}
    kinds = {key: each - _RAW - _MAPPED or each & {"label"} for key, each in words.items()}
    mapped = {kind for key, kind in kinds.items() if kind and _RAW.isdisjoint(words[key])}
    return frozenset(key for key, kind in kinds.items() if kind in mapped and not _RAW.isdisjoint(words[key]))


@lru_cache(1024)
def outdated(keys: tuple[object, ...]) -> frozenset[object]:
    """Return the keys of earlier versions of another key: "draft" beside "final", "verb" beside "corrected_verb".

    Boxes, and scores without a word such as "initial", are no versions of each other.

    >>> sorted(outdated(("first_guess", "revised"))), sorted(outdated(("raw_output", "extracted_answer", "object")))
    (['first_guess'], ['raw_output'])
    """
    words = {key: frozenset(meaning(key).words) for key in keys if meaning(key).part not in ("image", "box")}
    rest = {key: each - LATER - _EARLIER for key, each in words.items()}
    later = [key for key, each in words.items() if each & LATER and not each & _EARLIER]

    def replaces(new: object, old: object) -> bool:
        if words[old] & _EARLIER:
            return rest[new] == rest[old] or not all(rest[key] - _ANSWER - _PREDICTED for key in (new, old))
        is_alike = bool(rest[old]) and rest[new] == rest[old] and meaning(old).part != "score"
        return is_alike and (old in later or not words[new] <= rest[new] | _OF_TIME)

    found = [(i, old) for i, new in enumerate(later) for old in words if new != old and replaces(new, old)]
    return frozenset(old for i, old in found if old not in later[i:])


def is_version_of_answer(key: object) -> bool:
    """Return whether a key is a later version of the answer, such as "final", "revised" and "parsed_answer"."""
    words = frozenset(meaning(key).words)
    return not words.isdisjoint(LATER) and words <= LATER | _ANSWER | _PREDICTED


def judges(key: object) -> bool:
    """Return whether a key such as "present" or "answer" may say if an interaction is present; False for "label"."""
    return is_verdict(key) and _OF_OTHERS.isdisjoint(meaning(key).words)


def only_judges(key: object) -> bool:
    """Return whether a key can only say if an interaction is present ("is_valid"), unlike "label" and "answer"."""
    return judges(key) and not meaning(key).part and _UNSURE.isdisjoint(meaning(key).words)


def meaning_of_kind(key: object) -> Meaning:
    """Return the meaning of a key without words like "pred" and "gt": "pred_object" has the meaning of "object"."""
    return meaning("_".join(word for word in meaning(key).words if word not in _OF_EITHER))


def names_prediction(key: object) -> bool:
    """Return whether a key says only that its value is a model's: "pred", "predicted_answer", "gpt4o", "y_pred"."""
    words = [word for word in meaning(key).words if len(word) > 1 and not word.isdigit()]
    is_certain = not (_PREDICTED - {"model", "output"}).isdisjoint(words) or len(words) > 1
    return is_certain and not _PREDICTED.isdisjoint(words) and _PREDICTED.issuperset(set(words) - _ANSWER - _NO_WORDS)


def name_predictions(record: dict[Any, Any]) -> dict[Any, Any]:
    """Return a record with the key of a predicted word named like the key of the other word: "pred" -> "pred_verb".

    >>> name_predictions({"verb": "ride", "gpt4o": "hold"}), name_predictions({"hoi": "ride horse", "pred": "1"})
    ({'verb': 'ride', 'pred_verb': 'hold'}, {'hoi': 'ride horse', 'pred': '1'})
    """
    bare = [key for key, value in record.items() if names_prediction(key) and _is_words(value)]
    if len(bare) != 1 or meaning(bare[0]).side:
        return record
    kinds = {meaning(key).part: key for key in reversed(record) if key not in bare and _is_words(record[key])}
    if (other := kinds.get("verb", kinds.get("phrase"))) is None:
        return record
    return {f"pred_{other}" if key in bare else key: value for key, value in record.items()}


def _is_words(value: Any) -> bool:
    if not isinstance(value, str) or not 1 < len(value) <= _LONGEST or not value[0].isalpha():
        return False
    return value.lower() not in _YES_NO and _MODELS.isdisjoint(meaning(value).words)  # "llava-1.5" is a model's name


@lru_cache(1024)
def superseded(keys: tuple[object, ...]) -> frozenset[object]:
    """Return the keys of a record that another key replaces, such as "gt_verb" beside "pred_verb".

    Of several keys for the same word, score or box, a key that names a prediction replaces all others; without such a
    key, keys that name the ground truth or the question are replaced, if any other key is left.

    >>> superseded(("verb", "pred_verb", "object")), superseded(("true_verb", "action", "object"))
    (frozenset({'verb'}), frozenset({'true_verb'}))
    """
    groups: dict[tuple[str, str], list[object]] = {}
    for key in keys:
        info = meaning_of_kind(key)
        if info.part == "phrase":
            groups.setdefault((" ".join(info.words), "phrase"), []).append(key)
        part = "" if info.part == "label" else info.part  # "object_label" is the same word as "object"
        if part in ("verb", "score", "box") or info.part == "label" or (info.side and not part):
            groups.setdefault(("" if part == "verb" else info.side, part), []).append(key)
    found: list[object] = []
    for group in groups.values():
        predicted = [key for key in group if not _PREDICTED.isdisjoint(meaning(key).words)]
        others = [key for key in group if _QUERIED.isdisjoint(words := meaning(key).words) or words == ("target",)]
        if kept := predicted or others:
            found += [key for key in group if key not in kept]
    return frozenset(found)


def holds_data(text: str) -> bool:
    """Return whether a text may contain boxes or data: it has a bracket such as "[", "{" or "<"."""
    return any(mark in text for mark in _DATA)
