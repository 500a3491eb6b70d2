"""Layouts of chat models: Markdown tables, items of several lines, legends of IDs, run-on sentences, pairs, drafts."""

from pathlib import Path

import pytest

from shoe.core.errors import InputError
from tests.predictions.reading import boxes, read_lines, read_reply, words

BOXES = {"h": [11, 22, 233, 344], "o": [44, 155, 366, 477], "i": [501, 112, 623, 734], "p": [455, 266, 777, 888]}


def read(folder: Path, reply: str) -> list[str]:
    """Return "h riding horse o" for each interaction; marks such as <h> stand for boxes."""
    marks = {tuple(box): name for name, box in BOXES.items()}
    for name, box in BOXES.items():
        reply = reply.replace(f"<{name}>", str(box)).replace(f"<({name})>", str(tuple(box)))
    table, _ = read_lines(folder, {"image": "a.jpg", "response": reply}, boxes="xyxy")
    people, things = ([marks[*map(round, box)] for box in each] for each in boxes(table))
    return sorted(f"{h} {v} {n} {o}" for h, o, (v, n) in zip(people, things, words(table), strict=True))


WASH = ["h washing car o", "i driving truck p"]
RULES = (
    "|:-:|:-|-:|---|", "|:-|:-|:-|:-|", "|-:|-:|-:|-:|", "|-|-|-|-|", "| :-: | :-: | :-: | :-: |",
    ":-:|:-:|---|---", ":-|:-|:-|:-", "-:|-:|-:|-:", "| - | - | - | - |", "|:--:|:--:|:--:|:--:|",
    "  |:-:|---|---|--:|", "|:-:|:--|--:|-|", "--|--|--|--", "|:---|:---:|---:|---|", "|\t:-:\t|---|---|---|",
)  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_separators_of_tables_may_align_columns(tmp_path: Path, rule: str) -> None:
    rows = "| <h> | washing | car | <o> |\n| <i> | driving | truck | <p> |"
    found = read(tmp_path, f"Here are the pairs:\n\n| Person box | Verb | Object | Object box |\n{rule}\n{rows}\n")
    assert found == WASH


