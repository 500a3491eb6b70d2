from hypothesis import given, strategies as st

from shoe.service.callers import Buckets
from shoe.service.settings import Rate
from tests.examples import examples


@examples(0.5)
@given(
    st.integers(1, 5),
    st.sampled_from((0.25, 0.5, 1.0, 2.0)),
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from((0.0, 0.25, 0.5, 1.0, 8.0))), max_size=30),
)
def test_a_bucket_gives_what_has_flowed_into_it(at_once: int, rate: float, asked: list[tuple[str, float]]) -> None:
    now = 100.0
    buckets = Buckets(Rate(rate, at_once), lambda: now)
    held, filled = dict.fromkeys("ab", float(at_once)), dict.fromkeys("ab", now)
    for key, pause in asked:
        now += pause
        held[key], filled[key] = min(at_once, held[key] + (now - filled[key]) * rate), now
        wait = 0.0 if held[key] >= 1 else (1 - held[key]) / rate
        assert abs(buckets.take(key) - wait) < 1e-9
        held[key] -= wait == 0


def test_no_number_of_keys_fills_the_memory_or_frees_who_is_waiting() -> None:
    buckets = Buckets(Rate(0.001, 1), lambda: 0.0)
    for number in range(12_000):
        assert buckets.take(f"address {number}") == 0
    assert len(buckets._full) <= 10_000
    assert buckets.take("address 11999") > 0
