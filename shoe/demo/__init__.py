"""The packaged sample: real annotations of 200 test images, and synthetic predictions derived from the annotations."""

from pathlib import Path

DATA = Path(__file__).parent / "data"
TRUTH = DATA / "truth.json"
PREDICTIONS = {"detector": DATA / "detector.json", "free text": DATA / "vlm.jsonl"}
REPLIES = DATA / "replies.jsonl"
"""The free-text predictions as raw replies in the formats of two models; reading their boxes requires image sizes."""
