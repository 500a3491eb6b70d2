"""Words of other languages for WordNet 3.0's synsets, in the tables of Open Multilingual Wordnet and nltk's omw-1.4."""

from __future__ import annotations

from shoe.core.errors import InputError, quote
from shoe.lexicon.building.source import Concept, Source, text_lines
from shoe.lexicon.compiled import Pos


def read_tab(path: str, data: bytes) -> Source:
    """Read lines of "OFFSET-POS <tab> LANGUAGE:lemma <tab> WORD", below one that says what they are.

    Raises:
        InputError: naming the line of what is wrong.
    """
    first, *lines = text_lines(path, data) or [""]
    title, language, _, licence, *_ = [*first.removeprefix("#").strip().split("\t"), "", "", "", ""]
    names: dict[str, list[str]] = {}
    where: dict[str, str] = {}
    source = Source(path, title, [], language or "en", licence)
    for number, line in enumerate(lines, start=2):
        fields = line.split("\t")
        if len(fields) < 3:
            expected = "OFFSET-POS, LANGUAGE:lemma and a word"
            raise InputError(path, record=f"line {number}", found=quote(line), expected=expected)
        synset, what, *rest = fields
        if what.rpartition(":")[2] != "lemma":
            continue
        if synset[-1:] not in ("n", "v"):
            source.leave_out("words that are neither nouns nor verbs")
            continue
        where.setdefault(synset, f"line {number}")
        names.setdefault(synset, []).append(rest[-1])
    for synset, words in names.items():
        pos: Pos = "v" if synset.endswith("v") else "n"
        link = (f"wn30:{synset}",)
        source.concepts.append(Concept(synset, tuple(dict.fromkeys(words)), pos, links=link, where=where[synset]))
    return source
