"""Raters that run on this machine: their settings, and batches whose shape does not depend on chance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import signature
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats
from shoe.core.errors import OptionError, quote
from shoe.llm.ledger import State
from shoe.llm.request import Recorder
from shoe.maps.config import Backend, RaterConfig, setting
from shoe.maps.local_models import LocalModel, files_of
from shoe.maps.prompts import Group, Prompts, Rendered
from shoe.similarity.ensemble import HIGHEST

Tokens = NDArray[np.int64]
Item = TypeVar("Item")

Thresholds = tuple[float, float, float, float]


class LocalRater(RaterConfig, frozen=True, kw_only=True):
    """What the kinds that run a model here have in common."""

    is_local: ClassVar[bool] = True

    device: Annotated[
        Literal["auto", "cpu", "cuda"], setting("where it runs; auto: a GPU if there is one", key=False)
    ] = "auto"
    dtype: Annotated[
        Literal["float32", "bfloat16", "float16"], setting("precision of weights and sums; the others save memory")
    ] = "float32"
    batch_size: Annotated[int, setting("how many sequences it reads at once", key=False, ge=1, le=1_000_000)] = 16

    def identity(self) -> dict[str, str]:
        """Say which model a folder holds; nothing for one of the hub, where ``revision`` does."""
        return files_of(self.model)


LENGTH_STEP = 32
"""Tokens: sequences are padded to the next multiple."""


class Model(LocalModel):
    """A rater's model, with its tokenizer."""

    def __init__(self, config: LocalRater, kind: str, **more: str) -> None:
        """Load a model.

        Args:
            kind: transformers' class for models of its kind.
            more: further arguments of ``from_pretrained`` that find the model.
        """
        rater = f"rater {quote(config.name)}"
        super().__init__(config, f"{rater}: model {quote(config.model)}", "local", owner=rater)
        self.tokenizer = self.load("AutoTokenizer", **more)
        self.model = self.load_weights(kind, **more)


def check(config: RaterConfig, thresholds: Sequence[float] = ()) -> None:
    """See that what gives the same answer each time is asked once, and that its thresholds rise."""
    who = f"rater {quote(config.name)}"
    if config.repeats != 1:
        same = f"kind {config.kind} answers a question the same each time"
        raise OptionError(f"{who}: repeats is {config.repeats}, expected 1: {same}")
    if list(thresholds) != sorted(thresholds):
        found = quote(list(thresholds))
        raise OptionError(f"{who}: thresholds are {found}, expected {len(thresholds)} rising numbers")


