"""The page "Rate HICO-DET with your five models": each of its commands, in order, against a local endpoint."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from shoe.demo import PREDICTIONS, TRUTH
from shoe.predictions import read_predictions, write_predictions
from shoe.similarity import SimilarityMap
from tests.cli import run as cli
from tests.llm.server import Server
from tests.llm.server_plan import Plan

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "rate-hico-det.md"
TRIAL = 'PLAN="--for predictions.jsonl"'
KEYS = {"OPENAI_API_KEY": "sk-test-hush-hush", "GATEWAY_KEY": "gateway-hush-hush"}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.M | re.S)


def commands() -> list[list[str]]:
    """All commands, with the plan that the page gives for a trial instead of that of the full map."""
    lines = "".join(blocks("sh")).splitlines()
    assert [line for line in lines if not line.startswith("shoe ")] == ['PLAN=""']
    assert TRIAL in PAGE.read_text()
    plan = TRIAL.partition('"')[2].rstrip('"')
    return [shlex.split(line.replace("$PLAN", plan))[1:] for line in lines if line.startswith("shoe ")]


@pytest.mark.slow
def test_every_command_of_the_page_works(tmp_path: Path) -> None:
    table = read_predictions(PREDICTIONS["free text"])
    write_predictions(table.select(np.arange(1)), tmp_path / "predictions.jsonl", "vlm")
    shutil.copy(TRUTH, tmp_path / "instances_test2015.json")
    raters, of_machine = blocks("toml")
    from tests.maps.raters import local_models  # skips without torch

    model = local_models.causal_model(tmp_path / "model")
    on_machine, count = re.subn(r'model = ".*"\ndtype = .*', f'model = "{model}"\nleast_mass = 0', of_machine)
    assert count == 1  # random weights give the digits little
    with Server(Plan()) as server:
        local, count = re.subn(r'base_url = "[^"?]*', f'base_url = "{server.url}', raters)
        assert count == raters.count("[[rater]]") == 5
        first, *tables = local.split("[[rater]]")
        for name, chosen in (("raters", range(5)), ("raters-1", (0, 1, 2)), ("raters-2", (0, 3, 4))):
            text = "[[rater]]".join([first, *(tables[index] for index in chosen)])
            (tmp_path / f"{name}.toml").write_text(text + on_machine * (name == "raters"))
        for command in commands():
            done = cli.run(*command, folder=tmp_path, environment=KEYS)
            assert done.returncode == 0, (command, done.stderr)
        requests = server.stats()["answers"]
    assert (len(requests), {times for of_model in requests.values() for times in of_model.values()}) == (5, {1})
    built, public = (SimilarityMap.load(tmp_path / name) for name in ("hico-five", "hico-five-public"))
    assert built.about["built"]["complete"]
    assert (public.digest, len(public.raters)) == (built.digest, 6)
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert not any(key.encode() in stored for key in KEYS.values())
    assert server.url.encode() not in (tmp_path / "hico-five-public" / "map.json").read_bytes()
