"""Every command with ``--json`` has a published schema; each call of ``tests.cli.run.run`` sees that it is kept."""

import json
from pathlib import Path

import pytest

from shoe.cli.app import COMMANDS
from shoe.report.schemas import SCHEMAS, json_schema
from tests.cli.run import run


def test_every_command_with_json_has_a_schema() -> None:
    commands = [[name, *sub] for name in COMMANDS for sub in (listed(name) if name in GROUPS else [[]])]
    helps = {" ".join(words): run(*words, "--help").stdout for words in commands}
    assert {command for command, text in helps.items() if "--json" in text} == set(SCHEMAS)


GROUPS = ("dataset", "bongard", "map", "study")


def listed(group: str) -> list[list[str]]:
    lines = run(group, "--help").stdout.split("Commands:\n")[1].splitlines()
    return [line.split()[:1] for line in lines if line.startswith("  ") and not line.startswith("   ")]


@pytest.mark.parametrize("command", SCHEMAS)
def test_the_published_schemas_are_those_of_the_code(command: str) -> None:
    path = Path(__file__).resolve().parents[2] / "docs" / "schemas" / f"{command.replace(' ', '-')}.json"
    assert json.loads(path.read_text()) == json_schema(command)
