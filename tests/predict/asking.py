"""Pictures of noise and questions about them; as a program, a run against an endpoint that a test kills."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shoe.predict.answers import Answers
from shoe.predict.backends.endpoint import Endpoint
from shoe.predict.questions import Question

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class Noise:
    seed: int
    width: int = 80
    height: int = 60

    @property
    def digest(self) -> str:
        return f"{self.seed:032x}"

    def open(self) -> Image:
        from PIL import Image

        pixels = np.random.default_rng(self.seed).integers(0, 255, (self.height, self.width, 3), np.uint8)
        return Image.fromarray(pixels)


def questions(pictures: int, each: int = 3) -> list[Question]:
    """Questions of yes or no, several about each picture."""
    return [
        Question(
            [Noise(picture)],
            f"Is the person {verb}ing it?" + " Look well." * (picture % 3),
            words=("yes", "no"),
            about={"image": f"{picture}.jpg", "way": "yes-no", "verb": verb},
        )
        for picture in range(pictures)
        for verb in [f"verb{number}" for number in range(each)]
    ]


def main(path: str, url: str, pictures: str) -> None:
    def asked() -> Iterator[Question]:
        return iter(questions(int(pictures)))

    counts = Answers(Path(path), Endpoint(model="m", base_url=url, most_tokens=1)).ask(asked)
    print(dict(counts))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
