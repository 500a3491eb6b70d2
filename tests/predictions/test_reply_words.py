"""Verbs, objects and scores in labels with markup, and in sentences that name the interaction of a pair."""

import json
import re
from pathlib import Path

import pytest

from shoe.predictions import read_predictions

BOXES = {"human_box": [0, 0, 90, 90], "object_box": [10, 10, 50, 50]}
LINES = Path(__file__).parents[1].joinpath("data", "reply_words.tsv").read_text("utf-8").splitlines()[1:]


def record_of(form: str, reply: str) -> dict[str, object]:
    """Return a record whose verb or object, whose answer about a pair, or whose answer with boxes is ``reply``."""
    if form in ("verb", "object"):
        item = {**BOXES, "verb": "holding", "object": "cup"} | {form: reply}
        return {"image": "a.jpg", "response": json.dumps([item])}
    if form == "reply":
        return {"image": "a.jpg", **BOXES, "object": "cup", "response": reply}
    return {"image": "a.jpg", "response": reply}


def read(path: Path, form: str, reply: str) -> str:
    """Return the interactions in a reply, whose H and O are boxes, as "verb, object, score; ...", without assumed scores."""
    reply = reply.replace("\\n", "\n").replace("\\t", "\t")
    if form == "text":
        reply = re.sub(r"\bH\b", "[0, 0, 90, 90]", re.sub(r"\bO\b", "[10, 10, 50, 50]", reply))
    other = {"image": "b.jpg", "response": [{**BOXES, "verb": "hold", "object": "cup", "score": 0.125}]}
    path.write_text("\n".join(map(json.dumps, [other, record_of(form, reply)])))
    table = read_predictions(path)
    rows = zip(table.image, table.verb, table.object, table.score, strict=True)
    found = [(table.verbs[v], table.objects[o], score) for i, v, o, score in rows if table.images[i] == "a.jpg"]
    return "; ".join(f"{v}, {o}" + (f", {s:g}" if s > 0.125 else "") for v, o, s in found) or "-"


@pytest.mark.parametrize("line", LINES)
def test_markup_and_frames_around_a_verb_are_no_words(tmp_path: Path, line: str) -> None:
    form, right, reply = line.split("\t")
    assert read(tmp_path / "a.jsonl", form, reply) == right
