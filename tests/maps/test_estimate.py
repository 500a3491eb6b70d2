from collections.abc import Sequence
from io import StringIO
from math import ceil

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import asdict, replace
from rich.console import Console

from shoe.lexicon.expressions import Part
from shoe.lexicon.store import lexicon
from shoe.llm.budget import Price
from shoe.llm.limits import Limits
from shoe.maps.config import Ensemble, RaterConfig, RatersFile
from shoe.maps.estimate import (
    ANSWER_TOKENS,
    BATCH_HOURS,
    ENOUGH,
    NOT_ZERO,
    SECONDS,
    TOKENS_PER_CHAR,
    Estimate,
    Progress,
    Range,
    RaterEstimate,
    estimate,
)
from shoe.maps.planning import Plan, plan_pairs
from shoe.maps.prompts import Prompts, Question, SenseText
from shoe.maps.raters.baselines import Lexical
from shoe.maps.raters.local import Transformers
from shoe.maps.raters.openai import OpenAI, OpenAIBatch
from shoe.report.maps import estimate_table

VERBS = [lexicon().name(synset) for synset in range(lexicon().nouns, lexicon().nouns + 120)]
PLANS: dict[Part, Plan] = {
    "verb": plan_pairs("verb", [(one, other) for one in VERBS[:100] for other in VERBS[20:]]),
    "object": plan_pairs("object", [("horse.n.01", "pony.n.05"), ("pony.n.05", "horse.n.01")]),
}
PROMPTS = Prompts.read()
FIRST = OpenAI(name="first", model="a-model", price=Price(2.0, 8.0))
SECOND = replace(FIRST, name="second")
BATCH = OpenAIBatch(**asdict(SECOND))
WUP = Lexical(name="wup", measure="wup")


def described(names: Sequence[str]) -> list[SenseText]:
    """Words and a gloss of one length: every question's prompt is as long as every other's."""
    return [SenseText(name, ("a word",), "what it means") for name in names]


def estimated(*raters: RaterConfig, ensemble: Ensemble = Ensemble(), **progress: Progress) -> Estimate:  # noqa: B008
    return estimate(PLANS, RatersFile(raters, ensemble), PROMPTS, described, progress)


def only(*raters: RaterConfig, **progress: Progress) -> RaterEstimate:
    return estimated(*raters, ensemble=Ensemble(), **progress).raters[-1]


def characters(part: Part, pairs: int = 1) -> int:
    one, other = described(["", ""])
    group = [Question(bytes(16), part, one, other)] * pairs
    rendered = PROMPTS.render(group, several=pairs > 1)
    return len(rendered.system) + len(rendered.user)


def total() -> int:
    return len(PLANS["verb"]) + len(PLANS["object"])


def test_the_first_rater_is_asked_everything() -> None:
    found = only(FIRST)
    assert found.pairs == found.requests == Range.exactly(total())
    assert estimated(FIRST).rows == {"verb": len(PLANS["verb"].synset), "object": 2}
    assert estimated(FIRST).questions == {"verb": len(PLANS["verb"]), "object": 1}


def test_tokens_are_those_of_the_rendered_prompts() -> None:
    chars = len(PLANS["verb"]) * characters("verb") + characters("object")
    found = only(FIRST)
    assert found.input_tokens is not None
    assert found.output_tokens is not None
    assert found.input_tokens.likely == pytest.approx(chars * TOKENS_PER_CHAR.likely)
    assert found.output_tokens.high == pytest.approx(total() * ANSWER_TOKENS.high)


def test_several_pairs_share_a_request_and_its_instructions() -> None:
    found = only(replace(FIRST, pairs_per_request=20))
    assert found.requests == Range.exactly(ceil(len(PLANS["verb"]) / 20) + 1)
    assert found.input_tokens is not None
    per_request = found.input_tokens.likely / TOKENS_PER_CHAR.likely / ceil(len(PLANS["verb"]) / 20)
    assert per_request == pytest.approx(characters("verb", 20), rel=0.01)


