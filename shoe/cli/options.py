"""Options and arguments that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

Boxes = Annotated[
    str | None, typer.Option(help="Box convention of the predictions, where it is not their format's own.")
]
Classes = Annotated[Path | None, typer.Option(help="Class table that replaces the packaged one.")]
Dataset = Annotated[str, typer.Option(help="Whose classes the ground truth has.")]
Figures = Annotated[Path | None, typer.Option(help="Folder for figures, each as PDF and PNG.")]
Format = Annotated[str | None, typer.Option(help="Prediction format, if content is not to decide.")]
GroundTruth = Annotated[
    Path, typer.Option("--ground-truth", "-g", readable=False, help="Annotation file of the dataset.")
]
ImageLabels = Annotated[
    Path | None, typer.Option(help="Official anno.mat: known-object setting by image-level labels.")
]
Latex = Annotated[Path | None, typer.Option(help="Write a LaTeX table here.")]
Map = Annotated[str, typer.Argument(metavar="MAP", help="A shipped map's name, or a map's folder.")]
MaxCost = Annotated[float | None, typer.Option(min=0.0, help="Stop before this run costs more.")]
PerClass = Annotated[Path | None, typer.Option(help="Write the figures of each class to this CSV file.")]
Predictions = Annotated[
    Path, typer.Argument(readable=False, help="Prediction file; its format is recognised by content.")
]
Problems = Annotated[list[Path], typer.Argument(help="Problem files, as val_clean_seen_obj_seen_act.json.gz.")]
ProtocolOptions = Annotated[
    list[str] | None, typer.Option("--option", "-o", help="NAME=VALUE: change one choice of a protocol.")
]
Protocols = Annotated[
    list[str] | None, typer.Option("--protocol", "-p", help="Protocol; again for more. Default: hico-det, shoe.")
]
Raters = Annotated[Path, typer.Option(help="raters.toml: who rates, how, at what price.")]
Scores = Annotated[
    str | None, typer.Option(help="How to bring scores to 0..1: sigmoid (of logits), percent, minmax or rank.")
]
Similarity = Annotated[
    str, typer.Option(help="Similarity map: a shipped name or a folder; 'dataset': the dataset's own.")
]
Split = Annotated[
    str | None,
    typer.Option(
        help="A split of the classes (rf-uc, or a file of unseen ones), or of anno_bbox.mat's images (train2015)."
    ),
]
Subset = Annotated[str | None, typer.Option(help="Score on a named part of the images: single-hoi, single-pair.")]
Table = Annotated[Path, typer.Option(help="Table to write, CSV.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Spend without asking first.")]

Json = Annotated[str | None, typer.Option("--json", help="Write JSON to this file; '-': standard output.")]
AskAgain = Annotated[
    str | None,
    typer.Option(metavar="STATES", help="Ask again what ended without a rating: unparsable, refused, or both."),
]
ShardText = Annotated[
    str | None,
    typer.Option("--shard", metavar="I/N", help="Do one part of N, and write no OUT: without it, all are merged."),
]
EngineText = Annotated[
    str,
    typer.Option(
        "--engine", help="Who asks: serial (this process), ray (workers of one here, or RAY_ADDRESS's), ray:ADDRESS."
    ),
]
Gpus = Annotated[float, typer.Option(min=0.0, max=64.0, help="With --engine ray: GPUs of each worker's local model.")]
