"""The stage about what asking a vision-language model costs: batches against a plain loop of generate.

The models have random weights, made through transformers' own classes, in any size; answers are of no use, times are.
The plain loop is what a model's page shows: the processor on one image and one question, then generate. Ours asks the
same questions, those of an image one after the other, and keeps every answer with its logits. Processor time is used,
of one thread for torch; on a GPU, where processor time says little, wall time. Ratios are to the plain loop of the same
run; our own share is what is neither the model's nor its processor's, as a part of the model's time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, thread_time
from typing import Any

from benchmarks.shared import Row
from shoe.predict.answers import Answers
from shoe.predict.backends.transformers import Transformers
from shoe.predict.questions import Question

Clock = Callable[[], float]


class Timed:
    """A function, and the seconds that calls of it took in their threads."""

    def __init__(self, function: Callable[..., Any], clock: Clock) -> None:
        """Wrap a function."""
        self._function, self._clock, self.seconds = function, clock, 0.0

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call it."""
        start = self._clock()
        try:
            return self._function(*arguments, **named)
        finally:
            self.seconds += self._clock() - start


def predict(
    _: str,
    *,
    model: str = "qwen2.5-vl",
    hidden: int = 256,
    layers: int = 6,
    images: int = 8,
    each: int = 12,
    tokens: int = 1,
    side: int = 448,
    batches: tuple[int, ...] = (1, 8, 16),
    device: str = "cpu",
    dtype: str = "float32",
) -> list[Row]:
    """Ask a model of random weights.

    Args:
        _: unused folder of predictions.
        model: a name of tests/predict/tiny_models.py.
        hidden: width of the text model; half of it is the width of the image model.
        layers: layers of the model.
        images: number of images.
        each: questions about an image.
        tokens: most tokens of an answer.
        side: pixels of an image's side.
        batches: sizes of batches.
        device: cpu or cuda.
        dtype: type of the weights.
    """
    from tests.predict import tiny_models
    from tests.predict.asking import Noise, questions

    clock, of_thread = (process_time, thread_time) if device == "cpu" else (perf_counter, perf_counter)
    tiny_models.torch.set_num_threads(1)
    every = [
        Question([Noise(i, side, side)], one.text, words=one.words, about=one.about)
        for i in range(images)
        for one in questions(1, each)
    ]
    with TemporaryDirectory() as folder:
        made = tiny_models.made(model, Path(folder) / "model", tiny_models.Size(layers, hidden, side**2))
        settings: dict[str, Any] = {"model": str(made), "most_tokens": tokens, "device": device, "dtype": dtype}
        opened: Any = Transformers(**settings).open()
        weights = sum(weight.numel() for weight in opened._model._model.parameters())
        plain = plain_loop(opened._model, every, tokens, clock)
        ms = 1000 / len(every)
        found = [
            Row(f"weights of {model}, {dtype} on {device}", weights / 1e6, "million"),
            Row("plain loop of generate, a question", ms * plain, "ms"),
        ]
        for size in batches:
            config = Transformers(batch_size=size, **settings)
            whole, of_model, of_processor = ours(config, every, Path(folder) / f"{size}.jsonl", clock, of_thread)
            own = whole - of_model - of_processor
            found += [
                Row(f"batches of {size}, a question", ms * whole, "ms"),
                Row("  plain loop / this", plain / whole, "×"),
                Row("  of it the model", ms * of_model, "ms"),
                Row("  of it the model's processor", ms * of_processor, "ms"),
                Row("  of it our own", ms * own, "ms"),
                Row("  our own / the model", own / of_model, "×"),
            ]
    return found


def plain_loop(model: Any, every: list[Question], tokens: int, clock: Clock) -> float:
    """Ask one question after the other, as documentation shows it; seconds."""
    torch, processor = model.torch, model._processor

    def ask(question: Question) -> None:
        content = [{"type": "image", "image": question.pictures[0].open()}, {"type": "text", "text": question.text}]
        inputs = processor.apply_chat_template(
            [{"role": "user", "content": content}],
            tokenize=True,
            add_generation_prompt=True,
            return_dict=True,
            return_tensors="pt",
        ).to(model.device, dtype=model._model.dtype)
        with torch.inference_mode():
            made = model._model.generate(
                **inputs, max_new_tokens=tokens, do_sample=False, output_logits=True, return_dict_in_generate=True
            )
        torch.stack(made.logits).log_softmax(-1).max(-1).values.tolist()

    ask(every[0])
    start = clock()
    for question in every:
        ask(question)
    return clock() - start


def ours(
    config: Transformers, every: list[Question], path: Path, clock: Clock, of_thread: Clock
) -> tuple[float, float, float]:
    """Ask in batches and keep the answers; seconds of all, of the model, and of its processor."""
    opened: Any = config.open()
    model = opened._model
    model.answer(model.prepare(every[:1]))  # warm, as the plain loop is
    encoder = model._encoder
    encoder._texts, encoder._seen = {}, {}
    of_model = [Timed(one, of_thread) for one in (model._model.generate, encoder._encoded, model._prefix.read)]
    model._model.generate, encoder._encoded, model._prefix.read = of_model
    processor = encoder._processor
    of_processor = [Timed(one, of_thread) for one in (processor, processor.tokenizer, processor.apply_chat_template)]
    encoder._processor = Stands(processor, of_processor[0], Stands(processor.tokenizer, of_processor[1]))
    model._processor.apply_chat_template = of_processor[2]

    class Opened(Transformers, frozen=True, kw_only=True):
        def open(self) -> Any:
            return opened

    def asked() -> Iterator[Question]:
        return iter(every)

    answers = Answers(path, Opened(**{name: getattr(config, name) for name in config.__struct_fields__}))
    start = clock()
    answers.ask(asked)
    whole = clock() - start
    return whole, sum(one.seconds for one in of_model), sum(one.seconds for one in of_processor)


class Stands:
    """Stands for a processor, or for its tokenizer, whose calls are timed."""

    def __init__(self, stood_for: Any, called: Timed, tokenizer: Any = None) -> None:
        """Take what it stands for."""
        self._stood_for, self._called, self._tokenizer = stood_for, called, tokenizer

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Process pictures and texts."""
        return self._called(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        """All else is as it is."""
        return self._tokenizer if name == "tokenizer" else getattr(self._stood_for, name)
