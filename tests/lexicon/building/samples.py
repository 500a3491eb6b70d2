"""One small lexicon, made by hand, in every format that is read: the same concepts, names, definitions and parents."""

from pathlib import Path

GLOSS = "a tool that holds tissue"
TABLE = """id\tnames\tgloss\tparents\tpos\tkind
T1\tinstrument\ta tool of a surgeon\t\tnoun\ttool
T2\tgrasper|grasping forceps\ta tool that holds tissue\tT1\tnoun\ttool
T3\tgallbladder\tan organ that stores bile\t\tnoun\torgan
T4\tgrasp|hold\ttake firmly\t\tverb\t
"""
LMF = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE LexicalResource SYSTEM "http://globalwordnet.github.io/schemas/WN-LMF-1.1.dtd">
<LexicalResource xmlns:dc="https://globalwordnet.github.io/schemas/dc/">
<Lexicon id="made" label="Made" language="en" email="a@example.org" license="CC0" version="1">
<LexicalEntry id="e1"><Lemma writtenForm="instrument" partOfSpeech="n"/><Sense id="s1" synset="T1"/></LexicalEntry>
<LexicalEntry id="e2"><Lemma writtenForm="grasper" partOfSpeech="n"/><Sense id="s2" synset="T2"/></LexicalEntry>
<LexicalEntry id="e3"><Lemma writtenForm="grasping forceps" partOfSpeech="n"/>
<Sense id="s3" synset="T2"/></LexicalEntry>
<LexicalEntry id="e4"><Lemma writtenForm="gallbladder" partOfSpeech="n"/><Sense id="s4" synset="T3"/></LexicalEntry>
<LexicalEntry id="e5"><Lemma writtenForm="grasp" partOfSpeech="v"/><Form writtenForm="graspt"/>
<Sense id="made-grasp__2.35.00.." synset="T4"/></LexicalEntry>
<LexicalEntry id="e6"><Lemma writtenForm="hold" partOfSpeech="v"/><Sense id="s6" synset="T4"/></LexicalEntry>
<LexicalEntry id="e7"><Lemma writtenForm="sterile" partOfSpeech="a"/><Sense id="s7" synset="T5"/></LexicalEntry>
<Synset id="T1" ili="" partOfSpeech="n"><Definition>a tool of a surgeon</Definition></Synset>
<Synset id="T2" ili="" partOfSpeech="n"><Definition>a tool that holds tissue</Definition>
<SynsetRelation relType="hypernym" target="T1"/></Synset>
<Synset id="T3" ili="" partOfSpeech="n"><Definition>an organ that stores bile</Definition></Synset>
<Synset id="T4" ili="" partOfSpeech="v"><Definition>take firmly</Definition></Synset>
<Synset id="T5" ili="" partOfSpeech="a"><Definition>free of germs</Definition></Synset>
</Lexicon>
</LexicalResource>
"""
OBO = """format-version: 1.2
ontology: made

[Term]
id: T:1
name: instrument
def: "a tool of a surgeon" []

[Term]
id: T:2
name: grasper
def: "a tool that holds tissue" []
synonym: "grasping forceps" EXACT []
synonym: "clamp" RELATED []
is_a: T:1

[Term]
id: T:3
name: gallbladder
def: "an organ that stores bile" []

[Term]
id: T:9
name: leech
is_obsolete: true
"""
SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix t: <http://example.org/made/> .
t:T1 a skos:Concept ; skos:prefLabel "instrument"@en, "Instrument"@de ; skos:definition "a tool of a surgeon"@en .
t:T2 a skos:Concept ; skos:prefLabel "grasper"@en ; skos:altLabel "grasping forceps"@en ;
  skos:definition "a tool that holds tissue"@en ; skos:broader t:T1 .
t:T3 a skos:Concept ; skos:prefLabel "gallbladder"@en ; skos:definition "an organ that stores bile"@en .
"""
OWL = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
 xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:oio="http://www.geneontology.org/formats/oboInOwl#"
 xmlns:obo="http://purl.obolibrary.org/obo/">
<owl:Ontology rdf:about="http://purl.obolibrary.org/obo/made.owl"/>
<owl:AnnotationProperty rdf:about="http://purl.obolibrary.org/obo/IAO_0000115"/>
<owl:AnnotationProperty rdf:about="http://www.geneontology.org/formats/oboInOwl#hasExactSynonym"/>
<owl:Class rdf:about="http://purl.obolibrary.org/obo/T_1"><rdfs:label>instrument</rdfs:label>
<obo:IAO_0000115>a tool of a surgeon</obo:IAO_0000115></owl:Class>
<owl:Class rdf:about="http://purl.obolibrary.org/obo/T_2"><rdfs:label>grasper</rdfs:label>
<obo:IAO_0000115>a tool that holds tissue</obo:IAO_0000115><oio:hasExactSynonym>grasping forceps</oio:hasExactSynonym>
<rdfs:subClassOf rdf:resource="http://purl.obolibrary.org/obo/T_1"/></owl:Class>
<owl:Class rdf:about="http://purl.obolibrary.org/obo/T_3"><rdfs:label>gallbladder</rdfs:label>
<obo:IAO_0000115>an organ that stores bile</obo:IAO_0000115></owl:Class>
</rdf:RDF>
"""
# As the UMLS Reference Manual lays them out; the contents are made.
RRF = {
    "MRCONSO": """T1|ENG|P|L1|PF|S1|Y|A1||||MSH|MH|D1|instrument|0|N|256|
T1|GER|P|L2|PF|S2|Y|A2||||MSHGER|MH|D1|Instrument|3|N||
T2|ENG|S|L3|VO|S3|N|A3||||MSH|ET|D2|grasping forceps|0|N||
T2|ENG|P|L4|PF|S4|Y|A4||||MSH|MH|D2|grasper|0|N|256|
T2|ENG|S|L5|VO|S5|N|A5||||MSH|ET|D2|old grasper|0|O||
T3|ENG|P|L6|PF|S6|Y|A6||||MSH|MH|D3|gallbladder|0|N|256|
T4|ENG|P|L7|PF|S7|Y|A7||||MSH|MH|D4|grasp|0|N|256|
T4|ENG|S|L8|VO|S8|N|A8||||MSH|ET|D4|hold|0|N||
""",
    "MRDEF": """T1|A1|AT1||MSH|a tool of a surgeon|N||
T2|A4|AT2||MSH|a tool that holds tissue|N||
T3|A6|AT3||MSH|an organ that stores bile|N||
T4|A7|AT4||MSH|take firmly|N||
""",
    "MRREL": "T2|A4|AUI|PAR|T1|A1|AUI||R1||MSH|MSH|||N||\nT1|A1|AUI|CHD|T2|A4|AUI||R2||MSH|MSH|||N||\n",
    "MRSTY": "T1|T074|A1.3.1|Medical Device|AT9||\nT4|T058|B1.3.1|Health Care Activity|AT8||\n",
}


def written(folder: Path) -> dict[str, Path]:
    files = {"table": "made.tsv", "wn-lmf": "made.xml", "obo": "made.obo", "skos": "made.ttl", "owl": "made.owl"}
    texts = {"table": TABLE, "wn-lmf": LMF, "obo": OBO, "skos": SKOS, "owl": OWL}
    for form, name in files.items():
        (folder / name).write_text(texts[form], "utf-8")
    (folder / "rrf").mkdir()
    for name, text in RRF.items():
        (folder / "rrf" / f"{name}.RRF").write_text(text, "utf-8")
    return {form: folder / name for form, name in files.items()} | {"rrf": folder / "rrf"}