HORSE, TWO = ["h riding horse o"], ["h riding horse o", "i walking dog p"]
FIELDS = (
    ("**Interaction 1:**\n- **Person**: bbox: <h>\n- **Verb**: riding\n- **Target**: horse, bbox: <o>", HORSE),
    ("- Human: bounding box - <h>\n- Verb: riding\n- Object: horse; box = <o>", HORSE),
    ("1. Person: coordinates <h>\n   Action: riding\n   Object: horse (coordinates: <o>)\n"
     "2. Person: coordinates <i>\n   Action: walking\n   Object: dog (coordinates: <p>)", TWO),
    ("* **Subject:** man — <h>\n* **Relation:** riding\n* **Object:** horse — <o>", HORSE),
    ("Subject: woman, location: <h>\nVerb: riding\nObject: horse, location: <o>\n\n"
     "Subject: man, location: <i>\nVerb: walking\nObject: dog, location: <p>", TWO),
    ("- **Agent** (man): <h>\n- **Target** (horse): <o>\n- **Action**: riding", HORSE),
    ("Human: person, bbox=<h>\nObject: horse, bbox=<o>\nVerb: riding\nConfidence: 0.9", HORSE),
    ("1) Interaction: riding a horse\n   Human: bbox <h>\n   Object: bbox <o>", HORSE),
    ("**Action:** riding horse\n- Human: Coordinates <h>\n- Horse: Coordinates <o>\n\n"
     "**Action:** walking dog\n- Human: Coordinates <i>\n- Dog: Coordinates <p>", TWO),
    ("Human: <(h)>\nObject (horse): <(o)>\nAction: riding\n\nHuman: <(i)>\nObject (dog): <(p)>\nAction: walking", TWO),
    ("- person bbox: <h>\n- object: horse, bbox: <o>\n- relationship: riding", HORSE),
    ("1. Human: Woman (Coordinates: <h>)\n   Object: horse (Coordinates: <o>)\n   Verb: Riding", ["h Riding horse o"]),
    ("- **Human-Object Pair 1:** man <h> **riding** horse <o>\n"
     "- **Human-Object Pair 2:** man <i> **walking** dog <p>", TWO),
    ("riding horse\n  person: <h>\n  horse: <o>\nwalking dog\n  person: <i>\n  dog: <p>", TWO),
    ("Riding a horse\n- Human: `<h>`\n- Object: `<o>`", HORSE),
    ("**Person:** (box <h>)\n**Verb:** riding\n**Object:** horse (box <o>)", HORSE),
    ("#### Pair A\n+ *Human*: box → <h>\n+ *Action*: riding\n+ *Object*: horse, box → <o>", HORSE),
    ("Person: the bounding box is <h>\nAction: riding\nObject: horse, the bounding box is <o>", HORSE),
    ("- **Human**: man at <h>\n- **Object**: horse at <o>\n- **Interaction**: riding", HORSE),
    ("Human: <h>\nObject: horse <o>", None),
    ("Human: <h>\nHuman: <i>\nInteraction: riding", None),
    ("A quiet street\nHuman: <h>\nObject: <o>", None),
)  # fmt: skip
LEGENDS: tuple[tuple[str, list[str] | None], ...] = (
    ("Humans:\nH1: <h>\nH2: <i>\n\nThings:\nT1: horse <o>\nT2: dog <p>\n\nRelations:\n"
     "H1 riding T1\nH2 walking T2", TWO),
    ("People\n1. Human 1: <h>\nObjects\n1. Object 1 - horse: <o>\nInteractions\n1. Human 1 is riding Object 1", HORSE),
    ("- P1 (man): <h>\n- P2 (woman): <i>\n- O1 (horse): <o>\n- O2 (dog): <p>\n\n"
     "- P1 is riding O1\n- P2 is walking O2", TWO),
    ("**Detected entities**\n* P1 = person <h>\n* O1 = horse <o>\n\n**Relations**\n* (P1, riding, O1)", HORSE),
    ("H1: person, <h>\nO1: horse, <o>\nH1 → riding → O1", HORSE),
    ("Person #1: <h>\nPerson #2: <i>\nObject #1 (horse): <o>\nObject #2 (dog): <p>\n"
     "Person #1 | riding | Object #1\nPerson #2 | walking | Object #2", TWO),
    ("A: man <h>\nB: horse <o>\nA is riding B.", HORSE),
    ("Humans\n- H0: box <h>\nObjects\n- O0: dog, box <p>\n- O1: horse, box <o>\nPairs\n- H0 is riding O1", HORSE),
    ("P1: <h>\nP2: <i>\nO1: horse <o>\nO2: dog <p>\n1. P1 – riding – O1\n2. P2 – walking – O2", TWO),
    ("Obj1 (person): <h>\nObj2 (horse): <o>\nObj1 is riding Obj2.", HORSE),
    ("There is a man <h> and a horse <o>. The man is riding the horse.", HORSE),
    ("There are a woman <h> and a horse <o>. The woman is riding the horse.\n"
     "There are a man <i> and a dog <p>. The man is walking the dog.", TWO),
    ("The image contains a person at <h> and a horse at <o>. The person is riding the horse.", HORSE),
    ("I can see a girl <h>, a horse <o> and a dog <p>. The girl is riding the horse.", HORSE),
    ("There is a man <h> and a horse <o>. He is riding the horse.", HORSE),
    ("The photo shows a man (<(h)>) and a horse (<(o)>). The man is riding the horse.", HORSE),
    ("Person: <h>. Horse: <o>. Action: riding.", HORSE),
    ("Person 1: <h>\nPerson 2: <i>\nObject 1 (horse): <o>\nObject 2 (dog): <p>\n"
     "Action of person 1 on object 1: riding\nAction of person 2 on object 2: walking", TWO),
    ("There is a man <h>, a man <i> and a horse <o>. The man is riding the horse.", None),
    ("O1: <o>\nP1: <h>\nP1 is riding O1", None),
    ("There is a man <h> and a horse <o>. It is a sunny day.", None),
    ("A: man <h>\nB: horse <o>\nA man is riding a horse.", None),
    ("P1: <h>\nP2: <i>\nO1: <o>\nP1 is riding O1", None),
    ("Pair 1\nP1: <h>\nO1: horse <o>\nP1 is riding O1\nPair 2\nP1: <i>\nO1: dog <p>\nP1 is walking O1", None),
    ("There is a man <h>. There is a horse <o>. The man is riding the horse.", HORSE),
    ("There is a man <h> and a horse <o>. The man is riding the horse. The man is feeding the horse.\n"
     "There is a man <i> and a dog <p>. The man is walking the dog. The man is feeding the dog.",
     ["h feeding horse o", "h riding horse o", "i feeding dog p", "i walking dog p"]),
    ("There is a man <h> and a parking meter <o>. The man is paying the parking meter.", ["h paying parking meter o"]),
    ("There is a man <h>. There is a man <i>. There is a horse <o>. The man is riding the horse.", None),
    ("There is a man <h> and riding horse <o>.", HORSE),
    ("There is a man <h> and a horse <o>. The horse is carrying the man.", None),
    ("There is a horse <o> and a man <h>. The horse is being ridden by the man.", ["h ridden horse o"]),
    ("P1: man <h>\nO1: horse <o>\nO2: dog <p>\nO1 is next to O2\nP1 is riding O1", HORSE),
    ("There is a man <h>, and he is happy. There is a horse <o>.", None),
    ("Persons\nP1: <h>\nO1: <o>\nO2: dog <p>\nP1 is riding O1", None),
    ("There is a man <h> riding a horse <o>.", HORSE),
    ("P1: man <h>\nP2: man <i>\nO1: horse <o>\nP1 and P2 are riding O1", ["h riding horse o", "i riding horse o"]),
    ("P1: man <h>\nO1: horse <o>\nP1 is not riding O1", []),
)  # fmt: skip
RUNS = (
    ("The photo shows a man at <h> riding a horse at <o>, and a woman at <i> walking a dog at <p>.", TWO),
    ("I see a girl at <h> riding a horse at <o>, a boy at <i> walking a dog at <p>.", TWO),
    ("There is a man (<(h)>) riding a horse (<(o)>), and a woman (<(i)>) walking a dog (<(p)>).", TWO),
    ("A man located at <h> is riding a horse located at <o> "
     "and a woman located at <i> is walking a dog located at <p>.", TWO),
    ("One person at <h> is riding a horse at <o> while another person at <i> is walking a dog at <p>.", TWO),
    ("In the scene, the man in <h> is riding the horse in <o>, the woman in <i> is walking the dog in <p>.", None),
    ("We have: a man with box <h> riding a horse with box <o>, a woman with box <i> walking a dog with box <p>.", None),
    ("A young man at <h> is riding a brown horse at <o>; a young woman at <i> is walking a small dog at <p>.",
     ["h riding brown horse o", "i walking small dog p"]),
    ("The image depicts a rider at <h> riding a horse at <o>, plus a person at <i> walking a dog at <p>.", TWO),
    ("Subject: man, box: <h>; Verb: riding; Object: horse, box: <o>\n"
     "Subject: woman, box: <i>; Verb: walking; Object: dog, box: <p>", TWO),
    ("Human: person, coordinates: <h> | Action: riding | Object: horse, coordinates: <o>", HORSE),
    ("(Subject: man, location: <h>; Relation: riding; Object: horse, location: <o>)", HORSE),
    ("1. Agent: person, bbox: <h>; Action: riding; Target: horse, bbox: <o>", HORSE),
    ("- Human: man, bbox <h>; Interaction: riding; Object: horse, bbox <o>", HORSE),
    ("Subject: person, bbox: <h>, Predicate: riding, Object: horse, bbox: <o>", HORSE),
)  # fmt: skip


