"""Every format of words is read to the same lexicon, as independent parsers read it, and what is broken is named."""

import csv
import gzip
import random
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given, strategies as st

from shoe.core.errors import InputError, ShoeError
from shoe.lexicon.building.build import build
from shoe.lexicon.building.read import Concept, Source, read_source, sense_key
from shoe.lexicon.compiled import Lexicon
from shoe.lexicon.resolve import lexicon_metadata, resolve
from shoe.lexicon.store import load_lexicon, use_lexicon
from tests.examples import examples
from tests.lexicon.building import samples
from tests.mentions import mentions

NEEDS = {"obo": "fastobo", "skos": "pyoxigraph", "owl": "pyoxigraph"}
FORMS = ["table", "wn-lmf", "obo", "skos", "owl", "rrf"]


def source(folder: Path, form: str) -> Source:
    if form in NEEDS:
        pytest.importorskip(NEEDS[form])
    found = read_source(samples.written(folder)[form])
    return found.with_verbs(frozenset(["Health Care Activity"])) if form == "rrf" else found


@pytest.mark.parametrize("form", FORMS)
def test_a_lexicon_is_the_same_from_every_format(form: str, tmp_path: Path) -> None:
    lexicon = Lexicon(build(source(tmp_path, form), "made")[0])
    names = {lemma: lexicon.name(number) for number in range(len(lexicon)) for lemma in lexicon.lemmas(number)}
    short = {lemma: name.replace(":", "").replace("_", "") for lemma, name in names.items()}
    verbs = {"grasp": "T4", "hold": "T4"} if form in ("table", "wn-lmf", "rrf") else {}
    assert short == {"instrument": "T1", "grasper": "T2", "grasping_forceps": "T2", "gallbladder": "T3"} | verbs
    grasper = lexicon.synset(names["grasper"])
    assert [lexicon.name(above) for above in lexicon.hypernyms(grasper)] == [names["instrument"]]
    assert (lexicon.gloss(grasper), lexicon.lemmas(grasper)) == (samples.GLOSS, ["grasper", "grasping_forceps"])
    assert lexicon.synset("ride.v.01") == -1
    with use_lexicon(lexicon):
        # Names of several words, plurals and descriptions are found as in WordNet; its own words are not.
        for words in ("two grasping forceps", "black Graspers"):
            assert [c.name for c in resolve(words, "object").candidates] == [names["grasper"]]
        assert resolve("horse", "object").candidates == ()
        (*candidates,) = resolve("grasping", "verb").candidates
        assert [(c.lemma, '"grasping"' in c.reason) for c in candidates] == [("grasp", True)] * bool(verbs)
        assert lexicon_metadata()["lexicon"] == "made"
    assert "lexicon" not in lexicon_metadata()


ENTITIES = b"<!DOCTYPE LexicalResource [<!ENTITY a %b>]>\n<LexicalResource>&a;</LexicalResource>"
BROKEN = [
    ("made.tsv", b"id\tnames\n\tx\n", "line 2: id: … ''"),
    ("made.tsv", b"id\tnames\nA\tx\nA\ty\n", "line 3: … 'A' twice … line 2"),
    ("made.tsv", b"id\tname\nA\tx\n", "line 1: … 'name' … names?"),
    ("made.tsv", b"id\tnames\tpos\nA\tx\tadverb\n", "line 2: pos: … 'adverb' … noun or verb"),
    ("made.tsv", b"id\tnames\tparents\nA\tx\tB\nB\ty\tC\nC\tz\tA\n", "A < B < C < A … --break-cycles"),
    ("made.xml", b"<LexicalResource><Lexicon", "line 1: … unclosed token … XML"),
    ("made.xml", ENTITIES % b'"aa"><!ENTITY b "&a;&a;"', "line 1: … entity 'a'"),
    ("made.xml", ENTITIES % b'SYSTEM "file:///etc/passwd"', "line 1: … entity 'a'"),
    ("made.xml", b"<LexicalResource/>", "no wordnet"),
    ("made.xml", b"<LexicalResource><Lexicon><LexicalEntry><Lemma partOfSpeech='n'/>", "Lemma: … writtenForm"),
    ("made.bin", b"nothing known", "unknown format"),
    ("MRCONSO.RRF", b"C1|ENG|P\n", "line 1: … 2 fields … 18"),
    ("MRCONSO.RRF", b"C1|ENG|P\n\xe9\n", "line 2: … UTF-8"),
    ("made.tab", b"# made\n\xe9\n", "line 2: … UTF-8"),
]


@pytest.mark.parametrize(("name", "text", "values"), BROKEN)
def test_what_is_broken_is_named_in_one_line(name: str, text: bytes, values: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text)
    with pytest.raises(ShoeError, match=mentions(f"{name}: … {values}")):
        build(read_source(tmp_path / name), "made")


