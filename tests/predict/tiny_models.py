"""Vision-language models of random weights, some hundred kilobytes each, saved as users' models are.

They are made through transformers' own classes: what loads and runs with them does so with the real ones.
"""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'shoe-eval[predict]'")
transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'shoe-eval[predict]'"
)
tokenizers = pytest.importorskip("tokenizers")

TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}IMAGE{% else %}{{ c['text'] }}{% endif %}{% endfor %}</s>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
_ROLES = ["<|system|>", "<|user|>", "<|assistant|>"]
_WORDS = ["yes", "no", "Yes", "No", " riding", " holding", " a", " horse"]
_HEADS = 4
HAS_TORCHVISION = find_spec("torchvision") is not None
"""Whether processors of Qwen's models can be built."""


class Size(NamedTuple):
    """How large a model is: layers and width of text and vision, and most pixels of a picture, where it can say so."""

    layers: int = 2
    hidden: int = 32
    pixels: int = 112 * 112

    def text(self, **more: Any) -> dict[str, Any]:
        layers = {"hidden_size": self.hidden, "intermediate_size": 2 * self.hidden, "num_hidden_layers": self.layers}
        return {**layers, "num_attention_heads": _HEADS, **more}

    def vision(self, **more: Any) -> dict[str, Any]:
        width = {"hidden_size": self.hidden, "intermediate_size": 2 * self.hidden, "out_hidden_size": self.hidden}
        return {**width, "depth": self.layers, "num_heads": _HEADS, **more}


_SMALL = Size()


def llava(folder: Path, size: Size = _SMALL, template: str | None = TEMPLATE) -> Path:
    """Save a LLaVA: CLIP of 32 pixels in patches of 8, and Qwen2."""
    tokenizer = _tokenizer(["<image>"])
    more = {"vocab_size": len(tokenizer), "num_key_value_heads": 2, **_ends(tokenizer)}
    text = transformers.Qwen2Config(**size.text(**more))
    vision = transformers.CLIPVisionConfig(**size.text(image_size=32, patch_size=8))
    image = tokenizer.convert_tokens_to_ids("<image>")
    config = transformers.LlavaConfig(
        vision_config=vision, text_config=text, image_token_index=image, image_seq_length=16, **_ends(tokenizer)
    )
    sized = {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}}
    processor = transformers.LlavaProcessor(
        image_processor=pillow("CLIPImageProcessor")(**sized),
        tokenizer=tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=template and template.replace("IMAGE", "<image>"),
    )
    return _saved(folder, transformers.LlavaForConditionalGeneration, config, processor)


def qwen2_5_vl(folder: Path, size: Size = _SMALL) -> Path:
    """Save a Qwen2.5-VL, with the settings that the real ones ship: a temperature near 0, a penalty for repetition."""
    vision = size.vision(fullatt_block_indexes=[size.layers - 1], window_size=56, patch_size=14)
    shipped = {"temperature": 1e-6, "repetition_penalty": 1.05, "do_sample": True}
    rope = {"mrope_section": _sections(size.hidden // _HEADS)}
    video = transformers.Qwen2VLVideoProcessor
    return _qwen("Qwen2_5_VL", folder, size, vision, video, {"rope_parameters": rope}, **shipped)


def qwen3_vl(folder: Path, size: Size = _SMALL) -> Path:
    """Save a Qwen3-VL, whose pictures enter several layers."""
    vision = size.vision(deepstack_visual_indexes=[0], num_position_embeddings=64, patch_size=16)
    head = max(size.hidden // _HEADS, 16)
    text = {"head_dim": head, "rope_parameters": {"mrope_section": _sections(head), "mrope_interleaved": True}}
    return _qwen("Qwen3VL", folder, size, vision, transformers.Qwen3VLVideoProcessor, text)


def _qwen(
    name: str, folder: Path, size: Size, vision: dict[str, Any], video: Any, text: dict[str, Any], **shipped: Any
) -> Path:
    tokenizer = _tokenizer(["<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>"])
    text["rope_parameters"] |= {"rope_type": "default", "rope_theta": 10000.0}
    text = size.text(vocab_size=len(tokenizer), num_key_value_heads=2, **text)
    config = getattr(transformers, f"{name}Config")(
        text_config=text, vision_config=vision, **_tokens(tokenizer), **_ends(tokenizer)
    )
    pixels = {"min_pixels": min(56 * 56, size.pixels), "max_pixels": size.pixels}
    images = transformers.Qwen2VLImageProcessor(patch_size=vision["patch_size"], merge_size=2, **pixels)
    processor = getattr(transformers, f"{name}Processor")(
        image_processor=images,
        tokenizer=tokenizer,
        video_processor=video(),
        chat_template=TEMPLATE.replace("IMAGE", "<|vision_start|><|image_pad|><|vision_end|>"),
    )
    return _saved(folder, getattr(transformers, f"{name}ForConditionalGeneration"), config, processor, **shipped)


MODELS: dict[str, Callable[[Path, Size], Path]] = {"llava": llava, "qwen2.5-vl": qwen2_5_vl, "qwen3-vl": qwen3_vl}


def made(name: str, folder: Path, size: Size = _SMALL) -> Path:
    """Save a model by its name, or skip the test where its processor cannot be built."""
    if name != "llava" and not HAS_TORCHVISION:
        pytest.skip("torchvision is not installed: pip install 'shoe-eval[predict]'")
    return MODELS[name](folder, size)


def _saved(folder: Path, kind: Any, config: Any, processor: Any, **shipped: Any) -> Path:
    """Weights are large enough that answers differ from question to question."""
    return saved(folder, kind, config, processor, {"embed": 0.3, "lm_head": 0.3}, 0.2, **shipped)


def saved(
    folder: Path, kind: Any, config: Any, processor: Any, deviations: dict[str, float], deviation: float,
    seed: int = 0, **shipped: Any,
) -> Path:  # fmt: skip
    """Save a model of random weights, whose standard deviation depends on words in their names."""
    torch.manual_seed(seed)
    model = kind(config)
    for name, weight in model.named_parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=next((x for word, x in deviations.items() if word in name), deviation))
    for name, value in shipped.items():
        setattr(model.generation_config, name, value)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def letters() -> Any:
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    made = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={letter: i for i, letter in enumerate(alphabet)}, merges=[])
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    return made


def _tokenizer(special: list[str]) -> Any:
    made = letters()
    made.decoder = tokenizers.decoders.ByteLevel()
    made.add_special_tokens(["<pad>", "</s>", *_ROLES, *special])
    made.add_tokens(_WORDS)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="</s>")


def _ends(tokenizer: Any) -> dict[str, int]:
    return {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}


def _tokens(tokenizer: Any) -> dict[str, int]:
    names = {"image": "image_pad", "video": "video_pad", "vision_start": "vision_start", "vision_end": "vision_end"}
    return {f"{name}_token_id": tokenizer.convert_tokens_to_ids(f"<|{text}|>") for name, text in names.items()}


def pillow(name: str) -> Any:
    """An image processor; without torchvision there is the one on Pillow alone."""
    return getattr(transformers, name if HAS_TORCHVISION else f"{name}Pil")


def _sections(head: int) -> list[int]:
    """How the halves of a head's positions are shared by time, height and width, as the real ones share them."""
    time = head // 8
    height = (head // 2 - time) // 2
    return [time, height, head // 2 - time - height]
