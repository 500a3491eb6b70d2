"""Which of several texts of an item is the verb, where their keys say nothing: as it is in most items of the file.

Of one item that cannot be told: "drink" and "hold" are nouns, "train" and "milk" are verbs, and a key means the same
thing in every item.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shoe.predictions.vlm.fields import Verb
from shoe.predictions.vlm.found import Pair
from shoe.predictions.vlm.persons import is_person, verb_likeness

_NEARLY_ALL = 0.9


class _Roles(NamedTuple):
    """The key of each role; "" where no text has it."""

    subject: str
    verb: str
    target: str


def are_open(pair: Pair) -> bool:
    """Whether a pair has several texts and nothing that tells which of them is the verb."""
    return len(set(pair.keys)) == len(pair.texts) > 1 and all(pair.keys) and not pair.verbs and not pair.phrase


def decided(pairs: Sequence[Pair]) -> list[Pair]:
    """Give the texts of a file's open pairs their roles, by the keys that they stand under."""
    said: dict[frozenset[str], dict[str, set[str]]] = {}
    for pair in pairs:
        columns = said.setdefault(frozenset(pair.keys), {key: set() for key in pair.keys})
        for key, each in zip(pair.keys, pair.texts, strict=True):
            columns[key].add(each)
    roles = {keys: _roles(columns) for keys, columns in said.items()}
    return [_with_roles(pair, roles[frozenset(pair.keys)]) for pair in pairs]


def _roles(columns: dict[str, set[str]]) -> _Roles:
    """Find the roles of keys by the texts under them."""
    people = [key for key, values in columns.items() if sum(map(is_person, values)) >= _NEARLY_ALL * len(values)]
    subject = people[0] if people else ""
    likeness = {key: sum(map(verb_likeness, said)) / len(said) for key, said in columns.items() if key != subject}
    verb = max(likeness, key=lambda key: likeness[key])
    return _Roles(
        subject, verb, min((key for key in likeness if key != verb), key=lambda key: likeness[key], default="")
    )


def _with_roles(pair: Pair, roles: _Roles) -> Pair:
    words = dict(zip(pair.keys, pair.texts, strict=True))
    subject, target = pair.subject or words.get(roles.subject, ""), pair.target or words.get(roles.target, "")
    return pair._replace(subject=subject, target=target, verbs=(Verb(words[roles.verb]),), texts=(), keys=())
