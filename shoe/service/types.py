"""JSON of requests and answers, declared once: the store reads it from rows, the API sends it, the client reads it.

Times are seconds since 1970. Fields that do not apply are left out; fields that a newer server adds are ignored. The
docstrings of structs are part of the OpenAPI schema, so that notes on single fields are comments.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Hash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", extra={"expected": "64 hex digits, a SHA-256"})]
Text = Annotated[str, Meta(min_length=1, max_length=200, extra={"expected": "1 to 200 characters"})]
Id = Annotated[str, Meta(pattern="^r_[0-9a-f]{20}$", extra={"expected": "the id of a run, as r_..."})]
Word = Annotated[str, Meta(max_length=80, extra={"expected": "at most 80 characters"})]
Option = Annotated[str, Meta(max_length=200, extra={"expected": "NAME=VALUE"})]
Visibility = Literal["team", "public"]
State = Literal["queued", "running", "done", "failed", "cancelled"]
ENDED = ("done", "failed", "cancelled")
"""States after which a run no longer changes by itself."""
Phase = Literal["words", "picture", "sides"]
Question = tuple[int, int, Phase]
"""Item, occasion and phase of a question to a rater."""
_Index = Annotated[int, Meta(ge=0, le=2**31 - 1, extra={"expected": "a whole number from 0 on"})]
_Milliseconds = Annotated[float, Meta(ge=0, le=2**53, extra={"expected": "milliseconds since 1970"})]


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be measured: the name of a ground truth, and the options of ``shoe score``."""

    truth: str
    protocols: tuple[str, ...] = ()
    similarity: str = "dataset"
    options: tuple[str, ...] = ()
    boxes: str | None = None
    scores: str | None = None
    format: str | None = None
    subset: str | None = None
    images_in_predictions: bool = False
    bounds: bool = False


