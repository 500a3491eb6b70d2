"""Models of a few thousand random weights, with tokenizers made on the spot, saved as users' models are."""

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'shoe-eval[local]'")
transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'shoe-eval[local]'"
)
tokenizers = pytest.importorskip("tokenizers")

# With a role for the system, with one that refuses it, and with one that leaves it out in silence.
_TURNS = "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}</s>{% endfor %}<|assistant|>"
TEMPLATES = {
    "system": _TURNS,
    "refuses": "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + _TURNS,
    "ignores": _TURNS.replace("%}<|", "%}{% if m['role'] != 'system' %}<|", 1).replace(
        "{% endfor %}", "{% endif %}{% endfor %}"
    ),
    "none": None,
}
_CORPUS = [
    'You judge how alike two actions look. Answer with JSON: {"rating": 0} {"rating": 1} {"rating": 2} {"rating": 3}',
    'One action: act 0, do. It means: do thing 1; as it is done. {"rating": 4} {"rating": 4} 3 2 1 0 0 1 2 3 4',
    "10 11 12 13 14 10 11 12 13 14",
] * 20


def causal_model(
    folder: Path, architecture: str = "llama", digits: str = "apart", template: str | None = TEMPLATES["system"]
) -> Path:
    """Save a causal language model.

    The architecture is "llama" (relative positions) or "gpt2" (absolute ones, so that padding could show). Digits are
    "apart", a blank before a digit is a token of its own; or "joined", " 3" is one token, beside "3".
    """
    torch.manual_seed(0)
    tokenizer = _tokenizer(digits, template)
    sizes = {"vocab_size": len(tokenizer), "initializer_range": 0.3}
    if architecture == "llama":
        sizes |= {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
        config = transformers.LlamaConfig(**sizes, max_position_embeddings=2048)
    else:
        config = transformers.GPT2Config(**sizes, n_positions=2048, n_embd=32, n_layer=2, n_head=4)
    model = transformers.AutoModelForCausalLM.from_config(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def encoder_model(folder: Path) -> Path:
    torch.manual_seed(0)
    tokenizer = _tokenizer("apart", None)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    sizes |= {"vocab_size": len(tokenizer), "max_position_embeddings": 128}
    config = transformers.BertConfig(**sizes, initializer_range=0.3)
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _tokenizer(digits: str, template: str | None) -> Any:
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    levels = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alone = tokenizers.pre_tokenizers.Digits(individual_digits=True)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([alone, levels]) if digits == "apart" else levels
    made.decoder = tokenizers.decoders.ByteLevel()
    special = ["<pad>", "</s>", "<|system|>", "<|user|>", "<|assistant|>"]
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=600, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(_CORPUS, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="</s>", chat_template=template, model_max_length=128
    )
