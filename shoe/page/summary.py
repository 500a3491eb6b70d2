"""The table that a page opens with: models down, figures across."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoe.page.markup import Markup, tag
from shoe.runs.run import Run

_STRICT = {"full": "mAP", "rare": "rare", "non_rare": "non-rare"}
_SEMANTIC = {
    "map": "SHOE-mAP",
    "mf1": "SHOE-mF1",
    "gt_miss_rate": "missed truths",
    "prediction_miss_rate": "unmatched predictions",
}
_LOWER_IS_BETTER = ("gt_miss_rate", "prediction_miss_rate")


def summary(runs: Sequence[Run]) -> Markup:
    """Write the table: percent, the best of each column in bold and the second underlined."""
    figures = [run.figures() for run in runs]
    keys = list(figures[0])
    places = {key: _places([of[key] for of in figures], _last(key) in _LOWER_IS_BETTER) for key in keys}
    rows = [
        tag(
            "tr",
            tag("th", tag("span", class_=f"dot m{number % 8}"), tag("bdi", run.name), scope="row", class_="model"),
            *(_cell(of[key], places[key][number]) for key in keys),
        )
        for number, (run, of) in enumerate(zip(runs, figures, strict=True))
    ]
    names = (_STRICT if key.startswith("strict:") else _SEMANTIC for key in keys)
    second = [tag("th", of[_last(key)], scope="col") for of, key in zip(names, keys, strict=True)]
    head = tag("thead", tag("tr", tag("td"), *_groups(keys)), tag("tr", tag("th", "model", scope="col"), *second))
    return tag("table", head, tag("tbody", *rows), class_="figures")


def _last(key: str) -> str:
    return key.rsplit(":", 1)[1]


def _groups(keys: Sequence[str]) -> list[Markup]:
    names = [
        "by meaning" if key.startswith("semantic:") else f"strict, {key.split(':', 1)[1].rsplit(':', 1)[0]}"
        for key in keys
    ]
    return [tag("th", name, scope="colgroup", colspan=names.count(name)) for name in dict.fromkeys(names)]


def _places(values: Sequence[float | None], lower: bool) -> Mapping[int, int]:
    """Place of each model among several, from 0; equal figures share theirs."""
    known = sorted({value for value in values if value is not None}, reverse=not lower)
    return {
        number: known.index(value) if value is not None and len(known) > 1 else -1
        for number, value in enumerate(values)
    }


def _cell(value: float | None, place: int) -> Markup:
    return tag("td", "–" if value is None else f"{100 * value:.2f}", class_={0: "best", 1: "second"}.get(place))
