from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from shoe.core.errors import ShoeError
from shoe.llm.budget import Price
from shoe.llm.limits import Limits
from shoe.maps.config import Ensemble
from shoe.maps.raters.baselines import Lexical
from shoe.maps.raters.openai import OpenAIBatch
from shoe.maps.raters.table import Table
from shoe.maps.raters_toml import read_raters
from tests.maps.samples import refused_at

PLAIN = '[[rater]]\nname = "wup"\nkind = "lexical"\nmeasure = "wup"\n'
ASKED = '[[rater]]\nname = "a"\nkind = "openai"\nmodel = "m"\n'
BATCH = ASKED.replace("openai", "openai-batch")
LOCAL = ASKED.replace("openai", "transformers")
ALL_FIELDS = f"""
currency = "EUR"
[ensemble]
prefilter = ["object", "verb"]
sample = 7
seed = 3
{PLAIN}
[[rater]]
name = "people"
kind = "table"
file = "people.csv"
repeats = 2
model = "5 annotators"
revision = "r1"
price = {{input = 1, output = 2.5, cached_input = 0}}
limits = {{concurrency = 3, requests_per_minute = 60, tokens_per_minute = 1e6, timeout = 2, tries = 1}}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "raters.toml"
    path.write_text(text, "utf-8")
    return path


def test_all_fields_are_read(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("")
    file = read_raters(written(tmp_path, ALL_FIELDS))
    assert (file.currency, file.ensemble) == ("EUR", Ensemble(prefilter=("verb", "object"), sample=7, seed=3))
    lexical, table = file.raters
    assert isinstance(lexical, Lexical)
    assert isinstance(table, Table)
    assert (lexical.name, lexical.kind, lexical.measure) == ("wup", "lexical", "wup")
    assert (lexical.price, lexical.limits) == (None, Limits())
    assert (table.file, table.model, table.revision) == (tmp_path / "people.csv", "5 annotators", "r1")
    assert (table.repeats, table.price, table.limits) == (2, Price(1, 2.5, 0), Limits(3, 60, 1e6, 2, 1))


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    file = read_raters(written(tmp_path, PLAIN))
    assert (file.ensemble, file.currency) == (Ensemble(), "USD")


def test_repeats_are_columns_of_their_own() -> None:
    assert OpenAIBatch(name="a", model="m").columns == ["a"]
    assert OpenAIBatch(name="a", model="m", repeats=3).columns == ["a-1", "a-2", "a-3"]


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [
        ("", "", "[[rater]]"),
        ("[[rater", "", "no TOML"),
        ("rater = 3", "rater", "found 3, expected"),
        ('[[rater]]\nkind = "lexical"', "rater 1: name", "nothing"),
        ('[[rater]]\nname = "a"', "rater 'a': kind", "nothing"),
        ('[[rater]]\nname = "a"\nkind = "lexcal"', "rater 'a': kind", "found 'lexcal'"),
        ('[[rater]]\nname = "a"\nkind = "lexcal"', "rater 'a': kind", "mean lexical?"),
        ('[[rater]]\nname = "a\\tb"\nkind = "lexical"', r"rater 'a\tb': name", r"'a\tb', expected 1 to 200 "),
        ('[[rater]]\nname = "a b"\nkind = "lexical"', "rater 'a b': name", "1 to 40 letters"),
        ('[[rater]]\nname = "synset"\nkind = "lexical"', "rater 'synset': name", "found 'synset'"),
        (PLAIN + "measur = 1", "rater 'wup'", "'measur', expected"),
        (PLAIN + "measur = 1", "rater 'wup'", "mean measure?"),
        (PLAIN.replace('"wup"\n', '"wub"\n'), "rater 'wub': measure", "found 'wub', expected path, wup"),
        (PLAIN + "thresholds = [1, 2, 3]", "rater 'wup': thresholds", "list of 3"),
        (PLAIN + "thresholds = [1, 2, 3, true]", "rater 'wup': thresholds", "list of 4"),
        (PLAIN + "sampling = {temperature = 0}", "rater 'wup'", "field 'sampling'"),
        (BATCH + "requests_per_batch = 0", "rater 'a': requests_per_batch", "found 0, expected 1 to 50000"),
        (BATCH + "requests_per_batch = 50_001", "rater 'a': requests_per_batch", "found 50001, expected 1 to 50000"),
        (BATCH + "batches = 0", "rater 'a': batches", "found 0, expected 1 to 1000"),
        (BATCH + "structured = 1", "rater 'a': structured", "found 1, expected true"),
        (LOCAL + "batch_size = 0", "rater 'a': batch_size", "found 0, expected 1 to 1000000"),
        (LOCAL + "least_mass = 1.5", "rater 'a': least_mass", "found 1.5, expected 0 to 1"),
        (LOCAL + "pairs_per_request = 2", "rater 'a'", "field 'pairs_per_request'"),
        (LOCAL + "sampling = {temperature = 0}", "rater 'a'", "field 'sampling'"),
        (PLAIN + "pairs_per_request = 3", "rater 'wup'", "field 'pairs_per_request'"),
        (PLAIN + "repeats = 0", "rater 'wup': repeats", "found 0, expected 1 to 100"),
        (PLAIN + "repeats = true", "rater 'wup': repeats", "found True"),
        (PLAIN + 'repeats = "2"', "rater 'wup': repeats", "found '2'"),
        (PLAIN + "price = 3", "rater 'wup': price", "found 3"),
        (PLAIN + "price = {inptu = 3}", "rater 'wup': price", "'inptu', expected"),
        (PLAIN + "price = {inptu = 3}", "rater 'wup': price", "mean input?"),
        (PLAIN + "price = {input = -1}", "rater 'wup': price.input", "found -1, expected 0 or"),
        (PLAIN + "price = {input = inf}", "rater 'wup': price.input", "found inf"),
        (PLAIN + "limits = {timeout = 0}", "rater 'wup': limits.timeout", "found 0"),
        (PLAIN + "limits = {tries = 1000}", "rater 'wup': limits.tries", "found 1000, expected 1 to 100"),
        ("[ensemble]\nprefilter = ['verbs']\n" + PLAIN, "ensemble.prefilter", "list of 1"),
        ("[ensemble]\nprefilter = [['verb']]\n" + PLAIN, "ensemble.prefilter", "list of 1"),
        ("[ensemble]\nsampel = 3\n" + PLAIN, "ensemble", "mean sample?"),
        (f"[ensemble]\nseed = {'1' * 5000}\n" + PLAIN, "", "thousands of digits"),
        (f"seed = {'[' * 3000}{']' * 3000}\n" + PLAIN, "", "nested hundreds deep"),
        (PLAIN + f"price = {{input = 1{'0' * 400}}}", "rater 'wup': price.input", "a finite number"),
        (ASKED + f"sampling = {{a = {'[' * 60}{']' * 60}}}", "rater 'a': sampling.a", "50 levels"),
        (ASKED + "sampling = {max_tokens = true}", "rater 'a': sampling.max_tokens", "found True"),
        (ASKED + "sampling = {max_tokens = -5}", "rater 'a': sampling.max_tokens", "found -5"),
        ("curency = 'EUR'\n" + PLAIN, "", "mean currency?"),
        (PLAIN + PLAIN, "rater 'wup': name", "second column 'wup'"),
        (PLAIN + "repeats = 2\n" + PLAIN.replace('"wup"\nk', '"wup-2"\nk'), "rater 'wup-2': name", "column 'wup-2'"),
        ('[[rater]]\nname = "t"\nkind = "table"', "rater 't': file", "found nothing"),
    ],
)
def test_a_wrong_field_is_one_line(tmp_path: Path, text: str, where: str, said: str) -> None:
    path = written(tmp_path, text)
    with refused_at(where, said, source=str(path)):
        read_raters(path)


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    assert read_raters(written(tmp_path, "\ufeff" + PLAIN)) == read_raters(written(tmp_path, PLAIN))


@pytest.mark.parametrize(
    "line",
    [
        'api_key = "{}"',
        'base_url = "{}"',
        'base_url = "https://user:{}@example.org/v1"',
        'base_url = "https://example.org/v1?key={}"',
        'api_key_env = "{}"',
        'model = "{}"',
        '"{}" = 1',
        'sampling = {{extra_headers = {{Authorization = "Bearer {}"}}}}',
        'sampling = {{stop = ["{}"]}}',
    ],
)
@pytest.mark.parametrize(
    "key", ["sk-proj-abcdefghijklmnop123456", "hf_abcdefghijklmnopqrst", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF"]
)
def test_a_key_in_the_file_is_refused_and_not_shown(tmp_path: Path, line: str, key: str) -> None:
    path = written(tmp_path, '[[rater]]\nname = "a"\nkind = "openai"\n' + line.format(key) + "\n")
    with pytest.raises(ShoeError) as caught:
        read_raters(path)
    assert key not in str(caught.value)
    assert key[3:12] not in str(caught.value)


@pytest.mark.parametrize(
    "model",
    [
        *("Qwen/Qwen3-32B", "skywork-critic-llama-3.1-70b-instruct", "keyboard-warrior-13b-instruct-v2-final"),
        *("0123456789abcdef0123456789abcdef01234567", "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8"),
        "HuggingFaceTB/SmolLM2-135M-Instruct",
    ],
)
def test_names_of_models_are_no_keys(tmp_path: Path, model: str) -> None:
    path = written(tmp_path, PLAIN + f'model = "{model}"\n')
    assert read_raters(path).raters[0].model == model


@pytest.fixture(scope="module")
def anywhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any") / "raters.toml"


@given(text=st.text())
def test_any_text_is_read_or_refused_in_one_line(text: str, anywhere: Path) -> None:
    anywhere.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(ShoeError) as caught:
        read_raters(anywhere)
    assert "\n" not in str(caught.value)
