"""JSON of API requests and responses, shared by the database, the server and the client.

Times are seconds since 1970. Fields that do not apply are left out; fields that a newer server adds are ignored. The
docstrings of structs are part of the OpenAPI schema; notes on single fields are therefore comments.
"""

import time
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Hash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", extra={"expected": "64 hex digits, a SHA-256"})]
Text = Annotated[str, Meta(pattern=r"\S", max_length=200, extra={"expected": "1 to 200 characters, not only blanks"})]
Id = Annotated[str, Meta(pattern="^r_[0-9a-f]{20}$", extra={"expected": "the ID of a run, as r_..."})]
Word = Annotated[str, Meta(max_length=80, extra={"expected": "at most 80 characters"})]
Option = Annotated[str, Meta(max_length=200, extra={"expected": "NAME=VALUE"})]
Visibility = Literal["team", "public"]
State = Literal["queued", "running", "done", "failed", "cancelled"]
ENDED = ("done", "failed", "cancelled")
"""Final states of a run."""
Phase = Literal["words", "picture", "sides"]
"""Part of a study: pairs of interactions as words, the same pairs with an image, or sides of Bongard problems."""
Question = tuple[int, int, Phase]
"""Question to a rater: index of the item, occasion (1 for the first rating, 2 for a repeat), and phase."""
_Index = Annotated[int, Meta(ge=0, le=2**31 - 1, extra={"expected": "a whole number, 0 or more"})]
_Milliseconds = Annotated[float, Meta(ge=0, le=2**53, extra={"expected": "milliseconds since 1970"})]


class ScoringFields(msgspec.Struct, kw_only=True):
    """Options of ``shoe score`` that all scoring requests have."""

    protocols: Annotated[tuple[Word, ...], Meta(max_length=20)] = ()
    options: Annotated[tuple[Option, ...], Meta(max_length=100)] = ()
    boxes: Word | None = None
    scores: Word | None = None
    format: Word | None = None
    subset: Word | None = None
    images_in_predictions: bool = False
    bounds: bool = False
    bad_boxes: Literal["refuse", "drop", "count"] = "refuse"


class Request(ScoringFields, kw_only=True, forbid_unknown_fields=True):
    """Scoring request: name of the ground truth, and options of ``shoe score``."""

    truth: str
    similarity: str = "dataset"


class Board(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A leaderboard.

    Attributes:
        request: scoring options of all runs of the leaderboard.
        figure: key of the metric that ranks the runs.
        quota: maximum number of submissions per team in 24 hours, except failed or cancelled runs; None for no limit.
        hidden: whether only administrators see the results.
        ends: time from which submissions are refused; None for never.
    """

    name: str
    title: str
    truth: str
    request: Request
    figure: str
    created: float
    quota: int | None = None
    hidden: bool = False
    ends: float | None = None

    @property
    def ended(self) -> bool:
        """Whether submissions are refused now, because the leaderboard has ended."""
        return self.ends is not None and self.ends < time.time()


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run in the table of a leaderboard.

    Attributes:
        lowest, highest: best and worst possible rank, from 1; equal if the rank is certain.
        run: run ID.
        figures: metric values (0 to 1) by key.
        intervals: 95 % confidence intervals over images, by metric key; a metric equal on all samples may have none.
        why: mAP lost (0 to 1) by error type, the largest loss first; empty until the diagnosis is done.
        link: address of a paper or of code; None if the team has given none.
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
    link: str | None = None


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is left out of the table; ``why`` is the reason."""

    run: str
    team: str
    name: str
    why: str


class Standing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A leaderboard with its current table.

    Attributes:
        rows: ranked runs, the best first.
        left_out: runs that are not comparable with the ranked runs, or not ranked yet.
        signature: scoring settings shared by the ranked runs, without the fields about how predictions were read.
    """

    board: Board
    rows: list[Row]
    left_out: list[LeftOut] = []
    signature: str | None = None


class Answer(msgspec.Struct, forbid_unknown_fields=True):
    """Answer to a study question: item, 1st or 2nd rating, study part, rating; times in ms since 1970 (browser's)."""

    item: _Index
    occasion: _Index
    phase: Phase
    rating: Annotated[int, Meta(ge=0, le=4, extra={"expected": "a whole number, 0 to 4"})]
    shown: _Milliseconds
    answered: _Milliseconds


class RequestBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base class of request bodies."""


class ResponseBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base class of response bodies."""


class NewRun(RequestBody, ScoringFields):
    """Request to score an uploaded file, given by its SHA-256, on a ground truth or for a leaderboard."""

    prediction: Hash
    truth: Word | None = None
    board: Word | None = None
    name: Text | None = None
    visibility: Visibility = "team"
    similarity: Word = "dataset"


class NewComparison(RequestBody):
    """Request to compare finished runs."""

    runs: Annotated[list[Id], Meta(min_length=2, max_length=20, extra={"expected": "2 to 20 IDs of runs"})]
    resamples: Annotated[int, Meta(ge=100, le=100_000, extra={"expected": "100 to 100,000"})] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1, extra={"expected": "a whole number, 0 to 4,294,967,295"})] = 0
    allow_different: bool = False
    visibility: Visibility = "team"


