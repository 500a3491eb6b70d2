"""The packaged sample: real annotations of some test images, and synthetic predictions made from them."""

from pathlib import Path

DATA = Path(__file__).parent / "data"
TRUTH = DATA / "truth.json"
PREDICTIONS = {"detector": DATA / "detector.json", "free text": DATA / "vlm.jsonl"}
REPLIES = DATA / "replies.jsonl"
"""The free text as raw replies in the forms of two models, whose boxes need the sizes of the images."""
