"""What the page says before any script runs: headings, the summary, controls, how to get the same figures."""

from __future__ import annotations

from collections.abc import Sequence

from shoe.comparison.compare import Comparison
from shoe.comparison.sweeps import Point, Survival
from shoe.core.errors import many
from shoe.diagnosis.diagnose import Diagnosis
from shoe.page.errors import error_bars
from shoe.page.markup import Markup, joined, tag
from shoe.page.summary import named, summary
from shoe.page.tables import apart_tables, sweep_of
from shoe.runs.run import Run

Swept = tuple[Sequence[Point], Sequence[Survival]]


def body(
    found: Comparison,
    command: str,
    again: str | None,
    diagnoses: Sequence[Diagnosis],
    shown: bool,
    per_class: bool,
    swept: Swept,
    people: Markup | None = None,
) -> Markup:
    """Write everything but the data.

    Args:
        found: the comparison.
        command: that made the page.
        again: why models cannot be scored again in the page; None if they can.
        diagnoses: of all models, or none.
        shown: whether there are images to show.
        per_class: whether there are figures per class.
        swept: the figures under other choices, and whether rankings survive them; no points, no such part.
        people: what a rating study says; None, no such part.
    """
    runs, no_classes = found.runs, "There is no figure per class that all models have."
    parts = {
        "Summary": summary(found),
        "Settings": _settings(again),
        "Sweep": sweep_of(found.names, *swept) if swept[0] else None,
        "Classes": joined(_classes(len(runs)), apart_tables(found)) if per_class else _absent(no_classes),
        "Errors": _errors(runs, diagnoses),
        "People": people,
        "Examples": _examples() if shown else _absent("Images are shown of predictions."),
        "Reproduce": _reproduce(runs, command),
    }
    parts = {name: content for name, content in parts.items() if content is not None}
    links = (tag("a", name, href=f"#{name.lower()}") for name in parts)
    theme = tag("button", "◐", type="button", id="theme", title="light or dark", aria_label="light or dark")
    top = tag("header", tag("div", tag("b", "shoe"), tag("nav", *links, aria_label="parts"), theme), class_="top")
    made = (tag("section", tag("h2", name), content, id=name.lower()) for name, content in parts.items())
    return joined(top, tag("main", tag("h1", _title(runs)), tag("p", _line(runs), class_="quiet"), *made))


def _title(runs: Sequence[Run]) -> Markup | str:
    return f"{len(runs)} models compared" if len(runs) > 1 else tag("bdi", runs[0].name)


def _line(runs: Sequence[Run]) -> str:
    run = runs[0]
    sizes = (
        many(len(run.images), "image"),
        many(int(run.facts["truths"]), "ground truth"),
        f"{len(run.classes):,} classes",
    )
    return " · ".join((f"{run.classes.name} {run.facts.get('split', '')}", *sizes))


def _absent(why: str) -> Markup:
    return tag("p", why, class_="quiet")


def _settings(again: str | None) -> Markup:
    if again is not None:
        return _absent(f"Not in this page: {again}.")

    def slider(name: str, label: str) -> Markup:
        control = tag("input", type="range", id=name, min=0, max=1, step=0.01)
        return tag("label", tag("span", label), control, tag("output", id=f"{name}-value", for_=name))

    columns = ("model", "SHOE-mAP", "SHOE-mF1", "GT missed", "unmatched", "rank")
    return joined(
        tag(
            "p",
            "What if meaning were weighed otherwise? All predictions are matched and scored again here, as shoe score "
            "would with these options.",
            class_="quiet",
        ),
        tag(
            "div",
            tag(
                "div",
                slider("weight", "weight of the verb"),
                slider("delta", "delta"),
                tag("label", tag("span", "ensemble"), tag("select", id="ensemble")),
                class_="sliders",
            ),
            tag(
                "div",
                tag(
                    "table",
                    tag("thead", tag("tr", *(tag("th", name, scope="col") for name in columns))),
                    tag("tbody", id="rescored", aria_live="polite"),
                ),
                class_="wide",
            ),
            tag(
                "div",
                tag("code", id="same-options"),
                tag("button", "as reported", type="button", id="reset"),
                class_="controls",
            ),
            tag("p", id="same-note", class_="quiet"),
            class_="card",
        ),
    )