def test_the_price_is_for_a_million_tokens() -> None:
    found = only(FIRST, first=Progress(tokens_per_char=0.5, answer_tokens=3.0))
    assert found.cost is not None
    chars = len(PLANS["verb"]) * characters("verb") + characters("object")
    assert found.cost.likely == pytest.approx((chars * 0.5 * 2.0 + total() * 3.0 * 8.0) / 1e6)


def test_each_repeat_is_asked_and_what_is_answered_is_not() -> None:
    found = only(replace(FIRST, repeats=3), first=Progress({"verb": 100, "object": 3}))
    assert (found.answered, found.pairs) == (103, Range.exactly(3 * total() - 103))


def test_nothing_is_left_of_what_is_done() -> None:
    done = Progress({"verb": len(PLANS["verb"]), "object": 1}, {"verb": 0})
    found = estimated(FIRST, first=done)
    for value in (found.raters[0].pairs, found.raters[0].requests, found.cost):
        assert value == Range.exactly(0)


def test_others_are_shown_what_the_first_is_thought_not_to_rate_zero_and_a_sample() -> None:
    found = only(FIRST, SECOND)
    verbs = len(PLANS["verb"])
    assert found.pairs.likely == pytest.approx(NOT_ZERO["verb"].likely * verbs + 400 + 1, abs=1)
    assert found.pairs.low < found.pairs.likely < found.pairs.high


def test_others_are_shown_everything_where_nothing_is_prefiltered() -> None:
    assert estimated(FIRST, SECOND, ensemble=Ensemble(prefilter=())).raters[1].pairs == Range.exactly(total())


def test_a_first_rater_that_is_done_leaves_nothing_to_assume() -> None:
    verbs = len(PLANS["verb"])
    done = Progress({"verb": verbs, "object": 1}, {"verb": verbs - 30})
    assert only(FIRST, SECOND, first=done).pairs == Range.exactly(30 + 400 + 1)
    none_left_out = Progress({"verb": verbs, "object": 1}, {"verb": 12})
    assert only(FIRST, SECOND, first=none_left_out).pairs == Range.exactly(total()), "12 zeros are fewer than 400"
    assert not any("above 0" in line for line in estimated(FIRST, SECOND, first=done).assumptions)


