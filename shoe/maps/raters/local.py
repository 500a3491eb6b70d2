"""Raters that run a model on this machine: settings, reproducible batches, and the kind ``transformers``."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
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
    """Settings that all raters with a model on this machine have in common."""

    is_local: ClassVar[bool] = True

    device: Annotated[
        Literal["auto", "cpu", "cuda"], setting("device of the model; auto: a GPU if there is one", key=False)
    ] = "auto"
    dtype: Annotated[
        Literal["float32", "bfloat16", "float16"], setting("precision of weights and computations; 16 bits save memory")
    ] = "float32"
    batch_size: Annotated[int, setting("number of sequences per batch", key=False, ge=1, le=1_000_000)] = 16

    def identity(self) -> dict[str, str]:
        """Return {"files": fingerprint of the files} if the model is a folder; {} if it is on the Hugging Face Hub."""
        return files_of(self.model)


LENGTH_STEP = 32
"""Sequences are padded to the next multiple of this number of tokens."""


class Model(LocalModel):
    """Model of a rater on this machine, with its tokenizer."""

    def __init__(self, config: LocalRater, kind: str, **more: str) -> None:
        """Load the tokenizer, and the model as transformers class ``kind``; ``more`` are further arguments for both."""
        rater = f"rater {quote(config.name)}"
        super().__init__(config, f"{rater}: model {quote(config.model)}", "local", owner=rater)
        self.tokenizer = self.load("AutoTokenizer", **more)
        self.model = self.load_weights(kind, **more)


def check(config: RaterConfig, thresholds: Sequence[float] = ()) -> None:
    """Raise OptionError if a deterministic rater has ``repeats`` other than 1, or ``thresholds`` are not ascending."""
    who, same = f"rater {quote(config.name)}", f"kind {config.kind} gives the same answer each time"
    if config.repeats != 1:
        raise OptionError(f"{who}: repeats is {config.repeats}, expected 1: {same}")
    if list(thresholds) != sorted(thresholds):
        found = quote(list(thresholds))
        raise OptionError(f"{who}: thresholds are {found}, expected {len(thresholds)} numbers in ascending order")


def batches(items: Iterable[tuple[Item, Sequence[int]]], size: int) -> Iterator[tuple[int, list[tuple[Item, Any]]]]:
    """Yield (padded length, batch) for pairs of any object and its token sequence; a batch has ``size`` pairs or fewer.

    A model's result for a sequence does not depend on the other sequences of its batch, because the shape of the padded
    batch (:func:`padded`) depends only on the length of the sequence.
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
    """Return the inputs of a model, of shape (size, length): ``input_ids``, ``attention_mask`` and ``position_ids``.

    Each sequence is padded with the token ID ``padding`` on the ``side`` "left" or "right". If there are fewer than
    ``size`` sequences, the remaining rows repeat the first sequence.
    """
    ids = np.full((size, length), padding, np.int64)
    mask = np.zeros((size, length), np.int64)
    for row in range(size):
        tokens = sequences[row if row < len(sequences) else 0]
        columns = slice(length - len(tokens), length) if side == "left" else slice(0, len(tokens))
        ids[row, columns], mask[row, columns] = tokens, 1
    return {"input_ids": ids, "attention_mask": mask, "position_ids": np.maximum(mask.cumsum(axis=1) - 1, 0)}


# Kind ``transformers``: next-token probabilities of a causal language model on this machine; no text is generated.
#
# The model gets the prompt in its chat template, followed by the beginning of the answer up to the rating
# (``{"rating": ``). The probabilities p_k of 0 to 4 as next token give the rating: the mean sum(k p_k) / sum(p_k),
# rounded half up, or the most probable rating. If sum(p_k), the mass, is below ``least_mass``, there is no rating.
# Tokens after the digit are not considered: a model that would continue to "3.5" or "10" counts as 3 or 1.
#
# Another ``batch_size`` or processor changes the last bits of floating-point sums, so four digits are stored.

_DIGITS = 4
_UNIT = 10**_DIGITS


class Transformers(LocalRater, frozen=True, kw_only=True):
    """next-token probabilities of a causal language model on this machine."""

    kind: ClassVar[str] = "transformers"

    gguf_file: Annotated[
        str, setting("name of a GGUF file in the model's folder or repository; needs packages gguf and accelerate")
    ] = ""
    answer_start: Annotated[str, setting("beginning of an answer, up to the rating, in the prompts' format")] = (
        '{"rating": '
    )
    read: Annotated[
        Literal["expected", "argmax"],
        setting("expected: rounded mean of 0 to 4; argmax: most probable rating", key=False, reads=True),
    ] = "expected"
    least_mass: Annotated[
        float, setting("least total probability of 0 to 4 for a valid rating", key=False, reads=True, ge=0.0, le=1.0)
    ] = 0.01

    def backend(self, prompts: Prompts) -> Backend:
        """Return the rater; the model is loaded when it first rates."""
        check(self)
        return _Probabilities(self, prompts)


