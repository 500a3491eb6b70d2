"""Records of the files of a prediction, one per line: detections, pairs, answers.

Boxes are x1, y1, x2, y2: edges in pixels from the top-left corner, after the rotation that EXIF data ask for.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from shoe.io.typed import Box, Finite

Score = Annotated[float, Meta(ge=0, le=1, extra={"expected": "a number from 0 to 1"})]

_KEYS = {
    "human_box": "h_box",
    "object_box": "o_box",
    "object": "o_label",
    "human_score": "h_score",
    "object_score": "o_score",
}


class Detection(Struct, frozen=True, gc=False):
    """A box that a detector found.

    Attributes:
        box: edges in pixels.
        label: what is in it: in a file as the detector has it, once read a name of the benchmark's objects.
        score: the detector's, 0 to 1.
    """

    box: Box
    label: str
    score: Score = 1.0


class Detected(Struct, frozen=True, kw_only=True, gc=False):
    """The detections of one picture; a line of a file of detections.

    Attributes:
        image: its file name, without folders.
        digest: 32 hex digits that stand for the content of its file; "" where a file from elsewhere does not say.
        width, height: in pixels, after the rotation that EXIF data ask for; 0 where a file does not say.
        detections: those that the detector kept, in its order.
    """

    image: str
    digest: str = ""
    width: int = 0
    height: int = 0
    detections: Annotated[tuple[Detection, ...], Meta(extra={"item": "detection"})]


class Pair(Struct, frozen=True, gc=False, rename=_KEYS):
    """A person and an object of one picture, in the keys of a file of pairs.

    Attributes:
        human_box, object_box: edges in pixels.
        object: name of the object among the benchmark's.
        human_score, object_score: of the two detections, 0 to 1.
    """

    human_box: Box
    object_box: Box
    object: str
    human_score: Score = 1.0
    object_score: Score = 1.0


class Paired(Struct, frozen=True, kw_only=True, gc=False, rename={"image": "filename", "pairs": "box_pairs"}):
    """The pairs of one picture; a line of a file of pairs, as ``shoe diagnose`` reads them.

    Attributes:
        image, digest, width, height: as in :class:`Detected`.
        pairs: in the order in which they are asked about.
    """

    image: str
    digest: str = ""
    width: int = 0
    height: int = 0
    pairs: Annotated[tuple[Pair, ...], Meta(extra={"item": "pair"})]


class Alternative(Struct, frozen=True, array_like=True, gc=False):
    """A token that a model may have said at one place.

    Attributes:
        text: as it decodes.
        logprob: natural logarithm of its raw probability: before temperature, penalties and cuts.
        id: in the model's vocabulary; -1 where the endpoint does not say.
    """

    text: str
    logprob: Finite
    id: int = -1


class Token(Struct, frozen=True, array_like=True, gc=False):
    """A token that a model said.

    Attributes:
        text, logprob, id: as in :class:`Alternative`.
        top: the likeliest tokens at this place, the likeliest first; it may be among them.
    """

    text: str
    logprob: Finite
    id: int = -1
    top: tuple[Alternative, ...] = ()


class Answer(Struct, frozen=True, kw_only=True):
    """Answer of a model to one question about a pair, or about a whole picture, as read from a line of the ledger.

    Attributes:
        key: 32 hex digits that stand for all that the answer depends on: picture, boxes, prompt, model, decoding.
        image: the picture's file name.
        pair: the pair in the keys of a file of pairs; None where the whole picture was asked about.
        way: name of the way to ask, as "phrase", "yes-no", "letters".
        verb: what a question of yes or no asks about.
        options: what letters stand for, from A on.
        text: as the model wrote it, before anything reads it.
        tokens: of the text, in order, the end token among them if it was said; None where the endpoint gives none.
        finish: why the text ended: "stop", "length", or as an endpoint calls it.
    """

    key: str
    image: str
    pair: Pair | None = None
    way: str
    verb: str = ""
    options: tuple[str, ...] = ()
    text: str
    tokens: tuple[Token, ...] | None = None
    finish: str = "stop"