class Board(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A leaderboard.

    Attributes:
        name: by which submissions name it.
        title: what people read.
        truth: name of its ground truth.
        request: how its runs are scored.
        figure: key of the figure that ranks.
        quota: submissions of a team in a day, but for failed ones; None for any number.
        hidden: whether only who runs the service sees its results.
        created: seconds since 1970.
    """

    name: str
    title: str
    truth: str
    request: Request
    figure: str
    created: float
    quota: int | None = None
    hidden: bool = False


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run in a table.

    Attributes:
        lowest, highest: ranks that it may have, from 1: equal where its place is sure.
        run: its id.
        team, name: whose it is, and what it is called.
        created: seconds since 1970.
        figures: fractions by their keys.
        intervals: 95 % over images, of those figures that have one.
        why: error types by what they cost, the costliest first, as fractions of mAP.
    """

    lowest: int
    highest: int
    run: str
    team: str
    name: str
    created: float
    figures: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    why: dict[str, float] = {}


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A run that does not stand in the table, and why."""

    run: str
    team: str
    name: str
    why: str


class Standing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A leaderboard as it stands.

    Attributes:
        board: what it is.
        rows: the best first.
        left_out: runs that cannot stand beside them, or not yet.
        signature: of all in the table, but for how predictions were read.
    """

    board: Board
    rows: list[Row]
    left_out: list[LeftOut] = []
    signature: str | None = None


class Answer(msgspec.Struct, forbid_unknown_fields=True):
    """One answer, as a file that a page saves has it; times are a browser's milliseconds since 1970."""

    item: _Index
    occasion: _Index
    phase: Phase
    rating: Annotated[int, Meta(ge=0, le=4, extra={"expected": "a whole number, 0 to 4"})]
    shown: _Milliseconds
    answered: _Milliseconds


class Asks(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A request."""


class Says(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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

    size: Annotated[int, Meta(ge=0, le=1 << 40, extra={"expected": "a number of bytes"})]
    name: Text = "predictions"
    sha256: Hash | None = None


class NewToken(Asks):
    """A token to be made."""

    name: Word
    team: Word
    scopes: Annotated[list[Literal["read", "submit", "admin"]], Meta(min_length=1, max_length=3)]
    days: Annotated[float, Meta(gt=0, le=36500, extra={"expected": "a number of days"})] | None = None


class Asked(Says, frozen=True):
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


class KeptAnswers(Says, frozen=True):
    """How many answers of the rater are kept."""

    kept: int


class Login(Asks):
    """A token, shown by a person in a browser."""

    token: Annotated[str, Meta(max_length=200)]


class Error(Says, frozen=True):
    """How every refusal looks: one line, the field that it is about, and what may help."""

    error: str
    field: str | None = None
    hint: str | None = None


class Version(Says, frozen=True):
    """Versions of shoe and of the interface."""

    shoe: str
    api: list[int]


class Health(Says, frozen=True):
    """Whether the service works, what is before it, and who does it: while Ray is lost, jobs wait."""

    state: Literal["working", "full"]
    queued: int
    running: int
    engine: Literal["processes", "ray"]
    engine_state: Literal["working", "lost"]


class StoredFile(Says, frozen=True):
    """A prediction file that the service has: its hash, and its size in bytes."""

    sha256: Hash
    size: int


class Upload(Says, frozen=True):
    """A file that comes in parts, and how many bytes of it are there; its hash once it is whole."""

    id: str
    offset: int
    size: int
    sha256: Hash | None = None


class File(msgspec.Struct, frozen=True):
    """A file that a run has made."""

    sha256: Hash
    size: int
    media: str


class Run(Says, frozen=True):
    """A run as it stands."""

    id: Id
    kind: str  # score, compare
    team: str
    name: str
    state: State
    created: float
    attempt: int  # how often its job was started
    truth: str
    visibility: Visibility
    request: dict[str, Any]
    figures: dict[str, Any]  # fractions, by key
    outputs: dict[str, File]  # by name, those of the jobs that follow included
    further: dict[str, str]  # states of the jobs that follow, by kind
    reason: str | None = None  # why it failed, one line
    position: int | None = None  # in the queue, from 1
    stage: str | None = None
    progress: float | None = None  # of the stage, 0 to 1
    started: float | None = None
    ended: float | None = None
    signature: str | None = None
    prediction: Hash | None = None  # SHA-256 of the prediction file
    board: str | None = None


class RunList(Says, frozen=True):
    """Runs, the latest first; ``after`` asks for those that follow."""

    runs: list[Run]
    after: Id | None = None


class Line(Says, frozen=True):
    """A line of a run's log: its number, when it was written, and in which attempt."""

    number: int
    at: float
    attempt: int
    line: str


class Log(Says, frozen=True):
    """Lines of a run's log; ``after`` asks for those that follow."""

    lines: list[Line]
    after: int


class Truth(Says, frozen=True):
    """A ground truth, as much as may be known of it."""

    name: str
    dataset: str
    facts: dict[str, Any]
    shown: bool
    created: float
    split: str | None = None


class Truths(Says, frozen=True):
    """Ground truths that runs can name."""

    truths: list[Truth]


class Map(Says, frozen=True):
    """A similarity that runs can name; shoe's own have no date."""

    name: str
    digest: str | None = None
    facts: dict[str, Any] = {}
    created: float | None = None


class Maps(Says, frozen=True):
    """Similarities that runs can name."""

    maps: list[Map]


class Boards(Says, frozen=True):
    """Leaderboards."""

    boards: list[Board]


class Token(Says, frozen=True):
    """A token, but for itself."""

    prefix: str
    name: str
    team: str
    scopes: list[str]
    created: float
    expires: float | None = None
    last_used: float | None = None
    revoked: float | None = None


class Tokens(Says, frozen=True):
    """All tokens, the newest first."""

    tokens: list[Token]


class MadeToken(Says, frozen=True):
    """A new token: nobody can show it again."""

    token: str
    name: str
    team: str
    scopes: list[str]


class Entry(Says, frozen=True):
    """Something that was done."""

    id: int
    at: float
    actor: str
    action: str
    address: str | None = None
    object: str | None = None
    detail: str | None = None


class Audit(Says, frozen=True):
    """What was done, the latest first."""

    entries: list[Entry]


class Candidate(Says, frozen=True):
    """A sense that a word may have."""

    name: str
    lemma: str
    reason: str


class Resolution(Says, frozen=True):
    """The senses of a word, those that count first."""

    word: str
    part: Literal["verb", "object"]
    candidates: list[Candidate]


class Resolutions(Says, frozen=True):
    """The senses of a word as each part of speech."""

    resolutions: list[Resolution]


class Session(Says, frozen=True):
    """Who is logged in."""

    team: str
    name: str
    scopes: list[str]