def _classes(models: int) -> Markup:
    choices = (
        tag("option", label, value=value)
        for value, label in (("all", "all"), ("rare", "rare"), ("non-rare", "non-rare"))
    )
    return joined(
        tag(
            "p",
            _spread(models) + "Choose a class for its curves.",
            class_="quiet",
        ),
        tag(
            "div",
            tag(
                "input", type="search", id="filter", placeholder="filter, as ride or horse", aria_label="filter classes"
            ),
            tag("select", id="measure", aria_label="figure"),
            tag("select", *choices, id="part", aria_label="rare or not"),
            tag("span", id="class-count", class_="quiet", role="status"),
            class_="controls",
        ),
        tag(
            "div",
            tag(
                "div",
                tag("table", tag("thead", tag("tr", id="class-head")), tag("tbody", id="class-rows")),
                class_="card list",
                tabindex=0,
                role="region",
                aria_label="classes",
            ),
            tag("div", id="curves", class_="card", aria_live="polite"),
            class_="classes",
        ),
    )


def _spread(models: int) -> str:
    if models == 1:
        return ""
    if models == 2:
        return "Difference is how much better the second model is. "
    return "Spread is the difference between the best and the worst model. "


def _errors(runs: Sequence[Run], diagnoses: Sequence[Diagnosis]) -> Markup:
    if not diagnoses:
        return _absent("Errors are broken down of predictions.")
    first = diagnoses[0]
    seeds = f"means over seeds {first.seed} to {first.seed + first.seeds - 1}"
    names = (tag("span", *named(run.name, number), class_="model") for number, run in enumerate(runs))
    return joined(
        tag(
            "p",
            "Points of mAP that fixing all errors of a kind would add, and their number, as in shoe diagnose "
            f"({seeds}). This mAP is the diagnosis' own (rules of Diag-HOI), not that of the summary.",
            class_="quiet",
        ),
        tag("div", tag("div", error_bars(diagnoses), class_="wide"), tag("p", *names, class_="legend"), class_="card"),
    )


def _examples() -> Markup:
    lines = (
        tag("span", tag("span", class_="key"), "person", class_="quiet"),
        tag("span", tag("span", class_="key object"), "object", class_="quiet"),
    )
    return joined(
        tag("p", "Bold is the ground truth; in colour is what the model said, with its score.", class_="quiet"),
        tag(
            "div",
            tag("button", "‹", type="button", id="previous", aria_label="previous image"),
            tag("select", id="image", aria_label="image"),
            tag("button", "›", type="button", id="next", aria_label="next image"),
            class_="controls",
        ),
        tag("div", id="example-models", class_="controls", role="group", aria_label="model"),
        tag(
            "div",
            tag(
                "div",
                tag("div", id="canvas"),
                tag("p", tag("span", id="image-facts"), " ", *lines, class_="legend quiet"),
            ),
            tag("div", tag("ul", id="said"), tag("div", id="why", aria_live="polite"), class_="card"),
            class_="examples",
        ),
    )


def _reproduce(runs: Sequence[Run], command: str) -> Markup:
    typed = tag("pre", command, id="command")
    copy = tag("button", "copy", type="button", data_copy="command")
    return joined(
        tag("div", tag("div", typed, copy, class_="command"), *map(_identity, runs), class_="card"),
    )


def _identity(run: Run) -> Markup:
    """What identifies a model's figures: equal signatures mean comparable figures."""
    rows = {
        "signature": str(run.signature),
        "predictions": f"{int(run.facts['predictions']):,}, sha {run.facts['predictions-sha']}",
        "version": run.facts["shoe"],
    }
    named = (each for name, value in rows.items() for each in (tag("dt", name), tag("dd", tag("code", value))))
    title = tag("summary", tag("bdi", run.name[:200], title=run.name[:1000]), " ", tag("code", run.signature.short()))
    return tag("details", title, tag("dl", *named, class_="facts"))
