"""``shoe predict``: interactions of pictures, from a detector's boxes and a vision-language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli import options
from shoe.cli.output import confirm, put_json, refuse_overwrite, say
from shoe.cli.workers import asking_engine, cluster_of, treat_sigterm_as_interrupt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoe.diagnosis.localisation import PairFigures
    from shoe.engines.base import Shard
    from shoe.predict.answers import Planned
    from shoe.predict.backends import BackendConfig
    from shoe.predict.detector import DetectorConfig
    from shoe.predict.images import Picture
    from shoe.predict.pairs import Pairs
    from shoe.predict.parts import Files
    from shoe.predict.scored import Written
    from shoe.predict.settings import Choices

# The first half of ``shoe predict``: boxes and pairs of pictures, and what is said of them.


def find_pairs(
    pictures: Sequence[Picture],
    every: Sequence[Picture],
    choices: Choices,
    pairs: Path | None,
    files: Files,
    say: Callable[[str], None],
) -> Pairs | None:
    """Return the pairs that are asked about; None if whole pictures are.

    Args:
        pictures: pictures of the run, or of its part.
        every: pictures of all parts, which files from elsewhere are about.
        choices: settings of the run.
        pairs: file of pairs in place of boxes and a rule.
        files: files in which boxes and pairs are kept.
        say: callback for a line to the user.
    """
    from shoe.predict.detection_files import boxes_of
    from shoe.predict.pairs import Pairs, read_paired
    from shoe.predict.questions import WHOLE

    if choices.way.name == WHOLE:
        return None
    whole = files.whole or files
    remark = say if files.whole is None else lambda _: None  # the run for all parts says it
    if pairs:
        found = read_paired(pairs, every, choices.names, choices.benchmark).of(pictures)
    else:
        if choices.detector:
            _detect(pictures, choices, choices.detector, files)
            boxes = boxes_of(pictures, files.detections, choices.names, choices.benchmark, remark)
        else:
            boxes = boxes_of(every, whole.detections, choices.names, choices.benchmark, remark)
        found = Pairs.by_rule(pictures, boxes, choices.rule, choices.pairing, files.pairs)
    if files.whole is None:
        found.check()
    return found


def _detect(pictures: Sequence[Picture], choices: Choices, config: DetectorConfig, files: Files) -> None:
    """Have a detector look at pictures, but for those whose boxes are known."""
    from shoe.llm.recorder import Progress, Tally
    from shoe.predict.detector import Detector, detect_all

    detector = Detector(config)
    detector.check_labels(choices.names, choices.benchmark)
    tally = Tally("boxes", len(pictures))
    with Progress("", "pictures") as progress:

        def told(done: int) -> None:
            tally.done = done
            progress.show([tally])

        detect_all(pictures, detector, files.detections, told, files.boxes_elsewhere(detector.by, pictures))


def tell_pairs(found: Pairs, ground_truth: Path | None, dataset: str, say: Callable[[str], None]) -> PairFigures | None:
    """Print the number of pairs and, if there is a ground truth, the recall of its pairs, which is returned."""
    from shoe.core.errors import many
    from shoe.predict.pairs import ceiling
    from shoe.predictions.truth import read_ground_truth

    pictures = len(found.records)
    say(f"{many(found.count, 'pair')} in {many(pictures, 'picture')}, {found.count / max(pictures, 1):.1f} in each")
    if ground_truth is None:
        return None
    figures = ceiling(found.records, read_ground_truth(ground_truth, dataset))
    if figures.recall is not None:
        shares = f"{figures.human_recall or 0:.1%} of its persons, {figures.object_recall or 0:.1%} of its objects"
        say(f"{figures.recall:.1%} of {many(figures.truths, 'true pair')} are asked about (boxes: {shares})")
    return figures


def predict(
    images: Annotated[list[Path], typer.Argument(metavar="IMAGES", help="Picture files, and folders of them.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Predictions, which shoe score takes as they are.")],
    vlm: Annotated[str, typer.Option(help="Model that is asked: a name of the hub or the endpoint, or a folder.")],
    backend: Annotated[str, typer.Option(help="Who runs it: transformers, endpoint, vllm.")] = "transformers",
    detector: Annotated[
        str | None, typer.Option(help="Model that finds boxes: a name of the hub, or a folder.")
    ] = None,
    detections: Annotated[
        Path | None,
        typer.Option(help="Boxes from this file: COCO results, a folder of YOLO's, ours; with --detector, kept there."),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="What labels and numbers of boxes stand for: COCO JSON, data.yaml, or text.")
    ] = None,
    pair_rule: Annotated[
        str, typer.Option(help="Which boxes make pairs: upt, best, few-large, touching, all.")
    ] = "upt",
    pairs: Annotated[Path | None, typer.Option(help="Pairs from this file, in place of boxes and a rule.")] = None,
    visual: Annotated[
        str,
        typer.Option(help="How a pair is shown: boxes, text, crop, crops, black, others-black, blur, none; a+b: both."),
    ] = "boxes",
    way: Annotated[str, typer.Option(help="What is asked: phrase, yes-no, letters; image: all at once.")] = "phrase",
    prompt: Annotated[Path | None, typer.Option(help="Prompt file in place of the shipped one.")] = None,
    confidence: Annotated[
        str | None, typer.Option(help="Score from the answer: mean, first, product, minimum; yes; letter; none.")
    ] = None,
    detector_power: Annotated[
        float, typer.Option(min=0.0, help="Power of the detections' scores in the score; 0 leaves them out.")
    ] = 1.0,
    answers: Annotated[Path | None, typer.Option(help="File of all raw answers; beside OUT if absent.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="GROUP.NAME=VALUE", help="A setting of detector, pairs, visual, ask or vlm."),
    ] = None,
    dataset: Annotated[str, typer.Option(help="Whose objects and verbs count.")] = DEFAULT,
    ground_truth: Annotated[
        Path | None, typer.Option("--ground-truth", "-g", help="Say how many true pairs are asked about.")
    ] = None,
    max_cost: options.MaxCost = None,
    max_requests: Annotated[int | None, typer.Option(min=0, help="Stop after so many requests to an endpoint.")] = None,
    shard: options.ShardText = None,
    engine: options.EngineText = "serial",
    gpus: options.Gpus = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Find boxes and pairs; say what asking would take.")
    ] = False,
    yes: options.Yes = False,
    json: options.Json = None,
) -> None:
    """Find boxes, pair persons with objects, and ask a vision-language model what each pair does.

    Example: shoe predict images/ --detector facebook/detr-resnet-50 --vlm Qwen/Qwen3-VL-8B-Instruct --out mine.jsonl

    Boxes, pairs and raw answers are kept in files beside OUT: stop the run however you like, and the same command goes
    on where it ended, asking nothing twice. Another --confidence or --detector-power needs no model: all answers are
    there. The first line of OUT names every choice. With --shard it does one part of the pictures; without, it first
    takes over what the parts did. docs/predict.md has settings by group, and recipes.
    """
    from shoe.benchmarks import benchmark
    from shoe.core.documents import narrowed
    from shoe.core.errors import OptionError
    from shoe.engines.base import Shard
    from shoe.llm.budget import Budget
    from shoe.llm.recorder import Progress
    from shoe.predict.answers import Answers
    from shoe.predict.confidence import NONE
    from shoe.predict.images import all_pictures
    from shoe.predict.parts import Files, of_part
    from shoe.predict.settings import chosen

    treat_sigterm_as_interrupt()
    refuse_overwrite((*images, labels, pairs, prompt, ground_truth, detections, answers), out, json)
    part, asking = None if shard is None else Shard.parse(shard), asking_engine(engine, gpus)
    choices = chosen(
        benchmark=benchmark(dataset),
        model=vlm,
        backend=backend,
        detector=detector,
        detections=detections,
        pairs=pairs,
        labels=labels,
        rule=pair_rule,
        visual=visual,
        way=way,
        prompt=prompt,
        confidence=confidence,
        power=detector_power,
        settings=settings or (),
    )
    if gpus and choices.model.asks:
        raise OptionError(f"--gpus {gpus:g}: found --backend {backend}, expected a model that workers run")
    files, every_picture = Files.beside(out, detections, answers), all_pictures(images, say)
    pictures = every_picture
    if part:
        files, pictures = files.of_part(part), of_part(every_picture, part)
    found = find_pairs(pictures, every_picture, choices, pairs, files, say)
    by, reach = choices.by, None
    if found:
        by = found.by | by
        reach = tell_pairs(found, None if part else ground_truth, dataset, say)
    of_picture = {record.image: record for record in found.records} if found else {}

    def every() -> Any:
        return choices.questions(pictures, of_picture)

    kept = Answers(files.answers, choices.model, files.whole.answers if files.whole else None, files.workers)
    if merged := kept.merge(say):
        say(f"{merged:,} lines of other files of answers were taken over")
    plan = kept.plan(every)
    _tell_plan(plan, choices.model)
    if choices.model.asks and not dry_run and not yes:
        _confirm(plan, choices.model, max_cost)
    budget, seconds, written = Budget(max_cost, max_requests), None, None
    with (
        cluster_of(asking if plan.total > plan.known and not dry_run else None, gpus) as kept.cluster,
        Progress("", "questions") as progress,
    ):
        probabilities = choices.scoring.policy != NONE
        if not (kept.cluster or (dry_run and choices.model.asks)):  # workers would load a model for each measurement
            left, at_once = plan.total - plan.known, choices.model.at_once
            measured = kept.measure(every, left, at_once, budget, progress, probabilities=probabilities)
            if measured:
                seconds, count = measured
                hours = f"{seconds * (left - count) / 3600:,.2g} hours"
                progress.say(f"about {hours} to go: {seconds:.2g} s a question, over {count:,}")
        states = None if dry_run else kept.ask_shown(every, budget, progress, probabilities=probabilities)
    files.clear(boxes=choices.detector is not None)
    if budget.reason == "interrupted":
        say("interrupted: all answers are kept, nothing is written; the same command goes on from here")
        raise KeyboardInterrupt
    if states is not None:
        _check_all(states, kept.path, budget.reason)
        if part:
            say(_done_of(part, plan.total, len(pictures), len(every_picture), out))
        else:
            written = _write(out, kept.of(every()), pictures, choices, by)
    if json is not None:
        from shoe.report.schemas import Ceiling, Predict, Questions

        document = Predict(
            by=by,
            part=str(part) if part else None,
            pictures=len(pictures),
            pairs=found.count if found else None,
            ceiling=narrowed(reach, Ceiling) if reach else None,
            questions=Questions(
                plan.total,
                plan.known,
                plan.text_tokens,
                plan.answer_tokens,
                cost=plan.cost if choices.model.asks else None,
            ),
            seconds_per_question=seconds,
            predictions=written.predictions if written else None,
            tied=written.tied if written else None,
            refused=written.refused if written else None,
            unread=written.unread if written else None,
        )
        put_json(document, json)


def _tell_plan(plan: Planned, config: BackendConfig) -> None:
    from shoe.core.errors import many

    price = ""
    if config.asks:
        price = f", at most {plan.cost:,.4g} in the currency of the price" if plan.cost else ", of no known price"
    asked = f"{many(plan.total, 'question')}, {plan.known:,} of them answered"
    tokens = f"{plan.text_tokens:,} tokens to read and {plan.answer_tokens:,} to write"
    say(f"{asked}; at most about {tokens}{price}" if plan.total > plan.known else asked)


def _confirm(plan: Planned, config: BackendConfig, max_cost: float | None) -> None:
    """Ask before money is spent, or what nobody knows at the official endpoint."""
    from shoe.llm.endpoint import OFFICIAL

    unknown = config.price.is_free and getattr(config, "base_url", "").rstrip("/") == OFFICIAL
    if plan.total == plan.known or not (plan.cost or unknown):
        return
    about = (
        'what nobody has said (--set vlm.price=\'{"input": 2.5, "output": 10}\')' if unknown else f"{plan.cost:,.2f}"
    )
    bound = "" if max_cost is None else f", {max_cost:g} at most"
    confirm(f"Spend up to {about}{bound}", f"this run may cost {about}: --yes spends it, --dry-run says more")


def _check_all(states: Any, path: Path, reason: str | None) -> None:
    """Raise a ShoeError if a question has no answer: predictions without some would pass for whole."""
    from shoe.core.errors import ShoeError

    if states["unasked"]:
        asked = f"{states.total() - states['unasked']:,} of {states.total():,} questions are answered"
        ended = f" (ended by --max-{reason})" if reason in ("cost", "requests") else ""
        raise ShoeError(f"{path}: {asked}{ended}, nothing is written; the same command goes on from here")


def _done_of(part: Shard, questions: int, pictures: int, of_all: int, out: Path) -> str:
    """Say what a run for one part came to."""
    from shoe.core.errors import many

    done = f"{pictures:,} of {many(of_all, 'picture')}, {many(questions, 'question')}, all answered"
    return f"part {part}: {done}; without --shard, the command takes over all parts and writes {out}"


def _write(out: Path, answers: Any, pictures: Sequence[Picture], choices: Choices, by: dict[str, Any]) -> Written:
    from shoe.core.errors import many
    from shoe.predict.scored import write_scored

    sizes = {picture.name: (picture.width, picture.height) for picture in pictures}
    written = write_scored(answers, out, choices.scoring, sizes, choices.benchmark, by)
    tied = f", {written.tied / written.predictions:.1%} of them tied" if written.scores else ""
    lost = "".join(f", {count:,} answers {what}" for count, what in
                   ((written.refused, "refused"), (written.unread, "unread")) if count)  # fmt: skip
    say(f"{out}: {many(written.predictions, 'prediction')} in {many(len(pictures), 'picture')}{tied}{lost}")
    return written
