"""V-COCO by person: agent AP and role AP by hand, against the slow oracle, in every form, and on real annotations."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import shoe
from shoe.predictions import write_predictions
from tests.errors import input_error
from tests.examples import examples
from tests.oracles.roles import Person, Said, average_precision
from tests.scoring import v_coco
from tests.scoring.v_coco import ACTIONS, NAN, records

ENDINGS = tuple(f"_{word}" for word in ("agent", "obj", "instr"))
SCENARIOS = {"v-coco-agent": 0, "v-coco-s1": 1, "v-coco-s2": 2}
A, B, C = [0.0, 0.0, 99.0, 99.0], [200.0, 0.0, 299.0, 99.0], [400.0, 0.0, 499.0, 99.0]


def predicted(path: Path) -> shoe.Interactions:
    return shoe.read_predictions(path, dataset="v-coco")


def figures(truth: Path, said: Path) -> dict[tuple[str, str], float]:
    table = shoe.read_ground_truth(truth, dataset="v-coco")
    report = shoe.score(predicted(said), table, protocols=list(SCENARIOS))
    return {
        (result.options.protocol, name): ap
        for result in report.role_results
        for name, ap in zip(result.names, result.ap.tolist(), strict=True)
    }


def slow(truths: list[list[Person]], said: list[list[Said]]) -> dict[tuple[str, str], float]:
    """The same by the oracle; NaN where nobody does it."""
    found = {}
    done = {name for persons in truths for person in persons for name in person.does or {}}
    for protocol, scenario in SCENARIOS.items():
        roles = [(ACTIONS.names[a], role) for a, role in ACTIONS.entries]
        for name, role in roles if scenario else [(name, "") for name in ACTIONS.names]:
            ap = average_precision(truths, said, name, role, scenario) if name in done else NAN
            found[protocol, f"{name}-{role}" if role else name] = ap
    return found


def surfs(box: list[float], board: list[float], score: float) -> Said:
    """A prediction of surfing; of all other actions it says nothing."""
    one = Said(box, dict.fromkeys(ACTIONS.names, NAN) | {"surf": score})
    one.roles = {(ACTIONS.names[a], r): ([0, 0, 0.1, 0.1], NAN) for a, r in ACTIONS.entries}
    one.roles["surf", "instr"] = (board, score)
    return one


def test_by_hand(tmp_path: Path) -> None:
    """Three surfers, of whom one has a drawn board, one none, and one is ignored; five predictions.

    Agent: 0.9 first surfer, hit; 0.8 again, false; 0.7 second, hit; 0.6 ignored, gone; 0.5 nowhere near anybody: the
    image's first person is not ignored, so it is false. 1/1 and 2/3 of 2 positives: (1 + 2/3) / 2.
    Scenario 1: 0.9 has another board, false; 0.8 the right one, hit; 0.7 says [0, 0, 0.1, 0.1], which is not empty,
    false: 1/2 at a recall of 1/2. Scenario 2: 0.7 is a hit, too: 1/2 and 2/3 are 2/3 under the envelope.
    """
    truths = [[Person(A, {"surf": {"instr": B}}), Person(B, {"surf": {}}), Person(C, None)]]
    boxes, boards = [A, A, B, C, [700.0, 700.0, 800.0, 800.0]], [C, B, [0, 0, 0.1, 0.1], B, B]
    predictions = [surfs(boxes[k], boards[k], 0.9 - k / 10) for k in range(5)]
    path = v_coco.write_pickle([predictions], tmp_path / "said.pkl")
    found = figures(v_coco.write_everything(truths, tmp_path / "truth.txt"), path)
    assert found["v-coco-agent", "surf"] == pytest.approx((1 + 2 / 3) / 2)
    assert found["v-coco-s1", "surf-instr"] == pytest.approx(1 / 4)
    assert found["v-coco-s2", "surf-instr"] == pytest.approx(2 / 3)
    assert np.isnan(found["v-coco-s1", "ski-instr"])
    predictions[2].roles["surf", "instr"] = ([NAN] * 4, 0.7)  # says that there is no board
    v_coco.write_pickle([predictions], path)
    assert figures(tmp_path / "truth.txt", path)["v-coco-s1", "surf-instr"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("module", ["__main__", "utils", "utils.CacheTemplate"])
def test_a_cache_scores_as_the_pickle_with_all_keys(tmp_path: Path, module: str) -> None:
    """Absent keys mean 0 and a tiny box, which is not "no box": scenario 1 differs from a pickle with NaN."""
    truths, predictions = v_coco.scene(3, 6)
    rng = np.random.default_rng(0)
    cut = [{k: v for k, v in r.items() if not k.endswith(ENDINGS) or rng.random() < 0.3} for r in records(predictions)]
    full = [v_coco.CacheTemplate(None, record) for record in cut]
    keys = {key: None for record in records(predictions) for key in record}
    (tmp_path / "full.pkl").write_bytes(pickle.dumps([{key: record[key] for key in keys} for record in full]))
    truth = v_coco.write_official(truths, tmp_path)
    found = figures(truth, v_coco.write_cache(cut, tmp_path / "cache.pkl", module))
    assert found == pytest.approx(figures(truth, tmp_path / "full.pkl"), nan_ok=True, abs=0)
    assert np.nanmax(list(found.values())) > 0


@pytest.mark.parametrize(
    ("more", "field", "says"),
    [
        ({"holds_agent": 0.5}, None, "'holds_agent', expected image_id, person_box, hold_agent"),
        ({"hold_obj": [1, 2, 3, 4]}, "hold_obj", "[1, 2, 3, 4], expected [x1, y1, x2, y2, score]"),
        ({"person_box": [1, 2, 3]}, "person_box", "[1, 2, 3], expected [x1, y1, x2, y2]"),
        ({}, "person_box", "no such key"),
    ],
)
def test_a_cache_with_other_keys_or_values_is_refused(tmp_path: Path, more: Any, field: str | None, says: str) -> None:
    records = [{"image_id": 328, "person_box": A, "hold_agent": 0.5} | more, {"image_id": 328}]
    path = v_coco.write_cache(records, tmp_path / "cache.pkl", "utils")
    with input_error(field=field) as error:
        shoe.read_predictions(path, dataset="v-coco")
    assert str(error.value.record).split()[:2] == ["record", "1" if more else "2"]
    assert says in str(error.value)


SLOW = pytest.mark.slow
OTHERS = [pytest.param(write, marks=SLOW) for write in (v_coco.write_everything, v_coco.write_qpic)]


@pytest.mark.parametrize("write", [v_coco.write_official, *OTHERS])
@pytest.mark.parametrize("ties", [pytest.param(False, marks=SLOW), True])
def test_as_the_slow_oracle(tmp_path: Path, write: Callable[[Any, Path], Path], ties: bool) -> None:
    check(tmp_path, write, v_coco.scene(7 + ties, 6, ties))


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), ties=st.booleans())
@examples(3)
def test_as_the_slow_oracle_on_any_scene(tmp_path_factory: pytest.TempPathFactory, seed: int, ties: bool) -> None:
    check(tmp_path_factory.mktemp("scene"), v_coco.write_official, v_coco.scene(seed, 8, ties))


def check(folder: Path, write: Callable[[Any, Path], Path], scene: tuple[list[list[Person]], list[list[Said]]]) -> None:
    truth = write(scene[0], folder if write is v_coco.write_official else folder / "truth")
    found = figures(truth, v_coco.write_pickle(scene[1], folder / "said.pkl"))
    assert found == pytest.approx(slow(*scene), nan_ok=True, abs=1e-9)


def test_triplets_of_qpic_are_as_its_pickle(tmp_path: Path) -> None:
    truths, _ = v_coco.scene(11, 4)
    rng = np.random.default_rng(0)
    pickled: list[list[Said]] = []
    listed: list[dict[str, Any]] = []
    for i, persons in enumerate(truths):
        boxes, hois, of_image = [], [], []
        for query in range(6):
            person, target, nothing = v_coco.box(rng), v_coco.box(rng), rng.random() < 0.4
            person = list(persons[query % len(persons)].box) if rng.random() < 0.7 else person
            boxes += [{"bbox": person, "category_id": 0}, {"bbox": target, "category_id": 80 if nothing else 3}]
            scores = rng.random(29).astype(np.float32).tolist()
            one = Said(person)
            for number, (action, entry) in enumerate(ACTIONS.by_verb_id):
                name, score = ACTIONS.names[action], scores[number]
                ids = {"subject_id": 2 * query, "object_id": 2 * query + 1, "category_id": number}
                hois.append(ids | {"score": score})
                one.agent[name] = max(one.agent.get(name, 0.0), score)
                if entry >= 0:
                    one.roles[name, ACTIONS.entries[entry][1]] = ([NAN] * 4 if nothing else target, score)
            of_image.append(one)
        listed.append({"filename": v_coco.name_of(i), "predictions": boxes, "hoi_prediction": hois})
        pickled.append(of_image)
    truth = v_coco.write_official(truths, tmp_path)
    (tmp_path / "said.json").write_text(json.dumps(listed))
    by_pickle = figures(truth, v_coco.write_pickle(pickled, tmp_path / "said.pkl"))
    assert figures(truth, tmp_path / "said.json") == pytest.approx(by_pickle, nan_ok=True, abs=0)
    table = predicted(tmp_path / "said.json")
    pairs = sum(box["category_id"] == 3 for record in listed for box in record["predictions"])
    assert len(table) == 22 * pairs  # a motorcycle is the object of hit, eat and cut, and no instrument
    assert table.roles is not None
    write_predictions(table, tmp_path / "again.json", "qpic", "v-coco")
    again = predicted(tmp_path / "again.json")
    for name in ("verb", "object", "score", "human_boxes", "object_boxes"):
        np.testing.assert_array_equal(np.sort(getattr(again, name), axis=0), np.sort(getattr(table, name), axis=0))


@pytest.fixture
def scored(tmp_path: Path) -> tuple[list[list[Said]], shoe.Interactions, shoe.GroundTruth]:
    truths, said = v_coco.scene(5)
    truth = shoe.read_ground_truth(v_coco.write_everything(truths, tmp_path / "truth.txt"), dataset="v-coco")
    return said, predicted(v_coco.write_pickle(said, tmp_path / "said.pkl")), truth


def test_what_cannot_be_scored_is_absent(tmp_path: Path, scored: Any) -> None:
    _, table, truth = scored
    with input_error(source=str(tmp_path / "said.npz")) as error:
        write_predictions(table, tmp_path / "said.npz", "native", "v-coco")
    assert "object categories" in str(error.value)
    report = shoe.score(table, truth)
    assert report.semantic is None
    assert "no object categories" in report.absent["triplets"]
    assert [result.options.protocol for result in report.role_results] == list(SCENARIOS)
    signed = [dict(report.signature_of(result).items)["roles.scenario"] for result in report.role_results]
    assert signed == ["agent", "1", "2"]
    pairs = shoe.GroundTruth(truth.interactions, truth.classes, "pairs", benchmark=truth.benchmark)
    assert list(shoe.score(table, pairs, protocols=["v-coco-s1"]).absent) == ["roles"]


def test_a_metric_collects_what_is_said_by_person(tmp_path: Path, scored: Any) -> None:
    predictions, whole, truth = scored
    metric = shoe.Metric(truth, protocols=list(SCENARIOS))
    for number in range(len(predictions)):
        batch = [said if i == number else [] for i, said in enumerate(predictions)]
        if batch[number]:
            metric.update(predicted(v_coco.write_pickle(batch, tmp_path / "batch.pkl")))
    expected = shoe.score(whole, truth, protocols=list(SCENARIOS))
    for found, other in zip(metric.compute().role_results, expected.role_results, strict=True):
        np.testing.assert_array_equal(found.ap, other.ap)


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("cut_instr", None, "no such key"),
        ("stand_agent", None, "no such key"),
        ("hold_agent", "much", "'much', expected a number"),
        ("hit_obj", [1, 2, 3, 4], "[x1, y1, x2, y2, score]"),
        ("person_box", [NAN] * 4, "[x1, y1, x2, y2]"),
        ("image_id", [1], "COCO image id"),
    ],
)
def test_damaged_pickles(tmp_path: Path, field: str, value: Any, says: str) -> None:
    records = v_coco.records(v_coco.scene(5)[1])
    records[1][field] = value
    records[1] = {key: of for key, of in records[1].items() if of is not None}
    (tmp_path / "said.json").write_text(json.dumps(records))
    with input_error(field=field) as error:
        predicted(tmp_path / "said.json")
    assert says in str(error.value)
