"""Ways to ask about a picture: a free phrase, yes or no for each verb, letters for all verbs, or the whole picture.

Each has a prompt, a text file with two sections, ``[instructions]`` and ``[question]``. In the question stand
``$person`` and ``$thing``, the words by which the visual prompt refers to the two (:class:`Shown`); for yes and no
``$action`` beside them, the verb's -ing form; for letters ``$options``, a line each. A dollar sign is written ``$$``.
For a whole picture the file is the question alone (``shoe prompt``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from string import Template
from typing import Any

from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.classes import NO_INTERACTION
from shoe.core.errors import OptionError, many, quote, unknown_name
from shoe.core.shipped import shipped
from shoe.predict.ask import Picture, Question
from shoe.predict.records import Pair
from shoe.rating.prompts import check_fields, read_prompt

YES_NO = ("yes", "no")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FIELDS = {
    "phrase": ("person", "thing"),
    "yes-no": ("person", "thing", "action"),
    "letters": ("person", "thing", "options"),
    "image": (),
}
_FILES = {"phrase": "predict/phrase.txt", "yes-no": "predict/yes-no.txt", "letters": "predict/letters.txt"}
_PROMPT_OF_WHOLE = "detection.txt"
WHOLE = "image"
"""The way to ask that needs no pairs."""
WAYS = tuple(_FIELDS)
"""Names of the ways to ask."""
TOKENS = {"phrase": 24, "yes-no": 1, "letters": 1, "image": 2048}
"""Most tokens of an answer, by way, unless something else is asked for."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A pair as a model is to see it.

    Attributes:
        pictures: in the order in which they are shown.
        person, thing: how a text refers to the two: "the person in the red box", "the bicycle at [10, 20, 90, 80]".
    """

    pictures: Sequence[Picture]
    person: str
    thing: str


@dataclass(frozen=True, slots=True)
class Way:
    """One way to ask, with its prompt.

    Attributes:
        name: one of ``WAYS``.
        digest: 16 hex digits of the prompt.
        instructions: for the system; empty for none.
        question: of the user, with fields.
        rounds: of letters, how many orders of the options are asked for and averaged.
        seed: of these orders.
    """

    name: str
    digest: str
    instructions: str
    question: Template
    rounds: int = 2
    seed: int = 0

    @classmethod
    def read(cls, name: str, path: Path | None = None, rounds: int = 2, seed: int = 0) -> Way:
        """Read a way's prompt: the shipped one, or a file."""
        if name not in _FIELDS:
            raise unknown_name("way to ask", name, WAYS)
        path = path or shipped("prompts") / _FILES.get(name, _PROMPT_OF_WHOLE)
        text, digest, bodies = read_prompt(path, () if name == WHOLE else ("instructions", "question"))
        if name == WHOLE:
            return cls(name, digest, "", Template(text.strip().replace("$", "$$")))
        question = Template(bodies["question"].strip())
        check_fields(path, "question", question.template, _FIELDS[name])
        return cls(name, digest, bodies["instructions"].strip(), question, rounds, seed)

    def about_image(self, image: str, picture: Picture) -> Question:
        """Ask about a whole picture."""
        about = {"image": image, "way": self.name}
        return Question([picture], self.question.substitute(), self.instructions, (), self.digest, about)

    def about_pair(self, image: str, pair: Pair, shown: Shown, benchmark: Benchmark) -> Iterator[Question]:
        """Ask about a pair: once, for each verb that the benchmark has for the object, or for each order of letters."""
        about = {"image": image, "pair": pair, "way": self.name}
        words = {"person": shown.person, "thing": shown.thing}

        def question(more: Mapping[str, str], expected: tuple[str, ...], **asked: Any) -> Question:
            text = self.question.substitute(words, **more)
            return Question(shown.pictures, text, self.instructions, expected, self.digest, {**about, **asked})

        if self.name == "phrase":
            yield question({}, ())
            return
        verbs = verbs_of(pair.object, benchmark)
        if self.name == "yes-no":
            for verb, action in verbs.items():
                if verb != NO_INTERACTION:
                    yield question({"action": action}, YES_NO, verb=verb)
            return
        if len(verbs) > len(LETTERS):
            raise OptionError(
                f"way to ask 'letters': found {many(len(verbs), 'verb')} for {quote(pair.object)}, "
                f"expected at most {len(LETTERS)}: ask yes-no"
            )
        for order in orders(list(verbs), self.rounds, self.seed):
            letters = LETTERS[: len(order)]
            lines = [f"{letter}. {verbs[verb]}" for letter, verb in zip(letters, order, strict=True)]
            yield question({"options": "\n".join(lines)}, tuple(letters), options=order)


def verbs_of(object_: str, benchmark: Benchmark) -> dict[str, str]:
    """The verbs that a benchmark has for an object, each with what is asked of it: its -ing form, in words."""
    classes = benchmark.classes
    if object_ not in classes.objects:
        raise unknown_name("object", object_, classes.objects)
    column = classes.of[:, classes.objects.index(object_)]
    found = {verb: classes.gerunds[i] for i, verb in enumerate(classes.verbs) if column[i] >= 0}
    return {
        verb: "doing nothing with it" if verb == NO_INTERACTION else gerund.replace("_", " ")
        for verb, gerund in found.items()
    }


def orders(options: Sequence[str], rounds: int, seed: int) -> list[list[str]]:
    """Orders of options: one that is drawn, then turned on so that an option's places are far apart."""
    drawn = list(options)
    Random(f"{seed} {' '.join(options)}").shuffle(drawn)  # noqa: S311 - nothing secret
    rounds = min(rounds, len(drawn))
    steps = [number * len(drawn) // rounds for number in range(rounds)]
    return [drawn[step:] + drawn[:step] for step in steps]