class _Probabilities:
    def __init__(self, config: Transformers, prompts: Prompts) -> None:
        self._config, self._prompts = config, prompts

    def rate(self, groups: Iterator[Group], recorder: Recorder) -> None:
        model = Reader(self._config)
        prompts = ((group, model.tokens_of(self._prompts.render(group.questions, several=False))) for group in groups)
        for length, batch in batches(prompts, model.batch_size):
            if recorder.stopping:
                return
            # Only now, because questions in incomplete batches do not count as sent.
            asked = [(group, tokens) for group, tokens in batch if recorder.may_ask(group)]
            if asked:
                given, mass = model.read([tokens for _, tokens in asked], length)
                for (group, tokens), shares, total in zip(asked, given, mass, strict=True):
                    rounded, mass_of_all = np.round(shares, _DIGITS).tolist(), float(f"{total:.{_DIGITS}g}")
                    usage = {"prompt_tokens": len(tokens), "completion_tokens": 0}
                    recorder.answer(group, {"probabilities": rounded, "mass": mass_of_all, "usage": usage})
            if len(asked) < len(batch):
                return

    def parse(self, ids: Sequence[str], raw: Mapping[str, Any]) -> list[int]:
        if raw["mass"] < self._config.least_mass:
            return [State.UNPARSABLE]  # a second answer would be equal
        # In units of 1/10,000, because integers make rounding half up exact.
        shares = [round(share * _UNIT) for share in raw["probabilities"]]
        if self._config.read == "argmax":
            return [shares.index(max(shares))]
        weighted = sum(rating * share for rating, share in enumerate(shares))
        return [(2 * weighted + sum(shares)) // (2 * sum(shares))]


class Reader(Model):
    """Causal language model that returns the probability of each rating as next token."""

    def __init__(self, config: Transformers) -> None:
        more = {"gguf_file": config.gguf_file} if config.gguf_file else {}
        if config.gguf_file and not (find_spec("gguf") and find_spec("accelerate")):
            owner = f"rater {quote(config.name)}"
            raise OptionError(
                f"{owner}: gguf_file needs the packages gguf and accelerate: `pip install gguf accelerate`"
            )
        super().__init__(config, "AutoModelForCausalLM", **more)
        self.batch_size, self._dtype = config.batch_size, config.dtype
        text_config = self.model.config.get_text_config()
        self._context: int | None = getattr(text_config, "max_position_embeddings", None)
        self._accepted = signature(self.model.forward).parameters
        self._folded = not _has_system_role(self.tokenizer)
        self._start = config.answer_start
        self._ratings = self._rating_tokens(text_config.vocab_size)

    def tokens_of(self, prompt: Rendered) -> list[int]:
        """Return the tokens of a prompt and the beginning of the answer; OptionError if they are too many to read."""
        # Tokenized with a rating, which is then removed: a tokenizer may join the blank before a digit to the digit.
        text = f"{self.tokenizer.bos_token or ''}{prompt.system}\n\n{prompt.user}\n"
        if self.tokenizer.chat_template:
            text = _templated(self.tokenizer, prompt.system, prompt.user, folded=self._folded)
        tokens = self._tokenize(f"{text}{self._start}0")[:-1]
        if self._context is not None and len(tokens) > self._context:
            raise OptionError(
                f"{self.name} reads at most {self._context} tokens, but a prompt has {len(tokens)}: change the model"
            )
        return tokens

    def read(self, prompts: Sequence[Sequence[int]], length: int) -> tuple[Floats, Floats]:
        """Return (n, 5) probabilities of 0 to 4 after n prompts, padded to ``length``; and their unscaled (n,) sums."""
        padding = self.tokenizer.pad_token_id
        arrays = padded(prompts, self.batch_size, length, 0 if padding is None else padding, "left")
        torch = self.torch
        try:
            with torch.inference_mode():
                tensors = {name: torch.from_numpy(array).to(self.device) for name, array in arrays.items()}
                wanted = {"logits_to_keep": 1, "use_cache": False, **tensors}
                found = self.model(**{name: value for name, value in wanted.items() if name in self._accepted})
                scores = found.logits[:, -1].double()
                of_ratings = torch.stack([scores[:, tokens].logsumexp(dim=1) for tokens in self._ratings], dim=1)
                mass = (of_ratings.logsumexp(dim=1) - scores.logsumexp(dim=1)).exp().cpu().numpy()
                shares = of_ratings.softmax(dim=1).cpu().numpy()
        except torch.OutOfMemoryError:
            raise OptionError(
                f"{self.name} does not fit into the device's memory with batches of {self.batch_size}: "
                "set a smaller batch_size, or dtype to bfloat16"
            ) from None
        if not np.isfinite(shares).all():
            raise OptionError(f"{self.name} gives non-finite probabilities in {self._dtype}: try another dtype")
        return shares[: len(prompts)], mass[: len(prompts)]

    def _tokenize(self, text: str) -> list[int]:
        tokens: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return tokens

    def _rating_tokens(self, vocabulary: int) -> list[list[int]]:
        """Return, per rating 0 to 4, the IDs of all tokens that are this digit, with or without blanks."""
        texts = self.tokenizer.batch_decode([[token] for token in range(min(vocabulary, len(self.tokenizer)))])
        found: dict[str, list[int]] = {str(rating): [] for rating in range(HIGHEST + 1)}
        for token, text in enumerate(texts):
            if text.strip() in found:
                found[text.strip()].append(token)
        begun = {rating: self._tokenize(self._start + rating) for rating in found}
        before = {tuple(tokens[:-1]) for tokens in begun.values()}
        if len(before) != 1 or not all(begun[rating][-1] in tokens for rating, tokens in found.items()):
            raise OptionError(
                f"{self.name} has no separate tokens for 0 to 4 after {quote(self._start)}: change answer_start"
            )
        return list(found.values())


def _has_system_role(tokenizer: Any) -> bool:
    """Return whether the chat template includes messages of role "system"; some reject or omit them."""
    if not tokenizer.chat_template:
        return False
    from jinja2 import TemplateError

    try:
        return "instructions" in _templated(tokenizer, "instructions", "question", folded=False)
    except TemplateError:
        return False


def _templated(tokenizer: Any, system: str, user: str, *, folded: bool) -> str:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    if folded:
        messages = [{"role": "user", "content": f"{system}\n\n{user}"}]
    # Templates of reasoning models have a switch of this name; other templates ignore the argument.
    text: str = tokenizer.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
    )
    return text