def batches(items: Iterable[tuple[Item, Sequence[int]]], size: int) -> Iterator[tuple[int, list[tuple[Item, Any]]]]:
    """Gather sequences of tokens that are padded to one length, in batches of ``size``; the last ones may be smaller.

    With :func:`padded`, the shape that the arithmetic sees follows from a sequence's own length alone: its figures do
    not depend on the sequences beside it.

    Yields:
        The padded length, and the items with their tokens.
    """
    waiting: defaultdict[int, list[tuple[Item, Any]]] = defaultdict(list)
    for item, tokens in items:
        length = -(-len(tokens) // LENGTH_STEP) * LENGTH_STEP
        waiting[length].append((item, tokens))
        if len(waiting[length]) == size:
            yield length, waiting.pop(length)
    for length in sorted(waiting):
        yield length, waiting[length]


def padded(sequences: Sequence[Sequence[int]], size: int, length: int, padding: int, side: str) -> Mapping[str, Tokens]:
    """Put sequences into arrays of one shape.

    Args:
        sequences: 1 to ``size`` sequences of tokens; further rows repeat the first.
        padding: the token to fill up with.
        side: "left" or "right", where to fill up.

    Returns:
        ``input_ids`` and ``attention_mask`` (size, length), and ``position_ids`` that count the tokens of a sequence.
    """
    ids = np.full((size, length), padding, np.int64)
    mask = np.zeros((size, length), np.int64)
    for row in range(size):
        tokens = sequences[row if row < len(sequences) else 0]
        columns = slice(length - len(tokens), length) if side == "left" else slice(0, len(tokens))
        ids[row, columns], mask[row, columns] = tokens, 1
    return {
        "input_ids": ids,
        "attention_mask": mask,
        "position_ids": np.maximum(mask.cumsum(axis=1) - 1, 0),
    }


# Kind ``transformers``: a causal language model on this machine, read without letting it write.
#
# Each prompt is put into the model's chat template and the answer is begun for it, up to where the rating stands
# (``{"rating": ``). The rating is the mean of the probabilities of 0 to 4 there, sum(k p_k) / sum(p_k), rounded half
# up,
# or the most probable; where they have less than ``least_mass`` of all probability together (the mass), there is none.
#
# The probability of a rating is the sum over all tokens that are this digit when blanks are stripped off ("3" and "
# 3").
# What may follow is not read: a model that would go on to "3.5" or "10" counts as 3 or 1.
#
# A pair's figures do not depend on the pairs that are read beside it (:func:`shoe.maps.raters.local.batches`). Another
# ``batch_size`` or processor moves the last bits of floating-point sums; figures are rounded to four digits.

_DIGITS = 4
_UNIT = 10**_DIGITS
_PROBE = "instructions"


class Transformers(LocalRater, frozen=True, kw_only=True):
    """a causal language model on this machine, read without letting it write."""

    kind: ClassVar[str] = "transformers"

    gguf_file: Annotated[
        str, setting("name of a GGUF file in the model's folder or repository, instead of other weights")
    ] = ""
    answer_start: Annotated[str, setting("how an answer begins, up to the rating; as the prompts ask for it")] = (
        '{"rating": '
    )
    read: Annotated[
        Literal["expected", "argmax"],
        setting("the mean of 0 to 4 by their probabilities, rounded, or the most probable", key=False, reads=True),
    ] = "expected"
    least_mass: Annotated[
        float, setting("probability that 0 to 4 must have together to count", key=False, reads=True, ge=0.0, le=1.0)
    ] = 0.01

    def backend(self, prompts: Prompts) -> Backend:
        """Make the rater; the model is loaded when it first rates."""
        check(self)
        return _Probabilities(self, prompts)


class _Probabilities:
    def __init__(self, config: Transformers, prompts: Prompts) -> None:
        self._config = config
        self._prompts = prompts

    def rate(self, groups: Iterator[Group], recorder: Recorder) -> None:
        """Read the model's probabilities, a batch of prompts of about one length at a time."""
        model = Reader(self._config)
        prompts = ((group, model.tokens_of(self._prompts.render(group.questions, several=False))) for group in groups)
        for length, batch in batches(prompts, model.batch_size):
            if recorder.stopping:
                return
            # Not before the batch is full: what waits for company has not been asked.
            asked = [(group, tokens) for group, tokens in batch if recorder.may_ask(group)]
            if asked:
                given, mass = model.read([tokens for _, tokens in asked], length)
                for (group, tokens), shares, total in zip(asked, given, mass, strict=True):
                    raw = {
                        "probabilities": np.round(shares, _DIGITS).tolist(),
                        "mass": float(f"{total:.{_DIGITS}g}"),
                        "usage": {"prompt_tokens": len(tokens), "completion_tokens": 0},
                    }
                    recorder.answer(group, raw)
            if len(asked) < len(batch):
                return

    def parse(self, ids: Sequence[str], raw: Mapping[str, Any]) -> list[int]:
        """Read the rating of the one pair that was asked."""
        if raw["mass"] < self._config.least_mass:
            return [State.UNPARSED_ONCE]
        # In whole ten-thousandths: halves are halves, whatever floating point makes of them.
        shares = [round(share * _UNIT) for share in raw["probabilities"]]
        if self._config.read == "argmax":
            return [shares.index(max(shares))]
        weighted = sum(rating * share for rating, share in enumerate(shares))
        return [(2 * weighted + sum(shares)) // (2 * sum(shares))]


class Reader(Model):
    """A causal language model."""

    def __init__(self, config: Transformers) -> None:
        """Load the model; see :class:`~shoe.maps.raters.local.Model`."""
        super().__init__(
            config, "AutoModelForCausalLM", **({"gguf_file": config.gguf_file} if config.gguf_file else {})
        )
        self.batch_size, self._dtype = config.batch_size, config.dtype
        text_config = self.model.config.get_text_config()
        self._context: int | None = getattr(text_config, "max_position_embeddings", None)
        self._accepted = signature(self.model.forward).parameters
        self._folded = not _has_system_role(self.tokenizer)
        self._start = config.answer_start
        self._ratings = self._rating_tokens(text_config.vocab_size)

    def tokens_of(self, prompt: Rendered) -> list[int]:
        """Return the tokens of a prompt and of its answer's beginning, up to where the rating stands."""
        # With a rating behind it, then without: a tokenizer may join the blank before a digit to the digit.
        tokens = self._tokenize(f"{self._conversation(prompt)}{self._start}0")[:-1]
        if self._context is not None and len(tokens) > self._context:
            raise OptionError(f"{self.name} reads {self._context} tokens, a prompt has {len(tokens)}")
        return tokens

    def read(self, prompts: Sequence[Sequence[int]], length: int) -> tuple[Floats, Floats]:
        """Read what the model would say after n prompts, at most ``batch_size``, each padded to a length.

        Returns:
            (n, 5) the shares of the ratings 0 to 4 among each other, and (n,) the probability of all five together.
        """
        padding = self.tokenizer.pad_token_id
        arrays = padded(prompts, self.batch_size, length, 0 if padding is None else padding, "left")
        try:
            shares, mass = self._read(arrays)
        except self.torch.OutOfMemoryError:
            raise OptionError(
                f"{self.name} does not fit into the device's memory with batches of {self.batch_size}: "
                "make batch_size smaller, or dtype bfloat16"
            ) from None
        if not np.isfinite(shares).all():
            raise OptionError(f"{self.name} gives no finite figures in {self._dtype}: try another dtype")
        return shares[: len(prompts)], mass[: len(prompts)]

    def _read(self, arrays: Mapping[str, Tokens]) -> tuple[Floats, Floats]:
        torch = self.torch
        with torch.inference_mode():
            tensors = {name: torch.from_numpy(array).to(self.device) for name, array in arrays.items()}
            wanted = {"logits_to_keep": 1, "use_cache": False, **tensors}
            found = self.model(**{name: value for name, value in wanted.items() if name in self._accepted})
            scores = found.logits[:, -1].double()
            of_ratings = torch.stack([scores[:, tokens].logsumexp(dim=1) for tokens in self._ratings], dim=1)
            mass = (of_ratings.logsumexp(dim=1) - scores.logsumexp(dim=1)).exp()
            return of_ratings.softmax(dim=1).cpu().numpy(), mass.cpu().numpy()

    def _conversation(self, prompt: Rendered) -> str:
        if not self.tokenizer.chat_template:
            return f"{self.tokenizer.bos_token or ''}{prompt.system}\n\n{prompt.user}\n"
        return _templated(self.tokenizer, _messages(prompt.system, prompt.user, folded=self._folded))

    def _tokenize(self, text: str) -> list[int]:
        tokens: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return tokens

    def _rating_tokens(self, vocabulary: int) -> list[list[int]]:
        """The tokens of each rating 0 to 4, all of the vocabulary's that are that digit."""
        texts = self.tokenizer.batch_decode([[token] for token in range(min(vocabulary, len(self.tokenizer)))])
        found: dict[str, list[int]] = {str(rating): [] for rating in range(HIGHEST + 1)}
        for token, text in enumerate(texts):
            if text.strip() in found:
                found[text.strip()].append(token)
        begun = {rating: self._tokenize(self._start + rating) for rating in found}
        before = {tuple(tokens[:-1]) for tokens in begun.values()}
        if len(before) != 1 or not all(begun[rating][-1] in tokens for rating, tokens in found.items()):
            raise OptionError(f"{self.name} has no tokens of their own for 0 to 4 after {quote(self._start)}")
        return list(found.values())


def _has_system_role(tokenizer: Any) -> bool:
    """Whether a chat template shows what has the role system; some refuse it, some leave it out in silence."""
    if not tokenizer.chat_template:
        return False
    from jinja2 import TemplateError

    try:
        return _PROBE in _templated(tokenizer, _messages(_PROBE, "question", folded=False))
    except TemplateError:
        return False


def _messages(system: str, user: str, *, folded: bool) -> list[dict[str, str]]:
    if folded:
        return [{"role": "user", "content": f"{system}\n\n{user}"}]
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def _templated(tokenizer: Any, messages: Sequence[Mapping[str, str]]) -> str:
    # Templates of models that think first have a switch of this name; others do not look at it.
    text: str = tokenizer.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
    )
    return text
