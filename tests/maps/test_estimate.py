from collections.abc import Callable, Sequence
from io import StringIO
from math import ceil

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import asdict, replace
from rich.console import Console

from shoe.lexicon.senses import Part
from shoe.lexicon.store import lexicon
from shoe.llm.budget import Price
from shoe.llm.limits import Limits
from shoe.maps import cost_estimate as cost
from shoe.maps.config import Ensemble, RaterConfig, RatersFile
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


def estimated(*raters: RaterConfig, ensemble: Ensemble = Ensemble(), **progress: cost.Progress) -> cost.Estimate:  # noqa: B008
    return cost.estimate(PLANS, RatersFile(raters, ensemble), PROMPTS, described, progress)


def only(*raters: RaterConfig, **progress: cost.Progress) -> cost.RaterEstimate:
    return estimated(*raters, ensemble=Ensemble(), **progress).raters[-1]


def likely(found: cost.Range | None) -> float:
    assert found is not None
    return found.likely


def characters(part: Part, pairs: int = 1) -> int:
    one, other = described(["", ""])
    group = [Question(bytes(16), part, one, other)] * pairs
    rendered = PROMPTS.render(group, several=pairs > 1)
    return len(rendered.system) + len(rendered.user)


VERB_PAIRS = len(PLANS["verb"])
TOTAL = VERB_PAIRS + len(PLANS["object"])


def test_the_first_rater_is_asked_everything_and_others_too_where_nothing_is_prefiltered() -> None:
    first, second = estimated(FIRST, SECOND, ensemble=Ensemble(prefilter=())).raters
    found = estimated(FIRST)
    assert first.pairs == first.requests == second.pairs == found.raters[0].pairs == cost.Range.exactly(TOTAL)
    assert found.rows == {"verb": len(PLANS["verb"].synset), "object": 2}
    assert found.questions == {"verb": VERB_PAIRS, "object": 1}


def test_tokens_are_those_of_the_rendered_prompts_and_the_price_is_for_a_million() -> None:
    chars = VERB_PAIRS * characters("verb") + characters("object")
    found = only(FIRST)
    assert likely(found.input_tokens) == pytest.approx(chars * cost.TOKENS_PER_CHAR.likely)
    assert found.output_tokens is not None
    assert found.output_tokens.high == pytest.approx(TOTAL * cost.ANSWER_TOKENS.high)
    known = only(FIRST, first=cost.Progress(tokens_per_char=0.5, answer_tokens=3.0))
    assert likely(known.cost) == pytest.approx((chars * 0.5 * 2.0 + TOTAL * 3.0 * 8.0) / 1e6)


def test_several_pairs_share_a_request_and_its_instructions() -> None:
    found, requests = only(replace(FIRST, pairs_per_request=20)), ceil(VERB_PAIRS / 20)
    assert found.requests == cost.Range.exactly(requests + 1)
    per_request = likely(found.input_tokens) / cost.TOKENS_PER_CHAR.likely / requests
    assert per_request == pytest.approx(characters("verb", 20), rel=0.01)


def test_each_repeat_is_asked_and_what_is_answered_is_not() -> None:
    found = only(replace(FIRST, repeats=3), first=cost.Progress({"verb": 100, "object": 3}))
    assert (found.answered, found.pairs) == (103, cost.Range.exactly(3 * TOTAL - 103))
    done = only(FIRST, first=cost.Progress({"verb": VERB_PAIRS, "object": 1}, {"verb": 0}))
    assert done.pairs == done.requests == done.cost == cost.Range.exactly(0)


def test_others_are_shown_what_the_first_is_thought_not_to_rate_zero_and_a_sample() -> None:
    found = only(FIRST, SECOND)
    assert found.pairs.likely == pytest.approx(cost.NOT_ZERO["verb"].likely * VERB_PAIRS + 400 + 1, abs=1)
    assert found.pairs.low < found.pairs.likely < found.pairs.high


def test_a_first_rater_that_is_done_leaves_nothing_to_assume() -> None:
    done = cost.Progress({"verb": VERB_PAIRS, "object": 1}, {"verb": VERB_PAIRS - 30})
    assert only(FIRST, SECOND, first=done).pairs == cost.Range.exactly(30 + 400 + 1)
    none_left_out = cost.Progress({"verb": VERB_PAIRS, "object": 1}, {"verb": 12})
    assert only(FIRST, SECOND, first=none_left_out).pairs == cost.Range.exactly(TOTAL), "12 zeros are fewer than 400"
    assert not any("above 0" in line for line in estimated(FIRST, SECOND, first=done).assumptions)


