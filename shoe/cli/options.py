"""Options and arguments shared by several commands, and groups of commands."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer
from typer.core import TyperGroup


def group(help: str, *commands: Callable[..., None], cls: type[TyperGroup] = TyperGroup) -> Typer:
    """Return a group of commands with the names of their functions: add-truth for ``add_truth``, list for ``list_``."""
    made = Typer(help=help, cls=cls)
    for command in commands:
        made.command(command.__name__.rstrip("_").replace("_", "-"))(command)
    return made


BadBoxes = Annotated[
    str,
    Option(
        help="Predictions with an invalid box or score: refuse (error), drop (leave them out) or count (keep them: an "
        "invalid box matches nothing, an invalid score ranks last)."
    ),
]
Bounds = Annotated[
    bool,
    Option(
        "--bounds",
        help="Also report 90 % intervals of the scores under a map that rates all pairs (several times slower).",
    ),
]
Boxes = Annotated[str | None, Option(help="Box convention (see shoe convert --help). Default: by file format.")]
Classes = Annotated[Path | None, Option(help="File with a class table, which replaces the packaged class table.")]
Dataset = Annotated[str, Option(help="Name of the dataset that defines the classes.")]
Engine = Annotated[
    str,
    Option(
        help="Where to run: in this process (serial), in N processes (processes:N) or on Ray (ray: the cluster at "
        "RAY_ADDRESS, or a local cluster; ray:ADDRESS)."
    ),
]
Figures = Annotated[Path | None, Option(help="Write plots of the results to this folder, each as PDF and PNG.")]
Format = Annotated[str | None, Option(help="File format (list: shoe convert --help). Default: recognised by content.")]
GroundTruth = Annotated[Path, Option("--ground-truth", "-g", readable=False, help="Annotation file of the dataset.")]
ImageLabels = Annotated[
    Path | None, Option(help="Official anno.mat file with image-level labels, for the known-object setting.")
]
ImagesInPredictions = Annotated[
    bool,
    Option(
        "--images-in-predictions",
        help="Ignore images not in PREDICTIONS (default: their ground truth counts as missed).",
    ),
]
ImageSplit = Annotated[str | None, Option(help="Images of anno_bbox.mat to use: test2015 or train2015.")]
Latex = Annotated[Path | None, Option(help="Write the results as a LaTeX table to this file.")]
Map = Annotated[str, Argument(metavar="MAP", help="Name of a shipped similarity map, or folder of a map.")]
MaxCost = Annotated[
    float | None, Option(min=0.0, help="Maximum cost of this run, in the currency of the prices. Default: no limit.")
]
MaxRequests = Annotated[int | None, Option(min=0, help="Maximum number of requests, including retries.")]
PerClass = Annotated[Path | None, Option(help="Write the metrics of each class to this CSV file.")]
Predictions = Annotated[Path, Argument(readable=False, help="Prediction file; its format is recognised by content.")]
Problems = Annotated[list[Path], Argument(help="Files of Bongard problems, e.g. val_clean_seen_obj_seen_act.json.gz.")]
ProtocolOptions = Annotated[
    list[str] | None, Option("--option", "-o", help="NAME=VALUE: set one option of a protocol. May be repeated.")
]
Protocols = Annotated[
    list[str] | None,
    Option("--protocol", "-p", help="Protocol (list: shoe score --help). May be repeated. Default: hico-det and shoe."),
]
Raters = Annotated[Path, Option(help="TOML file (raters.toml) with the raters, their settings and prices.")]
Scores = Annotated[
    str | None, Option(help="Conversion of scores to 0..1: sigmoid (of logits), percent, minmax, rank. Default: none.")
]
Similarity = Annotated[
    str, Option(help="Similarity map: name of a shipped map, folder of a map, or 'dataset' for the dataset's default.")
]
Split = Annotated[
    str | None,
    Option(help="Class split (e.g. rf-uc, or a file of unseen classes), or images of anno_bbox.mat (train2015)."),
]
Subset = Annotated[str | None, Option(help="Score only images with exactly one pair: single-hoi or single-pair.")]
Table = Annotated[Path, Option(help="CSV file to write.")]
Verbose = Annotated[
    bool, Option("--verbose", "-v", help="Print all tables, notes and signatures, not only the main ones.")
]
Yes = Annotated[bool, Option("--yes", "-y", help="Spend money without asking for confirmation.")]

Json = Annotated[str | None, Option("--json", help="Write the results as JSON to this file; '-' is standard output.")]
AskAgain = Annotated[
    str | None,
    Option(metavar="STATES", help="Results whose requests are sent again: unparsable, refused, or unparsable,refused."),
]
Cache = Annotated[
    str | None,
    Option(
        "--cache",
        metavar="FOLDER",
        help="Folder for your cache of paid answers, or 'off'. Default: $SHOE_CACHE, or else ~/.cache.",
    ),
]
ShardText = Annotated[
    str | None,
    Option(
        metavar="I/N",
        help="Process only part I of N parts, and do not write OUT. A final run without --shard merges all parts.",
    ),
]
EngineText = Annotated[
    str,
    Option(
        help="Where requests run: serial (this process), ray (cluster at RAY_ADDRESS, or a local one), ray:ADDRESS."
    ),
]
Gpus = Annotated[
    float, Option(min=0.0, max=64.0, help="With --engine ray: number of GPUs for the local model of each worker.")
]