@pytest.mark.parametrize(("reply", "expected"), [*FIELDS, *LEGENDS, *RUNS])
def test_replies_in_other_layouts(tmp_path: Path, reply: str, expected: list[str] | None) -> None:
    """None: the reply is refused, because its words and boxes do not belong together for certain."""
    if expected is None:
        with pytest.raises(InputError):
            read(tmp_path, reply)
    else:
        assert read(tmp_path, reply) == expected


PERSON, CHAIR, BOOK = "person [0, 0, 90, 90]", "chair [10, 10, 50, 50]", "book [60, 60, 80, 80]"
SIT, HOLD = ("sitting on", "chair", 50.0), ("holding", "book", 80.0)


def read_pairs(tmp_path: Path, reply: str) -> list[tuple[str, str, float]]:
    table = read_reply(tmp_path, reply)
    assert (table.human_boxes[:, 2] == 90).all()
    return [(verb.lower(), thing, x2) for (verb, thing), x2 in zip(words(table), table.object_boxes[:, 2], strict=True)]


@pytest.mark.parametrize(
    "line",
    [
        "- **{verb}** – {person}, {thing}",
        "{verb}: {person} and {thing}",
        "{verb}: {thing}, {person}",
        "{verb} → {person} → {thing}",
        "{verb} = ({person}, {thing})",
        "- {verb} ({person}, {thing})",
        "({person}, {thing}): {verb}",
        "1. {person}, {thing} - {verb}",
        "Pair 1: {person}, {thing} -> {verb}",
        "{person} & {thing}\n- {verb}\n",
        "Pair 1: {person}, {thing}\nInteraction: {verb}\n",
    ],
)
def test_the_verb_of_a_pair_is_read_before_behind_and_below_the_pair(tmp_path: Path, line: str) -> None:
    pairs = [("sitting on", CHAIR), ("holding", BOOK)]
    reply = "\n".join(line.format(verb=verb, person=PERSON, thing=thing) for verb, thing in pairs)
    assert read_pairs(tmp_path, reply) == [SIT, HOLD]


