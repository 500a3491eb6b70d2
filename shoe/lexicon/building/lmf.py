"""WN-LMF: wordnets as the Global WordNet Association has them exchanged (Open English WordNet, Open Multilingual)."""

from __future__ import annotations

import re
from itertools import chain

from shoe.core.errors import InputError, OptionError, quote
from shoe.lexicon.building.markup import Attributes, parse_xml
from shoe.lexicon.building.source import Concept, Source
from shoe.lexicon.compiled import Pos

_PARENT = ("hypernym", "instance_hypernym")
_POS: dict[str, Pos] = {"n": "n", "v": "v"}
# Open English WordNet writes sense keys as XML ids: so its scripts/wordnet.py.
_ESCAPES = {"lb": "(", "rb": ")", "ap": "'", "sl": "/", "cn": ":", "cm": ",", "ex": "!", "pl": "+", "pc": "%"}
_ESCAPE = re.compile(f"-(?:({'|'.join(_ESCAPES)})|u((?!D[89A-F])[0-9A-F]{{4}}|[0-9A-F]{{5}}))-")
_OFFSET = re.compile(r"^omw-[\w-]+-(\d{8})-([nv])$")


def read_lmf(path: str, data: bytes, language: str | None) -> Source:
    """Read the nouns and verbs of one wordnet; ``language`` says which of several in the file.

    Raises:
        InputError: for what is no WN-LMF.
        OptionError: for a file of several wordnets, if not just one has the language.
    """
    reader = _Reader(path, language)
    parse_xml(path, data, reader.start, reader.end)
    return reader.source()


class _Reader:
    """Takes elements as they come."""

    def __init__(self, path: str, language: str | None) -> None:
        self.path, self.language = path, language
        self.lexicons: list[Attributes] = []
        self.made = Source(path, "", [])
        self.root, self.taken = "", True
        self.entry: tuple[str, Pos] | None = None
        self.synset: tuple[Attributes, int] | None = None
        self.gloss, self.parents = "", list[str]()
        self.names: dict[str, list[str]] = {}
        self.keys: dict[str, list[str]] = {}
        self.synsets: list[tuple[Attributes, str, tuple[str, ...], int]] = []

    def start(self, name: str, attributes: Attributes, line: int) -> None:
        if not self.root:
            self.root = name
            if name != "LexicalResource":
                raise InputError(self.path, found=f"the element {quote(name)}", expected="LexicalResource")
        elif name == "Lexicon":
            self.taken = self.language in (None, attributes.get("language"))
            if self.taken:
                self.lexicons.append(attributes)
        elif not self.taken:
            return
        elif name == "Lemma":
            pos = _POS.get(attributes.get("partOfSpeech", ""))
            self.entry = (self.of(attributes, "writtenForm", name, line), pos) if pos else None
            self.made.leave_out("words that are neither nouns nor verbs", not pos)
        elif name == "Form" and self.entry:
            form, (lemma, pos) = self.of(attributes, "writtenForm", name, line), self.entry
            self.made.forms[pos].setdefault(form, []).append(lemma)
        elif name == "Sense" and self.entry:
            synset = self.of(attributes, "synset", name, line)
            self.names.setdefault(synset, []).append(self.entry[0])
            self.made.order.setdefault(self.entry, []).append(synset)
            if key := attributes.get("dc:identifier") or sense_key(attributes.get("id", "")):
                self.keys.setdefault(synset, []).append(f"key:{key}")
        elif name == "Synset":
            self.synset, self.gloss, self.parents = (attributes, line), "", []
        elif name == "SynsetRelation" and attributes.get("relType") in _PARENT:
            self.parents.append(self.of(attributes, "target", name, line))

    def end(self, name: str, text: str) -> None:
        if not self.taken:
            return
        if name == "Definition" and not self.gloss:
            self.gloss = " ".join(text.split())
        elif name == "LexicalEntry":
            self.entry = None
        elif name == "Synset" and self.synset is not None:
            attributes, line = self.synset
            self.synsets.append((attributes, self.gloss, tuple(self.parents), line))

    def of(self, attributes: Attributes, wanted: str, name: str, line: int) -> str:
        """The value of an attribute that has to be there."""
        if not (value := attributes.get(wanted, "").strip()):
            found, expected = f"no {wanted}", f"the attribute {wanted}"
            raise InputError(self.path, record=f"line {line}", field=name, found=found, expected=expected)
        return value

    def source(self) -> Source:
        """All that was read, joined."""
        if len(self.lexicons) != 1:
            found = [lexicon.get("language", "?") for lexicon in self.lexicons] or "none"
            raise OptionError(f"{self.path}: found wordnets {found}, expected one: --language says which")
        about, made = self.lexicons[0], self.made
        for synset, gloss, parents, line in self.synsets:
            pos = _POS.get(synset.get("partOfSpeech", ""))
            if pos is None:
                made.leave_out("concepts that are neither nouns' nor verbs'")
                continue
            id_ = self.of(synset, "id", "Synset", line)
            links = [f"ili:{ili}"] if (ili := synset.get("ili", "")) not in ("", "in") else []
            if offset := _OFFSET.match(id_):
                links.append(f"wn30:{offset[1]}-{offset[2]}")
            names = tuple(dict.fromkeys(self.names.get(id_, ())))
            linked = tuple(dict.fromkeys(chain(links, self.keys.get(id_, ()))))
            lexfile = synset.get("lexfile", "")
            made.concepts.append(Concept(id_, names, pos, gloss, parents, lexfile, linked, f"line {line}"))
        made.title = f"{about.get('label', 'a wordnet')} {about.get('version', '')}".strip()
        made.language = about.get("language", "en")
        made.licence = about.get("license", "")
        return made


def sense_key(id_: str) -> str:
    """The sense key that an id of Open English WordNet stands for: "oewn-ride__2.38.00.."; "" if it stands for none."""
    lemma, mark, rest = id_.partition("__")
    if not mark or "-" not in lemma or rest.count(".") != 4:
        return ""
    escaped = lemma.partition("-")[2]
    plain = _ESCAPE.sub(lambda found: _ESCAPES[found[1]] if found[1] else chr(int(found[2], 16)), escaped)
    return f"{plain}%{rest.replace('.', ':')}"
