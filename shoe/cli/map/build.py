"""``shoe map build`` and ``shoe map complete``: similarity maps from ratings by language models and other raters."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from typer import Argument, Option

from shoe.benchmarks import DEFAULT, benchmark
from shoe.cli import model_requests, options
from shoe.cli.map.tools import evaluate_predictions
from shoe.cli.output import put_json, put_report, say
from shoe.core.errors import OptionError, pluralize, quote, unknown_name

if TYPE_CHECKING:
    from shoe.benchmarks.classes import HoiClasses
    from shoe.core.interactions import Interactions
    from shoe.engines.base import Shard
    from shoe.lexicon.resolve import ObjectWords
    from shoe.lexicon.senses import Part
    from shoe.llm.budget import Budget
    from shoe.maps.complete import Pair
    from shoe.maps.cost_estimate import Estimate
    from shoe.maps.job import Outcome
    from shoe.maps.planning import Plan
    from shoe.maps.prompts import Subject
    from shoe.maps.session import Raters
    from shoe.similarity import RatedPairs, Rater

_LEDGER = "shoe-ledger"
_PARTS = "verb,object"
_INTERRUPTED = "interrupted: all answers are saved; run the same command to resume"
_PRICE = "price = {input = 2.5, output = 10} in raters.toml"

_Ledger = Annotated[
    Path | None, Option(help=f"Folder in which answers for all maps are saved. Default: {_LEDGER} next to the map.")
]


def build(
    out: Annotated[Path, Argument(metavar="OUT", help="Folder of the new map; the folder name is the map name.")],
    raters: options.Raters,
    dataset: Annotated[str, Option(help="Dataset whose classes are rated.")] = DEFAULT,
    predictions: Annotated[
        list[Path] | None,
        Option("--for", metavar="PREDICTIONS", help="Rate only pairs needed to score this file. May be repeated."),
    ] = None,
    whole: Annotated[
        bool, Option("--whole-interactions", help="With --for: rate whole interactions, not single verbs and objects.")
    ] = False,
    similarity: Annotated[
        str, Option(help="With --whole-interactions: map whose verb and object ratings are copied.")
    ] = "hico-det",
    object_words: Annotated[
        str | None, Option(help="With --for: rule for the senses of multi-word objects (protocol option object-words).")
    ] = None,
    parts: Annotated[str, Option(help="Parts to rate: verb, object or both, separated by a comma.")] = _PARTS,
    steps: Annotated[int | None, Option(min=0, max=20, help="Maximum hypernym steps between rated objects.")] = None,
    ledger: _Ledger = None,
    prompts: Annotated[Path | None, Option(help="Folder of prompts: verb.txt, object.txt, interaction.txt.")] = None,
    max_cost: options.MaxCost = None,
    max_requests: options.MaxRequests = None,
    ask_again: options.AskAgain = None,
    cache: options.Cache = None,
    shard: options.ShardText = None,
    engine: options.EngineText = "serial",
    gpus: options.Gpus = 0,
    dry_run: Annotated[bool, Option("--dry-run", help="Print estimated requests, tokens and cost, and exit.")] = False,
    yes: options.Yes = False,
    json: options.Json = None,
) -> None:
    """Collect similarity ratings of pairs of senses from raters, and write them as a map for shoe score.

    Example: shoe map build my-map --raters raters.toml --dry-run

    Example: shoe map build my-map --raters raters.toml --whole-interactions --for predictions.json

    Every answer is saved in the ledger. You can stop a run at any time; the same command resumes it and repeats no
    request. With --shard only one part is rated; a final run without --shard merges all parts. raters.toml lists the
    raters with their kinds (openai, openai-batch, transformers, embedding, lexical, learned, table, people), models,
    prices and limits; docs/maps.md has an example.
    """
    from rich.console import Console

    from shoe.llm.budget import Budget
    from shoe.llm.recorder import Progress
    from shoe.maps import built_map
    from shoe.maps.built_map import MapBuilt, is_complete
    from shoe.maps.cost_estimate import BuildEstimate, estimate, measured_progress
    from shoe.maps.job import known, rate
    from shoe.maps.planning import plan_whole
    from shoe.predictions import read_predictions
    from shoe.report.maps import estimate_table, print_outcome, unanswered_questions
    from shoe.similarity import SimilarityMap

    model_requests.treat_sigterm_as_interrupt()
    gc.enable()  # this command runs for days
    classes, again = benchmark(dataset).classes, model_requests.parse_states(ask_again)
    asking = model_requests.parse_engine(engine, gpus)
    if not (shard or dry_run):
        built_map.check_place(out, built_map.WHOLE_MARK if whole else built_map.MARK)
    ledger = ledger or out.absolute().parent / _LEDGER
    session = _open_raters(raters, prompts, ledger, shard, again, cache, dry_run=dry_run)
    part = session.shard
    tables = [read_predictions(path, dataset=dataset) for path in predictions or []]
    planned = None
    if whole:
        if not tables or steps is not None or object_words is not None or parts != _PARTS:
            raise OptionError("--whole-interactions requires --for, and excludes --parts, --steps and --object-words")
        built_map.check_interaction_raters(session)
        source = SimilarityMap.load(similarity)
        planned = plan_whole(classes, tables, source)
        if planned.refused:
            words = ", ".join(quote(word) for word in planned.refused[:3])
            say(f"left out {pluralize(len(planned.refused), 'predicted word')} that may steer a rater, such as {words}")
        plans: dict[Subject, Plan] = {"interaction": planned.plan}
        rules: dict[Subject, str] = {"interaction": planned.rule}
    else:
        plans, rules = _plans(classes, tables, parts, steps, object_words)
    if not any(map(len, plans.values())):
        say("no pair to rate: no word of the predictions has a sense in WordNet")
    before = known(session, plans)
    if dry_run:
        expected = estimate(plans, session.file, session.prompts, progress=measured_progress(session, before))
        if not put_json(BuildEstimate(expected.rounded()), json):
            _print_estimate(session, expected)
            if planned:
                say(planned.rule)
        return
    if again or not is_complete(before):
        expected = estimate(plans, session.file, session.prompts, progress=measured_progress(session, before))
        show = Console(stderr=True, highlight=False).print
        model_requests.approve_spending(
            (config for config in session.file.raters if config.chats), lambda: cost_of(expected), max_cost, yes=yes,
            example=_PRICE, detail=lambda: show(estimate_table(expected)),
        )  # fmt: skip
    if again:
        session.ask_again(again, say)
    budget = Budget(max_cost, max_requests)
    with (
        model_requests.open_cluster(asking, gpus, len(session.sessions)) as cluster,
        Progress(session.file.currency) as progress,
    ):
        for each in session.sessions:
            each.cluster = cluster
        outcome = rate(session, plans, budget, progress)
    if budget.reason == "interrupted":
        say(_INTERRUPTED)
        raise KeyboardInterrupt
    if part:
        put_json(MapBuilt.from_outcome(session, outcome, budget, rules), json)
        _end_part(part, outcome, budget)
        return
    if planned:
        built_map.write_whole(out, source, session, outcome, planned)
    else:
        built_map.write_built(out, dataset, session, outcome, rules)
    if again and is_complete(outcome):
        session.ask_again((), say)
    built = MapBuilt.from_outcome(session, outcome, budget, rules)
    put_report(built, json, lambda to: print_outcome(session, outcome, to))
    say(f"{out}: written{'' if is_complete(outcome) else '; ratings are incomplete'}")
    if budget.reason in ("cost", "requests"):
        spent = f"{budget.requests:,} requests" if budget.reason == "requests" else "cost"
        say(f"budget limit reached ({spent}); run the same command to resume with a new budget")
        model_requests.end_at_budget(budget)
    elif missing := unanswered_questions(outcome):
        say(f"{missing:,} questions have no answer yet; run the same command to ask them again")


def _open_raters(
    raters: Path, prompts: Path | None, ledger: Path, shard: str | None, again: list[str], cache: str | None,
    *, dry_run: bool,
) -> Raters:  # fmt: skip
    """Return the sessions of the raters in raters.toml; except in a dry run, the ledgers of other runs are merged.

    Raise OptionError if both ``--shard`` and ``--ask-again`` are given.
    """
    from shoe.engines.base import Shard
    from shoe.llm.cache import AnswerCache, open_cache
    from shoe.llm.ledger_writer import merge, parts_of
    from shoe.maps.prompts import Prompts
    from shoe.maps.raters_toml import read_raters
    from shoe.maps.session import Raters

    store, part = open_cache(cache, say, create=not dry_run), None if shard is None else Shard.parse(shard)
    if part and again:
        raise OptionError(
            "--shard and --ask-again are mutually exclusive: "
            "first run with --ask-again --max-requests 0, then with --shard"
        )
    session = Raters(read_raters(raters), Prompts.read(prompts), ledger, part)
    for each in session.sessions:
        each.cache = AnswerCache(store, each.ledger) if store and each.config.prompted else None
    ledgers = [each.ledger for each in session.sessions]
    for own in ledgers if dry_run else ():
        own.begin_with(parts_of(own.path))
    if not dry_run and (merged := sum(merge(own.path, own.identity, own.parse, say) for own in ledgers)):
        say(f"merged {merged:,} lines from the ledgers of other runs")
    return session


def _print_estimate(session: Raters, expected: Estimate) -> None:
    """Print an estimate, and lines about unknown costs, cached answers, and stored answers from other addresses."""
    from shoe.report.maps import estimate_table
    from shoe.report.text import console

    console().print(estimate_table(expected))
    if unknown := [
        each.config for each, rater in zip(session.sessions, expected.raters, strict=True) if rater.is_unknown
    ]:
        say(f"not included: {model_requests.unknown_cost(unknown, _PRICE)}")
    for each, rater in zip(session.sessions, expected.raters, strict=True):
        name, here = each.config.name, getattr(each.config, "base_url", "").partition("?")[0]
        if rater.cached:
            say(f"{name}: {rater.cached:,} of the answers are in the cache, and cost nothing")
        for address, count in each.addresses().items() if each.config.chats else ():
            if address.rstrip("/") != here.rstrip("/"):
                say(f"{name}: {count:,} stored answers from {address or 'an unknown address'}")


def _end_part(part: Shard, outcome: Outcome, budget: Budget) -> None:
    """Print what the run of a shard has done; end the command with exit code 3 if its budget was used up."""
    done = sum(tally.done + tally.cached for tally in outcome.tallies)
    missing = sum(tally.total - tally.done for tally in outcome.tallies)
    unanswered = f", {missing:,} questions unanswered (run the same command to ask them again)" if missing else ""
    say(f"part {part}: {done:,} answers saved{unanswered}; run without --shard to merge all parts and write the map")
    model_requests.end_at_budget(budget)


def _plans(
    classes: HoiClasses, tables: list[Interactions], parts: str, steps: int | None, object_words: str | None
) -> tuple[dict[Subject, Plan], dict[Subject, str]]:
    """Return the rating plan of each requested part, and the rule that selected its pairs."""
    from shoe.lexicon.senses import POS
    from shoe.maps.planning import NEEDED_RULE, STEPS, VERB_RULE, object_rule, plan_dataset, plan_needed

    wanted = [part.strip() for part in parts.split(",")]
    for part in wanted:
        if part not in POS:
            raise unknown_name("part of speech", part, POS)
    if tables and steps is not None:
        raise OptionError("--steps and --for are mutually exclusive: give only one")
    if object_words is not None and not tables:
        raise OptionError("--object-words requires --for")
    plans: Mapping[Part, Plan]
    if tables:
        senses = cast("ObjectWords", object_words or "phrase-first")
        plans = plan_needed(classes, tables, object_words=senses)
        verb = object_ = f"{NEEDED_RULE}; object-words={senses}"
    else:
        reach = STEPS if steps is None else steps
        plans, verb, object_ = plan_dataset(classes, steps=reach), VERB_RULE, object_rule(reach)
    rules: dict[Subject, str] = {"verb": verb, "object": object_}
    return {part: plan for part, plan in plans.items() if part in wanted}, rules


def cost_of(expected: Estimate) -> str:
    """Return the likely total cost of the raters that have a price, as text; "" if they cost nothing."""
    costs = [rater.cost for rater in expected.raters if rater.cost]
    likely = sum(cost.likely for cost in costs)
    return f"about {likely:,.2f} {expected.currency}" if any(cost.high for cost in costs) else ""


def complete(
    map: options.Map,
    predictions: Annotated[Path, Option("--for", metavar="PREDICTIONS", help="Prediction file to be scored.")],
    ground_truth: options.GroundTruth,
    raters: options.Raters,
    out: Annotated[Path | None, Option(help="Folder of the completed map. Default: MAP-completed.")] = None,
    tolerance: Annotated[
        float,
        Option(
            min=0.0,
            max=1.0,
            help="Stop if the bounds of SHOE-mAP differ by at most this fraction; 0.001 is 0.1 points.",
        ),
    ] = 0.001,
    max_cost: options.MaxCost = None,
    max_requests: options.MaxRequests = None,
    ledger: _Ledger = None,
    ask_again: options.AskAgain = None,
    cache: options.Cache = None,
    shard: options.ShardText = None,
    engine: options.EngineText = "serial",
    gpus: options.Gpus = 0,
    dry_run: Annotated[bool, Option("--dry-run", help="Print the cost of the first rating round and exit.")] = False,
    yes: options.Yes = False,
    json: options.Json = None,
) -> None:
    """Rate only the pairs that the SHOE-mAP of some predictions depends on, the most influential first.

    Example: shoe map complete hico-det --for predictions.json -g instances_test2015.json --raters raters.toml
    --max-cost 5

    Before each round, two bounds of the score are computed: with similarity 0, and with similarity 1, for all unrated
    pairs. The bounds are approximate, so later bounds can lie slightly outside earlier bounds (docs/protocols.md,
    10.7). The command ends when the bounds differ by at most --tolerance. The map is written after every round. You can
    stop a run at any time; the same command resumes it. MAP itself is not changed.
    With --shard only one part of the next round is rated; the run without --shard merges all parts and goes on.
    """
    from shoe.core.io.files import read_bytes
    from shoe.llm.budget import Budget
    from shoe.llm.recorder import Progress
    from shoe.maps import complete as completing
    from shoe.maps.cost_estimate import estimate, measured_progress
    from shoe.maps.job import known, rate, rate_pairs
    from shoe.maps.planning import plan_dataset, plan_needed, plan_pairs
    from shoe.report.maps import closing_lines, round_line, rounds_table
    from shoe.report.text import console, print_line
    from shoe.similarity import SimilarityMap
    from shoe.similarity.ensemble import ENSEMBLE

    model_requests.treat_sigterm_as_interrupt()
    gc.enable()  # this command may run for days
    start = SimilarityMap.load(map, ENSEMBLE)
    folder = out or Path(f"{start.name}-completed")
    again, asking = model_requests.parse_states(ask_again), model_requests.parse_engine(engine, gpus)
    begin = completing.map_to_continue(start, folder)
    ledger = ledger or folder.absolute().parent / _LEDGER
    session = _open_raters(raters, None, ledger, shard, again, cache, dry_run=dry_run)
    part = session.shard
    if not dry_run:
        model_requests.approve_spending(
            (config for config in session.file.raters if config.chats), lambda: "an amount that --max-cost can limit",
            max_cost, yes=yes, example=_PRICE,
        )  # fmt: skip
    report = evaluate_predictions(predictions, ground_truth, map, start.dataset)
    files = {"predictions": predictions, "ground_truth": ground_truth}
    purpose = {what: path.name for what, path in files.items()} | {"protocol": "shoe"}
    purpose |= {f"{what}_sha256": sha256(read_bytes(path)).hexdigest() for what, path in files.items()}
    assert report is not None, "both files are given"  # noqa: S101 - for the type checker
    limit = Budget(max_cost, max_requests)
    if dry_run or part:
        columns = list(_raters(session))
        state, wanted = completing.first_round(
            begin, report.task, columns, tolerance, purpose, (lambda _: {}) if again else None
        )
        first = {speech: plan_pairs(speech, pairs) for speech, pairs in wanted.items()}
    if dry_run:
        measured = measured_progress(session, known(session, first, sample=0))
        expected = estimate(first, session.file, session.prompts, progress=measured)
        if not put_json(completing.CompleteEstimate(state.map, state.map_interval, expected.rounded()), json):
            print(round_line(state, session.file.currency))
            _print_estimate(session, expected)
        return

    def rated(wanted: Mapping[Part, Sequence[Pair]]) -> Mapping[Part, RatedPairs]:
        found = rate_pairs(session, wanted, limit, progress)
        if limit.reason == "interrupted":  # an incomplete round cannot choose the pairs of the next round
            progress.say(_INTERRUPTED)
            raise KeyboardInterrupt
        return found

    with (
        model_requests.open_cluster(asking, gpus, len(session.sessions)) as cluster,
        Progress(session.file.currency) as progress,
    ):
        for each in session.sessions:
            each.cluster = cluster
        if part:
            outcome = rate(session, first, limit, progress, sample=0)
            if limit.reason == "interrupted":
                progress.say(_INTERRUPTED)
                raise KeyboardInterrupt
            _end_part(part, outcome, limit)
            return
        if again:
            session.ask_again(again, progress.say)
        completion = completing.complete(
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
    found = completing.MapCompleted(
        out=str(folder) if last.rated else None, tolerance=tolerance, why=why, map=last.map,
        map_interval=last.map_interval, rounds=completion.rounds,
        spent=completing.CompletionSpent(last.requests, last.cost),
        pairs=completing.CompletedPairs(last.rated, last.unanswered, whole_build, looked_up),
    )  # fmt: skip
    if not put_json(found, json):
        to = console()
        to.print(rounds_table(completion, session.file.currency))
        for line in closing_lines(completion, found.pairs, tolerance):
            print_line(to, line)
        if found.out:
            print_line(to, f"to use the completed map, run `shoe score ... --similarity {folder}`")
    model_requests.end_at_budget(limit)


def _raters(raters: Raters) -> Iterator[Rater]:
    from shoe.lexicon.senses import POS
    from shoe.similarity import Rater

    for session in raters.sessions:
        prompts = {f"{part}s": digest for part in POS if (digest := session.prompt_digest(part))}
        details = {"kind": session.config.kind, **({"prompts": prompts} if prompts else {})}
        for column in session.config.columns:
            yield Rater(column, session.config.model, details=details)
