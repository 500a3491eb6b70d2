"""Where a run keeps its files; one part of the pictures, of which other processes do the others; and taking parts over.

Pictures are divided by a hash of their content, and with them their boxes, pairs and questions. A part keeps its files
in a folder of its own (``predictions.parts/3-of-16`` for ``predictions.jsonl``). Taking over is a union by key, in any
order and however often: boxes by picture, answers by question; pairs follow from boxes. A file is removed once all that
it holds is on the disk elsewhere, so that an end at any moment loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoe.core.errors import InputError
from shoe.engines.base import Shard
from shoe.llm.ledger_writer import remove
from shoe.predict.detection_files import DETECTIONS, check_same
from shoe.predict.images import Picture
from shoe.predict.records import Detected, read_made

_NAMES = _DETECTIONS, _PAIRS, _ANSWERS = "detections.jsonl", "pairs.jsonl", "answers.jsonl"


@dataclass(frozen=True, slots=True)
class Files:
    """Where a run, or one part of it, keeps what it makes.

    Attributes:
        detections, pairs, answers: its files.
        folder: where parts, and the workers of a cluster, keep what this run takes over.
        whole: of a part: the files of all, which it reads and does not write.
    """

    detections: Path
    pairs: Path
    answers: Path
    folder: Path
    whole: Files | None = None

    @classmethod
    def beside(cls, out: Path, detections: Path | None = None, answers: Path | None = None) -> Files:
        """Name the files of a run that writes ``out``, except those that are given."""
        boxes, pairs, ours, folder = (out.with_name(f"{out.stem}.{name}") for name in [*_NAMES, "parts"])
        return cls(detections or boxes, pairs, answers or ours, folder)

    def of_part(self, shard: Shard) -> Files:
        """Name the files of one part, and make their folder."""
        folder = self.folder / shard.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(folder, found=error.strerror or str(error), expected="a folder of the part") from None
        return Files(folder / _DETECTIONS, folder / _PAIRS, folder / _ANSWERS, folder, self)

    @property
    def workers(self) -> Path:
        """The path beside which other processes keep answers for this run."""
        return self.folder / _ANSWERS

    def boxes_elsewhere(self, by: Mapping[str, Any], pictures: Iterable[Picture]) -> list[Detected]:
        """Read the boxes found by other runs: for a part its pictures in the file of all, else those of all parts.

        Args:
            by: how the detector says that boxes came about.
            pictures: of the run.
        """
        known, found = {picture.name: picture for picture in pictures}, []
        for path in self._parts(_DETECTIONS) if self.whole is None else [self.whole.detections]:
            for record in read_made(path, Detected, DETECTIONS, by) if path.exists() else ():
                check_same(path, record, known.get(record.image))
                if self.whole is None or record.image in known:
                    found.append(record)
        return found

    def clear(self, *, boxes: bool) -> None:
        """Remove what was taken over of parts, boxes if ``boxes``; what a process still writes stays."""
        if self.whole is None:
            for path in [*self._parts(_PAIRS), *(self._parts(_DETECTIONS) if boxes else ())]:
                remove(path)
            for folder in [*self.folder.glob("*"), self.folder]:
                with suppress(OSError):  # there is none, or something in it
                    folder.rmdir()

    def _parts(self, name: str) -> list[Path]:
        return sorted(self.folder.glob(f"*-of-*/{name}"))


def of_part(pictures: Iterable[Picture], shard: Shard) -> list[Picture]:
    """Return the pictures of one part; pictures with the same content are of the same part."""
    return [picture for picture in pictures if shard.holds_one(bytes.fromhex(picture.digest))]
