"""Prompts: text files that describe a pair and the rating scale to a rater, and the requests made from prompts.

A prompt file has four sections, each after a line with its name: ``[instructions]``; ``[one]``, the question about a
single pair; ``[several]``, the question about several pairs, with the field ``$pairs``; and ``[pair]``, the text of
each of these pairs, with the field ``$id``. ``$first_words``, ``$first_gloss``, ``$second_words`` and ``$second_gloss``
are words and definitions of the two senses; whole interactions have ``$first_verb_words`` and so on.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, Literal, NamedTuple, Self, cast

from shoe.core.errors import InputError, closest_names, quote
from shoe.core.io.files import data_folder, read_bytes
from shoe.lexicon.senses import Part
from shoe.lexicon.store import glosses, lexicon
from shoe.llm.ledger import canonical
from shoe.llm.request import KEY_BYTES, Request

Subject = Part | Literal["interaction"]
"""Subject of a question: two verb senses, two object senses, or two whole interactions."""


@dataclass(frozen=True, slots=True)
class SenseText:
    """Texts about a synset: name ("ride.v.01"), lemmas with spaces instead of underscores, and definition."""

    name: str
    lemmas: tuple[str, ...]
    gloss: str

    def encoded(self) -> bytes:
        """Return the text as canonical JSON, from which answer keys are computed."""
        return canonical({"gloss": self.gloss, "lemmas": self.lemmas, "name": self.name})


@dataclass(frozen=True, slots=True)
class Interaction(SenseText):
    """Texts about a whole interaction; name, lemmas and definition are those of the verb followed by the object's."""

    verb: SenseText
    object: SenseText

    @classmethod
    def from_senses(cls, verb: SenseText, object: SenseText) -> Self:  # noqa: A002 - the field's word
        """Return the text of the interaction of a verb sense and an object sense."""
        name, gloss = f"{verb.name} {object.name}", f"{verb.gloss} {object.gloss}"
        return cls(name, verb.lemmas + object.lemmas, gloss, verb, object)

    def encoded(self) -> bytes:
        """Return the texts of verb and object as canonical JSON, from which answer keys are computed."""
        return b"[%b,%b]" % (self.verb.encoded(), self.object.encoded())


@dataclass(frozen=True, slots=True)
class Question:
    """Question to one rater about one pair.

    Attributes:
        key: answer key: 16-byte digest of everything that can change the answer.
        first, second: the two senses in the order of their names; or the class and the predicted interaction.
        attempt: 1; or 2, if the question is sent again because the first answer contained no rating.
    """

    key: bytes
    part: Subject
    first: SenseText
    second: SenseText
    attempt: int = 1


def ids_of(keys: Sequence[bytes]) -> tuple[str, ...]:
    """Return the IDs by which an answer refers to the questions of a request, derived from their answer keys.

    They have three digits, or nine for over 100 questions, and are not consecutive, so that an ID is not mistaken for a
    rating, or for the ID of a pair that the model skipped.
    """
    least = 100 if len(keys) <= 100 else 100_000_000
    taken: dict[int, None] = {}
    for key in keys:
        number = int.from_bytes(key[:8], "big") % (9 * least)
        while number in taken:
            number = (number + 1) % (9 * least)
        taken[number] = None
    return tuple(str(least + number) for number in taken)


def describe(names: Sequence[str]) -> list[SenseText]:
    """Return the texts of the synsets with these names; MissingExtraError if WordNet's definitions cannot be read."""
    store, definitions = lexicon(), glosses(sorted(set(names)))
    lemmas = {name: tuple(word.replace("_", " ") for word in store.lemmas(store.synset(name))) for name in definitions}
    return [SenseText(name, lemmas[name], definitions[name]) for name in names]


