"""Building: each rule of the curation by hand, what negatives never show, groups, and the real test set."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoe.benchmarks import benchmark
from shoe.benchmarks.truth import GroundTruth
from shoe.lexicon.store import ids_of
from shoe.predictions.truth import read_ground_truth
from shoe.scoring.bongard import build
from shoe.scoring.bongard.build import Curation, Sampling, Seen, build_problems, concepts_of, curate, implied_verbs
from shoe.scoring.bongard.problems import GROUPS, Problems, read_problems, write_problems
from shoe.similarity import load_similarity
from tests.benchmarks.samples import INSTANCES
from tests.cli.run import refused, run
from tests.scoring.bongard.made import truth_of

CLASSES = benchmark("hico-det").classes
MAP = load_similarity("hico-det")


def labels(truth: GroundTruth, how: Curation | None = None) -> dict[str, str]:
    """The label of each image's region that is kept."""
    regions = curate(truth, MAP, how or Curation()).regions
    return {
        regions.images[i][-6:-4]: f"{regions.verbs[v]} {regions.objects[o]}"
        for i, v, o in zip(regions.image, regions.verb, regions.object, strict=True)
    }


def test_similar_actions_become_one_and_chains_do_not() -> None:
    made = concepts_of(CLASSES, MAP, 0.6)
    assert "clean_or_wash" in made.actions
    assert len(concepts_of(CLASSES, MAP, 1.1)) == int((~CLASSES.no_interaction).sum())
    # sit_on is 0.61 similar to straddle a bicycle, straddle 0.62 to hop_on it, and sit_on less to hop_on.
    bicycle = CLASSES.objects.index("bicycle")
    actions = [a for a, o in zip(made.actions, made.object, strict=True) if o == bicycle]
    assert {"hop_on_or_straddle", "sit_on"} <= set(actions)


def test_the_lexicon_says_what_is_part_of_what() -> None:
    sip, drink, buy, pay = ids_of(["sip.v.01", "drink.v.01", "buy.v.01", "pay.v.01"]).tolist()
    assert drink in implied_verbs(sip)
    assert sip not in implied_verbs(drink)
    assert pay in implied_verbs(buy)


def test_entailments_are_those_of_wordnet(reader: Any) -> None:
    path = Path(build.__file__).parent / "data" / "entailments.tsv"
    shipped = {tuple(line.split("\t")) for line in path.read_text("utf-8").splitlines()[1:]}
    assert shipped == {(verb.name(), other.name()) for verb in reader.all_synsets("v") for other in verb.entailments()}


def test_parts_by_annotation_are_broader_and_well_attested() -> None:
    eat, hold, smell = [1] * 4 + [0] * 6, [1] * 3 + [0] + [1] * 6, [1] + [0] * 9
    table = np.array([eat, hold, smell], bool).T
    for least, most, parts in ((0.75, 4, [[1, 0]]), (0.8, 4, []), (0.75, 1, [[0, 2], [1, 0], [1, 2]])):
        assert np.argwhere(build.parts_by_annotation(table, least, most)).tolist() == parts


def test_a_region_keeps_one_label() -> None:
    truth = truth_of(
        [
            ["hug dog", "hold dog"],  # hugging is a kind of holding
            ["clean sink", "wash sink"],  # too alike
            ["no_interaction dog"],
            ["feed dog", "walk dog"],  # neither is part of the other
            ["feed dog"],
        ]
    )
    assert labels(truth) == {"01": "hug dog", "02": "clean_or_wash sink", "05": "feed dog"}
    steps = [(step.concepts, step.regions, step.labels) for step in curate(truth, MAP, Curation()).steps]
    assert steps == [(7, 5, 8), (6, 4, 7), (5, 4, 6), *[(4, 4, 5)] * 3, (3, 3, 3)]


def test_boxes_are_seen_as_large_as_they_are() -> None:
    truth = truth_of([["feed dog"]])  # the human's box has 20,000 square pixels, the dog's 24,000
    assert labels(truth, Curation(smallest=20_000)) == {"01": "feed dog"}
    assert labels(truth, Curation(smallest=20_001)) == {}


def test_a_crop_has_a_margin_within_the_image() -> None:
    (crop,) = curate(truth_of([["feed dog"]], size=265), MAP, Curation()).regions.crops.tolist()
    assert crop == [0, 9, 265, 251]  # the union is 10..260, 20..240; 5 % of it are 12.5 and 11


def many_dogs() -> GroundTruth:
    """Twelve images each of feeding, walking and petting a dog, and eight of two of them, by one person or by two."""
    alone = [[f"{verb} dog"] for verb in ("feed", "walk", "pet") for _ in range(12)]
    return truth_of([*alone, *[["feed dog", "walk dog"]] * 8, *[["feed dog", "+pet dog"]] * 8])


def test_negatives_never_show_the_concept() -> None:
    truth = many_dogs()
    problems = build_problems(truth, MAP, sampling=Sampling(overlap=14, most=20)).problems
    counts = Counter(problems.concepts[concept][0] for concept in problems.concept)
    assert counts == {"feed": 20, "walk": 20, "pet": 20}
    see_that_only_positives_show_the_concept(problems, truth)


