"""What requests and answers hold. Times are seconds since 1970; what does not apply is left out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from shoe.service.boards import Board
from shoe.service.boards import Standing as Standing  # what they hold is described with the answers
from shoe.service.studies import Answer

Hash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", extra={"expected": "64 hex digits, a SHA-256"})]
Text = Annotated[str, Meta(min_length=1, max_length=200, extra={"expected": "1 to 200 characters"})]
Id = Annotated[str, Meta(pattern="^r_[0-9a-f]{20}$", extra={"expected": "the id of a run, as r_..."})]
Word = Annotated[str, Meta(max_length=80, extra={"expected": "at most 80 characters"})]
Option = Annotated[str, Meta(max_length=200, extra={"expected": "NAME=VALUE"})]
Visibility = Literal["team", "public"]
State = Literal["queued", "running", "done", "failed", "cancelled"]
_LARGEST = 1 << 40


class Asks(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A request."""


class Says(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An answer."""


class NewRun(Asks):
    """Predictions to be scored; the options are those of ``shoe score``."""

    prediction: Hash
    truth: Word | None = None
    board: Word | None = None
    name: Text | None = None
    visibility: Visibility = "team"
    protocols: Annotated[list[Word], Meta(max_length=20)] = []
    similarity: Word = "dataset"
    options: Annotated[list[Option], Meta(max_length=100)] = []
    boxes: Word | None = None
    scores: Word | None = None
    format: Word | None = None
    subset: Word | None = None
    images_in_predictions: bool = False
    bounds: bool = False


class NewComparison(Asks):
    """Finished runs to be compared."""

    runs: Annotated[list[Id], Meta(min_length=2, max_length=20, extra={"expected": "2 to 20 ids of runs"})]
    resamples: Annotated[int, Meta(ge=100, le=100_000, extra={"expected": "100 to 100,000"})] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1, extra={"expected": "a whole number, 0 to 4,294,967,295"})] = 0
    allow_different: bool = False
    visibility: Visibility = "team"


class Change(Asks):
    """What a run is to be called, and who may see it."""

    name: Text | None = None
    visibility: Visibility | None = None


class NewUpload(Asks):
    """A file that comes in parts: its size in bytes, and what else is known of it."""

    size: Annotated[int, Meta(ge=0, le=_LARGEST, extra={"expected": "a number of bytes"})]
    name: Text = "predictions"
    sha256: Hash | None = None


class NewToken(Asks):
    """A token to be made."""

    name: Word
    team: Word
    scopes: Annotated[list[Literal["read", "submit", "admin"]], Meta(min_length=1, max_length=3)]
    days: Annotated[float, Meta(gt=0, le=36500, extra={"expected": "a number of days"})] | None = None


class Asked(Says):
    """What a rater is asked: item, occasion and phase of each question, what the page shows, and pictures by file."""

    shown: dict[str, Any]
    rater: str
    order: list[Annotated[list[int | str], Meta(min_length=3, max_length=3)]]
    pictures: dict[str, str]


class Answers(Asks):
    """Answers of a rater."""

    answers: Annotated[
        list[Answer], Meta(max_length=2000, extra={"item": "answer", "expected": "at most 2000 answers"})
    ]


class KeptAnswers(Says):
    """How many answers of the rater are kept."""

    kept: int


class Login(Asks):
    """A token, shown by a person in a browser."""

    token: Annotated[str, Meta(max_length=200)]


class Error(Says):
    """How every refusal looks: one line, the field that it is about, and what may help."""

    error: str
    field: str | None = None
    hint: str | None = None


class Version(Says):
    """Versions of shoe and of the interface."""

    shoe: str
    api: list[int]


class Health(Says):
    """Whether the service works, what is before it, and who does it: while Ray is lost, jobs wait."""

    state: Literal["working", "full"]
    queued: int
    running: int
    engine: Literal["processes", "ray"]
    engine_state: Literal["working", "lost"]


class StoredFile(Says):
    """A prediction file that the service has: its hash, and its size in bytes."""

    sha256: Hash
    size: int


class Upload(Says):
    """A file that comes in parts, and how many bytes of it are there; its hash once it is whole."""

    id: str
    offset: int
    size: int
    sha256: Hash | None = None


class File(Says):
    """A file that a run has made."""

    sha256: Hash
    size: int
    media: str


class Run(Says):
    """A run as it stands."""

    id: Id
    kind: str
    team: str
    name: str
    state: State
    created: float
    attempt: int
    truth: str
    visibility: Visibility
    request: dict[str, Any]
    figures: dict[str, Any]
    outputs: dict[str, File]
    further: dict[str, str]
    reason: str | None = None
    position: int | None = None
    stage: str | None = None
    progress: float | None = None
    started: float | None = None
    ended: float | None = None
    signature: str | None = None
    prediction: Hash | None = None
    board: str | None = None


class RunList(Says):
    """Runs, the latest first; ``after`` asks for those that follow."""

    runs: list[Run]
    after: Id | None = None


class Line(Says):
    """A line of a run's log: its number, when it was written, and in which attempt."""

    number: int
    at: float
    attempt: int
    line: str


class Log(Says):
    """Lines of a run's log; ``after`` asks for those that follow."""

    lines: list[Line]
    after: int


class Truth(Says):
    """A ground truth, as much as may be known of it."""

    name: str
    dataset: str
    facts: dict[str, Any]
    shown: bool
    created: float
    split: str | None = None


class Truths(Says):
    """Ground truths that runs can name."""

    truths: list[Truth]


class Map(Says):
    """A similarity that runs can name; shoe's own have no date."""

    name: str
    digest: str | None = None
    facts: dict[str, Any] = {}
    created: float | None = None


class Maps(Says):
    """Similarities that runs can name."""

    maps: list[Map]


class Boards(Says):
    """Leaderboards."""

    boards: list[Board]


class Token(Says):
    """A token, but for itself."""

    prefix: str
    name: str
    team: str
    scopes: list[str]
    created: float
    expires: float | None = None
    last_used: float | None = None
    revoked: float | None = None


class Tokens(Says):
    """All tokens, the newest first."""

    tokens: list[Token]


class MadeToken(Says):
    """A new token: nobody can show it again."""

    token: str
    name: str
    team: str
    scopes: list[str]


class Entry(Says):
    """Something that was done."""

    id: int
    at: float
    actor: str
    action: str
    address: str | None = None
    object: str | None = None
    detail: str | None = None


class Audit(Says):
    """What was done, the latest first."""

    entries: list[Entry]


class Candidate(Says):
    """A sense that a word may have."""

    name: str
    lemma: str
    reason: str


class Resolution(Says):
    """The senses of a word, those that count first."""

    word: str
    part: Literal["verb", "object"]
    candidates: list[Candidate]


class Resolutions(Says):
    """The senses of a word as each part of speech."""

    resolutions: list[Resolution]


class Session(Says):
    """Who is logged in."""

    team: str
    name: str
    scopes: list[str]