ENTITY = b'<!DOCTYPE rdf:RDF [<!ENTITY x "y">]><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "name", "text", "values"),
    [
        ("owl", "made.owl", ENTITY, "found … expected"),
        ("obo", "made.obo", b"format-version: 1.2\n\n[Term]\nname: without id\n[Te", "found … expected"),
        ("skos", "made.ttl", b"@prefix skos: <http://", "found … expected"),
        ("obo", "made.obo", samples.OBO.replace("bile", "bil\xe9").encode("latin-1"), "line 20: … UTF-8"),
    ],
)
def test_what_a_library_cannot_read_is_one_line(form: str, name: str, text: bytes, values: str, tmp_path: Path) -> None:
    pytest.importorskip(NEEDS[form])
    (tmp_path / name).write_bytes(text)
    with pytest.raises(ShoeError, match=mentions(f"{name}: … {values}")):
        read_source(tmp_path / name)


@pytest.mark.slow
def test_turtle_may_be_compressed_and_say_what_is_narrower(tmp_path: Path) -> None:
    pytest.importorskip("pyoxigraph")
    turned = samples.SKOS.replace(" ; skos:broader t:T1 .", " .") + "t:T1 skos:narrower t:T2 .\n"
    (tmp_path / "made.ttl.gz").write_bytes(gzip.compress(turned.encode()))
    (tmp_path / "made.ttl").write_text(samples.SKOS)
    assert seen(read_source(tmp_path / "made.ttl.gz")) == seen(read_source(tmp_path / "made.ttl"))


def test_a_definition_may_hold_what_ends_a_line_elsewhere(tmp_path: Path) -> None:
    folder = samples.written(tmp_path)["rrf"]
    (folder / "MRDEF.RRF").write_text(samples.RRF["MRDEF"].replace("stores bile", "stores\u2028bile"), "utf-8")
    assert "stores\u2028bile" in "".join(concept.gloss for concept in read_source(folder).concepts)


@pytest.mark.slow
def test_there_may_be_more_kinds_and_parents_than_two_bytes_count() -> None:
    many = [Concept(f"X{n}", ("x",), kind=f"kind{n}") for n in range(70_000)]
    many.append(Concept("below", ("y",), parents=tuple(concept.id for concept in many)))
    lexicon = Lexicon(build(Source("made", "made", many), "made")[0])
    assert lexicon.lexname(69_999) == "kind69999"
    assert len(lexicon.hypernyms(70_000)) == 70_000


@given(st.data())
@examples(0.1)
def test_a_compiled_file_that_was_cut_off_or_changed_is_none(data: st.DataObject) -> None:
    content = bytearray(_compiled())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    with NamedTemporaryFile() as file:
        for broken in (content, _compiled()[:place]):
            Path(file.name).write_bytes(broken)
            with pytest.raises(InputError, match="compiled lexicon"):
                load_lexicon(file.name)
        Path(file.name).write_bytes(_compiled())
        assert len(load_lexicon(file.name)) == 1


@cache
def _compiled() -> bytes:
    return build(Source("made", "made", [Concept("A", ("x",))]), "made")[0]


def test_verbs_are_of_kinds_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(ShoeError, match=mentions("--verbs: … 'tols' … made.tsv")):
        read_source(samples.written(tmp_path)["table"]).with_verbs(frozenset(["tool", "tols"]))


def test_a_cycle_can_be_broken(tmp_path: Path) -> None:
    (tmp_path / "made.tsv").write_text("id\tnames\tparents\nA\tx\tB\nB\ty\tA|C\nC\tz\t\n")
    source = read_source(tmp_path / "made.tsv")
    lexicon = Lexicon(build(source, "made", break_cycles=True)[0])
    assert [(name.split()[0], count) for name, count in source.left_out.items()] == [("relations", 1)]
    assert sum(len(lexicon.hypernyms(number)) for number in range(3)) == 2


def test_sense_keys_are_read_from_ids() -> None:
    assert sense_key("oewn-ride__2.38.00..") == "ride%2:38:00::"
    assert sense_key("oewn-o-ap-clock-u00E9-__1.28.00..") == "o'clocké%1:28:00::"
    assert sense_key("oewn-x-uD800--uFFFFFF-__1.28.00..") == "x-uD800--uFFFFFF-%1:28:00::"
    assert sense_key("omw-fr-cheval-02374451-n") == ""


Row = tuple[str, list[str], str, list[str]]


def made_concepts(seed: int) -> list[Row]:
    """Id, names, gloss and parents of some hundred concepts, with what formats have to escape."""
    rng = random.Random(seed)
    words = ["dissect", "o'clock", "a & b", "x<y", "Müller", "骑", "so (so)", "left, right", "e.g.", "hot dog"]
    found = []
    for number in range(300):
        parents = rng.sample([f"X{other}" for other in range(number)], min(number, rng.randrange(3)))
        names = list(dict.fromkeys(f"{rng.choice(words)} {rng.randrange(200)}" for _ in range(rng.randrange(1, 4))))
        found.append((f"X{number}", names, f"what is {rng.choice(words)}", sorted(parents)))
    return found


def seen(source: Source) -> list[Row]:
    return [(c.id, sorted(c.names), c.gloss, sorted(c.parents)) for c in source.concepts]


