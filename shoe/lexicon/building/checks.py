"""What is wrong with a source of words: what stops a lexicon from being made of it, and what only makes it poorer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from shoe.core.errors import InputError, quote
from shoe.lexicon.building.source import Source
from shoe.lexicon.keys import LONGEST_NAME

DEEPEST = 250
"""Levels of concepts above each other that are followed."""
_MOST_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """Concepts that have something in common that one may want to know.

    Attributes:
        what: in a few words.
        count: how many have it.
        examples: some of their ids, or names.
    """

    what: str
    count: int
    examples: tuple[str, ...]


def check_ids(source: Source) -> None:
    """Refuse a source without concepts, with an id that is none, or one twice.

    Raises:
        InputError: naming the record.
    """
    if not source.concepts:
        raise InputError(source.path, found="no concepts", expected="at least one noun or verb")
    seen: dict[str, str] = {}
    for concept in source.concepts:
        id_ = concept.id
        if not id_ or len(id_.encode()) > LONGEST_NAME or not id_.isprintable() or any(map(str.isspace, id_)):
            expected = f"an id of at most {LONGEST_NAME} bytes without blanks"
            raise InputError(source.path, record=concept.where, field="id", found=quote(id_), expected=expected)
        if id_ in seen:
            expected = f"ids once each (first at {seen[id_]})"
            raise InputError(source.path, record=concept.where, found=f"the id {quote(id_)} again", expected=expected)
        seen[id_] = concept.where


def ordered(parents: Mapping[str, tuple[str, ...]]) -> tuple[dict[str, int], tuple[str, ...]]:
    """How deep each concept is below one without parents, and a cycle, its first concept again at the end.

    Where there is a cycle, what is on one or below it has no depth.
    """
    waiting = {id_: sum(parent in parents for parent in set(above)) for id_, above in parents.items()}
    below: dict[str, list[str]] = {}
    for id_, above in parents.items():
        for parent in dict.fromkeys(above):
            below.setdefault(parent, []).append(id_)
    depth = {id_: 0 for id_, count in waiting.items() if not count}
    for id_ in (queue := list(depth)):
        for child in below.get(id_, ()):
            waiting[child] -= 1
            if not waiting[child]:
                depth[child] = 1 + max(depth[parent] for parent in parents[child] if parent in depth)
                queue.append(child)
    if len(depth) == len(parents):
        return depth, ()
    path = [next(id_ for id_ in parents if id_ not in depth)]
    while path.count(path[-1]) < 2:
        path.append(next(p for p in parents[path[-1]] if p in parents and p not in depth))
    return depth, tuple(path[path.index(path[-1]) :])


def check_parents(source: Source, *, break_cycles: bool) -> dict[str, tuple[str, ...]]:
    """Parents of each concept that are concepts, of the same part of speech, and in no cycle.

    ``break_cycles`` leaves out a relation of each cycle, and counts it, rather than refuse the source.

    Raises:
        InputError: naming a cycle.
    """
    pos = {concept.id: concept.pos for concept in source.concepts}
    parents = {}
    for concept in source.concepts:
        known = tuple(dict.fromkeys(p for p in concept.parents if pos.get(p) == concept.pos))
        source.leave_out("relations to concepts that are not there", len(set(concept.parents)) - len(known))
        parents[concept.id] = known
    depth, cycle = ordered(parents)
    while cycle:
        if not break_cycles:
            found = f"the cycle {' < '.join(cycle[:8])}{' < ...' if len(cycle) > 8 else ''}"
            hint = "--break-cycles leaves a relation of each out"
            where = next(concept.where for concept in source.concepts if concept.id == cycle[0])
            expected = "nothing above itself"
            raise InputError(source.path, record=where, found=found, expected=expected, hint=hint)
        parents[cycle[0]] = tuple(parent for parent in parents[cycle[0]] if parent != cycle[1])
        source.leave_out("relations that closed a cycle")
        depth, cycle = ordered(parents)
    deepest = max(depth, key=lambda id_: depth[id_])
    if depth[deepest] > DEEPEST:
        found, expected = f"{deepest} {depth[deepest]} levels deep", f"at most {DEEPEST}"
        raise InputError(source.path, found=found, expected=expected)
    return parents


def findings(source: Source) -> list[Finding]:
    """All that makes a source poorer, or cannot be taken, in the order of its weight."""
    ids = Counter(concept.id for concept in source.concepts)
    pos = {concept.id: concept.pos for concept in source.concepts}
    has_child = {parent for concept in source.concepts for parent in concept.parents}
    known = {c.id: tuple(p for p in c.parents if pos.get(p) == c.pos) for c in source.concepts}
    depth, cycle = ordered(known)
    named = Counter((name.lower(), concept.pos) for concept in source.concepts for name in set(concept.names))
    said: list[tuple[str, Iterator[str]]] = [
        ("ids that stand twice", (id_ for id_, count in ids.items() if count > 1)),
        ("concepts on a cycle or below one", (id_ for id_ in known if cycle and id_ not in depth)),
        ("concepts without a name", (c.id for c in source.concepts if not any(map(str.strip, c.names)))),
        ("concepts without a gloss", (c.id for c in source.concepts if not c.gloss.strip())),
        ("relations to concepts that are not there", (p for c in source.concepts for p in c.parents if p not in pos)),
        (
            "relations between a noun and a verb",
            (c.id for c in source.concepts for p in c.parents if pos.get(p, c.pos) != c.pos),
        ),
        (
            "concepts with neither parents nor children",
            (c.id for c in source.concepts if not known[c.id] and c.id not in has_child),
        ),
        ("names of several concepts", (name for (name, _), count in named.items() if count > 1)),
    ]
    made = []
    for what, examples in said:
        listed = list(islice(examples, _MOST_EXAMPLES))
        count = len(listed) + sum(1 for _ in examples)
        if count:
            made.append(Finding(what, count, tuple(listed)))
    return made
