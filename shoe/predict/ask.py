"""A question about pictures: what is shown and said to a model, and the key under which its answer is kept."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any, Protocol

from shoe.llm.ledger import canonical
from shoe.llm.request import KEY_BYTES, Request

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
