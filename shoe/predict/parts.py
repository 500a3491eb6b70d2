"""Files of a run, and its division into shards.

Images are assigned to shards by a hash of their content. A shard processes the boxes, pairs and questions of its
images. Each shard has a folder for its files (``predictions.parts/3-of-16`` for ``predictions.jsonl``). A run without a
shard merges the boxes of all shards by image, and their answers by question. Files of shards are removed after their
content has been written to the files of the run.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from shoe.core.errors import InputError
from shoe.engines.base import Shard
from shoe.llm.ledger_writer import remove
from shoe.predict.detection_files import DETECTIONS, check_same
from shoe.predict.images import Picture
from shoe.predict.records import Detected, read_with_settings

_NAMES = _DETECTIONS, _PAIRS, _ANSWERS = "detections.jsonl", "pairs.jsonl", "answers.jsonl"


@dataclass(frozen=True, slots=True)
class Files:
    """Paths of the files of a run or of one shard.

    Attributes:
        folder: folder with the files of shards and of workers on a cluster, which this run merges.
        whole: for a shard, the paths of the complete run, whose files the shard only reads; else None.
    """

    detections: Path
    pairs: Path
    answers: Path
    folder: Path
    whole: "Files | None" = None

    @classmethod
    def beside(cls, out: Path, detections: Path | None = None, answers: Path | None = None) -> Self:
        """Return a run's paths: the given paths, and paths beside ``out``, such as mine.pairs.jsonl for mine.jsonl."""
        boxes, pairs, raw_answers, folder = (out.with_name(f"{out.stem}.{name}") for name in [*_NAMES, "parts"])
        return cls(detections or boxes, pairs, answers or raw_answers, folder)

    def of_part(self, shard: Shard) -> "Files":
        """Return the paths for one shard, after creating its folder; raise InputError if that is impossible."""
        folder = self.folder / shard.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(folder, found=error.strerror or str(error), expected="a folder for the shard") from None
        return Files(folder / _DETECTIONS, folder / _PAIRS, folder / _ANSWERS, folder, self)

    @property
    def workers(self) -> Path:
        """Path from which workers on a cluster derive the names of their answer files."""
        return self.folder / _ANSWERS

    def detections_of_other_runs(self, by: Mapping[str, Any], pictures: Iterable[Picture]) -> list[Detected]:
        """Return detections from files of other runs: of all shards or, for a shard, of the complete run.

        For a shard, only detections in its images, ``pictures``, are returned. Raise InputError if a file has other
        detector settings than ``by``, or another image of the same name.
        """
        known, records = {picture.name: picture for picture in pictures}, []
        for path in self._parts(_DETECTIONS) if self.whole is None else [self.whole.detections]:
            for record in read_with_settings(path, Detected, DETECTIONS, by) if path.exists() else ():
                check_same(path, record, known.get(record.image))
                if self.whole is None or record.image in known:
                    records.append(record)
        return records

    def clear(self, *, boxes: bool) -> None:
        """Remove the pair files of all shards, and with ``boxes`` their detection files, then folders that are empty.

        Called on the files of one shard, it removes nothing. Files that another process is writing are kept.
        """
        if self.whole is None:
            for path in [*self._parts(_PAIRS), *(self._parts(_DETECTIONS) if boxes else ())]:
                remove(path)
            for folder in [*self.folder.glob("*"), self.folder]:
                with suppress(OSError):  # it does not exist or is not empty
                    folder.rmdir()

    def _parts(self, name: str) -> list[Path]:
        return sorted(self.folder.glob(f"*-of-*/{name}"))


def of_part(pictures: Iterable[Picture], shard: Shard) -> list[Picture]:
    """Return the images of one shard; images with equal content are in the same shard."""
    return [picture for picture in pictures if shard.holds_one(bytes.fromhex(picture.digest))]
