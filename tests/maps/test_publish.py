"""Maps for publication: what is private is removed from map.json and listed, ratings and models stay."""

import socket
from pathlib import Path

import numpy as np
import orjson
import pytest

from shoe.maps.convert import publish
from shoe.similarity import RatedPairs, Rater, SimilarityMap, write_map
from shoe.similarity.whole_interactions import WholeRatings
from tests.cli import run as cli
from tests.maps.samples import made
from tests.maps.test_moves import OLD

PRIVATE = [
    *("http://10.1.2.3:8000/v1", "https://llm.uni.example/v1?x=1", "gpu-17:8000", "192.168.0.7"),
    *("anna@gpu17.uni.example", "node3.cluster.local", "localhost", "/home/anna/llms", "~/ratings/a.csv"),
    *("../secret/file.csv", r"C:\Users\anna\map", r"\\server\anna", "AZURE_OPENAI_API_KEY"),
]
PUBLIC = ["Qwen/Qwen3-32B", "llama3:70b", "3/4 of the pairs", "and/or", "qwen3-32b@r1", "WordNet 3.0", "a: 12 pairs"]


@pytest.mark.parametrize("text", PRIVATE)
def test_private_texts_are_removed_wherever_they_stand(text: str, tmp_path: Path) -> None:
    similarity = made(tmp_path / "a", provenance=f"from {text}, ours", sources=[{"x": text}])
    lines = publish(str(tmp_path / "a"), similarity, tmp_path / "b")
    about = orjson.loads((tmp_path / "b" / "map.json").read_bytes())
    assert (about["provenance"], about["sources"]) == ("from [removed], ours", [{"x": "[removed]"}])
    assert len([line for line in lines if repr(text)[1:-1] in line]) == 2


@pytest.mark.parametrize("text", PUBLIC)
def test_other_texts_are_kept_and_shown_but_for_the_name_of_this_machine(text: str, tmp_path: Path) -> None:
    similarity = made(tmp_path / "a", provenance=text, note=f"on {socket.gethostname()}, late")
    lines = publish(str(tmp_path / "a"), similarity, tmp_path / "b")
    about = orjson.loads((tmp_path / "b" / "map.json").read_bytes())
    assert (about["provenance"], about["note"]) == (text, "on [removed], late")
    assert [line for line in lines if text in line]


def test_models_and_revisions_stay_and_addresses_of_an_old_map_go(tmp_path: Path) -> None:
    done = cli.run("map", "export", str(OLD / "old-map"), "new", "--publish", folder=tmp_path)
    assert done.returncode == 0
    assert "base_url" in done.stderr
    assert "http://127.0.0.1:35437/v1" in done.stderr
    text = (tmp_path / "new" / "map.json").read_text()
    assert "127.0.0.1" not in text
    first = orjson.loads(text)["raters"][0]
    assert (first["model"], first["revision"], first["sampling"]["max_tokens"]) == ("qwen3-32b", "r1", 20)
    old, new = SimilarityMap.load(OLD / "old-map"), SimilarityMap.load(tmp_path / "new")
    assert (new.digest, new.name) == (old.digest, "new")


def test_the_model_of_a_local_rater_keeps_its_name_and_all_files_are_there(tmp_path: Path) -> None:
    write_map(
        tmp_path / "a",
        dataset="hico-det",
        raters=[Rater("r", "/data/llms/SmolLM2-135M", details={"revision": "/x/y"})],
        pairs=dict.fromkeys(("verb", "object"), RatedPairs.empty(1)),
        whole=WholeRatings([("ride.v.01", "horse.n.01", "sit on", "pony")], np.zeros((1, 1), np.int8)),
    )
    lines = publish(str(tmp_path / "a"), SimilarityMap.load(tmp_path / "a"), tmp_path / "b")
    published = SimilarityMap.load(tmp_path / "b")
    assert published.raters[0].model == "SmolLM2-135M"
    assert published.whole_ratings is not None
    assert "raters.0.model: '/data/llms/SmolLM2-135M' -> SmolLM2-135M" in lines
