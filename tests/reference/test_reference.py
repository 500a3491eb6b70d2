"""shoe says what CDN's, UPT's and Diag-HOI's own programs say about the same predictions on 300 real images.

``300_top8``, the eight best triplets of each image, is in ``tests/data/reference``; ``300``, all of them, is beside the
checkout. Figures are held to 1e-12, as sums run in another order here than there; counts are exact.
"""

import gzip
import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoe
from tests.cli.run import as_json
from tests.data.reference.make_samples import HERE, TRIPLETS, as_bytes, best_triplets, truth_of

NO_INTERACTION, WHOLE = 58, "predictions_300_action_score.json.gz"

MEANS = {"map": "map", "map_rare": "map_rare", "map_non_rare": "map_non_rare", "mean_max_recall": "max_recall"}
CDN = MEANS | {
    "classes_in_mean": "classes", "ground_truths": "truths", "images": "images", "predictions": "predictions",
    "predictions_counted": "ranked", "true_positives": "true_positives",
}  # fmt: skip
INIT = MEANS | {"predictions_evaluated": "predictions", "true_positives": "true_positives"}
UPT_600 = {
    "map_600": "map", "map_rare_138": "map_rare", "map_non_rare_462": "map_non_rare",
    "mean_max_recall_600": "max_recall", "ground_truths": "truths", "true_positives": "true_positives",
}  # fmt: skip
UPT_WITH_GT = {
    "map_over_classes_with_gt": "map", "map_rare_over_classes_with_gt": "map_rare",
    "map_non_rare_over_classes_with_gt": "map_non_rare", "mean_max_recall_over_classes_with_gt": "max_recall",
    "classes_with_gt": "classes", "rare_with_gt": "rare_classes", "non_rare_with_gt": "non_rare_classes",
}  # fmt: skip
ALL_600 = "strict.truthless=zero"
GT_AS_IS = "strict.coordinates=raw"
EVERY_CLASS = ("strict.zero-tp=zero", "strict.unpredicted=zero")

STRICT = [
    ("cdn", "qpic", [], CDN),
    ("cdn derived", "qpic", ["strict.ap=11-point"], {"map_with_exact_tenths": "map"}),
    ("cdn derived", "qpic", ["strict.ap=11-point-linspace"], {"map_with_torch_linspace": "map"}),
    ("cdn_through_init float64", "qpic", [], INIT),
    ("cdn_through_init float32", "qpic", [], INIT),
    ("cdn_pnms", "qpic", ["strict.nms=0.7"], CDN),
    ("upt float64", "upt", [GT_AS_IS, ALL_600], UPT_600),
    ("upt float64", "upt", [GT_AS_IS], UPT_WITH_GT),
    ("upt float64_gt_shifted", "upt", [ALL_600], UPT_600),
    ("upt float64_gt_shifted", "upt", [], UPT_WITH_GT),
    ("upt float32", "upt", [GT_AS_IS, ALL_600], UPT_600),
    ("upt float32", "upt", [GT_AS_IS], UPT_WITH_GT),
    ("upt float32_gt_shifted", "upt", [ALL_600], UPT_600),
    ("upt float32_gt_shifted", "upt", [], UPT_WITH_GT),
    ("diag_hoi standard", "diag", [*EVERY_CLASS], {"map": "map", "mean_max_recall": "max_recall"}),
    ("diag_hoi fix none", "diag", [], MEANS),
    ("diag_hoi fix none", "diag", [*EVERY_CLASS], {"map_all_classes_with_gt": "map"}),
]

ERRORS = {
    "true_positives": "true_positive", "human": "human_box", "object": "object_box", "both": "both_boxes",
    "association": "association", "action": "interaction", "duplicate": "duplicate",
}  # fmt: skip
FIXES = {
    "dup": "duplicate", "both": "both_boxes", "hum": "human_box", "obj": "object_box", "action": "interaction",
    "assoc": "association", "missing": "missed_gt",
}  # fmt: skip