def test_many_answers_of_the_first_rater_say_more_than_the_paper() -> None:
    some = estimated(FIRST, SECOND, first=Progress({"verb": ENOUGH}, {"verb": ENOUGH // 2}))
    likely = ENOUGH / 2 + (len(PLANS["verb"]) - ENOUGH) / 2 + 400 + 1
    assert some.raters[1].pairs.likely == pytest.approx(likely, abs=1)
    assert any("rates 50 %" in line and f"{ENOUGH:,}" in line for line in some.assumptions)
    few = estimated(FIRST, SECOND, first=Progress({"verb": 10}, {"verb": 0}))
    assert any("rates 14 %" in line and "assumption" in line for line in few.assumptions)


@pytest.mark.parametrize(
    ("limits", "hours"),
    [
        (Limits(concurrency=1), lambda requests, tokens: requests * SECONDS.likely / 3600),
        (Limits(concurrency=10_000, requests_per_minute=60), lambda requests, tokens: requests / 3600),
        (Limits(concurrency=10_000, tokens_per_minute=100), lambda requests, tokens: tokens / 6000),
    ],
)
def test_hours_are_those_of_the_narrowest_limit(limits: Limits, hours: object) -> None:
    found = only(replace(FIRST, limits=limits))
    assert found.hours is not None
    assert found.input_tokens is not None
    assert found.output_tokens is not None
    tokens = found.input_tokens.likely + found.output_tokens.likely
    assert found.hours.likely == pytest.approx(hours(total(), tokens))  # type: ignore[operator]


def test_hours_of_a_batch_are_what_is_promised_and_of_a_local_model_unknown() -> None:
    assert only(BATCH).hours == BATCH_HOURS
    local = Transformers(name="local", model="a-model")
    assert only(local).hours is None


def test_a_rater_without_prompts_costs_nothing() -> None:
    found = only(WUP)
    assert found.pairs == Range.exactly(total())
    assert (found.requests, found.input_tokens, found.cost, found.hours) == (None, None, None, None)
    assert estimated(WUP).assumptions == ()


def test_a_bound_on_the_answer_is_the_most_that_is_written() -> None:
    tight = only(replace(FIRST, sampling={"max_tokens": 4}))
    wide = only(replace(FIRST, sampling={"max_completion_tokens": 1000}, pairs_per_request=20))
    assert tight.output_tokens == Range.exactly(4 * total())
    assert wide.output_tokens is not None
    assert wide.output_tokens.high == pytest.approx(1000 / 20 * total())
    assert wide.output_tokens.likely == pytest.approx(ANSWER_TOKENS.likely * total())


def test_the_whole_run_is_the_sum_of_its_raters() -> None:
    found = estimated(FIRST, SECOND, WUP)
    costs = [rater.cost for rater in found.raters if rater.cost]
    assert found.cost is not None
    assert found.cost.likely == pytest.approx(sum(cost.likely for cost in costs))
    assert found.cost.high == pytest.approx(sum(cost.high for cost in costs))


def test_an_empty_plan_takes_nothing() -> None:
    empty: dict[Part, Plan] = {"verb": plan_pairs("verb", []), "object": plan_pairs("object", [])}
    found = estimate(empty, RatersFile((FIRST, SECOND)), PROMPTS, described)
    assert found.cost == Range.exactly(0)
    assert [rater.requests for rater in found.raters] == [Range.exactly(0)] * 2


@given(st.integers(1, 50), st.integers(0, 9000), st.integers(0, 9000), st.integers(0, 10_000))
def test_bounds_keep_their_order(size: int, answered: int, zeros: int, sample: int) -> None:
    known = Progress({"verb": min(answered, len(PLANS["verb"]))}, {"verb": min(zeros, answered, len(PLANS["verb"]))})
    raters = (replace(FIRST, pairs_per_request=size), replace(SECOND, pairs_per_request=size))
    for rater in estimated(*raters, ensemble=Ensemble(sample=sample), first=known).raters:
        for value in (rater.pairs, rater.requests, rater.input_tokens, rater.output_tokens, rater.cost, rater.hours):
            assert value is not None
            assert 0 <= value.low <= value.likely <= value.high
        assert rater.pairs.high <= total()


def shown(found: Estimate, width: int) -> str:
    written = StringIO()
    Console(width=width, file=written).print(estimate_table(found))
    return written.getvalue()


@pytest.mark.parametrize("width", [80, 160])
def test_the_table_cuts_nothing_off(width: int) -> None:
    found = estimated(FIRST, BATCH, WUP)
    text = shown(found, width)
    assert "…" not in text
    assert f"{len(PLANS['verb']):,} to be asked" in " ".join(text.split())
    for word in ("first", "second", "wup", "all", "cost USD", f"{total():,}", "assumption"):
        assert word in text


def test_a_name_of_40_characters_leaves_the_figures_whole() -> None:
    text = shown(estimated(replace(FIRST, name="m" * 40)), 80)
    assert "…" not in text
    assert text.count("m") >= 40


def test_json_has_every_range_and_leaves_out_what_does_not_exist() -> None:
    found = estimated(FIRST, WUP).rounded().to_dict()
    first, lexical = found["raters"]
    assert set(first["cost"]) == {"low", "likely", "high"}
    assert first["pairs"] == {"low": total(), "likely": total(), "high": total()}
    assert set(lexical) == {"name", "kind", "answered", "pairs"}
