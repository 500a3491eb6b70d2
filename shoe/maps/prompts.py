"""Prompts: text files that describe a pair and the scale to a rater, and the requests made from them.

A prompt has four sections, each after its name in brackets on a line of its own: ``[instructions]``, ``[one]`` (asks
for one pair), ``[several]`` (asks for ``$pairs``, each laid out as in ``[pair]`` with its ``$id``). ``$first_words``
and ``$first_gloss`` are the words and the definition of one sense, ``$second_...`` those of the other; a whole
interaction has ``$first_verb_words`` and so on. A dollar sign is written ``$$``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, Literal, NamedTuple, cast

from shoe.core.errors import InputError, near, quote
from shoe.core.io.files import read_bytes, shipped
from shoe.lexicon.expressions import Part
from shoe.lexicon.store import lexicon
from shoe.lexicon.wordnet import glosses
from shoe.llm.ledger import canonical
from shoe.llm.request import KEY_BYTES, Request

# What a rater is asked: pairs of senses in words, each with the key under which its answer is kept.
#
# A key is a digest of everything that can change the answer: the rater (:func:`shoe.maps.config.identity_of`), the
# prompt's text, both senses as they are shown, and the number of the repeat.

_MOST_SHORT_IDS = 100
Subject = Part | Literal["interaction"]
"""What a rater is asked about: senses of verbs, senses of objects, or whole interactions."""


@dataclass(frozen=True, slots=True)
class SenseText:
    """Text of a synset: its name ("ride.v.01"), lemmas (spaces for underscores) and definition."""

    name: str
    lemmas: tuple[str, ...]
    gloss: str

    def encoded(self) -> bytes:
        """Return the text as it enters keys."""
        return canonical({"gloss": self.gloss, "lemmas": self.lemmas, "name": self.name})


@dataclass(frozen=True, slots=True)
class Interaction(SenseText):
    """A whole interaction; its name, words and definition are those of its two senses."""

    verb: SenseText
    object: SenseText

    @classmethod
    def of(cls, verb: SenseText, object: SenseText) -> Interaction:  # noqa: A002 - the field's word
        """Join a verb's and an object's sense."""
        return cls(
            f"{verb.name} {object.name}", verb.lemmas + object.lemmas, f"{verb.gloss} {object.gloss}", verb, object
        )

    def encoded(self) -> bytes:
        """Return the texts as they enter keys."""
        return b"[%b,%b]" % (self.verb.encoded(), self.object.encoded())


@dataclass(frozen=True, slots=True)
class Question:
    """One pair for one rater.

    Attributes:
        key: 16 bytes that identify everything that can change the answer.
        part: "verb", "object" or "interaction".
        first: the sense whose name comes first in the alphabet; of interactions, the class.
        attempt: 1, or 2 where the first answer held no rating; the same for all questions of a group.
    """

    key: bytes
    part: Subject
    first: SenseText
    second: SenseText
    attempt: int = 1


def ids_of(keys: Sequence[bytes]) -> tuple[str, ...]:
    """Return an ID for each question of a request, which joins answers to questions; an ID is never a rating.

    It is made from the question's key and not from its index: a model that skips a pair cannot give the next pair's
    answer to it.
    """
    least = 100 if len(keys) <= _MOST_SHORT_IDS else 100_000_000
    taken: dict[int, None] = {}
    for key in keys:
        number = int.from_bytes(key[:8], "big") % (9 * least)
        while number in taken:
            number = (number + 1) % (9 * least)
        taken[number] = None
    return tuple(str(least + number) for number in taken)


def describe(names: Sequence[str]) -> list[SenseText]:
    """Return the words and definitions of synsets, by name."""
    store, definitions = lexicon(), glosses(sorted(set(names)), "asking about synsets")
    sense = {
        name: SenseText(name, tuple(lemma.replace("_", " ") for lemma in store.lemmas(store.synset(name))), gloss)
        for name, gloss in definitions.items()
    }
    return [sense[name] for name in names]


def key_maker(
    identity: Mapping[str, Any], prompt_digest: str, part: Subject, repeat: int = 1
) -> Callable[[bytes, bytes], bytes]:
    """Return the function that makes a pair's key from its two senses, each as :meth:`SenseText.encoded`.

    The key is a digest of ``{"part", "prompt", "rater", "repeat", "senses": [first, second]}`` as canonical JSON, of
    which all but the senses is hashed once.

    Args:
        identity: identity of the rater, see :func:`shoe.maps.config.identity_of`.
        prompt_digest: digest of the prompt's text; empty for a rater that reads none.
        part: "verb", "object" or "interaction".
        repeat: 1 for the first time that a pair is asked.
    """
    before = canonical({"part": part, "prompt": prompt_digest, "rater": identity, "repeat": repeat})
    begun = hashlib.blake2b(before[:-1] + b',"senses":[', digest_size=KEY_BYTES)

    def key(first: bytes, second: bytes) -> bytes:
        digest = begun.copy()
        digest.update(b"%b,%b]}" % (first, second))
        return digest.digest()

    return key


_HEADING = re.compile(r"^\[([a-z]+)\]\n", re.MULTILINE)
_SECTIONS = ("instructions", "one", "several", "pair")
_SENSES = ("first", "second")
SECOND_TIME = (
    "Your last answer to this could not be read. Answer in the form given above: JSON and nothing else, each rating one"
    " of the digits 0, 1, 2, 3, 4."
)
"""Said at the end of a question that is asked again because its first answer held no rating."""


class Rendered(NamedTuple):
    """Text of one request: instructions, question, and an ID per pair, which is shown if there are several."""

    system: str
    user: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt file: its text, 16 hex digits of it, its sections, and their lengths without filled-in fields."""

    text: str
    digest: str
    instructions: str
    one: Template
    several: Template
    pair: Template
    overheads: tuple[int, int, int]

    @classmethod
    def read(cls, path: Path, fields: Sequence[str]) -> Prompt:
        """Read a prompt; its sections for questions and pairs must contain some fields, given without the dollar sign.

        Raises:
            InputError: naming the section that is missing, doubled or unknown, or the field that is.
        """
        text, digest, bodies = read_prompt(path, _SECTIONS)
        body = {name: body if name == "pair" else body.rstrip("\n") for name, body in bodies.items()}
        check_fields(path, "one", body["one"], fields)
        check_fields(path, "several", body["several"], ["pairs"])
        check_fields(path, "pair", body["pair"], ["id", *fields])
        blank = dict.fromkeys([*fields, "pairs"], "") | {"id": "100"}
        one, several, pair = (Template(body[name]) for name in _SECTIONS[1:])
        overheads = len(one.substitute(blank)), len(several.substitute(blank)), len(pair.substitute(blank))
        return cls(text, digest, body["instructions"], one, several, pair, overheads)

    def fill(self, pairs: Sequence[Mapping[str, str]], ids: Sequence[str], *, several: bool) -> Rendered:
        """Fill in the fields of each pair."""
        if not several:
            return Rendered(self.instructions, self.one.substitute(pairs[0]), tuple(ids))
        text = "".join(self.pair.substitute(fields, id=name) for fields, name in zip(pairs, ids, strict=True))
        return Rendered(self.instructions, self.several.substitute(pairs=text), tuple(ids))


