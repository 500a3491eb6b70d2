"""Options for reading and scoring files, as on the command line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from shoe.benchmarks import DEFAULT, benchmark
from shoe.benchmarks.classes import read_classes
from shoe.benchmarks.truth import GroundTruth
from shoe.core.errors import OptionError
from shoe.core.interactions import Interactions
from shoe.predictions import ReadNotes, read_predictions_with_notes
from shoe.predictions.truth import read_ground_truth
from shoe.scoring.score import Report, score
from shoe.similarity import OF_DATASET, Similarity


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringOptions:
    """Options for reading and scoring files; the fields have the names of the options of ``shoe score``."""

    ground_truth: Path | None
    dataset: str = DEFAULT
    protocols: Sequence[str] = ()
    similarity: str = OF_DATASET
    options: Sequence[str] = ()
    boxes: str | None = None
    scores: str | None = None
    format: str | None = None
    classes: Path | None = None
    subset: str | None = None
    images_in_predictions: bool = False
    split: str | None = None
    image_labels: Path | None = None
    bad_boxes: str = "refuse"

    def truth(self) -> GroundTruth:
        """Read and return all ground truth of the file; :meth:`part` selects the images. OptionError without a file."""
        if self.ground_truth is None:
            raise OptionError("--ground-truth is required: give the annotation file of the dataset")
        table = read_classes(self.classes, benchmark(self.dataset).classes) if self.classes else None
        return read_ground_truth(
            self.ground_truth, self.dataset, classes=table, image_labels=self.image_labels, split=self.split
        )

    def read(self, path: Path, truth: GroundTruth) -> tuple[Interactions, ReadNotes]:
        """Return the predictions of a file, and notes on how the file was read."""
        return read_predictions_with_notes(
            path,
            format=self.format,
            boxes=self.boxes,
            scores=self.scores,
            dataset=self.dataset,
            truth=truth.interactions,
            bad_boxes=self.bad_boxes,
        )

    def part(self, truth: GroundTruth, tables: Sequence[Interactions]) -> GroundTruth:
        """Return ``truth`` on the images of ``subset``, if set, and of all ``tables``, if ``images_in_predictions``."""
        if self.subset is not None:
            truth = truth.subset(self.subset)
        return truth.within(*(table.images for table in tables)) if self.images_in_predictions else truth

    def score(
        self, table: Interactions, truth: GroundTruth, notes: ReadNotes, similarity: Similarity | None = None
    ) -> Report:
        """Return the report of a prediction table; a loaded ``similarity`` replaces the option ``similarity``."""
        return score(
            table,
            truth,
            similarity=similarity or self.similarity,
            protocols=self.protocols,
            options=self.options,
            notes=notes,
        )

    def report(self, predictions: Path, progress: Callable[[str], None] = lambda _: None) -> tuple[Report, ReadNotes]:
        """Score a prediction file; return the report and notes on reading. ``progress`` receives each step's name."""
        progress("reading")
        truth = self.truth()
        table, notes = self.read(predictions, truth)
        progress("scoring")
        return self.score(table, self.part(truth, [table]), notes), notes