def seen_by_pronto(path: Path, separator: str = ":") -> list[Row]:
    def key(term: Any) -> str:
        return str(term.id).replace(":", separator)

    return sorted(
        (
            key(term),
            sorted({term.name, *(one.description for one in term.synonyms if one.scope == "EXACT")}),
            str(term.definition),
            sorted(key(parent) for parent in term.superclasses(distance=1, with_self=False)),
        )
        for term in pytest.importorskip("pronto").Ontology(str(path), import_depth=0).terms()
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_wn_lmf_is_read_as_wn_reads_it(seed: int, tmp_path: Path) -> None:
    lmf = pytest.importorskip("wn.lmf")
    lines = samples.LMF.splitlines()[:4]
    concepts = made_concepts(seed)
    for place, (id_, names, _, _) in enumerate(concepts):
        for k, name in enumerate(names):
            lines.append(f'<LexicalEntry id="e{place}-{k}"><Lemma writtenForm={quoteattr(name)} partOfSpeech="n"/>')
            lines.append(f'<Sense id="s{place}-{k}" synset="{id_}"/></LexicalEntry>')
    for id_, _, gloss, parents in concepts:
        text = gloss.replace("&", "&amp;").replace("<", "&lt;")
        above = "".join(f'<SynsetRelation relType="hypernym" target="{parent}"/>' for parent in parents)
        lines.append(f'<Synset id="{id_}" ili="" partOfSpeech="n"><Definition>{text}</Definition>{above}</Synset>')
    (tmp_path / "made.xml").write_text("\n".join([*lines, "</Lexicon></LexicalResource>"]), "utf-8")
    (lexicon,) = lmf.load(tmp_path / "made.xml", progress_handler=None)["lexicons"]
    names_of: dict[str, set[str]] = {}
    for entry in lexicon["entries"]:
        for sense in entry["senses"]:
            names_of.setdefault(sense["synset"], set()).add(entry["lemma"]["writtenForm"])
    theirs = [
        (
            synset["id"],
            sorted(names_of[synset["id"]]),
            synset["definitions"][0]["text"],
            sorted(relation["target"] for relation in synset.get("relations", ())),
        )
        for synset in lexicon["synsets"]
    ]
    assert seen(read_source(tmp_path / "made.xml")) == theirs


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::UnicodeWarning")
@pytest.mark.parametrize("seed", range(3))
def test_obo_is_read_as_pronto_reads_it(seed: int, tmp_path: Path) -> None:
    pytest.importorskip("fastobo")
    lines = ["format-version: 1.2", "ontology: made", ""]
    for id_, names, gloss, parents in made_concepts(seed):
        first, *others = names
        lines += ["[Term]", f"id: T:{id_}", f"name: {first}", f'def: "{gloss}" []']
        lines += [f'synonym: "{name}" EXACT []' for name in others] + [f"is_a: T:{parent}" for parent in parents] + [""]
    (tmp_path / "made.obo").write_text("\n".join(lines), "utf-8")
    assert sorted(seen(read_source(tmp_path / "made.obo"))) == seen_by_pronto(tmp_path / "made.obo")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_owl_is_read_as_pronto_reads_it(tmp_path: Path) -> None:
    pytest.importorskip("pyoxigraph")
    path = samples.written(tmp_path)["owl"]
    assert sorted(seen(read_source(path))) == seen_by_pronto(path, "_")


@pytest.mark.slow
def test_skos_is_read_as_rdflib_reads_it(tmp_path: Path) -> None:
    pytest.importorskip("pyoxigraph")
    rdflib = pytest.importorskip("rdflib")
    path = samples.written(tmp_path)["skos"]
    graph, skos = rdflib.Graph().parse(path, format="turtle"), rdflib.Namespace("http://www.w3.org/2004/02/skos/core#")

    def said(concept: Any, name: str) -> list[str]:
        found = graph.objects(concept, skos[name])
        return sorted(str(value) for value in found if getattr(value, "language", None) in (None, "en"))

    def last(of: Any) -> str:
        return str(of).rpartition("/")[2].rpartition("#")[2]

    theirs = [
        (
            last(concept),
            sorted({*said(concept, "prefLabel"), *said(concept, "altLabel")}),
            next(iter(said(concept, "definition")), ""),
            sorted(map(last, said(concept, "broader"))),
        )
        for concept in graph.subjects(rdflib.RDF.type, skos.Concept)
        if said(concept, "prefLabel")
    ]
    assert sorted(seen(read_source(path))) == sorted(theirs)


def test_rrf_names_are_those_that_a_plain_reader_finds(tmp_path: Path) -> None:
    folder = samples.written(tmp_path)["rrf"]
    with (folder / "MRCONSO.RRF").open(encoding="utf-8") as file:
        rows = [row for row in csv.reader(file, delimiter="|") if row[1] == "ENG" and row[16] == "N"]
    found = read_source(folder)
    assert sorted((c.id, name) for c in found.concepts for name in c.names) == sorted((r[0], r[14]) for r in rows)
    assert [(name.split()[0], count) for name, count in found.left_out.items()] == [("names", 2)]
