"""``shoe lexicon``: other words than WordNet's, in thin commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli.output import refuse_overwrite

if TYPE_CHECKING:
    from shoe.lexicon.building.source import Source

app = typer.Typer(
    help="Make lexicons of other words than WordNet's, and look into them.",
)
_Lexicon = Annotated[str, typer.Argument(metavar="LEXICON", help="A compiled lexicon, or wordnet.")]
_File = Annotated[str, typer.Argument(metavar="FILE", help="A compiled lexicon, or a file that one is made of.")]
_Format = Annotated[str | None, typer.Option(help="wn-lmf, obo, owl, skos, omw, table or rrf, if FILE is not to tell.")]
_Language = Annotated[str | None, typer.Option(help="Which of several in FILE; that of a FILE that does not say.")]
_SHOWN = 10


@app.command()
def build(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The compiled lexicon.")],
    source: Annotated[Path, typer.Option("--from", metavar="FILE", help="What it is made of; of UMLS, a folder.")],
    format: _Format = None,
    language: _Language = None,
    name: Annotated[str | None, typer.Option(help="What signatures call it; OUT's name if absent.")] = None,
    words_for: Annotated[
        str | None, typer.Option(metavar="wordnet", help="Take the words alone, for WordNet 3.0's concepts.")
    ] = None,
    verbs: Annotated[
        str | None, typer.Option(metavar="KIND,...", help="Kinds of concepts that are verbs, if FILE has nouns alone.")
    ] = None,
    break_cycles: Annotated[
        bool, typer.Option("--break-cycles", help="Leave out a relation of each cycle of parents.")
    ] = False,
) -> None:
    """Compile a lexicon of FILE: words, concepts, definitions, parents.

    Example: shoe lexicon build surgery.lexicon --from surgery.tsv

    FILE is WN-LMF (Open English WordNet, Open Multilingual Wordnet), a table of Open Multilingual Wordnet (.tab), OBO,
    OWL, SKOS (extra lexicon), UMLS' RRF files, or a table with columns id, names, gloss, parents, pos, kind, links, of
    which id and names are needed. Words of a .tab are for WordNet 3.0's concepts anyway. shoe --lexicon OUT COMMAND
    uses it.
    """
    from shoe.core.errors import OptionError, quote
    from shoe.core.io.files import replacing
    from shoe.lexicon.building.build import build as compile_source
    from shoe.lexicon.building.build import build_words
    from shoe.lexicon.building.read import read_source

    if words_for not in (None, "wordnet"):
        raise OptionError(f"--words-for: found {quote(words_for)}, expected wordnet")
    called = name or out.name.partition(".")[0]
    if not called.isprintable() or any(character in called for character in " |:"):
        raise OptionError(f"name: found {quote(called)}, expected one without blanks, bars and colons")
    refuse_overwrite((source,), out)
    found = read_source(source, format, language)
    if verbs:
        found = found.with_verbs(frozenset(kind.strip() for kind in verbs.split(",")))
    is_words = words_for is not None or format == "omw" or (format is None and ".tab" in source.suffixes)
    made = build_words(found, called) if is_words else compile_source(found, called, break_cycles=break_cycles)
    with replacing(out) as stream:
        stream.write(made.content)
    print(f"{out}: {made.concepts:,} concepts of {found.title}, {len(made.content):,} bytes")
    _print_left_out(made.left_out)


@app.command()
def info(lexicon: _Lexicon, dataset: Annotated[str, typer.Option(help="Whose words are looked up.")] = DEFAULT) -> None:
    """Describe a lexicon: what it holds, where it is from, and which words of a dataset it lacks.

    Example: shoe lexicon info surgery.lexicon
    """
    from shoe.benchmarks import benchmark
    from shoe.core.errors import printable
    from shoe.lexicon.building.compare import contents
    from shoe.lexicon.resolve import lexicon_digest
    from shoe.lexicon.store import load_lexicon, using, wordnet
    from shoe.maps.convert import unknown_words

    loaded = wordnet() if lexicon == "wordnet" else load_lexicon(lexicon)
    with using(loaded):
        held, unknown, digest = contents(loaded), unknown_words(benchmark(dataset).classes), lexicon_digest()
    rows = {
        "name": loaded.label,
        "lexicon-sha in signatures": digest,
        "title": loaded.title,
        "language": loaded.language,
        "concepts of": f"{loaded.concepts.title} ({loaded.concepts.digest})",
        "licence": loaded.about.get("licence", ""),
        "concepts": f"{held.nouns:,} nouns, {held.verbs:,} verbs; {held.named:,} with words",
        "words": f"{held.words:,}",
        "glosses": f"{held.glosses:,}" if held.glosses else "",
        "links": f"{held.linked:,}" if held.linked else "",
        "parents": f"{held.relations:,}",
        "kinds": ", ".join(f"{kind} {count:,}" for kind, count in held.kinds if kind != "-"),
        **{f"{dataset}: no word for a {part}": ", ".join(words) for part, words in unknown.items()},
    }
    print("\n".join(f"{label}: {printable(text, 1000)}" for label, text in rows.items() if text))
    _print_left_out(loaded.about.get("left_out", {}))


@app.command()
def diff(one: _File, other: _File) -> None:
    """Compare two lexicons by their concepts' ids: what only one has, and whose names, glosses or parents differ.

    Example: shoe lexicon diff surgery.lexicon surgery-2.tsv
    """
    from shoe.core.errors import printable
    from shoe.lexicon.building.compare import differences

    found = differences(_source(one), _source(other))
    for difference in found:
        shown = ", ".join(difference.ids[:_SHOWN]) + (", ..." if len(difference.ids) > _SHOWN else "")
        print(f"{difference.what}: {len(difference.ids):,} ({printable(shown, 1000)})")
    if not found:
        print("no difference")


@app.command()
def check(file: _File, format: _Format = None, language: _Language = None) -> None:
    """List what is wrong with a lexicon or its source: ids twice, cycles, concepts without name or gloss, orphans.

    Example: shoe lexicon check surgery.tsv
    """
    from shoe.core.errors import printable
    from shoe.lexicon.building.build import findings

    source = _source(file, format, language)
    found = findings(source)
    print(f"{source.title}: {len(source.concepts):,} concepts")
    for finding in found:
        shown = ", ".join(finding.examples) + (", ..." if finding.count > len(finding.examples) else "")
        print(f"{finding.what}: {finding.count:,} ({printable(shown, 1000)})")
    _print_left_out(source.left_out)


@app.command()
def carry(
    map: Annotated[str, typer.Argument(metavar="MAP", help="A map of the lexicon in use, by name or folder.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="New folder for the map.")],
    to: Annotated[Path, typer.Option(metavar="LEXICON", help="The lexicon whose senses it is to rate.")],
) -> None:
    """Take a map to another lexicon by interlingual ids and sense keys, and count what is lost.

    Example: shoe lexicon carry hico-det my-map --to oewn.lexicon

    OUT also holds classes.tsv, the classes of the map's dataset in the other lexicon's names, for --classes.
    """
    from shoe.benchmarks import benchmark
    from shoe.lexicon.store import load_lexicon
    from shoe.maps.convert import CLASSES
    from shoe.maps.convert import carry as carry_map
    from shoe.similarity.maps import SimilarityMap

    similarity = SimilarityMap.load(map)
    classes = benchmark(similarity.dataset).classes
    for part, counts in carry_map(similarity, load_lexicon(to), out, classes).items():
        print(
            f"{part}s: {counts.kept:,} of {counts.pairs:,} pairs; lost: {counts.without_class:,} without the class's "
            f"sense, {counts.without_sense:,} without the other, {counts.met:,} that became one with another"
        )
        if counts.classes_lost:
            print(f"  class senses lost: {', '.join(counts.classes_lost)}")
    print(f"{out}: written, with {CLASSES}")


def _source(file: str, format: str | None = None, language: str | None = None) -> Source:
    """What a compiled lexicon, or a file that one is made of, says."""
    from shoe.core.errors import InputError
    from shoe.lexicon.building.compare import source_of
    from shoe.lexicon.building.read import read_source
    from shoe.lexicon.store import MAGIC, load_lexicon, wordnet

    if file == "wordnet":
        return source_of(wordnet())
    path = Path(file)
    try:
        with path.open("rb") as stream:
            is_compiled = stream.read(len(MAGIC)) == MAGIC
    except IsADirectoryError:
        is_compiled = False
    except OSError as error:
        raise InputError(file, found=error.strerror or "", expected="a file that can be read") from None
    return source_of(load_lexicon(path)) if is_compiled else read_source(path, format, language)


def _print_left_out(left_out: dict[str, int]) -> None:
    for what, count in left_out.items():
        print(f"left out: {count:,} {what}")