def test_many_answers_of_the_first_rater_say_more_than_the_paper() -> None:
    some = estimated(FIRST, SECOND, first=cost.Progress({"verb": cost.ENOUGH}, {"verb": cost.ENOUGH // 2}))
    assert some.raters[1].pairs.likely == pytest.approx(VERB_PAIRS / 2 + 400 + 1, abs=1)
    assert any("rates 50 %" in line and f"{cost.ENOUGH:,}" in line for line in some.assumptions)
    few = estimated(FIRST, SECOND, first=cost.Progress({"verb": 10}, {"verb": 0}))
    assert any("rates 14 %" in line and "assumption" in line for line in few.assumptions)


@pytest.mark.parametrize(
    ("limits", "hours"),
    [
        (Limits(concurrency=1), lambda requests, tokens: requests * cost.SECONDS.likely / 3600),
        (Limits(concurrency=10_000, requests_per_minute=60), lambda requests, tokens: requests / 3600),
        (Limits(concurrency=10_000, tokens_per_minute=100), lambda requests, tokens: tokens / 6000),
    ],
)
def test_hours_are_those_of_the_narrowest_limit(limits: Limits, hours: Callable[[int, float], float]) -> None:
    found = only(replace(FIRST, limits=limits))
    tokens = likely(found.input_tokens) + likely(found.output_tokens)
    assert likely(found.hours) == pytest.approx(hours(TOTAL, tokens))


def test_hours_are_corrected_by_the_answers_so_far() -> None:
    found = only(replace(FIRST, limits=Limits(concurrency=2)), first=cost.Progress(seconds=9.0))
    assert likely(found.hours) == pytest.approx(TOTAL * 9 / 3600 / 2)


def test_hours_of_a_batch_are_what_is_promised_and_of_a_local_model_unknown() -> None:
    assert only(BATCH).hours == cost.BATCH_HOURS
    assert only(Transformers(name="local", model="a-model")).hours is None


def test_a_rater_without_prompts_costs_nothing() -> None:
    found = only(WUP)
    assert (found.pairs, found.requests, found.input_tokens) == (cost.Range.exactly(TOTAL), None, None)
    assert (found.cost, found.hours, estimated(WUP).assumptions) == (None, None, ())


def test_a_bound_on_the_answer_is_the_most_that_is_written() -> None:
    tight = only(replace(FIRST, sampling={"max_tokens": 4}))
    wide = only(replace(FIRST, sampling={"max_completion_tokens": 1000}, pairs_per_request=20))
    assert tight.output_tokens == cost.Range.exactly(4 * TOTAL)
    assert wide.output_tokens is not None
    assert wide.output_tokens.high == pytest.approx(1000 / 20 * TOTAL)
    assert wide.output_tokens.likely == pytest.approx(cost.ANSWER_TOKENS.likely * TOTAL)


def test_the_whole_run_is_the_sum_of_its_raters() -> None:
    found = estimated(FIRST, SECOND, WUP)
    costs = [(rater.cost.likely, rater.cost.high) for rater in found.raters if rater.cost]
    assert found.cost is not None
    assert [found.cost.likely, found.cost.high] == pytest.approx([sum(bound) for bound in zip(*costs, strict=True)])


def test_an_empty_plan_takes_nothing() -> None:
    empty: dict[Part, Plan] = {"verb": plan_pairs("verb", []), "object": plan_pairs("object", [])}
    found = cost.estimate(empty, RatersFile((FIRST, SECOND)), PROMPTS, described)
    assert found.cost == cost.Range.exactly(0)
    assert [rater.requests for rater in found.raters] == [cost.Range.exactly(0)] * 2


@given(st.integers(1, 50), st.integers(0, 9000), st.integers(0, 9000), st.integers(0, 10_000))
def test_bounds_keep_their_order(size: int, answered: int, zeros: int, sample: int) -> None:
    known = cost.Progress({"verb": min(answered, VERB_PAIRS)}, {"verb": min(zeros, answered, VERB_PAIRS)})
    raters = (replace(FIRST, pairs_per_request=size), replace(SECOND, pairs_per_request=size))
    for rater in estimated(*raters, ensemble=Ensemble(sample=sample), first=known).raters:
        for value in (rater.pairs, rater.requests, rater.input_tokens, rater.output_tokens, rater.cost, rater.hours):
            assert value is not None
            assert 0 <= value.low <= value.likely <= value.high
        assert rater.pairs.high <= TOTAL


def shown(found: cost.Estimate, width: int) -> str:
    (written := Console(width=width, file=StringIO(), record=True)).print(estimate_table(found))
    return written.export_text()


@pytest.mark.parametrize(("width", "name"), [(80, "first"), (160, "first"), (80, "m" * 40)])
def test_the_table_cuts_nothing_off(width: int, name: str) -> None:
    text = shown(estimated(replace(FIRST, name=name), BATCH, WUP), width)
    assert "…" not in text
    assert f"{VERB_PAIRS:,} to be asked" in " ".join(text.split())
    assert text.count("m") >= name.count("m")
    requests = sum(likely(rater.requests) for rater in estimated(replace(FIRST, name=name), BATCH).raters)
    assert f" {ceil(requests * 530 / 1e6)} MB" in text
    assert all(word in text for word in ("second", "wup", "all", "cost USD", f"{TOTAL:,}", "assumption"))
    assert name in text or len(name) == 40


def test_json_has_every_range_and_leaves_out_what_does_not_exist() -> None:
    found = estimated(FIRST, WUP).rounded().to_dict()
    first, lexical = found["raters"]
    assert set(first["cost"]) == {"low", "likely", "high"}
    assert first["pairs"] == {"low": TOTAL, "likely": TOTAL, "high": TOTAL}
    assert set(lexical) == {"name", "kind", "answered", "pairs"}
