"""``shoe map build``: a map rated by an ensemble of LLMs and other raters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli import options
from shoe.cli.output import confirm, put_json, say
from shoe.cli.workers import asking_engine, cluster_of, states_of, treat_sigterm_as_interrupt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shoe.benchmarks.classes import HoiClasses
    from shoe.core.interactions import Interactions
    from shoe.engines.base import Shard
    from shoe.lexicon.expressions import Part
    from shoe.lexicon.resolve import ObjectWords
    from shoe.maps.estimate import Estimate
    from shoe.maps.job import Outcome
    from shoe.maps.planning import Plan
    from shoe.maps.prompts import Subject
    from shoe.maps.session import Raters

LEDGER = "shoe-ledger"
PARTS = "verb,object"


def build(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for the map; its name is the map's.")],
    raters: options.Raters,
    dataset: Annotated[str, typer.Option(help="Whose classes are to be rated.")] = DEFAULT,
    predictions: Annotated[
        list[Path] | None,
        typer.Option(
            "--for", metavar="PREDICTIONS", help="Rate only what scoring this file looks up; again for more files."
        ),
    ] = None,
    whole: Annotated[
        bool,
        typer.Option(
            "--whole-interactions", help="With --for: compare whole interactions, not senses of verbs and objects."
        ),
    ] = False,
    similarity: Annotated[
        str, typer.Option(help="With --whole-interactions: the map whose verbs and objects OUT takes over.")
    ] = "hico-det",
    object_words: Annotated[
        str | None, typer.Option(help="With --for: senses of an object of several words, as scoring will have it.")
    ] = None,
    parts: Annotated[str, typer.Option(help="verb, object, or both.")] = PARTS,
    steps: Annotated[
        int | None, typer.Option(min=0, max=20, help="How far an object's neighbourhood reaches, in hypernym steps.")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(help=f"Folder of all answers, for all maps; {LEDGER} beside OUT if absent.")
    ] = None,
    prompts: Annotated[
        Path | None, typer.Option(help="Folder of prompts of your own: verb.txt, object.txt, interaction.txt.")
    ] = None,
    max_cost: options.MaxCost = None,
    max_requests: Annotated[int | None, typer.Option(min=0, help="Stop after so many attempts, retries too.")] = None,
    ask_again: options.AskAgain = None,
    shard: options.ShardText = None,
    engine: options.EngineText = "serial",
    gpus: options.Gpus = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would take.")] = False,
    yes: options.Yes = False,
    json: options.Json = None,
) -> None:
    """Have raters say how similar pairs of senses are, and write their ratings as a map that shoe score uses.

    Example: shoe map build my-map --raters raters.toml --dry-run

    Example: shoe map build my-map --raters raters.toml --whole-interactions --for predictions.json

    Every answer is kept in the ledger before it is read: stop the run however you like, and the same command goes on
    where it ended, asking nothing twice. With --shard it asks one part; without, it first takes over what the parts
    answered. raters.toml names kinds of raters (openai, openai-batch, transformers,
    embedding, lexical, table), models, prices and limits; docs/maps.md has an example.
    """
    import gc

    from shoe.benchmarks import benchmark
    from shoe.core.errors import OptionError
    from shoe.engines.base import Shard
    from shoe.llm.budget import Budget
    from shoe.llm.endpoint import OFFICIAL
    from shoe.llm.recorder import Progress
    from shoe.maps.built_map import MARK as BUILT
    from shoe.maps.built_map import (
        WHOLE_MARK,
        MapBuilt,
        check_asked,
        check_place,
        is_complete,
        write_built,
        write_whole,
    )
    from shoe.maps.estimate import BuildEstimate, estimate, measured_progress
    from shoe.maps.job import known, rate
    from shoe.maps.planning import plan_whole
    from shoe.maps.prompts import Prompts
    from shoe.maps.raters.openai import OpenAI
    from shoe.maps.raters_toml import read_raters
    from shoe.maps.session import Raters
    from shoe.predictions import read_predictions
    from shoe.report.maps import estimate_table, left, print_outcome
    from shoe.report.terminal import console
    from shoe.similarity import SimilarityMap

    treat_sigterm_as_interrupt()
    gc.enable()  # this command runs for days
    classes = benchmark(dataset).classes
    again = states_of(ask_again)
    part, asking = None if shard is None else Shard.parse(shard), asking_engine(engine, gpus)
    if part and again:
        raise OptionError("--shard: found --ask-again, expected it in a run for all parts (--max-requests 0), before")
    if not part:
        check_place(out, WHOLE_MARK if whole else BUILT)
    session = Raters(read_raters(raters), Prompts.read(prompts), ledger or out.absolute().parent / LEDGER, part)
    if merged := session.merge(say):
        say(f"{merged:,} lines of other ledgers were taken over")
    tables = [read_predictions(path, dataset=dataset) for path in predictions or []]
    planned = None
    if whole:
        if not tables or steps is not None or object_words is not None or parts != PARTS:
            raise OptionError("--whole-interactions needs --for, and has no --parts, --steps or --object-words")
        check_asked(session)
        source = SimilarityMap.load(similarity)
        planned = plan_whole(classes, tables, source)
        plans: dict[Subject, Plan] = {"interaction": planned.plan}
        rules: dict[Subject, str] = {"interaction": planned.rule}
    else:
        plans, rules = _plans(classes, tables, parts, steps, object_words)
    if not any(map(len, plans.values())):
        say("there is no pair to rate: no word of the predictions has a sense in WordNet")
    before = known(session, plans)
    if dry_run:
        expected = estimate(plans, session.file, session.prompts, progress=measured_progress(session, before))
        if not put_json(BuildEstimate(expected.rounded()), json):
            console().print(estimate_table(expected))
            if planned:
                say(planned.rule)
        return
    configs = session.file.raters
    unpriced = [c for c in configs if isinstance(c, OpenAI) and not (c.price.input or c.price.output)]
    if unpriced and max_cost is not None:
        names = ", ".join(config.name for config in unpriced)
        say(f"--max-cost does not bound {names}: raters.toml has no price there")
    charged = [config.name for config in unpriced if config.base_url.rstrip("/") == OFFICIAL]
    if (
        not yes
        and (again or not is_complete(before))
        and (charged or not all(config.price.is_free for config in configs))
    ):
        expected = estimate(plans, session.file, session.prompts, progress=measured_progress(session, before))
        _confirm(expected, charged, max_cost)
    if again:
        session.ask_again(again, say)
    budget = Budget(max_cost, max_requests)
    with cluster_of(asking, gpus, len(session.sessions)) as cluster, Progress(session.file.currency) as progress:
        session.spread_over(cluster)
        outcome = rate(session, plans, budget, progress)
    if budget.reason == "interrupted":
        say("interrupted: all answers are kept, no map is written; the same command goes on from here")
        raise KeyboardInterrupt
    if part:
        put_json(MapBuilt.from_outcome(session, outcome, budget, rules), json)
        say(_done_of(part, session, outcome))
        return
    if planned:
        write_whole(out, source, session, outcome, planned)
    else:
        write_built(out, dataset, session, outcome, rules)
    if again and is_complete(outcome):
        session.ask_again((), say)
    if not put_json(MapBuilt.from_outcome(session, outcome, budget, rules), json):
        print_outcome(session, outcome, console())
    say(f"{out}: written{'' if is_complete(outcome) else ', as far as answers go'}")
    if budget.reason in ("cost", "requests"):
        spent = f"{budget.requests:,} requests" if budget.reason == "requests" else "all that may be spent"
        say(f"the budget ended the run ({spent}); the same command goes on from here, with a budget of its own")
    elif missing := left(outcome):
        say(f"{missing:,} questions have no answer yet; the same command asks them again")


def _done_of(part: Shard, session: Raters, outcome: Outcome) -> str:
    """Say what a run for one part came to."""
    done = sum(tally.done for tally in outcome.tallies)
    missing = sum(tally.total - tally.done for tally in outcome.tallies)
    left = f", {missing:,} of its questions have none yet (the same command asks them again)" if missing else ""
    rest = "without --shard, the command takes over all parts and writes the map"
    return f"part {part}: {done:,} answers kept{left}; {rest}"


def _plans(
    classes: HoiClasses,
    tables: list[Interactions],
    parts: str,
    steps: int | None,
    object_words: str | None,
) -> tuple[dict[Subject, Plan], dict[Subject, str]]:
    """Make the plans of the parts that are wanted, and say by which rules."""
    from shoe.core.errors import OptionError, unknown_name
    from shoe.lexicon.expressions import POS
    from shoe.maps.planning import NEEDED_RULE, STEPS, VERB_RULE, object_rule, plan_dataset, plan_needed

    wanted = [part.strip() for part in parts.split(",")]
    for part in wanted:
        if part not in POS:
            raise unknown_name("part of speech", part, POS)
    if tables and steps is not None:
        raise OptionError("--steps says how far a neighbourhood reaches, and --for rates none: use one of them")
    if object_words is not None and not tables:
        raise OptionError("--object-words says which senses the words of --for have: found no --for")
    plans: Mapping[Part, Plan]
    rules: dict[Subject, str]
    if tables:
        senses = cast("ObjectWords", object_words or "phrase-first")
        plans = plan_needed(classes, tables, object_words=senses)
        needed = f"{NEEDED_RULE}; object-words={senses}"
        rules = {"verb": needed, "object": needed}
    else:
        reach = STEPS if steps is None else steps
        plans = plan_dataset(classes, steps=reach)
        rules = {"verb": VERB_RULE, "object": object_rule(reach)}
    return {part: plan for part, plan in plans.items() if part in wanted}, rules


def _confirm(expected: Estimate, charged: list[str], max_cost: float | None) -> None:
    """Ask before money is spent, also by raters that are ``charged`` for what nobody knows."""
    from rich.console import Console

    from shoe.report.maps import estimate_table

    if not (charged or expected.cost.high):
        return
    about = f"about {expected.cost.likely:,.2f} {expected.currency}"
    if charged:
        about += f" and what {', '.join(charged)} will take, of which raters.toml has no price"
    bound = "" if max_cost is None else f", {max_cost:g} at most"
    confirm(
        f"Spend {about}{bound}",
        f"this run will cost {about}: --yes spends it, --dry-run says more",
        lambda: Console(stderr=True, highlight=False).print(estimate_table(expected)),
    )
