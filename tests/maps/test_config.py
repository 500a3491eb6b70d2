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

PLAIN = '[[rater]]\nname = "wup"\nkind = "lexical"\nmeasure = "wup"\n'
ASKED = '[[rater]]\nname = "a"\nkind = "openai"\nmodel = "m"\n'

BATCH = ASKED.replace("openai", "openai-batch")
LOCAL = ASKED.replace("openai", "transformers")


def written(folder: Path, text: str) -> Path:
    path = folder / "raters.toml"
    path.write_text(text, "utf-8")
    return path


def test_all_fields_are_read(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("")
    file = read_raters(
        written(
            tmp_path,
            'currency = "EUR"\n[ensemble]\nprefilter = ["object", "verb"]\nsample = 7\nseed = 3\n'
            + PLAIN
            + '[[rater]]\nname = "people"\nkind = "table"\nfile = "people.csv"\nrepeats = 2\nmodel = "5 annotators"\n'
            'revision = "r1"\nprice = {input = 1, output = 2.5, cached_input = 0}\n'
            "[rater.limits]\nconcurrency = 3\nrequests_per_minute = 60\ntokens_per_minute = 1e6\ntimeout = 2\n"
            "tries = 1\n",
        )
    )
    assert file.currency == "EUR"
    assert file.ensemble == Ensemble(prefilter=("verb", "object"), sample=7, seed=3)
    lexical, table = file.raters
    assert isinstance(lexical, Lexical)
    assert isinstance(table, Table)
    assert (lexical.name, lexical.kind, lexical.measure) == ("wup", "lexical", "wup")
    assert lexical.price is None
    assert lexical.limits == Limits()
    assert table.file == tmp_path / "people.csv"
    assert (table.model, table.revision, table.repeats) == ("5 annotators", "r1", 2)
    assert table.price == Price(1, 2.5, 0)
    assert table.limits == Limits(3, 60, 1e6, 2, 1)


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    file = read_raters(written(tmp_path, PLAIN))
    assert (file.ensemble, file.currency) == (Ensemble(), "USD")


def test_repeats_are_columns_of_their_own() -> None:
    assert OpenAIBatch(name="a", model="m").columns == ["a"]
    assert OpenAIBatch(name="a", model="m", repeats=3).columns == ["a-1", "a-2", "a-3"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "raters.toml: found no rater, expected one or more tables [[rater]]"),
        ("[[rater", "found no TOML"),
        ("rater = 3", "rater: found 3, expected tables that begin with [[rater]]"),
        ('[[rater]]\nkind = "lexical"', "rater 1: name: found nothing, expected a text"),
        ('[[rater]]\nname = "a"', "rater 'a': kind: found nothing, expected a text"),
        ('[[rater]]\nname = "a"\nkind = "lexcal"', "rater 'a': kind: found 'lexcal'"),
        ('[[rater]]\nname = "a"\nkind = "lexcal"', "did you mean lexical?"),
        ('[[rater]]\nname = "a\\tb"\nkind = "lexical"', "name: found 'a\\tb', expected 1 to 200 printable characters"),
        ('[[rater]]\nname = "a b"\nkind = "lexical"', "name: found 'a b', expected the name of a column"),
        ('[[rater]]\nname = "synset"\nkind = "lexical"', "name: found 'synset'"),
        (PLAIN + "measur = 1", "the field 'measur', expected a known field (did you mean measure?)"),
        (PLAIN.replace('"wup"\n', '"wub"\n').replace("name = 'wub'", ""), "measure: found 'wub', expected path, wup"),
        (PLAIN + "thresholds = [1, 2, 3]", "thresholds: found a list of 3, expected a list of 4 numbers"),
        (PLAIN + "thresholds = [1, 2, 3, true]", "thresholds: found a list of 4, expected a list of 4 numbers"),
        (PLAIN + "sampling = {temperature = 0}", "the field 'sampling'"),
        (BATCH + "requests_per_batch = 0", "requests_per_batch: found 0, expected 1 to 50000"),
        (BATCH + "requests_per_batch = 50_001", "requests_per_batch: found 50001, expected 1 to 50000"),
        (BATCH + "batches = 0", "batches: found 0, expected 1 to 1000"),
        (BATCH + "structured = 1", "structured: found 1, expected true or false"),
        (LOCAL + "batch_size = 0", "batch_size: found 0, expected 1 to 1000000"),
        (LOCAL + "least_mass = 1.5", "least_mass: found 1.5, expected 0 to 1"),
        (LOCAL + "pairs_per_request = 2", "the field 'pairs_per_request'"),
        (LOCAL + "sampling = {temperature = 0}", "the field 'sampling'"),
        (PLAIN + "pairs_per_request = 3", "the field 'pairs_per_request'"),
        (PLAIN + "repeats = 0", "repeats: found 0, expected 1 to 100"),
        (PLAIN + "repeats = true", "repeats: found True, expected a whole number"),
        (PLAIN + 'repeats = "2"', "repeats: found '2', expected a whole number"),
        (PLAIN + "price = 3", "price: found 3, expected a table"),
        (PLAIN + "price = {inptu = 3}", "the field 'inptu', expected a known field (did you mean input?)"),
        (PLAIN + "price = {input = -1}", "price.input: found -1, expected 0 or more"),
        (PLAIN + "price = {input = inf}", "price.input: found inf, expected a finite number"),
        (PLAIN + "limits = {timeout = 0}", "limits.timeout: found 0, expected more than 0"),
        (PLAIN + "limits = {tries = 1000}", "limits.tries: found 1000, expected 1 to 100"),
        ("[ensemble]\nprefilter = ['verbs']\n" + PLAIN, "ensemble.prefilter: found a list of 1"),
        ("[ensemble]\nprefilter = [['verb']]\n" + PLAIN, "ensemble.prefilter: found a list of 1"),
        ("[ensemble]\nsampel = 3\n" + PLAIN, "did you mean sample?"),
        (f"[ensemble]\nseed = {'1' * 5000}\n" + PLAIN, "a number of thousands of digits"),
        (f"seed = {'[' * 3000}{']' * 3000}\n" + PLAIN, "lists nested hundreds deep"),
        (PLAIN + f"price = {{input = 1{'0' * 400}}}", "expected a finite number"),
        (ASKED + f"sampling = {{a = {'[' * 60}{']' * 60}}}", "sampling.a: found a list of 1, expected a JSON value"),
        (
            ASKED + "sampling = {max_tokens = true}",
            "sampling.max_tokens: found True, expected a whole number of tokens",
        ),
        (ASKED + "sampling = {max_tokens = -5}", "sampling.max_tokens: found -5, expected a whole number of tokens"),
        ("curency = 'EUR'\n" + PLAIN, "did you mean currency?"),
        (PLAIN + PLAIN, "name: found a second column 'wup', expected a different name for each rater"),
        (PLAIN + "repeats = 2\n" + PLAIN.replace('"wup"\nk', '"wup-2"\nk'), "a second column 'wup-2'"),
        ('[[rater]]\nname = "t"\nkind = "table"', "rater 't': file: found nothing, expected the name of a file"),
    ],
)
def test_a_wrong_field_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ShoeError) as caught:
        read_raters(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert said in message
    assert "\n" not in message


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
        "Qwen/Qwen3-32B",
        "skywork-critic-llama-3.1-70b-instruct",
        "keyboard-warrior-13b-instruct-v2-final",
        "0123456789abcdef0123456789abcdef01234567",
        "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8",
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
