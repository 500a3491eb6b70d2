"""What V-COCO's actions mean: the page says of each the senses that the class table has."""

import re
from pathlib import Path

from shoe.benchmarks import benchmark
from shoe.lexicon.store import ids_of, lexicon

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "v-coco.md"
_ROW = re.compile(r"\| ([a-z_, ]+) \| ((?:[a-z_]+\.v\.\d\d(?:, )?)+) \|")


def test_the_page_says_what_the_26_actions_mean() -> None:
    of_action: dict[str, set[str]] = {}
    for names, synsets in _ROW.findall(_PAGE.read_text("utf-8")):
        actions, senses = names.split(", "), synsets.split(", ")
        for index, action in enumerate(actions):
            of_action[action] = {senses[index]} if len(actions) > 1 else set(senses)
    v_coco = benchmark("v-coco")
    assert sorted(of_action) == sorted(v_coco.actions.names)
    classes = v_coco.classes
    for verb in classes.verbs:
        named = {
            synset for v, synset in zip(classes.verb, classes.verb_synsets, strict=True) if classes.verbs[v] == verb
        }
        assert of_action[verb] == named
    every = ids_of({sense for senses in of_action.values() for sense in senses})
    assert all(sense >= 0 and lexicon().pos(sense) == "v" for sense in every.tolist())


def test_objects_mean_what_they_mean_in_hico_det() -> None:
    """Whose ratings are V-COCO's."""
    ours, theirs = (
        {c.objects[o]: synset for o, synset in zip(c.object, c.object_synsets, strict=True)}
        for c in (benchmark(name).classes for name in ("v-coco", "hico-det"))
    )
    assert len(ours) == 71
    assert ours.items() <= theirs.items()