PAIRS = {
    "pair_recall": "recall", "pair_precision": "precision", "avg_number_of_pairs": "per_image",
    "predicted_pairs": "predictions", "ground_truth_pairs": "truths", "recalled_ground_truth_pairs": "recalled",
    "precise_predicted_pairs": "precise",
}  # fmt: skip
SubTasks = dict[tuple[str, str], dict[str, Any]]
SUB_TASKS = [
    ("pair_localization", "verb", "without no_interaction", PAIRS),
    ("pair_localization_with_no_interaction", "verb", "all", PAIRS),
    ("action_map_verb_score", "verb", "without no_interaction", {"map": "interaction_map"}),
    ("action_map_verb_score", "verb", "all", {"map": "interaction_map"}),
    ("action_map_triplet_score", "triplet", "without no_interaction", {"map": "interaction_map"}),
    ("binary_ap_verb_score", "verb", "without no_interaction", {"no_interaction_ap": "negative_ap_diag"}),
    ("binary_ap_triplet_score", "triplet", "without no_interaction", {"no_interaction_ap": "negative_ap_diag"}),
]


@dataclass(frozen=True)
class Reference:
    """One set of predictions, and what the programs say about it."""

    figures: dict[str, Any]
    prediction_file: Path
    truth_file: Path
    predictions: shoe.Interactions
    truth: shoe.GroundTruth

    def figures_at(self, place: str) -> dict[str, Any]:
        figures = self.figures
        for key in place.split():
            figures = figures[key]
        return figures


