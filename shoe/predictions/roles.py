"""Convert triplets to predictions by person, as V-COCO scores them, and read verbs with a role, as "hold obj"."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shoe.benchmarks.base import Actions, Benchmark
from shoe.core.arrays import Ints, as_bits, first_equal, number_words
from shoe.core.interactions import Interactions
from shoe.core.roles import RolePredictions
from shoe.lexicon.resolve import match_labels
from shoe.predictions.notes import ReadNotes

_SEPARATOR = re.compile(r"[\s_-]+")


def roles_of_triplets(table: Interactions, benchmark: Benchmark, stated: Ints | None = None) -> RolePredictions:
    """Return one person box per human-object pair, with its highest score for each action and each (action, role).

    Triplets whose verb is no action of the benchmark are left out. ``stated`` is :func:`stated_entries` of the verbs:
    where it is -1, the role follows from the object. None if no verb states a role.
    """
    actions, names = benchmark.actions, benchmark.objects
    stated = np.full(len(table.verbs), -1, np.int32) if stated is None else stated
    action = match_labels(table.verbs, actions.names, "verb")
    action = np.where(stated >= 0, np.array([each for each, _ in actions.entries], np.int32)[stated], action)
    # A word that is no object's name, -1, takes the action's first role, which is the only role of most actions.
    first = dict(actions.by_verb_id[::-1])
    entries = [[*(actions.entry_of(number, name) for name in names), first[number]] for number in range(len(actions))]
    rows = np.flatnonzero(action[table.verb] >= 0)
    verb, target = table.verb[rows], match_labels(table.objects, names, "object")[table.object[rows]]
    entry = np.where(stated[verb] >= 0, stated[verb], np.array(entries, np.int32)[action[verb], target])
    return RolePredictions.from_triplets(
        table.images,
        first_equal(as_bits(table.image, table.human_boxes, table.object_boxes))[rows],
        table.image[rows],
        table.human_boxes[rows].astype(np.float32),
        table.object_boxes[rows].astype(np.float32),
        action[verb],
        entry,
        table.score[rows].astype(np.float32),
        (len(actions), len(actions.entries)),
    )


def best_triplets(roles: RolePredictions, benchmark: Benchmark) -> Interactions:
    """Return a triplet for each person box with an object, for checks of boxes and verbs: its highest-scored action.

    The object label is "". If an action has two roles, only the role that most objects have is used.
    """
    actions = benchmark.actions
    action = np.array([number for number, _ in actions.entries], np.int32)
    usual = [actions.entry_of(number, "") == entry for entry, number in enumerate(action)]
    placed = ~roles.is_placeholder & np.isfinite(roles.boxes).all(axis=1)
    score = np.where(placed[roles.role] & ~np.isnan(roles.score) & usual, roles.score, -np.inf)
    rows = np.flatnonzero(np.isfinite(roles.person_boxes).all(axis=1) & (score.max(axis=1) > -np.inf))
    rows = rows[np.argsort(roles.image[rows], kind="stable")]
    entry = score[rows].argmax(axis=1)
    images = len(roles.images)
    return Interactions(
        images=roles.images,
        sizes=np.zeros((images, 2), np.int32),
        coordinates=np.zeros(images, np.uint8),
        offsets=np.searchsorted(roles.image[rows], np.arange(images + 1)),
        human_boxes=roles.person_boxes[rows].astype(np.float64),
        object_boxes=roles.boxes[roles.role[rows, entry]].astype(np.float64),
        verb=action[entry],
        object=np.zeros(len(rows), np.int32),
        score=score[rows, entry].astype(np.float64),
        verbs=actions.names,
        objects=("",),
    )


def stated_entries(words: Sequence[str], actions: Actions) -> Ints:
    """Return the (W,) index in ``actions.entries`` of each word with a role, such as "hold obj"; -1 for other words."""
    stated, parts = np.full(len(words), -1, np.int32), [_SEPARATOR.split(word.strip()) for word in words]
    roles = {role for _, role in actions.entries}
    at = [i for i, each in enumerate(parts) if len(each) > 1 and each[-1].lower() in roles]
    action = match_labels([" ".join(parts[i][:-1]) for i in at], actions.names, "verb")
    for i, number in zip(at, action.tolist(), strict=True):
        entry = number, parts[i][-1].lower()
        stated[i] = actions.entries.index(entry) if entry in actions.entries else -1
    return stated


def without_roles(table: Interactions, actions: Actions, stated: Ints) -> Interactions:
    """Return the table with "hold" in place of "hold obj"; ``stated`` is ``stated_entries`` of the verbs."""
    entries = zip(table.verbs, stated.tolist(), strict=True)
    names = (actions.names[actions.entries[entry][0]] if entry >= 0 else word for word, entry in entries)
    verbs, verb = number_words(names)
    return replace(table, verbs=tuple(verbs), verb=verb.astype(np.int32)[table.verb])


def with_stated_roles(table: Interactions, benchmark: Benchmark, notes: ReadNotes) -> Interactions:
    """Return the table with each verb such as "hold obj" replaced by its action, and with predictions by person.

    Returns the same table if no verb states a role, or if it has predictions by person. Verbs of the file are noted.
    """
    stated = stated_entries(table.verbs, benchmark.actions)
    if table.roles is not None or (stated < 0).all():
        return table
    for i in np.flatnonzero(stated >= 0).tolist():
        notes.add("roles", table.verbs[i])
    notes.verbs_with_roles = table.verbs, table.verb
    return replace(without_roles(table, benchmark.actions, stated), roles=roles_of_triplets(table, benchmark, stated))


def with_words_of_file(table: Interactions, notes: ReadNotes | None) -> Interactions:
    """Return the table with the verbs as in the file that was read: "hold obj" again instead of "hold"."""
    if notes is None or notes.verbs_with_roles is None or len(notes.verbs_with_roles[1]) != len(table):
        return table
    return replace(table, verbs=notes.verbs_with_roles[0], verb=notes.verbs_with_roles[1])


def count_lost(table: Interactions, benchmark: Benchmark, notes: ReadNotes) -> int:
    """Return how many action and role scores of ``table.roles`` no triplet contains; 0 if ``table.roles`` is None."""
    if table.roles is None:
        return 0
    words = with_words_of_file(table, notes)
    both = table.roles, roles_of_triplets(words, benchmark, stated_entries(words.verbs, benchmark.actions))
    before, after = (int(sum((~np.isnan(scores)).sum() for scores in (roles.agent, roles.score))) for roles in both)
    return before - after