@dataclass(frozen=True, slots=True)
class Prompts:
    """Prompts for verbs, for objects, and for whole interactions (the direct baseline of the SHOE paper)."""

    verb: Prompt
    object: Prompt
    interaction: Prompt

    @classmethod
    def read(cls, folder: Path | None = None) -> Prompts:
        """Read the shipped prompts, or those of a folder: verb.txt, object.txt and interaction.txt.

        Raises:
            InputError: as :meth:`Prompt.read`.
        """
        folder = shipped("prompts") if folder is None else folder
        sense, whole = list(_fields("")), [*_fields("verb_"), *_fields("object_")]
        return cls(
            verb=Prompt.read(folder / "verb.txt", sense),
            object=Prompt.read(folder / "object.txt", sense),
            interaction=Prompt.read(folder / "interaction.txt", whole),
        )

    def of(self, part: Subject) -> Prompt:
        """Return the prompt of a part of speech, or of whole interactions."""
        return {"verb": self.verb, "object": self.object, "interaction": self.interaction}[part]

    def render(self, group: Sequence[Question], *, several: bool) -> Rendered:
        """Write the question about a group's pairs, all of one part; several of them with IDs.

        A rater whose ``pairs_per_request`` is more than 1 uses IDs for a single pair, too.
        """
        pairs = [_in_words("first", question.first) | _in_words("second", question.second) for question in group]
        return self.of(group[0].part).fill(pairs, ids_of([q.key for q in group]), several=several)

    def messages(self, group: Sequence[Question], *, several: bool) -> list[dict[str, str]]:
        """Write the messages of a chat about a group's pairs; a second attempt includes the first answer."""
        rendered = self.render(group, several=several)
        user = rendered.user if group[0].attempt == 1 else f"{rendered.user}\n\n{SECOND_TIME}"
        return [{"role": "system", "content": rendered.system}, {"role": "user", "content": user}]

    def length(self, group: Sequence[Question], *, several: bool) -> int:
        """Return an upper bound of the characters of :meth:`render`, without rendering."""
        prompt = self.of(group[0].part)
        whole, each = prompt.overheads[1:] if several else (prompt.overheads[0], 0)
        senses = (sense for question in group for sense in (question.first, question.second))
        words = sum(len(sense.gloss) + sum(map(len, sense.lemmas)) + 2 * len(sense.lemmas) for sense in senses)
        return len(prompt.instructions) + whole + each * len(group) + words


