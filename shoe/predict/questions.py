"""A question about pictures: what is shown and said to a model, and the key under which its answer is kept."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from random import Random
from string import Template
from typing import TYPE_CHECKING, Any, Protocol

from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.classes import NO_INTERACTION
from shoe.core.errors import OptionError, many, quote, unknown_name
from shoe.core.io.files import shipped
from shoe.llm.ledger import canonical
from shoe.llm.request import KEY_BYTES, Request
from shoe.maps.prompts import check_fields, read_prompt
from shoe.predict.records import Pair

if TYPE_CHECKING:
    from PIL.Image import Image

SCHEME = 1
"""Version of keys."""


class Picture(Protocol):
    """A picture as a model is to see it; nothing is read or drawn before it is opened."""

    @property
    def digest(self) -> str:
        """Return hex digits that stand for what it shows: the file's content, and what is drawn on it or cut out."""

    def open(self) -> Image:
        """Make the picture, of mode RGB."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about one picture.

    Attributes:
        pictures: shown before the text, in this order.
        text: of the user.
        system: instructions; none if empty.
        words: what the answer is to begin with, as ("yes", "no"): back ends that see all probabilities keep theirs.
        prompt: digest of the prompt file that it was made of.
        about: the fields of :class:`~shoe.predict.records.Answer` that say what was asked: image, pair, way, ...
    """

    pictures: Sequence[Picture]
    text: str
    system: str = ""
    words: tuple[str, ...] = ()
    prompt: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)


class Ask(Request):
    """A question to one model, as a request that a ledger keeps the answer of.

    Its key stands for all that an answer depends on: pictures, boxes, prompt, model, decoding.

    Attributes:
        question: what is asked.
    """

    __slots__ = ("question",)

    def __init__(self, question: Question, identity: Mapping[str, Any]) -> None:
        """Take a question.

        Args:
            question: what is asked.
            identity: of the back end: model, revision, decoding.
        """
        shown = [one.digest for one in question.pictures]
        parts = [SCHEME, identity, shown, question.prompt, question.system, question.text, question.words]
        super().__init__(hashlib.blake2b(canonical(parts), digest_size=KEY_BYTES).digest(), {}, question.about)
        self.question = question

    @property
    def shown(self) -> list[str]:
        """Digests of its pictures."""
        return [picture.digest for picture in self.question.pictures]

    def payload(self) -> dict[str, Any]:
        """Return the messages as OpenAI's chat completions have them; pictures are made now."""
        return {"messages": messages_of(self.question, [url_of(one.open()) for one in self.question.pictures])}

    def characters(self) -> int:
        """Return how many characters the texts have; pictures count as :class:`Request` counts them."""
        return self.size()

    def size(self) -> int:
        """Return how many bytes the texts have, without making a picture."""
        unseen = messages_of(self.question, ["" for _ in self.question.pictures])
        return Request(self.key, {"messages": unseen}).size()


def messages_of(question: Question, urls: Sequence[str]) -> list[dict[str, Any]]:
    """Return a chat in OpenAI's form: instructions if there are any, then pictures and text of the user."""
    shown: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    user = {"role": "user", "content": [*shown, {"type": "text", "text": question.text}]}
    return [{"role": "system", "content": question.system}, user] if question.system else [user]


def url_of(image: Image) -> str:
    """Write a picture as an address that holds it, without loss."""
    stream = BytesIO()
    image.save(stream, "PNG", compress_level=1)
    return f"data:image/png;base64,{b64encode(stream.getvalue()).decode()}"


# Ways to ask about a picture: a free phrase, yes or no for each verb, letters for all verbs, or the whole picture.
#
# Each has a prompt, a text file with two sections, ``[instructions]`` and ``[question]``. In the question stand
# ``$person`` and ``$thing``, the words by which the visual prompt refers to the two (:class:`Shown`); for yes and no
# ``$action`` beside them, the verb's -ing form; for letters ``$options``, a line each. A dollar sign is written ``$$``.
# For a whole picture the file is the question alone (``shoe prompt``).

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