class Change(RequestBody):
    """New name, visibility and link (to a paper or code; "" for none) of a run; an absent field is not changed."""

    name: Text | None = None
    visibility: Visibility | None = None
    link: Option | None = None


class NewUpload(RequestBody):
    """Announcement of a file to upload in parts: size in bytes, name, and expected SHA-256."""

    size: Annotated[int, Meta(ge=0, le=1 << 40, extra={"expected": "a size in bytes, at most 2**40"})]
    name: Text = "predictions"
    sha256: Hash | None = None


class NewToken(RequestBody):
    """Request to create a token."""

    name: Word
    team: Word
    scopes: Annotated[list[Literal["read", "submit", "admin"]], Meta(min_length=1, max_length=3)]
    days: Annotated[float, Meta(gt=0, le=36500, extra={"expected": "up to 36500 days"})] | None = None


class RaterQuestions(ResponseBody, frozen=True):
    """Questions for a rater: ``shown`` is the study content for the page, ``pictures`` has the images by file name.

    ``order`` lists the questions in order of display, each as [index of the item, 1 for the first or 2 for the
    second rating of the item, part of the study].
    """

    shown: dict[str, Any]
    rater: str
    order: list[Annotated[list[int | str], Meta(min_length=3, max_length=3)]]
    pictures: dict[str, str]


class Answers(RequestBody):
    """Answers of a rater."""

    answers: Annotated[
        list[Answer], Meta(max_length=2000, extra={"item": "answer", "expected": "at most 2000 answers"})
    ]


class AnswerCount(ResponseBody, frozen=True):
    """Number of stored answers of the rater."""

    kept: int


class Login(RequestBody):
    """Token with which a browser logs in."""

    token: Annotated[str, Meta(max_length=200)]


class Error(ResponseBody, frozen=True):
    """Error response: a message of one line, the wrong field, and a hint for how to proceed."""

    error: str
    field: str | None = None
    hint: str | None = None


class Version(ResponseBody, frozen=True):
    """Version of shoe, and supported versions of the API."""

    shoe: str
    api: list[int]


class Health(ResponseBody, frozen=True):
    """State of the server ("full": too little disk space), numbers of jobs, and the executor of jobs ("engine").

    While ``engine_state`` is "lost", because the Ray cluster does not respond, jobs stay in the queue.
    """

    state: Literal["working", "full"]
    queued: int
    running: int
    engine: Literal["processes", "ray"]
    engine_state: Literal["working", "lost"]


class StoredFile(ResponseBody, frozen=True):
    """Stored prediction file: SHA-256, and size in bytes."""

    sha256: Hash
    size: int


class Upload(ResponseBody, frozen=True):
    """Upload in parts: number of bytes received (offset), total size, and the SHA-256 once the file is complete."""

    id: str
    offset: int
    size: int
    sha256: Hash | None = None


class File(msgspec.Struct, frozen=True):
    """Output file of a run: SHA-256, size in bytes, and media type."""

    sha256: Hash
    size: int
    media: str