@pytest.fixture(scope="module", params=["300_top8", pytest.param("300", marks=pytest.mark.real_data)])
def reference(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    name: str = request.param
    files = ("figures.json", "predictions_300_top8.json.gz", "truth.json.gz")
    figures, predictions, truth = (HERE / file for file in files)
    if name == "300":
        shared: Path = request.getfixturevalue("shared_data")
        figures, predictions = (shared / "reference" / file for file in ("figures.json", WHOLE))
        truth = tmp_path_factory.mktemp("truth") / "truth.json"
        truth.write_bytes(as_bytes(truth_in(shared, predictions)))
    return Reference(
        figures=json.loads(figures.read_bytes())["datasets"][name], prediction_file=predictions, truth_file=truth,
        predictions=shoe.read_predictions(predictions), truth=shoe.read_ground_truth(truth),
    )  # fmt: skip


@pytest.fixture(scope="module")
def diagnosis(reference: Reference) -> shoe.Diagnosis:
    return shoe.diagnose(reference.predictions, reference.truth, variant="released")


@pytest.fixture(scope="module")
def sub_tasks(reference: Reference, tmp_path_factory: pytest.TempPathFactory) -> SubTasks:
    """Figures of ``shoe diagnose`` by the score that ``action_score`` holds, and by the triplets of the file."""
    folder = tmp_path_factory.mktemp("sub-tasks")
    asked = sorted({(score, triplets) for _, score, triplets, _ in SUB_TASKS})
    return {key: sub_task_figures(reference, *key, folder / f"{number}.json") for number, key in enumerate(asked)}


@pytest.mark.real_data
def test_the_sample_is_cut_from_the_real_files(shared_data: Path) -> None:
    whole = shared_data / "reference" / WHOLE
    assert unpacked(HERE / "predictions_300_top8.json.gz") == as_bytes(best_triplets(json.loads(unpacked(whole))))
    assert unpacked(HERE / "truth.json.gz") == as_bytes(truth_in(shared_data, whole))
    figures = json.loads((shared_data / "reference" / "figures.json").read_bytes())["datasets"]["300_top8"]
    assert json.loads((HERE / "figures.json").read_bytes()) == {"datasets": {"300_top8": figures}}


def test_the_input_is_that_of_the_programs(reference: Reference) -> None:
    table, truth, size = reference.predictions, reference.truth.interactions, reference.figures_at("size")
    digest = hashlib.sha256(unpacked(reference.prediction_file)).hexdigest()
    assert digest == reference.figures_at("generator")["sha256_with_action_score"]
    assert (len(table.images), len(table)) == (size["images"], size["prediction_triplets"])
    assert (len(truth.images), len(truth)) == (size["images"], size["gt_triplets"])
    assert (np.diff(truth.offsets) == 0).sum() == size["images_without_gt"]
    assert (np.diff(table.offsets) == 0).sum() == size["images_without_triplets"]
    acts = table.verb != table.verbs.index("no_interaction")
    assert acts.sum() == size["prediction_triplets_without_no_interaction"]


@pytest.mark.parametrize(
    ("place", "protocol", "options", "names"), STRICT, ids=[" ".join([row[0], *row[2]]) for row in STRICT]
)
def test_strict(reference: Reference, place: str, protocol: str, options: list[str], names: dict[str, str]) -> None:
    theirs = reference.figures_at(place)
    if "crash" in theirs:
        pytest.skip(f"the program itself gives none: {theirs['crash']}")
    ours = strict_figures(reference.predictions, reference.truth, protocol, options)
    check({name: ours[own] for name, own in names.items()}, theirs)


def test_classes_that_another_grid_of_recalls_changes(reference: Reference) -> None:
    tenths = strict(reference.predictions, reference.truth, "qpic", ["strict.ap=11-point"]).ap
    changed = np.abs(tenths - strict(reference.predictions, reference.truth, "qpic", []).ap) > 1e-9
    assert changed.sum() == reference.figures_at("cdn derived")["classes_that_differ_with_exact_tenths"]


def test_error_types_and_what_becomes_of_the_ground_truth(reference: Reference, diagnosis: shoe.Diagnosis) -> None:
    theirs, scope = reference.figures_at("diag_hoi"), diagnosis.scope
    sizes = len(np.unique(scope.truth_image)), len(scope.truth), len(scope.prediction)
    assert sizes == tuple(theirs[name] for name in ("images", "ground_truths", "predictions"))
    assert len(scope.truth) == reference.figures_at("size")["gt_triplets_without_no_interaction"]
    assert theirs["error_counts"]["unset"] == 0
    check({name: diagnosis.counts[own] for name, own in ERRORS.items()}, theirs["error_counts"])
    theirs = reference.figures_at("diag_hoi ground_truth_counts")
    found, covered, missed = np.bincount(diagnosis.truth_status[diagnosis.scope.truth]).tolist()
    assert found == theirs["matched"] + theirs["matched_and_fixable"]
    assert covered == theirs["fixable_only"]
    assert missed == diagnosis.counts["missed_gt"] == theirs["missing"] + theirs["in_skipped_images"]
    assert (~diagnosis.states["missed_gt"].counted).sum() == theirs["missing"]


@pytest.mark.parametrize("type_", ["human", "object", "association", "action"])
def test_how_many_ground_truths_an_error_may_fix(reference: Reference, diagnosis: shoe.Diagnosis, type_: str) -> None:
    ((predictions, _),) = diagnosis.states[ERRORS[type_]].fixes
    assert len(predictions) == reference.figures_at("diag_hoi best_matching_error_types")[type_]


@pytest.mark.parametrize("fix", FIXES)
def test_what_a_fix_gains(reference: Reference, diagnosis: shoe.Diagnosis, fix: str) -> None:
    before, gained = diagnosis.means._asdict(), diagnosis.deltas[FIXES[fix]]._asdict()
    check({name: before[name] + gained[name] for name in gained}, reference.figures_at(f"diag_hoi fix {fix}"))


@pytest.mark.parametrize("fix", ["none", *FIXES])
def test_scoring_what_a_fix_leaves(reference: Reference, diagnosis: shoe.Diagnosis, fix: str) -> None:
    """Images whose ground truth is all gone still count, as the programs leave images out before they fix."""
    tables = tables_after(diagnosis, FIXES[fix]) if fix != "none" else tables_after(diagnosis)
    kept_images = "strict.empty-images=count"
    released, of_every_class = (strict(*tables, "diag", [kept_images, *more]) for more in ((), EVERY_CLASS))
    found, rare = released.recall > 0, reference.truth.classes.rare
    ours = {name: getattr(released, own) for name, own in MEANS.items()} | {
        "rare_recall": released.recall[found & rare].mean(),
        "non_rare_recall": released.recall[found & ~rare].mean(),
        "map_all_classes_with_gt": of_every_class.map,
        "classes_with_gt": of_every_class.classes,
        "classes_without_predictions": (released.recall == 0).sum(),
        "classes_with_predictions_but_no_tp": of_every_class.classes - released.classes,
        "listed_predictions": len(tables[0]),
        "true_positives": true_positives(released, tables[1]),
        "ground_truths_counted": len(tables[1].interactions),
    }
    theirs = reference.figures_at(f"diag_hoi fix {fix}")
    assert ours.keys() == theirs.keys()
    check(ours, theirs)


@pytest.mark.parametrize(
    ("place", "score", "triplets", "names"), SUB_TASKS, ids=[f"{place}, {which}" for place, _, which, _ in SUB_TASKS]
)
def test_sub_tasks(
    reference: Reference, sub_tasks: SubTasks, place: str, score: str, triplets: str, names: dict[str, str]
) -> None:
    ours = sub_tasks[score, triplets]
    check({name: ours[own] for name, own in names.items()}, reference.figures_at(f"diag_hoi {place}"))


def check(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert ours == pytest.approx({name: theirs[name] for name in ours}, rel=0, abs=1e-12)


def strict(predictions: shoe.Interactions, truth: shoe.GroundTruth, protocol: str, options: list[str]) -> Any:
    return shoe.score(predictions, truth, protocols=[protocol], options=options).strict


def strict_figures(
    predictions: shoe.Interactions, truth: shoe.GroundTruth, protocol: str, options: list[str]
) -> dict[str, Any]:
    result = strict(predictions, truth, protocol, options)
    averaged, rare = ~np.isnan(result.ap), truth.classes.rare
    return {name: getattr(result, name) for name in (*MEANS.values(), "classes", "ranked")} | {
        "rare_classes": (averaged & rare).sum(), "non_rare_classes": (averaged & ~rare).sum(),
        "images": len(truth.interactions.images), "truths": len(truth.interactions), "predictions": len(predictions),
        "true_positives": true_positives(result, truth),
    }  # fmt: skip


def true_positives(result: Any, truth: shoe.GroundTruth) -> int:
    return round(float(np.nansum(result.recall * truth.triplets_per_class)))


def tables_after(diagnosis: shoe.Diagnosis, error: str | None = None) -> tuple[shoe.Interactions, shoe.GroundTruth]:
    """Predictions and ground truth that take part, once the errors of one type are fixed.

    A fixed prediction has the words of its ground truth, and the very numbers of its boxes: Diag-HOI moves none.
    """
    scope, predictions, truth = diagnosis.scope, diagnosis.task.predictions, diagnosis.task.truth
    if error is None:
        left = truth.interactions.select(np.sort(scope.truth))
        return predictions.select(np.sort(scope.prediction)), replace(truth, interactions=left)
    state = diagnosis.states[error]
    found = np.flatnonzero(state.found_by >= 0)
    row, target = scope.prediction[state.found_by[found]], scope.truth[found]
    fixed = diagnosis.found_by[target] != row
    columns: dict[str, Any] = {}
    for name in ("human_boxes", "object_boxes", "verb", "object"):
        columns[name] = getattr(predictions, name).copy()
        columns[name][row[fixed]] = getattr(truth.interactions, name)[target[fixed]]
    left = replace(predictions, **columns).select(np.sort(scope.prediction[state.kept]))
    return left, replace(truth, interactions=truth.interactions.select(np.sort(scope.truth[state.counted])))


def sub_task_figures(reference: Reference, score: str, triplets: str, path: Path) -> dict[str, Any]:
    records = json.loads(unpacked(reference.prediction_file))
    for record in records:
        record[TRIPLETS] = [
            triplet | ({"action_score": triplet["score"]} if score == "triplet" else {})
            for triplet in record[TRIPLETS]
            if triplets == "all" or triplet["category_id"] != NO_INTERACTION
        ]
    path.write_bytes(as_bytes(records))
    options = ("--variant", "released", "--similarity", "none")
    figures = as_json("diagnose", path, "--ground-truth", reference.truth_file, *options)
    pairs: dict[str, Any] = figures["pairs"]
    recalled, precise = round(pairs["recall"] * pairs["truths"]), round(pairs["precision"] * pairs["predictions"])
    own = {name: figures[name] for name in ("interaction_map", "negative_ap_diag")}
    return pairs | own | {"recalled": recalled, "precise": precise}


def truth_in(shared: Path, predictions: Path) -> dict[str, Any]:
    """Annotations of the images that a file of predictions names, cut out of the whole test set."""
    document = json.loads((shared / "hico_det" / "instances_test2015.json").read_bytes())
    return truth_of(document, {record["file_name"] for record in json.loads(unpacked(predictions))})


def unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())
