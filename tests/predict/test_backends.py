"""The same tiny models through each back end: the same answers, the same probabilities, in whatever batches."""

from collections.abc import Mapping, Sequence
from math import exp
from pathlib import Path
from typing import Any

import pytest

from shoe.predict.answers import Answers
from shoe.predict.backends import BACKENDS, BackendConfig, backend_of
from shoe.predict.backends.endpoint import Endpoint
from shoe.predict.backends.transformers import Prefix, Transformers
from shoe.predict.backends.vllm import VLLM
from shoe.predict.questions import YES_NO, Question
from shoe.predict.records import Answer
from shoe.predict.scored import word_shares
from tests.errors import option_error
from tests.predict import tiny_models
from tests.predict.asking import Noise, questions
from tests.predict.vlm_server import Served, VlmServer

pytestmark = pytest.mark.slow
CLOSE = 2e-5
TOP = 30


@pytest.fixture(scope="module", params=tiny_models.MODELS)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.made(request.param, tmp_path_factory.mktemp("model"))


def asked() -> list[Question]:
    """Questions about one picture each, in several sizes, and one about two pictures."""
    about = {"image": "1.jpg", "way": "phrase"}
    return [*questions(3), Question([Noise(1), Noise(7, 100, 50)], "What differs?", "Be brief.", about=about)]


def answered(path: Path, config: BackendConfig) -> list[Answer]:
    counts = Answers(path, config).ask(asked)
    assert counts == {"probabilities": len(asked())}
    return list(Answers(path, config).answers_to(asked()))


def local(model: Path, path: Path, **settings: Any) -> list[Answer]:
    return answered(path, Transformers(model=str(model), **settings))


def same(first: Sequence[Answer], second: Sequence[Answer]) -> None:
    assert [one.text for one in first] == [one.text for one in second]
    for one, other in zip(first, second, strict=True):
        ours, theirs = one.tokens or (), other.tokens or ()
        assert [token.text for token in ours] == [token.text for token in theirs]
        assert [token.logprob for token in ours] == pytest.approx([token.logprob for token in theirs], abs=CLOSE)


def test_batched_is_single_and_a_shared_picture_is_its_own(model: Path, tmp_path: Path) -> None:
    batched, single = (local(model, tmp_path / f"{n}", batch_size=n, most_tokens=5, top=TOP) for n in (4, 1))
    same(batched, single)
    # Answers differ from question to question, or equality would show nothing.
    assert len({one.text for one in batched}) > 3
    # What is kept beside a token is the same for it alone: words are those of its own question.
    kept = [{other.id for token in one.tokens or () for other in token.top} for one in batched]
    assert all(len(one.tokens[0].top) >= TOP for one in batched if one.tokens)
    assert kept == [{other.id for token in one.tokens or () for other in token.top} for one in single]


def test_what_questions_have_in_common_is_read_once_and_gives_the_same_figures(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[bool] = []
    compare = Prefix.compare

    def heard(self: Prefix, ours: object, plain: object) -> None:
        compare(self, ours, plain)
        compared.append(self.works)

    monkeypatch.setattr(Prefix, "compare", heard)
    settings = {"batch_size": 3, "most_tokens": 5, "top": TOP}
    shared = local(model, tmp_path / "a", **settings)
    assert compared == [True]
    # Where figures are others, the plain ones are kept, and nothing is shared any more.
    monkeypatch.setattr(Prefix, "read", lambda self, split, pictures: dict(split.whole))
    same(shared, local(model, tmp_path / "b", **settings))
    assert compared == [True, False]


def test_an_endpoint_that_serves_the_model_says_the_same(model: Path, tmp_path: Path) -> None:
    here = local(model, tmp_path / "a", most_tokens=5, top=TOP, batch_size=4)
    with VlmServer(Served(model)) as server:
        there = answered(tmp_path / "b", Endpoint(model="tiny", base_url=server.url, most_tokens=5, top=TOP))
    same(here, there)
    for one, other in zip(here, there, strict=True):
        assert all(
            [place.logprob for place in ours.top[:TOP]] == pytest.approx([p.logprob for p in theirs.top], abs=CLOSE)
            for ours, theirs in zip(one.tokens or (), other.tokens or (), strict=True)
        )


def test_probabilities_are_raw_whatever_settings_a_model_ships(model: Path, tmp_path: Path) -> None:
    tokens = [token for one in local(model, tmp_path / "a", most_tokens=3, top=400) for token in one.tokens or ()]
    # Qwen2.5-VL ships a temperature of 1e-6: processed, each token would have probability 1.
    assert max(exp(token.logprob) for token in tokens) < 0.9
    assert all(sum(exp(other.logprob) for other in token.top) == pytest.approx(1, abs=1e-4) for token in tokens)
    assert all(token.logprob == max(other.logprob for other in token.top) for token in tokens)


def test_words_have_their_probability_however_unlikely(model: Path, tmp_path: Path) -> None:
    few, all_ = (
        [one for one in local(model, tmp_path / f"{top}", most_tokens=1, top=top) if one.way == "yes-no"]
        for top in (1, 400)
    )
    shares = [(word_shares(one, YES_NO) or [0.0])[0] for one in few]
    assert shares == pytest.approx([(word_shares(one, YES_NO) or [1.0])[0] for one in all_], abs=CLOSE)
    assert len(set(shares)) == len(shares)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_less_precision_is_near_float32(model: Path, tmp_path: Path, dtype: str) -> None:
    whole, half = (local(model, tmp_path / kind, most_tokens=1, top=400, dtype=kind) for kind in ("float32", dtype))
    for one, other in zip(whole, half, strict=True):
        ours = {place.id: exp(place.logprob) for token in one.tokens or () for place in token.top}
        theirs = {place.id: exp(place.logprob) for token in other.tokens or () for place in token.top}
        assert max(abs(ours[token] - theirs[token]) for token in ours) < 0.05


def test_the_offline_engine_says_the_same(model: Path, tmp_path: Path) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed: pip install vllm")
    here = local(model, tmp_path / "a", most_tokens=5, top=20)
    engine = {"max_model_len": 512, "enforce_eager": True}
    same(here, answered(tmp_path / "b", VLLM(model=str(model), most_tokens=5, dtype="float32", engine=engine)))


def test_models_that_cannot_be_asked_are_one_line(tmp_path: Path) -> None:
    from tests.maps.raters.local_models import causal_model

    mute = tiny_models.llava(tmp_path / "mute", template=None)
    blind = tiny_models.llava(tmp_path / "blind", template=tiny_models.TEMPLATE.replace("IMAGE", ""))
    text = causal_model(tmp_path / "text")
    found: Mapping[Path, tuple[str, ...]] = {
        mute: ("no chat template",),
        blind: ("chat template of", "ignores images"),
        text: ("no image processor", "vision-language model"),
        tmp_path / "nowhere": ("cannot be loaded",),
    }
    for folder, values in found.items():
        with option_error(*values) as error:
            Transformers(model=str(folder)).open()
        assert "\n" not in str(error.value)
    asking = Question([Noise(0)], "?", words=("perhaps",), about={"image": "0.jpg", "way": "yes-no"})
    answers = Answers(tmp_path / "a", Transformers(model=str(tiny_models.llava(tmp_path / "llava"))))
    with option_error("no single token", "'perhaps'"):
        answers.ask(lambda: [asking])


def test_back_ends_have_names_and_say_what_is_not_there() -> None:
    assert [backend_of(name).kind for name in BACKENDS] == list(BACKENDS)
    with option_error("back end 'vlm'", "vllm"):
        backend_of("vlm")