class Group(Request):
    """The questions of one request, all of one part. Answers are joined to them by id, never by index."""

    __slots__ = ("_prompts", "_several", "questions")

    def __init__(self, questions: Sequence[Question], prompts: Prompts | None = None, *, several: bool = False) -> None:
        """Put questions together.

        Args:
            questions: one or more, of one part and attempt.
            prompts: put them into words; None for a rater that reads no prompts.
            several: whether to ask in the form for several pairs, even for one.
        """
        super().__init__(b"".join(question.key for question in questions), {}, attempt=questions[0].attempt)
        self.questions = questions
        self._prompts = prompts
        self._several = several

    @property
    def part(self) -> Subject:
        """Part of speech of its questions."""
        return self.questions[0].part

    @property
    def ids(self) -> tuple[str, ...]:
        """One per question; see :func:`ids_of`."""
        return ids_of(self.keys)

    def payload(self) -> Mapping[str, Any]:
        """Return the messages that ask."""
        assert self._prompts is not None, "who reads no prompts asks no endpoint"  # noqa: S101
        return {"messages": self._prompts.messages(self.questions, several=self._several)}

    def about(self) -> Mapping[str, Any]:
        """Return ids, pairs and the digest of the prompt, for the reader of the answer."""
        return {
            "ids": self.ids,
            "part": self.part,
            "pairs": [(question.first.name, question.second.name) for question in self.questions],
            "prompt": self._prompts.of(self.part).digest if self._prompts else "",
        }

    def characters(self) -> int:
        """Return at least as many characters as the messages have, without writing them."""
        return self._prompts.length(self.questions, several=self._several) if self._prompts else 0

    def parts(self) -> Sequence[Group]:
        """Return a group for each question."""
        if len(self.questions) == 1:
            return [self]
        return [Group([question], self._prompts, several=self._several) for question in self.questions]

    def joined(self, others: Sequence[Request]) -> Group:
        """Return one group of its questions and others'."""
        groups = [self, *cast("Sequence[Group]", others)]
        questions = [question for group in groups for question in group.questions]
        return Group(questions, self._prompts, several=self._several)


def _fields(of: str) -> Iterable[str]:
    return (f"{sense}_{of}{what}" for sense in _SENSES for what in ("words", "gloss"))


def _in_words(which: str, sense: SenseText) -> dict[str, str]:
    if isinstance(sense, Interaction):
        return _in_words(f"{which}_verb", sense.verb) | _in_words(f"{which}_object", sense.object)
    return {f"{which}_words": ", ".join(sense.lemmas), f"{which}_gloss": sense.gloss}


def read_prompt(path: Path, sections: Sequence[str] = ()) -> tuple[str, str, dict[str, str]]:
    """Read a prompt file: return its text, 16 hex digits of the text, and the body of each section.

    Raises:
        InputError: naming the sections of the file, if they are others.
    """
    try:
        text = read_bytes(path).decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise InputError(path, found="bytes that are not UTF-8", expected="a prompt") from None
    before, *parts = _HEADING.split(text) if sections else [""]
    names = parts[::2]
    if sorted(names) != sorted(sections) or before.strip():
        found = f"the sections {', '.join(names) or 'none'}" if not before.strip() else quote(before.strip()[:40])
        raise InputError(path, found=found, expected="the sections " + ", ".join(f"[{name}]" for name in sections))
    return text, hashlib.sha256(text.encode()).hexdigest()[:16], dict(zip(names, parts[1::2], strict=True))


def check_fields(path: Path, section: str, text: str, fields: Sequence[str]) -> None:
    """Check that a section of a prompt has its fields and no others.

    Raises:
        InputError: naming the section, and the field.
    """
    template = Template(text)
    if not template.is_valid():
        raise InputError(path, record=f"[{section}]", found="a $ without a field", expected="$$ for a dollar sign")
    found = template.get_identifiers()
    for name in found:
        if name not in fields:
            similar = near(name, fields)
            hint = f"did you mean ${similar[0]}?" if similar else None
            expected = ", ".join(f"${field}" for field in fields)
            raise InputError(path, record=f"[{section}]", found=quote(f"${name}"), expected=expected, hint=hint)
    for name in fields:
        if name not in found:
            raise InputError(path, record=f"[{section}]", found=f"no ${name}", expected="each field")
