"""Verbs and objects alike: the classes' senses of one part of speech, against the words that were predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoe.core.arrays import Indices, Ints
from shoe.core.interactions import Interactions
from shoe.diagnosis.nearness import WordNearness, word_nearness
from shoe.lexicon.expressions import Part
from shoe.matching.task import Task
from shoe.scoring.meaning import Meaning
from shoe.similarity.table import SimilarityTable


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One half of a triplet; C distinct senses of classes, W words, K classes.

    Attributes:
        part: "verb" or "object".
        labels: (C,) the classes' word.
        synsets: (C,) its sense, "" for no_interaction.
        row: (K,) which of them each class has.
        words: (W,) the predicted words.
        table: how alike they are.
        near: how near they are.
    """

    part: Part
    labels: tuple[str, ...]
    synsets: tuple[str, ...]
    row: Indices
    words: tuple[str, ...]
    table: SimilarityTable
    near: WordNearness

    def words_of(self, table: Interactions) -> Ints:
        """(n,) which word each triplet of a table has, whose vocabularies begin like this one."""
        return table.verb if self.part == "verb" else table.object


def sides_of(task: Task, meaning: Meaning, object_words: str) -> tuple[Side, Side]:
    """Put together what is known of verbs, and of objects.

    Args:
        task: predictions and ground truth.
        meaning: of the same task, with the senses of the class table.
        object_words: the option that the meaning was built with.
    """
    classes, said = task.truth.classes, task.predictions
    verbs = [classes.verbs[v] for v in classes.verb]
    objects = [classes.objects[o] for o in classes.object]
    return (
        _side("verb", meaning.verbs, meaning.verb_row, verbs, classes.verb_synsets, said.verbs, object_words),
        _side(
            "object", meaning.objects, meaning.object_row, objects, classes.object_synsets, said.objects, object_words
        ),
    )


def _side(
    part: Part,
    table: SimilarityTable,
    row: Indices,
    labels: Sequence[str],
    synsets: Sequence[str],
    words: tuple[str, ...],
    object_words: str,
) -> Side:
    first = {r: k for k, r in reversed(list(enumerate(row.tolist())))}
    classes = [first[r] for r in range(len(first))]
    own = [synsets[k] for k in classes]
    near = word_nearness(table, part, own, words, object_words)
    return Side(part, tuple(labels[k] for k in classes), tuple(own), row, words, table, near)
