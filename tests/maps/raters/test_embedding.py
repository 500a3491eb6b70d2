"""Embeddings of glosses: as a slow loop has them, each sense encoded once, ratings by thresholds."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoe.core.arrays import Floats
from shoe.core.errors import ShoeError
from shoe.maps.config import identity_of
from shoe.maps.prompts import Question, SenseText
from shoe.maps.raters.baselines import Embedding, Encoder, text_of
from tests.maps.asking import PROMPTS, Memory, in_groups

pytestmark = pytest.mark.slow

SENSES = [SenseText(f"act.v.{n:02d}", (f"act {n}",) * (1 + n % 7), "do thing; " * (n % 11)) for n in range(12)]
QUESTIONS = [Question(f"{n:016d}".encode(), "verb", a, b) for n, (a, b) in enumerate(combinations(SENSES, 2))]


def config(model: Path | str = "a/model", **changed: Any) -> Embedding:
    return Embedding(**{"name": "gloss", "model": str(model), "device": "cpu"} | changed)


def cosines(rater: Embedding, questions: list[Question] = QUESTIONS, size: int = 5) -> dict[bytes, float]:
    backend, memory = rater.backend(PROMPTS), Memory()
    backend.rate(in_groups(questions, size), memory)
    pairs = ((zip(group.keys, group.about()["ids"], strict=True), raw["cosines"]) for group, raw in memory.answers)
    return {key: of[name] for names, of in pairs for key, name in names}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small encoder; tests that take it are left out, with the reason, where torch is not installed."""
    from tests.maps.raters import local_models

    return local_models.encoder_model(tmp_path_factory.mktemp("encoder"))


def test_ratings_are_steps_of_the_cosine_whatever_the_order_of_ids() -> None:
    raw = {"cosines": {"101": -0.2, "102": 0.3999, "103": 0.4, "104": 0.5, "105": 0.75, "106": 1.0}}
    backend = config(thresholds=(0.4, 0.5, 0.6, 0.75)).backend(PROMPTS)
    assert backend.parse(["101", "102", "103", "104", "105", "106"], raw) == [0, 0, 1, 2, 4, 4]
    assert backend.parse(["106", "101"], raw) == [4, 0]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"thresholds": (0.4, 0.3, 0.6, 0.7)}, "[0.4, 0.3, 0.6, 0.7], expected 4 "),
        ({"repeats": 2}, "repeats is 2, expected 1"),
    ],
)
def test_what_cannot_be_is_said_before_a_model_is_loaded(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(ShoeError, match="rater 'gloss'") as caught:
        config(**changed).backend(PROMPTS)
    assert said in str(caught.value)


def test_thresholds_are_no_part_of_the_key_and_the_text_is() -> None:
    assert identity_of(config(thresholds=(0.1, 0.2, 0.3, 0.4))) == identity_of(config())
    assert "lemmas: gloss" in identity_of(config())["settings"]["text"]
    assert text_of(SenseText("ride.v.01", ("ride", "sit"), "be")) == "ride, sit: be"


@pytest.mark.parametrize("batch_size", [1, 4])
def test_cosines_are_those_of_a_slow_loop(model: Path, batch_size: int) -> None:
    found = cosines(config(model, batch_size=batch_size))
    vector = {sense: slowly(model, text_of(sense)) for sense in SENSES}
    for question in QUESTIONS:
        expected = float(vector[question.first] @ vector[question.second])
        assert found[question.key] == pytest.approx(expected, abs=1e-4)
    assert len(set(found.values())) > len(found) / 2


def test_a_pair_is_answered_alike_in_whatever_company(model: Path) -> None:
    rater = config(model, batch_size=4)
    together = cosines(rater)
    assert cosines(rater, QUESTIONS[::-1], size=1) == together
    assert cosines(rater, QUESTIONS[:20]) | cosines(rater, QUESTIONS[20:], size=100) == together


def test_each_sense_is_encoded_once(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []
    encode = Encoder.encode

    def noted(encoder: Encoder, texts: Sequence[str]) -> Floats:
        encoded.extend(texts)
        return encode(encoder, texts)

    monkeypatch.setattr(Encoder, "encode", noted)
    cosines(config(model))
    assert sorted(encoded) == sorted({text_of(sense) for sense in SENSES})


def test_a_budget_ends_it(model: Path) -> None:
    spent = Memory(most_requests=4)
    config(model).backend(PROMPTS).rate(in_groups(QUESTIONS), spent)
    assert len(spent.answers) == 4


def test_a_text_longer_than_the_model_reads_is_cut(model: Path) -> None:
    long, longer = (SenseText(f"a.v.0{n}", ("a",), "do thing; " * 100 * n) for n in (2, 3))
    found = cosines(config(model), [Question(bytes(16), "verb", long, longer)])
    assert found[bytes(16)] == 1.0


def slowly(folder: Path, text: str) -> Any:
    """One text alone, unpadded: the mean of its tokens' last states, of length 1."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokens = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt", truncation=True)
    with torch.no_grad():
        states = AutoModel.from_pretrained(folder)(input_ids=tokens["input_ids"]).last_hidden_state[0]
    mean = states.mean(dim=0).double().numpy()
    return mean / np.linalg.norm(mean)
