"""Explanations of similarities between classes and words, in the terminal and as JSON."""

from itertools import product

import numpy as np

from shoe.benchmarks import DEFAULT, benchmark
from shoe.core.documents import Document, Fraction
from shoe.core.errors import printable
from shoe.lexicon.phrases.parse import LONGEST_PHRASE, Reading, interactions, parse_phrase
from shoe.lexicon.text import ALTERNATIVES
from shoe.report.text import aligned
from shoe.similarity import Similarity, SimilarityMap, combine as combined
from shoe.similarity.explain import Explanation, explanations


def explain_phrase(phrase: str) -> tuple[list[str], list[Reading]]:
    """Return (lines that explain how a phrase is split, the interactions (verb, object) found in the phrase).

    >>> explain_phrase("a man wearing a helmet rides a brown horse")[0]
    ['  read as   rides · brown horse', '  could be  wearing · helmet']
    """
    parsed, all_readings = interactions(phrase), parse_phrase(phrase).readings
    rows = [["read as", _reading_text(reading)] for reading in parsed.interactions]
    if parsed.denied:
        rows.append(["denied", "the phrase denies the interaction"])
    elif not rows:
        why = f", because the phrase has more than {LONGEST_PHRASE} characters"
        rows.append(["not read", f"no verb and object found{why if len(phrase) > LONGEST_PHRASE else ''}"])
    if parsed.doubtful:
        rows.append(["doubtful", "the phrase can be split in another way, or has no verb"])
    words = ([word.split(ALTERNATIVES) for word in each] for each in parsed.interactions)
    read = {Reading(*both) for each in words for both in product(*each)}
    rows += [["could be", _reading_text(reading)] for reading in all_readings if reading not in read]
    return aligned(rows), list(parsed.interactions)


def _reading_text(reading: Reading) -> str:
    return printable(f"{reading.verb} · {reading.object or 'no object'}", longest=LONGEST_PHRASE)


class MapName(Document, frozen=True):
    """Name and digest of a similarity map or measure, and how the ratings of a map's raters are combined."""

    name: str
    digest: str
    ensemble: str | None = None


class Combined(Document, frozen=True):
    """Similarity of two interactions: verbs and objects combined by the rule ``combine``, verbs with ``weight``."""

    combine: str
    weight: Fraction
    value: Fraction


class ExplainedSimilarity(Document, frozen=True):
    """Similarity of two words or interactions, with its explanation.

    For words, ``parts`` has an explanation for each class sense that the class word may mean. For interactions, it has
    one explanation of the verbs and one of the objects.
    """

    similarity: MapName
    parts: list[Explanation]
    interaction: Combined | None = None


def similarity_of(
    source: Similarity, a: str, b: str, part: str | None = None, combine: str = "arithmetic", weight: float = 0.5
) -> ExplainedSimilarity:
    """Return the similarity of a class and a prediction, both words or both interactions, with its explanation.

    Args:
        a, b: class as a sense, word or interaction; predicted word or interaction.
        part: "verb" or "object", for a word that is both.
        combine, weight: how verb and object are combined, and the weight of the verb, 0 to 1.

    Raises OptionError for an unknown class, a word that may be verb or object, and invalid ``combine`` or ``weight``.
    """
    classes = benchmark(source.dataset if isinstance(source, SimilarityMap) else DEFAULT).classes
    parts, interaction = explanations(source, classes, a, b, part)
    combination = None
    if interaction:
        verb, object_ = (np.array(each.value) for each in parts)
        combination = Combined(combine, weight, float(combined(verb, object_, combine, weight)))
    ensemble = source.ensemble if isinstance(source, SimilarityMap) else None
    return ExplainedSimilarity(MapName(source.name, source.digest, ensemble), list(parts), combination)


def similarity_lines(found: ExplainedSimilarity) -> list[str]:
    """Return the explanation of a similarity as lines of text."""
    about = found.similarity
    raters = f", {about.ensemble} of the ratings of a pair" if about.ensemble else ""
    lines = [f"{about.name} ({about.digest}){raters}"]
    for part in found.parts:
        by, label = f", by {part.sense}" if part.sense else "", part.class_word
        label += f" ({part.class_synset})" if part.class_synset not in ("", label) else ""
        lines += ["", f"{part.part} {label} and {printable(part.word)}: {part.value:.3f} ({part.basis}{by})"]
        lines += _candidate_lines(part)
    if how := found.interaction:
        weight = "" if how.combine == "minimum" else f", weight of the verb {how.weight:g}"
        lines += ["", f"interaction: {how.value:.3f} ({how.combine}{weight})"]
    return lines


def _candidate_lines(part: Explanation) -> list[str]:
    if not part.class_synset:
        return ["  by rule, similar only to itself"]
    if not (candidates := part.candidates):
        return ["  the word has no sense in WordNet"]
    raters = list(dict.fromkeys(rater for candidate in candidates for rater in candidate.ratings or {}))
    rows = [["", "sense", "value", *raters, "found by"]]
    for candidate in candidates:
        mark = "*" if candidate.synset == part.sense else ""
        value = "unrated" if candidate.value is None else f"{candidate.value:.3f}"
        if candidate.predicted is not None:
            value = f"{candidate.predicted:.3f} predicted"
        ratings = [str((candidate.ratings or {}).get(rater, "-")) for rater in raters]
        rows.append([mark, candidate.synset, value, *ratings, printable(candidate.reason)])
    unrated = sum(candidate.value is None for candidate in candidates)
    never = [f"  {unrated} of {len(candidates)} senses have no rating with this class"] if unrated else []
    return [*aligned(rows), *never]
