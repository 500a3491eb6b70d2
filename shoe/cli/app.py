"""The typer application. Each command is a module of its own, and only the module of the running command is loaded."""

import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

import typer

from shoe.core.errors import OptionError, closest_names, quote

COMMANDS = (
    *("score", "compare", "average", "verify", "diagnose", "convert", "resolve", "similarity", "prompt", "predict"),
    *("audit", "explain", "calibration", "demo", "dataset", "bongard", "map", "lexicon", "study", "export", "submit"),
    "serve",
)
_GROUPS = ("dataset", "bongard", "map", "lexicon", "study", "serve", "export")
_CONTEXT = {"help_option_names": ["-h", "--help"]}
_UsageError: Any = typer.BadParameter.__base__  # typer does not name it


def run(words: Sequence[str]) -> None:
    """Parse the words of a command line, and run the command; without a command, print the help.

    Raises OptionError for an invalid command line, and SystemExit if the exit code of the command is not 0.
    """
    named = [word for word in words[:1] if word in COMMANDS]
    command = typer.main.get_command(app(*named))
    wanted = [*words, "--help"] if not words or (len(words) == 1 and words[0] in _GROUPS) else list(words)
    try:
        # Not command.main(), because its exit codes for interrupted processes differ from those of shoe.
        with command.make_context("shoe", wanted) as context:
            command.invoke(context)
    except typer.Exit as end:
        sys.exit(end.exit_code)
    except typer.Abort:
        sys.exit(130)
    except _UsageError as error:
        message = _number(error, words) or _unknown_option(error) or error.format_message().rstrip(".")
        path = error.ctx.command_path if error.ctx else " ".join(["shoe", *named])
        raise OptionError(f"{message[:1].lower()}{message[1:]} (see {path} --help)") from None


def _unknown_option(error: Any) -> str | None:
    """Return the message for an unknown option, with a suggestion if there is one; None for other errors."""
    if not hasattr(error, "possibilities"):
        return None
    from shoe.benchmarks.scoring_options import describe  # imports NumPy

    name, own = error.option_name, [option for param in error.ctx.command.params for option in param.opts]
    rules = [f"--option {rule}=VALUE" for rule, *_ in describe() if f"--{rule}" == name and "--option" in own]
    if close := closest_names(name, error.possibilities or [], likeness=0.75) or rules:
        return f"no such option: {name} (did you mean {close[0]}?)"
    commands = vars(typer.main.get_command(app()))["commands"].items()
    owners = [f"shoe {known}" for known, each in commands if any(name in param.opts for param in each.params)]
    return f"no such option: {name}" + f" (it is an option of {', '.join(owners)})" * bool(owners)


def _number(error: Any, words: Sequence[str]) -> str | None:
    """Return the message for an invalid value of an option with numeric bounds, or None for other errors."""
    option = getattr(error, "param", None)
    # The attribute with the bounds, and the wording of the message, differ between typer versions.
    kinds = option, getattr(option, "type", None)
    low, high = (
        next((v for kind in kinds if (v := getattr(kind, end, None)) is not None), None) for end in ("min", "max")
    )
    if option is None or (low is None and high is None):
        return None
    given = (
        word.partition("=")[2] or after for word, after in pairwise([*words, ""]) if word.split("=")[0] in option.opts
    )
    kind = "a whole number" if isinstance(high if low is None else low, int) else "a number"
    bounds = f"up to {high}" if low is None else f"of at least {low}" if high is None else f"from {low} to {high}"
    return f"{option.opts[0]}: found {quote(next(given, ''))}, expected {kind} {bounds}"


def app(*names: str) -> typer.Typer:
    """Return the typer application with the named commands; with all commands if no name is given."""
    made = typer.Typer(
        help="Evaluate human-object interaction detection with strict and semantic metrics.",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings=_CONTEXT,
    )
    for name in names or COMMANDS:
        module = import_module(f"shoe.cli.{name}")
        if name in _GROUPS:
            made.add_typer(module.app, name=name)
        else:
            made.command(name)(getattr(module, name))
    made.callback(
        epilog="`shoe --version` prints the version. `shoe --lexicon FILE COMMAND` replaces WordNet 3.0 by a lexicon.",
        context_settings=_CONTEXT,
    )(lambda: None)
    return made
