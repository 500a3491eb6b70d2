"""``shoe map complete``: rate only the pairs that a score depends on."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from shoe.cli import options
from shoe.cli.map.build import LEDGER, PRICE, end_part, open_raters, stored_answers
from shoe.cli.output import put_json, say
from shoe.cli.spending import approve_spending, end_at_budget
from shoe.cli.workers import open_cluster, parse_engine, parse_states, treat_sigterm_as_interrupt

if TYPE_CHECKING:
    from shoe.lexicon.expressions import Part
    from shoe.maps.growing_map import Pair
    from shoe.maps.session import Raters
    from shoe.similarity import RatedPairs, Rater


def complete(
    map: options.Map,
    predictions: Annotated[Path, Option("--for", metavar="PREDICTIONS", help="Prediction file to be scored.")],
    ground_truth: options.GroundTruth,
    raters: options.Raters,
    out: Annotated[
        Path | None, Option(help="Folder of the completed map. Default: name of MAP with the suffix -completed.")
    ] = None,
    tolerance: Annotated[
        float, Option(min=0.0, max=1.0, help="Target width of the score interval; 0.001 is 0.1 percentage points.")
    ] = 0.001,
    max_cost: options.MaxCost = None,
    max_requests: options.MaxRequests = None,
    ledger: Annotated[
        Path | None, Option(help="Folder of all answers, shared by all maps. Default: shoe-ledger next to the map.")
    ] = None,
    ask_again: options.AskAgain = None,
    cache: options.Cache = None,
    shard: options.ShardText = None,
    engine: options.EngineText = "serial",
    gpus: options.Gpus = 0,
    dry_run: Annotated[bool, Option("--dry-run", help="Print the cost of the first round and exit.")] = False,
    yes: options.Yes = False,
    json: options.Json = None,
) -> None:
    """Rate only the pairs that the SHOE-mAP of some predictions depends on, the most influential first.

    Example: shoe map complete hico-det --for predictions.json -g instances_test2015.json --raters raters.toml
    --max-cost 5

    Before each round, bounds of the score are computed with all unrated pairs at 0 and at 1. Bounds of later rounds can
    lie slightly outside earlier bounds, which assume that an unmatched prediction is a false positive of its present
    class or of one other class. The command ends when the bounds differ by at most --tolerance. The map is written
    after every round. You can stop a run at any time; the same command resumes it. MAP itself is not changed.
    With --shard only one part of the next round is rated; the run without --shard merges all parts and goes on.
    docs/protocols.md, 10.7, describes the interval and its limits.
    """
    from shoe.cli.map.tools import evaluate_predictions
    from shoe.llm.budget import Budget
    from shoe.llm.cache import open_cache
    from shoe.llm.recorder import Progress
    from shoe.maps.complete import CompletedPairs, CompleteEstimate, CompletionSpent, MapCompleted, first_round
    from shoe.maps.complete import complete as complete_map
    from shoe.maps.estimate import estimate, measured_progress
    from shoe.maps.growing_map import begun
    from shoe.maps.job import known, rate, rate_pairs
    from shoe.maps.planning import plan_dataset, plan_needed, plan_pairs
    from shoe.report.maps import closing_lines, estimate_table, round_line, rounds_table
    from shoe.report.terminal import console
    from shoe.report.text import print_line
    from shoe.similarity import SimilarityMap
    from shoe.similarity.ensemble import ENSEMBLE

    treat_sigterm_as_interrupt()
    gc.enable()  # this command may run for days
    start = SimilarityMap.load(map, ENSEMBLE)
    folder = out or Path(f"{start.name}-completed")
    again, asking = parse_states(ask_again), parse_engine(engine, gpus)
    begin = begun(start, folder)
    ledger = ledger or folder.absolute().parent / LEDGER
    session = open_raters(raters, None, ledger, shard, again, open_cache(cache, say, create=not dry_run))
    part = session.shard
    if not dry_run:
        approve_spending(
            (config for config in session.file.raters if config.chats), lambda: "an amount that --max-cost can limit",
            max_cost, yes=yes, example=PRICE,
        )  # fmt: skip
    report = evaluate_predictions(predictions, ground_truth, map, start.dataset)
    purpose = _purpose(predictions, ground_truth)
    assert report is not None, "both files are given"  # noqa: S101 - for the type checker
    limit = Budget(max_cost, max_requests)
    if dry_run or part:
        columns = list(_raters(session))
        state, wanted = first_round(begin, report.task, columns, tolerance, purpose, (lambda _: {}) if again else None)
        first = {speech: plan_pairs(speech, pairs) for speech, pairs in wanted.items()}
    if dry_run:
        measured = measured_progress(session, known(session, first, sample=0))
        expected = estimate(first, session.file, session.prompts, progress=measured)
        if not put_json(CompleteEstimate(state.map, state.map_interval, expected.rounded()), json):
            print(round_line(state, session.file.currency))
            console().print(estimate_table(expected))
            for line in stored_answers(session, expected):
                say(line)
        return

    def rated(wanted: Mapping[Part, Sequence[Pair]]) -> Mapping[Part, RatedPairs]:
        found = rate_pairs(session, wanted, limit, progress)
        if limit.reason == "interrupted":  # an incomplete round cannot choose the pairs of the next round
            progress.say("interrupted: all answers are saved; run the same command to resume")
            raise KeyboardInterrupt
        return found

    with open_cluster(asking, gpus, len(session.sessions)) as cluster, Progress(session.file.currency) as progress:
        for each in session.sessions:
            each.cluster = cluster
        if part:
            outcome = rate(session, first, limit, progress, sample=0)
            if limit.reason == "interrupted":
                raise KeyboardInterrupt
            end_part(part, outcome, limit)
            return
        if again:
            session.ask_again(again, progress.say)
        completion = complete_map(
            begin, report.task, rated, list(_raters(session)), folder, tolerance=tolerance, purpose=purpose,
            known=(lambda pairs: rate_pairs(session, pairs, Budget(reason="requests"))) if again else None,
            budget=limit,
            show=lambda state: progress.say(round_line(state, session.file.currency)),
        )  # fmt: skip
        if again and not limit.stopping:
            session.ask_again((), progress.say)
    plans = plan_dataset(report.truth.classes), plan_needed(report.truth.classes, [report.predictions])
    whole_build, looked_up = (sum(len(plan) for plan in parts.values()) for parts in plans)
    last, why = completion.rounds[-1], completion.why.name.lower()
    found = MapCompleted(
        out=str(folder) if last.rated else None, tolerance=tolerance, why=why, map=last.map,
        map_interval=last.map_interval, rounds=completion.rounds, spent=CompletionSpent(last.requests, last.cost),
        pairs=CompletedPairs(last.rated, last.unanswered, whole_build, looked_up),
    )  # fmt: skip
    if not put_json(found, json):
        to = console()
        to.print(rounds_table(completion, session.file.currency))
        for line in closing_lines(completion, found.pairs, tolerance):
            print_line(to, line)
        if found.out:
            print_line(to, f"to use the completed map, run `shoe score ... --similarity {folder}`")
    end_at_budget(limit)


def _raters(raters: Raters) -> Iterator[Rater]:
    from shoe.lexicon.expressions import POS
    from shoe.similarity import Rater

    for session in raters.sessions:
        prompts = {f"{part}s": digest for part in POS if (digest := session.prompt_digest(part))}
        details = {"kind": session.config.kind, **({"prompts": prompts} if prompts else {})}
        for column in session.config.columns:
            yield Rater(column, session.config.model, details=details)


def _purpose(predictions: Path, ground_truth: Path) -> dict[str, str]:
    """Return the entries of map.json for the input files: names, SHA-256 hashes and the protocol."""
    from shoe.core.io.files import read_bytes

    files = {"predictions": predictions, "ground_truth": ground_truth}
    digests = {f"{what}_sha256": sha256(read_bytes(path)).hexdigest() for what, path in files.items()}
    return {**{what: path.name for what, path in files.items()}, **digests, "protocol": "shoe"}
