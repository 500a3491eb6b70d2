"""Every format of words is read to the same lexicon, as independent parsers read it, and what is broken is named."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

from shoe.core.errors import ShoeError
from shoe.lexicon.building.build import build
from shoe.lexicon.building.lmf import sense_key
from shoe.lexicon.building.read import read_source
from shoe.lexicon.building.source import Source
from shoe.lexicon.compiled import Lexicon
from shoe.lexicon.resolve import lexicon_facts, resolve
from shoe.lexicon.store import using
from tests.lexicon.building import samples

NEEDS = {"obo": "fastobo", "skos": "rdflib", "owl": "rdflib"}
FORMS = ["table", "wn-lmf", "obo", "skos", "owl", "rrf"]


def source(folder: Path, form: str) -> Source:
    if form in NEEDS:
        pytest.importorskip(NEEDS[form])
    found = read_source(samples.written(folder)[form])
    return found.with_verbs(frozenset(["Health Care Activity"])) if form == "rrf" else found


@pytest.mark.parametrize("form", FORMS)
def test_a_lexicon_is_the_same_from_every_format(form: str, tmp_path: Path) -> None:
    lexicon = Lexicon(build(source(tmp_path, form), "made").content)
    names = {lemma: lexicon.name(number) for number in range(len(lexicon)) for lemma in lexicon.lemmas(number)}
    short = {lemma: name.replace(":", "").replace("_", "") for lemma, name in names.items()}
    verbs = {"grasp": "T4", "hold": "T4"} if form in ("table", "wn-lmf", "rrf") else {}
    assert short == {"instrument": "T1", "grasper": "T2", "grasping_forceps": "T2", "gallbladder": "T3"} | verbs
    grasper = lexicon.synset(names["grasper"])
    assert [lexicon.name(above) for above in lexicon.hypernyms(grasper)] == [names["instrument"]]
    assert lexicon.gloss(grasper) == "a tool that holds tissue"
    assert lexicon.lemmas(grasper) == ["grasper", "grasping_forceps"]
    assert lexicon.synset("ride.v.01") == -1
    with using(lexicon):
        # Names of several words, plurals and descriptions are found as in WordNet; its own words are not.
        assert [c.name for c in resolve("two grasping forceps", "object").candidates] == [names["grasper"]]
        assert [c.name for c in resolve("black Graspers", "object").candidates] == [names["grasper"]]
        assert resolve("horse", "object").candidates == ()
        assert [c.reason for c in resolve("grasping", "verb").candidates] == ['base form of "grasping"'] * bool(verbs)
        assert lexicon_facts()["lexicon"] == "made"
    assert "lexicon" not in lexicon_facts()


BROKEN = [
    ("made.tsv", "id\tnames\n\tx\n", r"line 2: id: found ''"),
    (
        "made.tsv",
        "id\tnames\nA\tx\nA\ty\n",
        r"line 3: found the id 'A' again, expected ids once each \(first at line 2\)",
    ),
    ("made.tsv", "id\tname\nA\tx\n", r"line 1: found 'name', .*did you mean names"),
    ("made.tsv", "id\tnames\tpos\nA\tx\tadverb\n", r"line 2: pos: found 'adverb', expected noun or verb"),
    ("made.tsv", "id\tnames\tparents\nA\tx\tB\nB\ty\tC\nC\tz\tA\n", r"found the cycle A < B < C < A, .*--break-cycles"),
    ("made.xml", "<LexicalResource><Lexicon", r"line 1: found unclosed token, expected XML"),
    (
        "made.xml",
        '<!DOCTYPE LexicalResource [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>\n<LexicalResource>&b;</LexicalResource>',
        r"line 1: found the entity 'a' declared",
    ),
    (
        "made.xml",
        '<!DOCTYPE LexicalResource [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n<LexicalResource/>',
        r"line 1: found the entity 'a' declared",
    ),
    ("made.xml", "<LexicalResource/>", r"found wordnets none, expected one"),
    ("made.xml", "<LexicalResource><Lexicon><LexicalEntry><Lemma partOfSpeech='n'/>", r"Lemma: found no writtenForm"),
    ("made.bin", "nothing known", r"found a file of unknown kind"),
    ("MRCONSO.RRF", "C1|ENG|P\n", r"line 1: found 2 fields, expected 18"),
]


@pytest.mark.parametrize(("name", "text", "message"), BROKEN)
def test_what_is_broken_is_named_in_one_line(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ShoeError, match=message) as error:
        build(read_source(tmp_path / name), "made")
    assert "\n" not in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("kind", NEEDS)
def test_what_a_library_cannot_read_is_one_line(kind: str, tmp_path: Path) -> None:
    pytest.importorskip(NEEDS[kind])
    texts = {
        "owl": '<!DOCTYPE rdf:RDF [<!ENTITY x "y">]><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>',
        "obo": "format-version: 1.2\n\n[Term]\nname: without id\n[Te",
        "skos": "@prefix skos: <http://",
    }
    path = tmp_path / f"made.{ {'skos': 'ttl'}.get(kind, kind) }"
    path.write_text(texts[kind])
    with pytest.raises(ShoeError, match=r"made\.\w+: .*found .*expected") as error:
        read_source(path)
    assert "\n" not in str(error.value)


def test_a_cycle_can_be_broken(tmp_path: Path) -> None:
    (tmp_path / "made.tsv").write_text("id\tnames\tparents\nA\tx\tB\nB\ty\tA|C\nC\tz\t\n")
    made = build(read_source(tmp_path / "made.tsv"), "made", break_cycles=True)
    lexicon = Lexicon(made.content)
    assert made.left_out == {"relations that closed a cycle": 1}
    assert sum(len(lexicon.hypernyms(number)) for number in range(3)) == 2


def test_sense_keys_are_read_from_ids() -> None:
    assert sense_key("oewn-ride__2.38.00..") == "ride%2:38:00::"
    assert sense_key("oewn-o-ap-clock-u00E9-__1.28.00..") == "o'clocké%1:28:00::"
    assert sense_key("omw-fr-cheval-02374451-n") == ""


def made_concepts(seed: int) -> list[tuple[str, list[str], str, list[str]]]:
    """Id, names, gloss and parents of some hundred concepts, with what formats have to escape."""
    rng = random.Random(seed)
    words = ["dissect", "o'clock", "a & b", "x<y", "Müller", "骑", "so (so)", "left, right", "e.g.", "hot dog"]
    found = []
    for number in range(300):
        parents = rng.sample([f"X{other}" for other in range(number)], min(number, rng.randrange(3)))
        names = list(dict.fromkeys(f"{rng.choice(words)} {rng.randrange(200)}" for _ in range(rng.randrange(1, 4))))
        found.append((f"X{number}", names, f"what is {rng.choice(words)}", sorted(parents)))
    return found


def seen(source: Source) -> list[tuple[str, list[str], str, list[str]]]:
    return [(c.id, sorted(c.names), c.gloss, sorted(c.parents)) for c in source.concepts]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_wn_lmf_is_read_as_wn_reads_it(seed: int, tmp_path: Path) -> None:
    lmf = pytest.importorskip("wn.lmf")
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', samples.LMF.splitlines()[1], samples.LMF.splitlines()[2]]
    lines.append('<Lexicon id="m" label="M" language="en" email="a@example.org" license="CC0" version="1">')
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
    pronto = pytest.importorskip("pronto")
    lines = ["format-version: 1.2", "ontology: made", ""]
    for id_, names, gloss, parents in made_concepts(seed):
        first, *others = names
        lines += ["[Term]", f"id: T:{id_}", f"name: {first}", f'def: "{gloss}" []']
        lines += [f'synonym: "{name}" EXACT []' for name in others] + [f"is_a: T:{parent}" for parent in parents] + [""]
    (tmp_path / "made.obo").write_text("\n".join(lines), "utf-8")
    theirs = [
        (
            term.id,
            sorted({term.name, *(one.description for one in term.synonyms if one.scope == "EXACT")}),
            str(term.definition),
            sorted(parent.id for parent in term.superclasses(distance=1, with_self=False)),
        )
        for term in pronto.Ontology(str(tmp_path / "made.obo"), import_depth=0).terms()
    ]
    assert sorted(seen(read_source(tmp_path / "made.obo"))) == sorted(theirs)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_owl_is_read_as_pronto_reads_it(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    pronto = pytest.importorskip("pronto")
    path = samples.written(tmp_path)["owl"]
    terms = pronto.Ontology(str(path), import_depth=0).terms()
    theirs = [
        (
            term.id.replace(":", "_"),
            sorted({term.name, *(one.description for one in term.synonyms)}),
            str(term.definition),
            sorted(parent.id.replace(":", "_") for parent in term.superclasses(distance=1, with_self=False)),
        )
        for term in terms
    ]
    assert sorted(seen(read_source(path))) == sorted(theirs)


def test_rrf_names_are_those_that_a_plain_reader_finds(tmp_path: Path) -> None:
    folder = samples.written(tmp_path)["rrf"]
    with (folder / "MRCONSO.RRF").open(encoding="utf-8") as file:
        rows = [row for row in csv.reader(file, delimiter="|") if row[1] == "ENG" and row[16] == "N"]
    found = read_source(folder)
    assert sorted((c.id, name) for c in found.concepts for name in c.names) == sorted((r[0], r[14]) for r in rows)
    assert found.left_out == {"names suppressed or in other languages": 2}