DRAFT, FINAL = f"\n1. {PERSON} - kicking - {CHAIR}\n\n", f"\n1. {PERSON} - sitting on - {CHAIR}"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        # labels with colons in parentheses
        (f"- sitting on ({PERSON}, {CHAIR})\n- holding ({PERSON}, {BOOK})".replace(" [", ": ["), [SIT, HOLD]),
        # "it" is the object that starts the line
        (f"- {CHAIR}: the {PERSON} is sitting on it.\n- {BOOK}: the {PERSON} is holding it.", [SIT, HOLD]),
        # several verbs of a pair
        (f"{PERSON}, {CHAIR}\n- sitting on\n- holding", [SIT, ("holding", "chair", 50)]),
        (f"sitting on, holding: {PERSON}, {CHAIR}", [SIT, ("holding", "chair", 50)]),
        # a phrase before a pair keeps its object
        (f"- holding book: {PERSON}, {BOOK}", [HOLD]),
        # a draft above a final list is not read
        (f"Draft:{DRAFT}After checking, the correct list:{FINAL}", [SIT]),
        (f"**Initial guess:**{DRAFT}**Final answer:**{FINAL}", [SIT]),
        (f"First pass:{DRAFT}Refined:{FINAL}", [SIT]),
        # unless the final answer has no boxes
        (f"Initial list:\n{PERSON} - sitting on - {CHAIR}\n\nFinal answer: one person sits.", [SIT]),
    ],
)
def test_lines_of_pairs_are_read_completely(tmp_path: Path, reply: str, expected: list[tuple[str, str, float]]) -> None:
    assert read_pairs(tmp_path, reply) == expected


def test_a_number_behind_a_pair_is_its_score(tmp_path: Path) -> None:
    reply = f"holding: {PERSON}, {BOOK} (0.9)\n({PERSON}, {CHAIR}): sitting on (0.4)"
    assert read_reply(tmp_path, reply).score.tolist() == [0.9, 0.4]