class Run(ResponseBody, frozen=True):
    """Current state of a run: a scoring or comparison job with its request, progress, metrics and output files."""

    id: Id
    kind: str  # score, compare
    team: str
    name: str
    state: State
    created: float
    attempt: int  # number of times that its job was started
    truth: str
    visibility: Visibility
    request: dict[str, Any]
    figures: dict[str, Any]  # metric values (0 to 1) by key
    outputs: dict[str, File]  # output files by name, including those of the follow-up jobs
    further: dict[str, str]  # states of the follow-up jobs (page, diagnose, board), by kind
    reason: str | None = None  # cause of the failure, one line
    position: int | None = None  # position in the queue, from 1
    stage: str | None = None
    progress: float | None = None  # progress of the job, 0 to 1
    started: float | None = None
    ended: float | None = None
    signature: str | None = None
    prediction: Hash | None = None  # SHA-256 of the prediction file
    board: str | None = None
    link: str | None = None  # address of a paper or of code


class RunList(ResponseBody, frozen=True):
    """Page of a list of runs, the latest first; ``after`` is the query parameter for the next page, if any."""

    runs: list[Run]
    after: Id | None = None


class Line(ResponseBody, frozen=True):
    """A line of a run's log: number, time, attempt, and text."""

    number: int
    at: float
    attempt: int
    line: str


class Log(ResponseBody, frozen=True):
    """Lines of a run's log; ``after`` is the number of the last line, and the query parameter for the next lines."""

    lines: list[Line]
    after: int


class Truth(ResponseBody, frozen=True):
    """Metadata of a ground truth, without boxes and labels; ``shown`` is true if reports may contain examples."""

    name: str
    dataset: str
    facts: dict[str, Any]
    shown: bool
    created: float
    split: str | None = None


class Truths(ResponseBody, frozen=True):
    """Registered ground truths."""

    truths: list[Truth]


class Map(ResponseBody, frozen=True):
    """A similarity that a run can refer to by name: a registered map, or a built-in similarity with only a name."""

    name: str
    digest: str | None = None
    facts: dict[str, Any] = {}
    created: float | None = None


class Maps(ResponseBody, frozen=True):
    """Similarities that a run can refer to."""

    maps: list[Map]


class Boards(ResponseBody, frozen=True):
    """Leaderboards."""

    boards: list[Board]


class Token(ResponseBody, frozen=True):
    """A token without its secret: the first characters, name, team, permissions and dates."""

    prefix: str
    name: str
    team: str
    scopes: list[str]
    created: float
    expires: float | None = None
    last_used: float | None = None
    revoked: float | None = None


class Tokens(ResponseBody, frozen=True):
    """All tokens, the newest first."""

    tokens: list[Token]


class NewTokenSecret(ResponseBody, frozen=True):
    """A new token with its secret, which cannot be shown again."""

    token: str
    name: str
    team: str
    scopes: list[str]


class Entry(ResponseBody, frozen=True):
    """An entry of the audit log: time, actor, action, network address, changed object, and detail."""

    id: int
    at: float
    actor: str
    action: str
    address: str | None = None
    object: str | None = None
    detail: str | None = None


class Audit(ResponseBody, frozen=True):
    """Entries of the audit log, the latest first."""

    entries: list[Entry]


class Candidate(ResponseBody, frozen=True):
    """A WordNet sense of a word: synset name, lemma, and reason why the sense is a candidate."""

    name: str
    lemma: str
    reason: str


class Resolution(ResponseBody, frozen=True):
    """WordNet senses that a word may mean as a verb or as an object, the best first."""

    word: str
    part: Literal["verb", "object"]
    candidates: list[Candidate]


class Resolutions(ResponseBody, frozen=True):
    """Candidate WordNet senses of a word: as verb, as object, or both."""

    resolutions: list[Resolution]


class Session(ResponseBody, frozen=True):
    """The caller: team ("" for an anonymous caller), name of the token, and permissions."""

    team: str
    name: str
    scopes: list[str]