def key_maker(
    identity: Mapping[str, Any], prompt_digest: str, part: Subject, repeat: int = 1
) -> Callable[[bytes, bytes], bytes]:
    """Return a function that computes the answer key of two senses, each encoded with :meth:`SenseText.encoded`.

    The key is a 16-byte digest of the canonical JSON ``{"part", "prompt", "rater", "repeat", "senses": [first,
    second]}``. ``identity`` is that of the rater (:func:`shoe.maps.config.identity_of`); ``prompt_digest`` is empty for
    a rater that reads no prompts; ``repeat`` is 1 for the first rating of a pair by the rater, 2 for the second.
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
"""Sentence appended to a question that is sent again because its first answer contained no rating."""


class Rendered(NamedTuple):
    """Text of a request: system message (instructions), user message (question), and ID of each pair in the answer."""

    system: str
    user: str
    ids: tuple[str, ...]


class Prompt(NamedTuple):
    """Content of a prompt file.

    Attributes:
        digest: first 16 hex digits of the text's SHA-256.
        one, several, pair: templates of the question about one pair, about several pairs, and of each of the latter.
        overheads: number of characters of ``one``, ``several`` and ``pair`` if all fields are empty.
    """

    text: str
    digest: str
    instructions: str
    one: Template
    several: Template
    pair: Template
    overheads: tuple[int, ...]

    @classmethod
    def read(cls, path: Path, fields: Sequence[str]) -> Self:
        """Read a prompt file; InputError for missing, unknown or repeated sections, or other fields than ``fields``."""
        text, digest, bodies = read_prompt(path, _SECTIONS)
        body = {name: body if name == "pair" else body.rstrip("\n") for name, body in bodies.items()}
        check_fields(path, "one", body["one"], fields)
        check_fields(path, "several", body["several"], ["pairs"])
        check_fields(path, "pair", body["pair"], ["id", *fields])
        blank = dict.fromkeys([*fields, "pairs"], "") | {"id": "100"}
        one, several, pair = templates = [Template(body[name]) for name in _SECTIONS[1:]]
        overheads = tuple(len(template.substitute(blank)) for template in templates)
        return cls(text, digest, body["instructions"], one, several, pair, overheads)


class Prompts(NamedTuple):
    """Prompts about pairs of verbs, of objects, and of whole interactions."""

    verb: Prompt
    object: Prompt
    interaction: Prompt

    @classmethod
    def read(cls, folder: Path | None = None) -> Self:
        """Read verb.txt, object.txt and interaction.txt from a folder; by default, the prompts shipped with shoe."""
        folder = data_folder("prompts") if folder is None else folder

        def read(part: Subject, *prefixes: str) -> Prompt:
            fields = [f"{sense}_{p}{field}" for p in prefixes for sense in _SENSES for field in ("words", "gloss")]
            return Prompt.read(folder / f"{part}.txt", fields)

        return cls(read("verb", ""), read("object", ""), read("interaction", "verb_", "object_"))

    def prompt_for(self, part: Subject) -> Prompt:
        """Return the prompt for one part of questions."""
        prompt: Prompt = getattr(self, part)
        return prompt

    def render(self, group: Sequence[Question], *, several: bool) -> Rendered:
        """Return the text of a request about questions of the same part, with IDs if ``several``."""
        prompt, ids = self.prompt_for(group[0].part), ids_of([question.key for question in group])
        pairs = [_fill_in("first", question.first) | _fill_in("second", question.second) for question in group]
        if not several:
            return Rendered(prompt.instructions, prompt.one.substitute(pairs[0]), ids)
        text = "".join(prompt.pair.substitute(fields, id=name) for fields, name in zip(pairs, ids, strict=True))
        return Rendered(prompt.instructions, prompt.several.substitute(pairs=text), ids)

    def length(self, group: Sequence[Question], *, several: bool) -> int:
        """Return an upper bound of the number of characters in the text that :meth:`render` would return."""
        prompt = self.prompt_for(group[0].part)
        whole, each = prompt.overheads[1:] if several else (prompt.overheads[0], 0)
        senses = (sense for question in group for sense in (question.first, question.second))
        words = sum(len(sense.gloss) + sum(map(len, sense.lemmas)) + 2 * len(sense.lemmas) for sense in senses)
        return len(prompt.instructions) + whole + each * len(group) + words


class Group(Request):
    """Request with one or more questions about pairs of the same part: "verb", "object" or "interaction"."""

    __slots__ = ("_prompts", "_several", "questions")

    def __init__(self, questions: Sequence[Question], prompts: Prompts | None = None, *, several: bool = False) -> None:
        """Create a request; ``prompts`` is None for raters without prompts, ``several`` selects the prompt with IDs."""
        super().__init__(b"".join(question.key for question in questions), {}, attempt=questions[0].attempt)
        self.questions, self._prompts, self._several = questions, prompts, several

    @property
    def part(self) -> Subject:
        """Part of the questions."""
        return self.questions[0].part

    @property
    def ids(self) -> tuple[str, ...]:
        """ID per question, by which an answer refers to the question; see :func:`ids_of`."""
        return ids_of(self.keys)

    def payload(self) -> Mapping[str, Any]:
        """Return ``{"messages": [system, user]}`` for the chat API, ending with ``SECOND_TIME`` on a second attempt."""
        assert self._prompts is not None, "only raters with prompts send requests to an endpoint"  # noqa: S101
        system, user, _ = self._prompts.render(self.questions, several=self._several)
        content = user if self.attempt == 1 else f"{user}\n\n{SECOND_TIME}"
        return {"messages": [{"role": "system", "content": system}, {"role": "user", "content": content}]}

    def about(self) -> Mapping[str, Any]:
        """Return the data that is stored together with the answer: IDs, part, pairs, and digest of the prompt."""
        pairs = [(question.first.name, question.second.name) for question in self.questions]
        digest = self._prompts.prompt_for(self.part).digest if self._prompts else ""
        return {"ids": self.ids, "part": self.part, "pairs": pairs, "prompt": digest}

    def characters(self) -> int:
        """Return an upper bound of the number of characters in the messages; 0 for a rater that reads no prompts."""
        if self._prompts is None:
            return 0
        second = len(SECOND_TIME) + 2 if self.attempt > 1 else 0
        return self._prompts.length(self.questions, several=self._several) + second

    def parts(self) -> "Sequence[Group]":
        """Return a request with a single question for each question of this request."""
        if len(self.questions) == 1:
            return [self]
        return [Group([question], self._prompts, several=self._several) for question in self.questions]

    def joined(self, requests: Sequence[Request]) -> "Group":
        """Return a single request with the questions of this request, followed by those of ``requests``."""
        groups = [self, *cast("Sequence[Group]", requests)]
        questions = [question for group in groups for question in group.questions]
        return Group(questions, self._prompts, several=self._several)


def _fill_in(field: str, sense: SenseText) -> dict[str, str]:
    if isinstance(sense, Interaction):  # its words may be predictions of a program, so they are quoted as JSON strings
        found = _fill_in(f"{field}_verb", sense.verb) | _fill_in(f"{field}_object", sense.object)
        return {name: canonical(text).decode() if name.endswith("words") else text for name, text in found.items()}
    return {f"{field}_words": ", ".join(sense.lemmas), f"{field}_gloss": sense.gloss}


def read_prompt(path: Path, sections: Sequence[str] = ()) -> tuple[str, str, dict[str, str]]:
    """Return the text of a prompt file, the first 16 hex digits of its SHA-256, and the body of each section by name.

    ``sections`` are the required sections; if empty, the file is not split. Raise InputError if the file has other
    sections, or is not UTF-8.
    """
    try:
        text = read_bytes(path).decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise InputError(path, found="bytes that are not UTF-8", expected="a prompt in UTF-8") from None
    before, *parts = _HEADING.split(text) if sections else [""]
    names = parts[::2]
    if sorted(names) != sorted(sections) or before.strip():
        found = f"the sections {', '.join(names) or 'none'}" if not before.strip() else quote(before.strip()[:40])
        raise InputError(path, found=found, expected="the sections " + ", ".join(f"[{name}]" for name in sections))
    return text, hashlib.sha256(text.encode()).hexdigest()[:16], dict(zip(names, parts[1::2], strict=True))


def check_fields(path: Path, section: str, text: str, fields: Sequence[str]) -> None:
    """Raise InputError if a field is missing or unknown in the text of a prompt's section, or a $ is not escaped.

    ``fields`` are the names of the required fields without dollar sign.
    """
    template = Template(text)
    if not template.is_valid():
        raise InputError(path, record=f"[{section}]", found="a $ without a field name", expected="$$ for a dollar sign")
    found, expected = template.get_identifiers(), ", ".join(f"${field}" for field in fields)
    for name in found:
        if name not in fields:
            similar = closest_names(name, fields)
            hint = f"did you mean ${similar[0]}?" if similar else None
            raise InputError(path, record=f"[{section}]", found=quote(f"${name}"), expected=expected, hint=hint)
    for name in fields:
        if name not in found:
            raise InputError(path, record=f"[{section}]", found=f"no ${name}", expected=expected)
