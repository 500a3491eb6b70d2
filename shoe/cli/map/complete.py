"""``shoe map complete``: rate only what a score depends on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoe.cli import options
from shoe.cli.output import put_json
from shoe.cli.workers import states_of, treat_sigterm_as_interrupt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shoe.lexicon.expressions import Part
    from shoe.maps.growing_map import Pair
    from shoe.maps.session import Raters
    from shoe.similarity import RatedPairs, Rater


def complete(
    map: options.Map,
    predictions: Annotated[Path, typer.Option("--for", metavar="PREDICTIONS", help="The predictions to be scored.")],
    ground_truth: options.GroundTruth,
    raters: options.Raters,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the completed map; MAP's name with -completed if absent.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Width of the interval that will do: 0.001 is a tenth of a point.")
    ] = 0.001,
    max_cost: options.MaxCost = None,
    ledger: Annotated[
        Path | None, typer.Option(help="Folder of all answers, for all maps; shoe-ledger beside the map if absent.")
    ] = None,
    ask_again: options.AskAgain = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what the first round would take.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Spend what it takes.")] = False,
    json: options.Json = None,
) -> None:
    """Have those pairs rated that the SHOE-mAP of some predictions depends on, most influential first, and no others.

    Example: shoe map complete hico-det --for predictions.json -g instances_test2015.json --raters raters.toml
    --max-cost 5

    Before each round the score is bounded with all unrated pairs at 0 and at 1; when the bounds are as near as
    --tolerance, it is done. The map is written after every round: stop the run however you like, and the same command
    goes on from there. MAP itself stays as it is. The interval and what it does not cover: docs/protocols.md, 10.7.
    """
    import gc

    from shoe.cli.map.tools import evaluated
    from shoe.core.errors import OptionError
    from shoe.llm.budget import Budget
    from shoe.llm.recorder import Progress
    from shoe.maps.complete import CompleteEstimate, MapCompleted, Spent, first_round
    from shoe.maps.complete import complete as complete_map
    from shoe.maps.estimate import estimate, measured_progress
    from shoe.maps.growing_map import begun
    from shoe.maps.job import known, rate_pairs
    from shoe.maps.planning import plan_dataset, plan_needed, plan_pairs
    from shoe.maps.prompts import Prompts
    from shoe.maps.raters_toml import read_raters
    from shoe.maps.session import Raters
    from shoe.report.maps import closing_lines, estimate_table, round_line, rounds_table
    from shoe.report.terminal import console
    from shoe.report.text import say
    from shoe.similarity import SimilarityMap
    from shoe.similarity.ensemble import ENSEMBLE

    treat_sigterm_as_interrupt()
    gc.enable()  # this command may run for days
    start = SimilarityMap.load(map, ENSEMBLE)
    folder = out or Path(f"{start.name}-completed")
    again = states_of(ask_again)
    begin = begun(start, folder)
    session = Raters(read_raters(raters), Prompts.read(None), ledger or folder.absolute().parent / "shoe-ledger")
    priced = not all(config.price.is_free for config in session.file.raters)
    if priced and max_cost is None and not (yes or dry_run):
        raise OptionError(f"{raters}: found prices, expected --max-cost, or --yes to spend what it takes")
    report = evaluated(predictions, ground_truth, map, start.dataset)
    purpose = _purpose(predictions, ground_truth)
    assert report is not None, "both files are given"  # noqa: S101 - for the type checker
    if dry_run:
        state, wanted = first_round(
            begin, report.task, list(_raters(session)), tolerance, purpose, (lambda _: {}) if again else None
        )
        first = {part: plan_pairs(part, pairs) for part, pairs in wanted.items()}
        measured = measured_progress(session, known(session, first, sample=0))
        expected = estimate(first, session.file, session.prompts, progress=measured)
        if not put_json(CompleteEstimate(state.score, state.interval, expected.rounded()), json):
            print(round_line(state, session.file.currency))
            console().print(estimate_table(expected))
        return
    limit = Budget(max_cost=max_cost)

    def rated(wanted: Mapping[Part, Sequence[Pair]]) -> Mapping[Part, RatedPairs]:
        found = rate_pairs(session, wanted, limit, progress)
        if limit.reason == "interrupted":  # what is asked next depends on all answers of a round
            progress.say("interrupted: all answers are kept; the same command goes on from here")
            raise KeyboardInterrupt
        return found

    with Progress(session.file.currency) as progress:
        if again:
            session.ask_again(again, progress.say)
        completion = complete_map(
            begin,
            report.task,
            rated,
            list(_raters(session)),
            folder,
            tolerance=tolerance,
            purpose=purpose,
            known=(lambda pairs: rate_pairs(session, pairs, Budget(reason="requests"))) if again else None,
            budget=max_cost,
            spent=lambda: Spent(limit.requests, limit.spent, limit.stopping),
            show=lambda state: progress.say(round_line(state, session.file.currency)),
        )
        if again and not limit.stopping:
            session.ask_again((), progress.say)
    plans = plan_dataset(report.truth.classes), plan_needed(report.truth.classes, [report.predictions])
    whole_build, looked_up = (sum(len(plan) for plan in parts.values()) for parts in plans)
    found = MapCompleted.from_completion(completion, tolerance, whole_build, looked_up, folder)
    if not put_json(found, json):
        to = console()
        to.print(rounds_table(completion, session.file.currency))
        for line in closing_lines(completion, found.pairs, tolerance):
            say(to, line)
        if found.out:
            say(to, f"the completed map: shoe score ... --similarity {folder}")


def _raters(raters: Raters) -> Iterator[Rater]:
    """The columns that the raters fill, and how they are asked."""
    from shoe.lexicon.expressions import POS
    from shoe.similarity import Rater

    for session in raters.sessions:
        prompts = {f"{part}s": digest for part in POS if (digest := session.prompt_digest(part))}
        details = {"kind": session.config.kind, **({"prompts": prompts} if prompts else {})}
        for column in session.config.columns:
            yield Rater(column, session.config.model, details=details)


def _purpose(predictions: Path, ground_truth: Path) -> dict[str, str]:
    """What map.json says the map was completed for: files by name and content."""
    from hashlib import sha256

    from shoe.core.io.files import read_bytes

    files = {"predictions": predictions, "ground_truth": ground_truth}
    digests = {f"{what}_sha256": sha256(read_bytes(path)).hexdigest() for what, path in files.items()}
    return {**{what: path.name for what, path in files.items()}, **digests, "protocol": "shoe"}
