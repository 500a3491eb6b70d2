"""Questions to a vision-language model about images: prompts, chats, and the keys of answers."""

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
from shoe.core.errors import OptionError, pluralize, quote, unknown_name
from shoe.core.io.files import data_folder
from shoe.llm.ledger import canonical
from shoe.llm.request import KEY_BYTES, Request
from shoe.maps.prompts import check_fields, read_prompt
from shoe.predict.records import Pair

if TYPE_CHECKING:
    from PIL.Image import Image

SCHEME = 1  # version of the computation of the keys of answers


class Picture(Protocol):
    """Image as shown to a model, with marks and crops. The file is read only when the image is opened."""

    @property
    def digest(self) -> str:
        """Hash of the image file and of all changes to the image (marks, crop, scaling), as hex digits."""

    def open(self) -> Image:
        """Return the image in mode RGB."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one image file."""

    pictures: Sequence[Picture]  # images that are shown before the text, in this order
    text: str
    system: str = ""  # system prompt with instructions; "" for no system prompt
    # Expected first words of the answer, such as ("yes", "no"). Local back ends record their probabilities.
    words: tuple[str, ...] = ()
    prompt: str = ""  # hash of the prompt file
    # Values for fields of :class:`~shoe.predict.records.Answer` that describe the question: image, pair, ....
    about: Mapping[str, Any] = field(default_factory=dict)


class Ask(Request):
    """Request that sends one question to one model. The key is a hash of everything on which the answer depends.

    ``identity`` contains the model, its revision and the decoding settings of the back end.
    """

    __slots__ = ("digests", "question")

    def __init__(self, question: Question, identity: Mapping[str, Any]) -> None:
        self.question, self.digests = question, [picture.digest for picture in question.pictures]
        parts = [SCHEME, identity, self.digests, question.prompt, question.system, question.text, question.words]
        super().__init__(hashlib.blake2b(canonical(parts), digest_size=KEY_BYTES).digest(), {}, question.about)

    def payload(self) -> dict[str, Any]:
        """Return the request body: messages in OpenAI's format, with the images as data URLs."""
        urls = [data_url(picture.open()) for picture in self.question.pictures]
        return {"messages": messages_of(self.question, urls)}

    def characters(self) -> int:
        """Return :meth:`size`, an upper limit for the number of characters of the texts plus 12,000 per image."""
        return self.size()

    def size(self) -> int:
        """Return the bytes of the texts plus 12,000 per image (3,000 tokens), without opening the images."""
        return Request(self.key, {"messages": messages_of(self.question, [""] * len(self.question.pictures))}).size()


def messages_of(question: Question, urls: Sequence[str]) -> list[dict[str, Any]]:
    """Return a chat in the format of OpenAI: system prompt if any, then the images (by URL) and text of the user."""
    images: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    user = {"role": "user", "content": [*images, {"type": "text", "text": question.text}]}
    return [{"role": "system", "content": question.system}, user] if question.system else [user]


def data_url(image: Image) -> str:
    """Return a data URL that contains an image as PNG."""
    stream = BytesIO()
    image.save(stream, "PNG", compress_level=1)
    return f"data:image/png;base64,{b64encode(stream.getvalue()).decode()}"


# A prompt file has the sections ``[instructions]`` and ``[question]``. The question may contain these fields:
# ``$person`` and ``$thing``, the descriptions in ``VisualPrompt``; ``$action``, the -ing form of the verb (yes-no);
# ``$options``, one line per verb (letters). ``$$`` is a dollar sign. For whole images, the file contains only the
# question (``shoe prompt``).

YES_NO = ("yes", "no")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FIELDS = {
    "phrase": ("person", "thing"),
    "yes-no": ("person", "thing", "action"),
    "letters": ("person", "thing", "options"),
    "image": (),
}
WHOLE = "image"  # kind of question about a whole image, without pairs
WAYS = tuple(_FIELDS)  # names of the kinds of questions
TOKENS = {"phrase": 24, "yes-no": 1, "letters": 1, "image": 2048}  # default limits per answer


@dataclass(frozen=True, slots=True)
class VisualPrompt:
    """Images to be shown, and descriptions of person and object, such as "the person in the blue box"."""

    pictures: Sequence[Picture]
    person: str
    thing: str