def see_that_only_positives_show_the_concept(problems: Problems, truth: GroundTruth) -> None:
    table, image = truth.interactions, problems.regions.image
    shows: list[set[str]] = [set() for _ in table.images]
    for of, verb, object_ in zip(table.image, table.verb, table.object, strict=True):
        shows[of].add(f"{CLASSES.verbs[verb]} {CLASSES.objects[object_]}")
    for concept, positives, negatives in zip(problems.concept, problems.positives, problems.negatives, strict=True):
        action, object_ = problems.concepts[concept]
        names = {f"{verb} {object_}" for verb in action.split("_or_")}
        assert all(names & shows[image[row]] for row in positives.tolist())
        assert not any(names & shows[image[row]] for row in negatives.tolist())


def test_who_does_the_whole_does_its_part() -> None:
    """Who hugs a dog holds it, though nobody annotated it: no negative of holding."""
    truth = truth_of([[f"{verb} dog"] for verb in ("hug", "hold", "walk") for _ in range(12)])
    problems = build_problems(truth, MAP, sampling=Sampling(overlap=14, most=5)).problems
    others: dict[str, set[str]] = {}
    for concept, rows in zip(problems.concept, problems.negatives, strict=True):
        verbs = {problems.regions.verbs[v] for v in problems.regions.verb[rows]}
        others.setdefault(problems.concepts[concept][0], set()).update(verbs)
    assert others == {"hug": {"hold", "walk"}, "hold": {"walk"}, "walk": {"hug", "hold"}}


def test_groups_say_what_training_shows() -> None:
    objects, concepts = frozenset({"dog", "cat"}), concepts_of(CLASSES, MAP, 0.6)
    names = [f"{a} {CLASSES.objects[o]}" for a, o in zip(concepts.actions, concepts.object, strict=True)]

    def groups(*verbs: str) -> dict[str, int]:
        found = Seen(frozenset(verbs), objects).groups(concepts, CLASSES.objects)
        return dict(zip(names, found.tolist(), strict=True))

    expected = {"feed dog": 0, "feed horse": 1, "pet cat": 2, "pet sheep": 3, "clean_or_wash sink": 3}
    assert groups("feed", "walk").items() >= expected.items()
    assert groups("clean")["clean_or_wash sink"] == -1


@pytest.mark.slow
def test_training_shows_only_what_is_seen(tmp_path: Path) -> None:
    truth, seen = many_dogs(), Seen(frozenset({"feed", "walk"}), frozenset({"dog"}))
    how = Sampling(overlap=14, most=5)
    train = build_problems(truth, MAP, sampling=how, seen=seen, part="train")
    assert {action for action, _ in train.problems.concepts} == {"feed", "walk"}
    read = read_problems(*write_problems(train.problems, tmp_path, "train"))
    assert Seen.in_problems(read) == seen
    test = build_problems(truth, MAP, sampling=how, seen=Seen.in_problems(read)).problems
    assert {GROUPS[g]: n for g, n in Counter(test.group.tolist()).items()} == {GROUPS[0]: 10, GROUPS[2]: 5}


@pytest.mark.slow
def test_training_on_a_split_of_classes_shows_no_unseen_pair() -> None:
    seen = np.isin(CLASSES.labels, ["feed dog", "walk dog", "pet cat"])
    truth, how, known = many_dogs(), Sampling(overlap=14, most=1), Seen.in_classes(CLASSES, seen)
    train = build_problems(truth, MAP, sampling=how, seen=known, part="train").problems
    assert train.concepts == [("feed", "dog"), ("walk", "dog")]
    test = build_problems(truth, MAP, sampling=how, seen=known).problems
    assert {GROUPS[g] for g in test.group.tolist()} == {GROUPS[0]}  # petting is seen, and so are dogs


def test_holding_out_takes_a_share_by_the_seed() -> None:
    kept = [Seen.holding_out(CLASSES, share, seed) for share, seed in ((0.2, 0), (0.2, 0), (0.2, 1), (0, 3))]
    assert kept[0] == kept[1] != kept[2]
    assert [len(kept[0].verbs), len(kept[0].objects)] == [117 - 23, 64]
    assert kept[3] == Seen(frozenset(CLASSES.verbs), frozenset(CLASSES.objects))


def test_problems_are_not_written_over_what_they_are_made_of(tmp_path: Path) -> None:
    path = tmp_path / "x_seen_obj_seen_act.json"
    path.write_bytes(INSTANCES.read_bytes())
    refused(run("bongard", "build", path, "--out", tmp_path, "--name", "x"), path.name, "an input")
    assert path.read_bytes() == INSTANCES.read_bytes()


@pytest.mark.slow
@pytest.mark.real_data
def test_the_real_test_set(shared_data: Path, tmp_path: Path) -> None:
    truth = read_ground_truth(shared_data / "hico_det" / "instances_test2015.json")
    built = build_problems(truth, MAP, seen=Seen.holding_out(CLASSES, 0.2, 0))
    counts = ((166, 444, 3394), (46, 143, 1009), (18, 64, 762), (4, 9, 117))
    assert built.problems.counts() == dict(zip(GROUPS, counts, strict=True))
    assert [step.labels for step in built.steps] == [33260, 29022, 28761, 28405, 20525, 17660, 12877, 12654]
    see_that_only_positives_show_the_concept(built.problems, truth)
    again = read_problems(*write_problems(built.problems, tmp_path, "test"))
    assert again.counts() == built.problems.counts()
