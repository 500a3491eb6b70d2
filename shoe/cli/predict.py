"""``shoe predict``: predict interactions in images with an object detector and a vision-language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from shoe.benchmarks import DEFAULT, benchmark
from shoe.cli import model_requests, options
from shoe.cli.output import put_json, refuse_overwrite, say
from shoe.core.errors import OptionError, ShoeError, pluralize

if TYPE_CHECKING:
    from shoe.diagnosis.localisation import PairFigures
    from shoe.llm.budget import Budget
    from shoe.predict.backends import BackendConfig
    from shoe.predict.detector import DetectorConfig
    from shoe.predict.images import Picture
    from shoe.predict.pairs import Pairs
    from shoe.predict.scored import Questions as RunSize, WrittenCounts
    from shoe.predict.settings import Files, PredictionSettings

_PRICE = '--set vlm.price=\'{"input": 2.5, "output": 10}\''


def find_pairs(
    pictures: Sequence[Picture],
    every: Sequence[Picture],
    choices: PredictionSettings,
    pairs: Path | None,
    files: Files,
    say: Callable[[str], None],
) -> Pairs | None:
    """Return the human-object pairs to ask the model about; None if the questions are about whole images.

    The pairs are read from the file ``pairs``, or else selected from boxes in ``files.detections`` and of the detector.
    ``pictures`` are the images of this run or shard, and ``every`` those of all shards. Raise OptionError if there are
    no pairs, except for a shard.
    """
    from shoe.predict.detection_files import read_detections_with_notes
    from shoe.predict.pairs import Pairs, read_paired
    from shoe.predict.questions import WHOLE

    if choices.way.name == WHOLE:
        return None
    whole = files.whole or files
    remark = say if files.whole is None else lambda _: None  # only the run for all shards prints remarks
    if pairs:
        found = read_paired(pairs, every, choices.names, choices.benchmark).pairs_in(pictures)
    else:
        if choices.detector:
            _detect(pictures, choices, choices.detector, files)
            boxes = read_detections_with_notes(pictures, files.detections, choices.names, choices.benchmark, remark)
        else:
            boxes = read_detections_with_notes(every, whole.detections, choices.names, choices.benchmark, remark)
        found = Pairs.by_rule(pictures, boxes, choices.rule, choices.pairing, files.pairs)
    if files.whole is None:
        found.check()
    return found


def _detect(pictures: Sequence[Picture], choices: PredictionSettings, config: DetectorConfig, files: Files) -> None:
    from shoe.llm.recorder import Progress, Tally
    from shoe.predict.detector import Detector, detect_all

    detector = Detector(config)
    detector.check_labels(choices.names, choices.benchmark)
    tally = Tally("boxes", len(pictures))
    with Progress("", "pictures") as progress:

        def show_progress(done: int) -> None:
            tally.done = done
            progress.show([tally])

        others = files.detections_of_other_runs(detector.by, pictures)
        detect_all(pictures, detector, files.detections, show_progress, others)


def report_pairs(
    found: Pairs, ground_truth: Path | None, dataset: str, say: Callable[[str], None]
) -> PairFigures | None:
    """Print the number of pairs. With ``ground_truth``, print and return the recall of its pairs; else return None."""
    from shoe.predict.pairs import pair_recall
    from shoe.predictions.truth import read_ground_truth

    pictures = len(found.records)
    per_image = f"{found.count / max(pictures, 1):.1f} per image"
    say(f"{pluralize(found.count, 'pair')} in {pluralize(pictures, 'image')}, {per_image}")
    if ground_truth is None:
        return None
    figures = pair_recall(found.records, read_ground_truth(ground_truth, dataset))
    if figures.recall is not None:
        boxes = f"{figures.human_recall or 0:.1%} for humans, {figures.object_recall or 0:.1%} for objects"
        pairs = pluralize(figures.truths, "ground-truth pair")
        say(f"pair recall: {figures.recall:.1%} of {pairs} (box recall: {boxes})")
    return figures


def predict(
    images: Annotated[list[Path], Argument(metavar="IMAGES", help="Image files, or folders of images.")],
    out: Annotated[Path, Option("--out", "-o", help="Prediction file to write, for shoe score.")],
    vlm: Annotated[str, Option(help="Vision-language model: name at Hugging Face or at the endpoint, or folder.")],
    backend: Annotated[str, Option(help="Software to run the model: transformers, endpoint or vllm.")] = "transformers",
    detector: Annotated[str | None, Option(help="Object detection model: name at Hugging Face, or folder.")] = None,
    detections: Annotated[
        Path | None,
        Option(
            help="File of boxes: COCO results, a folder of YOLO label files, or the shoe format. "
            "With --detector: file to write the boxes to."
        ),
    ] = None,
    labels: Annotated[
        Path | None, Option(help="File with label and image names for --detections: COCO JSON, data.yaml or text.")
    ] = None,
    pair_rule: Annotated[str, Option(help="Rule for human-object pairs: upt, best, few-large, touching, all.")] = "upt",
    pairs: Annotated[Path | None, Option(help="File of human-object pairs, instead of boxes and pair rule.")] = None,
    visual: Annotated[
        str,
        Option(
            help="How a pair is shown to the model: boxes, text, crop, crops, black (all but the pair), "
            "others-black (other pairs), blur, none; combine with +."
        ),
    ] = "boxes",
    way: Annotated[
        str,
        Option(help="Kind of question: phrase (free words), yes-no, letters (multiple choice), image (one per image)."),
    ] = "phrase",
    prompt: Annotated[Path | None, Option(help="Prompt file to use instead of the shipped prompt.")] = None,
    confidence: Annotated[
        str | None,
        Option(
            help="Score of an answer. --way phrase: mean, first, product or minimum of the token probabilities. --way "
            "yes-no: yes; --way letters: letter (its probability). For all: none."
        ),
    ] = None,
    detector_power: Annotated[
        float, Option(min=0.0, help="Exponent of the detection scores in the final score; 0 ignores them.")
    ] = 1.0,
    answers: Annotated[Path | None, Option(help="File in which to save all raw answers. Default: next to OUT.")] = None,
    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="GROUP.NAME=VALUE",
            help="Change a setting (GROUP: detector, pairs, visual, ask or vlm). May be repeated.",
        ),
    ] = None,
    dataset: Annotated[str, Option(help="Dataset that defines the objects and verbs.")] = DEFAULT,
    ground_truth: Annotated[
        Path | None, Option("--ground-truth", "-g", help="Annotation file, to report the recall of the pairs.")
    ] = None,
    max_cost: options.MaxCost = None,
    max_requests: options.MaxRequests = None,
    cache: options.Cache = None,
    shard: options.ShardText = None,
    engine: options.EngineText = "serial",
    gpus: options.Gpus = 0,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Detect boxes, select pairs, print the estimated cost, and exit.")
    ] = False,
    yes: options.Yes = False,
    json: options.Json = None,
) -> None:
    """Detect boxes, pair humans with objects, and ask a vision-language model about the interaction of each pair.

    Example: shoe predict images/ --detector facebook/detr-resnet-50 --vlm Qwen/Qwen3-VL-8B-Instruct --out mine.jsonl

    Boxes, pairs and raw answers are saved in files next to OUT. You can stop a run at any time; the same command
    resumes it and repeats no question. Changing --confidence or --detector-power reuses the saved answers. The first
    line of OUT records all settings. With --shard only one part of the images is processed; a final run without --shard
    merges all parts. docs/predict.md describes the settings of --set, with recipes.
    """
    from shoe.core.documents import as_base_class
    from shoe.engines.base import Shard
    from shoe.llm.budget import Budget
    from shoe.llm.cache import open_cache
    from shoe.llm.recorder import Progress
    from shoe.predict.answers import Answers
    from shoe.predict.images import all_pictures
    from shoe.predict.scored import NONE
    from shoe.predict.settings import Files, of_part, parse_settings

    model_requests.treat_sigterm_as_interrupt()
    refuse_overwrite((*images, labels, pairs, prompt, ground_truth, detections, answers), out, json)
    part, asking = None if shard is None else Shard.parse(shard), model_requests.parse_engine(engine, gpus)
    choices = parse_settings(
        benchmark=benchmark(dataset), model=vlm, backend=backend, detector=detector, detections=detections, pairs=pairs,
        labels=labels, rule=pair_rule, visual=visual, way=way, prompt=prompt, confidence=confidence,
        power=detector_power, settings=settings or (),
    )  # fmt: skip
    if gpus and choices.model.asks:
        raise OptionError(f"--gpus {gpus:g}: found --backend {backend}, expected a backend that runs the model locally")
    files, every_picture = Files.beside(out, detections, answers), all_pictures(images, say)
    pictures = every_picture
    if part:
        files, pictures = files.of_part(part), of_part(every_picture, part)
    found = find_pairs(pictures, every_picture, choices, pairs, files, say)
    by, reach = choices.by, None
    if found:
        by = found.by | by
        reach = report_pairs(found, None if part else ground_truth, dataset, say)
    of_picture = {record.image: record for record in found.records} if found else {}

    def every() -> Any:
        return choices.questions(pictures, of_picture)

    store, base = open_cache(cache, say, create=not dry_run), files.whole.answers if files.whole else None
    kept = Answers(files.answers, choices.model, base, files.workers, store)
    probabilities = choices.scoring.policy != NONE
    if dry_run:
        kept.read_others()
    elif merged := kept.merge(say):
        say(f"merged {merged:,} lines from the answer files of other runs")
    plan = kept.plan(every, probabilities=probabilities)
    _print_plan(plan, choices.model)
    if choices.model.asks and not dry_run and plan.total > plan.known:
        cost = f"up to {plan.cost:,.2f}" if plan.cost else ""
        model_requests.approve_spending([choices.model], lambda: cost, max_cost, yes=yes, example=_PRICE)
    budget, seconds, written = Budget(max_cost, max_requests), None, None
    with (
        model_requests.open_cluster(asking if plan.total > plan.known and not dry_run else None, gpus) as kept.cluster,
        Progress("", "questions") as progress,
    ):
        left, at_once = plan.total - plan.known, choices.model.at_once
        if dry_run and choices.model.asks:
            if left and (seconds := kept.earlier_seconds()):
                time_left = timedelta(seconds=ceil(seconds * left))
                progress.say(f"about {time_left} left: {seconds:.2g} s per question, as for the latest answers")
        # Workers would load a model for each measurement, and cached answers take no time.
        elif not (kept.cluster or plan.cached):
            measured = kept.measure(every, left, at_once, budget, progress, probabilities=probabilities)
            if measured:
                seconds, count = measured
                time_left = timedelta(seconds=ceil(seconds * (left - count)))
                progress.say(f"about {time_left} left: {seconds:.2g} s per question, measured over {count:,} questions")
        states = None if dry_run else kept.ask_shown(every, budget, progress, probabilities=probabilities)
    files.clear(boxes=choices.detector is not None)
    if budget.reason == "interrupted":
        say("interrupted: all answers are saved, no predictions were written; run the same command to resume")
        raise KeyboardInterrupt
    if states is not None:
        _check_all(states, kept.path, budget)
        if part:
            done = f"{len(pictures):,} of {pluralize(len(every_picture), 'image')}, {pluralize(plan.total, 'question')}"
            say(f"part {part}: {done}, all answered; run without --shard to merge all parts and write {out}")
        else:
            written = _write(out, kept.answers_to(every()), pictures, choices, by)
    if json is not None:
        from shoe.predict.scored import Ceiling, Predict

        counts = {name: getattr(written, name, None) for name in ("predictions", "tied", "refused", "unread")}
        document = Predict(
            by=by,
            part=str(part) if part else None,
            pictures=len(pictures),
            pairs=found.count if found else None,
            ceiling=as_base_class(reach, Ceiling) if reach else None,
            questions=plan,
            seconds_per_question=seconds,
            **counts,
        )
        put_json(document, json)


def _print_plan(plan: RunSize, config: BackendConfig) -> None:
    price = f", cost about {plan.cost:,.4g}" if plan.cost is not None else ""
    if config.asks and plan.cost is None:
        price = f", and {model_requests.unknown_cost([config], _PRICE)}"
    cached = f", {plan.cached:,} of them in the cache" if plan.cached else ""
    questions = f"{pluralize(plan.total, 'question')}, {plan.known:,} already answered{cached}"
    tokens = f"{plan.text_tokens:,} input tokens and {plan.answer_tokens:,} output tokens"
    say(f"{questions}; about {tokens}{price}" if plan.total > plan.known else questions)


def _check_all(states: Any, path: Path, budget: Budget) -> None:
    """End the command if a question has no answer, because incomplete predictions would look complete."""
    if states["unasked"]:
        answered = f"{states.total() - states['unasked']:,} of {states.total():,} questions are answered"
        ended = f" (limit of --max-{budget.reason} reached)" if budget.reason in ("cost", "requests") else ""
        line = f"{path}: {answered}{ended}, no predictions were written; run the same command to resume"
        if ended:
            say(line)
            model_requests.end_at_budget(budget)
        raise ShoeError(line)


def _write(
    out: Path, answers: Any, pictures: Sequence[Picture], choices: PredictionSettings, by: dict[str, Any]
) -> WrittenCounts:
    from shoe.predict.scored import write_scored

    sizes = {picture.name: (picture.width, picture.height) for picture in pictures}
    written = write_scored(answers, out, choices.scoring, sizes, choices.benchmark, by)
    tied = f", {written.tied / written.predictions:.1%} of them tied" if written.scores else ""
    by_cause = {"refused": written.refused, "unparsable": written.unread}
    lost = "".join(f", {count:,} answers {cause}" for cause, count in by_cause.items() if count)
    say(f"{out}: {pluralize(written.predictions, 'prediction')} in {pluralize(len(pictures), 'image')}{tied}{lost}")
    return written