@dataclass(frozen=True, slots=True)
class Way:
    """Kind of question, with its prompt."""

    name: str  # name of the kind: "phrase", "yes-no", "letters" or "image"
    digest: str  # 16 hex digits of a hash of the prompt
    instructions: str  # system prompt; "" for no system prompt
    question: Template  # template of the text of the user
    rounds: int = 2  # number of option orders (A, B, ...) in which a question of the kind "letters" is asked
    seed: int = 0  # random seed for the option orders

    @classmethod
    def read(cls, name: str, path: Path | None = None, rounds: int = 2, seed: int = 0) -> Way:
        """Return the kind of question ``name``, with the prompt in the file ``path`` or, by default, in the package.

        Raise OptionError for an unknown name, InputError for an invalid file.
        """
        if name not in _FIELDS:
            raise unknown_name("way to ask", name, WAYS)
        path = path or data_folder("prompts") / ("detection.txt" if name == WHOLE else f"predict/{name}.txt")
        text, digest, bodies = read_prompt(path, () if name == WHOLE else ("instructions", "question"))
        if name == WHOLE:
            return cls(name, digest, "", Template(text.strip().replace("$", "$$")))
        question = Template(bodies["question"].strip())
        check_fields(path, "question", question.template, _FIELDS[name])
        return cls(name, digest, bodies["instructions"].strip(), question, rounds, seed)

    def about_image(self, image: str, picture: Picture) -> Question:
        """Return the question about a whole image, given its file name and the image as shown to the model."""
        about = {"image": image, "way": self.name}
        return Question([picture], self.question.substitute(), self.instructions, (), self.digest, about)

    def about_pair(self, image: str, pair: Pair, prompt: VisualPrompt, benchmark: Benchmark) -> Iterator[Question]:
        """Yield the questions about a pair: one (phrase), one per verb (yes-no) or one per order of verbs (letters).

        ``image`` is the file name. There is no yes-no question about no_interaction. Raises OptionError for more verbs
        than letters.
        """
        about = {"image": image, "pair": pair, "way": self.name}
        words = {"person": prompt.person, "thing": prompt.thing}

        def question(fields: Mapping[str, str], expected: tuple[str, ...], **more: Any) -> Question:
            text = self.question.substitute(words, **fields)
            return Question(prompt.pictures, text, self.instructions, expected, self.digest, {**about, **more})

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
            found, most = f"{pluralize(len(verbs), 'verb')} for {quote(pair.object)}", len(LETTERS)
            raise OptionError(f"way to ask 'letters': found {found}, expected at most {most}: use `--way yes-no`")
        for order in orders(list(verbs), self.rounds, self.seed):
            letters = LETTERS[: len(order)]
            lines = [f"{letter}. {verbs[verb]}" for letter, verb in zip(letters, order, strict=True)]
            yield question({"options": "\n".join(lines)}, tuple(letters), options=order)


def verbs_of(object_: str, benchmark: Benchmark) -> dict[str, str]:
    """Return {verb: -ing form for questions} for the verbs of the benchmark's classes with an object.

    The form of no_interaction is "doing nothing with it". Raise OptionError if the benchmark lacks the object.
    """
    classes = benchmark.classes
    if object_ not in classes.objects:
        raise unknown_name("object", object_, classes.objects)
    column = classes.of[:, classes.objects.index(object_)]
    return {
        verb: "doing nothing with it" if verb == NO_INTERACTION else gerund.replace("_", " ")
        for verb, gerund, number in zip(classes.verbs, classes.gerunds, column.tolist(), strict=True)
        if number >= 0
    }


def orders(options: Sequence[str], rounds: int, seed: int) -> list[list[str]]:
    """Return ``rounds`` orders of the options, at most one per option: a random order and rotations of this order."""
    order = list(options)
    Random(f"{seed} {' '.join(options)}").shuffle(order)  # noqa: S311 - nothing secret
    rounds = min(rounds, len(order))
    steps = (number * len(order) // rounds for number in range(rounds))
    return [order[step:] + order[:step] for step in steps]
