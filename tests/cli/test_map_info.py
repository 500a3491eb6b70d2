"""``shoe map info`` as a user runs it."""

import json
from pathlib import Path

from tests.cli.maps import as_json, run
from tests.cli.run import refused
from tests.maps.samples import made


def test_the_shipped_map_is_described() -> None:
    done = run("info", "hico-det")
    assert (done.returncode, done.stderr) == (0, "")
    rows = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert rows[0].startswith("hico-det (ef142440) · classes of hico-det · 122,454 verb pairs and 50,543 object pairs")
    assert "pass_a verbs 39,445 83,009 33,774 3,292 1,628 673 78 0.23" in rows
    assert "pass_a pass_b verbs 39,445 95.6 0.941 0.941" in rows
    assert "pass_a extension objects 0 – – –" in rows
    assert "objects 50,543 50,543 80 80 of 80 271 423 6,638" in rows
    assert any(row.startswith("provenance: One large language model rated all pairs") for row in rows)
    assert any(row.startswith("licence: Ratings: MIT") for row in rows)
    warnings = [f"warning: objects: rater '{name}' rated no pair" for name in ("reading_d", "reading_g")]
    assert [row for row in rows if row.startswith("warning")] == warnings


def test_json_has_the_documented_keys() -> None:
    found = as_json("info", "hico-det")
    assert found["raters"][0]["verbs"] == {"rated": 39445, "missing": 83009, "histogram": [33774, 3292, 1628, 673, 78]}
    assert len(found["verbs"]["coverage"]) == 119
    assert found["verbs"]["agreement"][1] == {"raters": ["pass_a", "extension"], "pairs": 0}
    assert [rater["weight"] for rater in found["raters"]] == [0.5, 0.5, 1, 1, 1, 0.5, 0.5, 1]
    assert [rater["omits"] for rater in found["raters"]] == [True, True, *[False] * 6]


def test_json_to_a_file_beside_the_text(tmp_path: Path) -> None:
    done = run("info", "hico-det", "--json", tmp_path / "map.json")
    assert "122,454 verb pairs" in done.stdout
    assert json.loads((tmp_path / "map.json").read_text())["digest"] == "ef142440"


def test_missing_classes_are_warned_of(tmp_path: Path) -> None:
    made(tmp_path / "a")
    done = run("info", tmp_path / "a")
    assert "warning: verbs: 118 class senses of hico-det are not in the map at all" in done.stdout


def test_hostile_prose_is_shown_harmless(tmp_path: Path) -> None:
    made(tmp_path / "a", provenance="\x1b[31mred\u202e", notes={"[bold]k\x07": ["\x1b]0;title\x07"]})
    about = json.loads((tmp_path / "a" / "map.json").read_text())
    about["raters"][0] |= {"note": "\x1b[2J", "refused\x1b": "[red]5"}
    (tmp_path / "a" / "map.json").write_text(json.dumps(about))
    done = run("info", tmp_path / "a")
    assert done.returncode == 0
    assert all(character.isprintable() or character == "\n" for character in done.stdout)
    assert "[red]5" in done.stdout
    assert "[bold]k" in done.stdout


def test_mistakes_are_answered(tmp_path: Path) -> None:
    refused(run("info", "hico-dett"), "unknown similarity map 'hico-dett' (did you mean hico-det?)")
    made(tmp_path / "a")
    table = tmp_path / "a" / "objects.tsv"
    table.write_text(table.read_text().replace("\t4\t", "\t7\t"))
    refused(run("info", tmp_path / "a"), "objects.tsv: line 3: one: found '7', expected a rating 0 to 4")
    refused(run("info", "hico-det", "--json", tmp_path / "no" / "x.json"), "x.json: found")
