"""Detectors of random weights, some hundred kilobytes each, saved through transformers' classes as users' are."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.predict.tiny_models import letters, pillow, saved, transformers

_BACKBONE = {"embedding_size": 8, "hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1], "layer_type": "basic"}
_SMALL = {"use_timm_backbone": False, "backbone": None, "d_model": 16, "decoder_layers": 1, "num_queries": 10}
_SMALL |= {f"{part}_attention_heads": 2 for part in ("encoder", "decoder")}
_SMALL |= {f"{part}_ffn_dim": 16 for part in ("encoder", "decoder")}


def detr(folder: Path, labels: Sequence[str]) -> Path:
    """Save a DETR on a ResNet, for 10 boxes a picture."""
    backbone = transformers.ResNetConfig(**_BACKBONE, out_features=["stage4"])
    config = transformers.DetrConfig(backbone_config=backbone, encoder_layers=1, **_SMALL, **_names(labels))
    processor = pillow("DetrImageProcessor")(size={"shortest_edge": 64, "longest_edge": 96})
    return _saved(folder, transformers.DetrForObjectDetection, config, processor)


def rt_detr(folder: Path, labels: Sequence[str]) -> Path:
    """Save an RT-DETR, for 10 boxes a picture."""
    backbone = transformers.RTDetrResNetConfig(**_BACKBONE, out_features=["stage2", "stage3", "stage4"])
    inner = {"encoder_in_channels": [8, 16, 16], "decoder_in_channels": [16, 16, 16], "feat_strides": [8, 16, 32]}
    more = {"encoder_hidden_dim": 16, "num_denoising": 0, **inner, **_SMALL, **_names(labels)}
    config = transformers.RTDetrConfig(backbone_config=backbone, **more)
    processor = pillow("RTDetrImageProcessor")(size={"height": 64, "width": 64})
    return _saved(folder, transformers.RTDetrForObjectDetection, config, processor)


def owl(folder: Path) -> Path:
    """Save an OWL-ViT, which looks for words."""
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=letters(), pad_token="<pad>", eos_token="</s>")
    text = {"vocab_size": len(tokenizer), "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2}
    vision = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "image_size": 64, "patch_size": 16}
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id, "bos_token_id": 0}
    config = transformers.OwlViTConfig(
        text_config={**text, **heads, **ends, "max_position_embeddings": 32},
        vision_config={**vision, **heads},
        projection_dim=16,
    )
    images = pillow("OwlViTImageProcessor")(size={"height": 64, "width": 64}, crop_size={"height": 64, "width": 64})
    tokenizer.model_max_length = 32
    processor = transformers.OwlViTProcessor(images, tokenizer)
    return _saved(folder, transformers.OwlViTForObjectDetection, config, processor)


def _names(labels: Sequence[str]) -> dict[str, Any]:
    return {"id2label": dict(enumerate(labels)), "label2id": {name: i for i, name in enumerate(labels)}}


def _saved(folder: Path, kind: Any, config: Any, processor: Any) -> Path:
    """Weights are large enough that boxes and labels differ in a picture, and from picture to picture."""
    return saved(folder, kind, config, processor, {"query": 3.0, "class": 3.0}, 0.3, seed=3)
