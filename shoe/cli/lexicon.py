"""``shoe lexicon``: build, inspect and compare lexicons that replace WordNet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from shoe.benchmarks import DEFAULT, benchmark
from shoe.cli import options
from shoe.cli.output import refuse_overwrite
from shoe.core.errors import InputError, OptionError, printable, quote

if TYPE_CHECKING:
    from shoe.lexicon.building.read import Source

_Lexicon = Annotated[str, Argument(metavar="LEXICON", help="File of a compiled lexicon, or 'wordnet'.")]
_File = Annotated[str, Argument(metavar="FILE", help="Compiled lexicon, or a source file of a lexicon.")]
_Format = Annotated[
    str | None,
    Option(help="Format of FILE: wn-lmf, obo, owl, skos, omw, table or rrf. Default: recognised by content."),
]
_Language = Annotated[str | None, Option(help="Language to use, if FILE has several or does not state its language.")]


def build(
    out: Annotated[Path, Argument(metavar="OUT", help="Lexicon file to write.")],
    source: Annotated[Path, Option("--from", metavar="FILE", help="Source file; for UMLS, a folder.")],
    format: _Format = None,
    language: _Language = None,
    name: Annotated[str | None, Option(help="Name of the lexicon in signatures. Default: file name of OUT.")] = None,
    words_for: Annotated[
        str | None,
        Option(metavar="wordnet", help="Ignore the concepts of FILE; assign its words to the concepts of WordNet 3.0."),
    ] = None,
    verbs: Annotated[
        str | None, Option(metavar="KIND,...", help="Concept kinds to treat as verbs, if FILE has only nouns.")
    ] = None,
    break_cycles: Annotated[bool, Option("--break-cycles", help="Drop one parent relation of each cycle.")] = False,
) -> None:
    """Compile a lexicon from FILE: words, concepts, definitions and parents.

    Example: shoe lexicon build surgery.lexicon --from surgery.tsv

    FILE is WN-LMF (Open English WordNet, Open Multilingual Wordnet), a table of Open Multilingual Wordnet (.tab), OBO,
    OWL, SKOS (needs `pip install 'shoe-eval[lexicon]'`), UMLS RRF files, or a table with the columns id and names
    (required), gloss, parents, pos, kind, links. The words of a .tab file always refer to the concepts of WordNet 3.0.
    To use the lexicon, run `shoe --lexicon OUT COMMAND`.
    """
    from shoe.core.io.files import atomic_write
    from shoe.lexicon.building import build as building
    from shoe.lexicon.building.read import read_source

    if words_for not in (None, "wordnet"):
        raise OptionError(f"--words-for: found {quote(words_for)}, expected wordnet")
    label = name or out.name.partition(".")[0]
    if not label.isprintable() or any(character in label for character in " |:"):
        raise OptionError(f"--name: {quote(label)} must not contain spaces, '|' or ':'")
    refuse_overwrite((source,), out)
    found = read_source(source, format, language)
    if verbs:
        found = found.with_verbs(frozenset(kind.strip() for kind in verbs.split(",")))
    is_words = words_for is not None or format == "omw" or (format is None and ".tab" in source.suffixes)
    if is_words:
        content, concepts = building.build_words(found, label)
    else:
        content, concepts = building.build(found, label, break_cycles=break_cycles)
    with atomic_write(out) as stream:
        stream.write(content)
    print(f"{out}: {concepts:,} concepts from {found.title}, {len(content):,} bytes")
    _print_left_out(found.left_out)


def info(
    lexicon: _Lexicon, dataset: Annotated[str, Option(help="Dataset whose words are looked up.")] = DEFAULT
) -> None:
    """Describe a lexicon: contents, origin, and the words of a dataset that are missing.

    Example: shoe lexicon info surgery.lexicon
    """
    from shoe.lexicon.building.compare import contents
    from shoe.lexicon.resolve import lexicon_digest
    from shoe.lexicon.store import load_lexicon, use_lexicon, wordnet
    from shoe.maps.convert import unknown_words

    loaded = wordnet() if lexicon == "wordnet" else load_lexicon(lexicon)
    with use_lexicon(loaded):
        held, unknown, digest = contents(loaded), unknown_words(benchmark(dataset).classes), lexicon_digest()
    rows = {
        "name": loaded.label,
        "lexicon-sha in signatures": digest,
        "title": loaded.title,
        "language": loaded.language,
        "concepts of": f"{loaded.concepts.title} ({loaded.concepts.digest})",
        "licence": loaded.about.get("licence", ""),
        **held,
        **{f"{dataset}: no word for a {part}": ", ".join(words) for part, words in unknown.items()},
    }
    print("\n".join(f"{label}: {printable(text, 1000)}" for label, text in rows.items() if text))
    _print_left_out(loaded.about.get("left_out", {}))


def diff(one: _File, other: _File) -> None:
    """Compare two lexicons by concept ID: concepts in only one lexicon, and differing names, definitions or parents.

    Example: shoe lexicon diff surgery.lexicon surgery-2.tsv
    """
    from shoe.lexicon.building.compare import differences

    found = differences(_source(one), _source(other))
    _print_listed(found, 10)
    if not found:
        print("no difference")


def check(file: _File, format: _Format = None, language: _Language = None) -> None:
    """List problems of a lexicon or source: duplicate IDs, cycles, missing names or definitions, missing parents.

    Example: shoe lexicon check surgery.tsv
    """
    from shoe.lexicon.building.build import find_defects

    source = _source(file, format, language)
    print(f"{source.title}: {len(source.concepts):,} concepts")
    _print_listed(find_defects(source), 5)
    _print_left_out(source.left_out)


def carry(
    map: Annotated[str, Argument(metavar="MAP", help="Map of the active lexicon to convert: name or folder.")],
    out: Annotated[Path, Argument(metavar="OUT", help="New folder for the converted map.")],
    to: Annotated[Path, Option(metavar="LEXICON", help="Lexicon to convert the map to.")],
) -> None:
    """Convert a similarity map to another lexicon by interlingual IDs and sense keys, and report the pairs lost.

    Example: shoe lexicon carry hico-det my-map --to oewn.lexicon

    OUT also contains classes.tsv: the class table of the dataset with sense names of the new lexicon, for --classes.
    """
    from shoe.lexicon.store import load_lexicon
    from shoe.maps import convert
    from shoe.similarity.map_files import SimilarityMap

    similarity = SimilarityMap.load(map)
    for part, counts in convert.carry(similarity, load_lexicon(to), out, benchmark(similarity.dataset).classes).items():
        print(
            f"{part}s: {counts.kept:,} of {counts.pairs:,} pairs; lost: {counts.without_class:,} without the class "
            f"sense, {counts.without_sense:,} without the other sense, {counts.met:,} merged with another pair"
        )
        if counts.classes_lost:
            print(f"  class senses lost: {', '.join(counts.classes_lost)}")
    print(f"{out}: written, with {convert.CLASSES}")


def _source(file: str, format: str | None = None, language: str | None = None) -> Source:
    from shoe.lexicon.building.compare import to_source
    from shoe.lexicon.building.read import read_source
    from shoe.lexicon.store import MAGIC, load_lexicon, wordnet

    if file == "wordnet":
        return to_source(wordnet())
    path = Path(file)
    try:
        with path.open("rb") as stream:
            is_compiled = stream.read(len(MAGIC)) == MAGIC
    except IsADirectoryError:
        is_compiled = False
    except OSError as error:
        raise InputError(file, found=error.strerror or "", expected="a file that can be read") from None
    return to_source(load_lexicon(path)) if is_compiled else read_source(path, format, language)


def _print_listed(found: dict[str, list[str]], most: int) -> None:
    for what, ids in found.items():
        shown = ", ".join(ids[:most]) + (", ..." if len(ids) > most else "")
        print(f"{what}: {len(ids):,} ({printable(shown, 1000)})")


def _print_left_out(left_out: dict[str, int]) -> None:
    for what, count in left_out.items():
        print(f"left out: {count:,} {what}")


app = options.group("Build, inspect and compare lexicons that replace WordNet.", build, info, diff, check, carry)
