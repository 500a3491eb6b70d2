"""Export a map as dense arrays, as one long table or for publication, and convert a map to another lexicon."""

import re
import shutil
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shoe.benchmarks.classes import HoiClasses, class_table
from shoe.core.errors import OptionError, quote
from shoe.core.io.files import atomic_write, data_folder
from shoe.core.io.json import encode
from shoe.core.io.spreadsheets import delimited_text
from shoe.lexicon.building.compare import match_concepts
from shoe.lexicon.resolve import ENGLISH, resolve
from shoe.lexicon.senses import POS, Part
from shoe.lexicon.store import Lexicon, lexicon, names_of, use_lexicon
from shoe.maps.planning import class_senses
from shoe.similarity.ensemble import MISSING
from shoe.similarity.learned import FILE as LEARNED
from shoe.similarity.map_files import ABOUT, FILES, SimilarityMap, check_is_new, shipped_maps, write_map
from shoe.similarity.pairs import RatedPairs, pair_keys
from shoe.similarity.whole_interactions import FILE as WHOLE


def export(similarity: SimilarityMap, target: Path) -> None:
    """Write a map atomically to a .npz, .csv or .tsv file; OptionError for others, and whole interactions not in .npz.

    Raise InputError if the file cannot be written.
    """
    ending = target.suffix.lower()
    if ending not in (".npz", ".csv", ".tsv"):
        raise OptionError(f"OUT: found {quote(target.name)}, expected a name that ends in .npz, .csv or .tsv")
    if similarity.whole_ratings and ending != ".npz":
        raise OptionError(
            f"OUT: found {quote(target.name)}, expected a name that ends in .npz. This map rates whole "
            f"interactions (it contains the file {WHOLE}), which other formats cannot store"
        )
    with atomic_write(target) as stream:
        if ending == ".npz":
            np.savez_compressed(stream, allow_pickle=False, **_arrays(similarity))
        else:
            stream.write(delimited_text(_lines(similarity), "\t" if ending == ".tsv" else ",").encode())


def dense(similarity: SimilarityMap, part: Part) -> dict[str, Any]:
    """Return the ratings of one part of speech of a similarity map as a dictionary of dense arrays.

    ``classes`` and ``synsets`` are the sorted names of (C,) class senses and (S,) all senses; ``values`` (C, S) the
    similarity, 0 to 1, as used in scoring: 1 for a sense with itself, NaN for unrated pairs; ``ratings`` (C, S, R) the
    int8 ratings 0 to 4, or -1 if missing.
    """
    table = similarity.tables[part]
    groups = (table.classes, {*table.classes, *table.sense.tolist()})
    row, column = (np.array(sorted(senses, key=lexicon().name), np.int32) for senses in groups)
    index = np.zeros(len(lexicon()), np.int64)
    index[column] = np.arange(len(column))
    rows = np.repeat(np.arange(len(row)), [of.stop - of.start for of in table.classes.values()])
    ratings = np.full((len(row), len(column), len(similarity.raters)), MISSING, np.int8)
    ratings[rows, index[table.sense]] = table.ratings
    names = {"classes": np.array(names_of(row), np.str_), "synsets": np.array(names_of(column), np.str_)}
    return names | {"values": similarity.values(part, row, column), "ratings": ratings}


def _arrays(similarity: SimilarityMap) -> dict[str, Any]:
    arrays: dict[str, Any] = {"raters": np.array([rater.name for rater in similarity.raters], np.str_)}
    arrays |= {name: np.array(getattr(similarity, name)) for name in ("name", "dataset", "digest", "ensemble")}
    arrays |= {f"{part}_{name}": array for part in similarity.tables for name, array in dense(similarity, part).items()}
    if similarity.whole is not None:
        rated, values = similarity.whole
        arrays |= {"interaction_rows": np.array(rated.rows, np.str_), "interaction_values": values}
        arrays["interaction_ratings"] = rated.ratings
    return arrays


def _lines(similarity: SimilarityMap) -> Iterator[Sequence[object]]:
    yield ["part", "class_synset", "synset", "value", *(rater.name for rater in similarity.raters)]
    for part, table in similarity.tables.items():
        values = similarity.pair_values(part).tolist()
        for names, value, ratings in zip(table.names(), values, table.ratings.tolist(), strict=True):
            given = ("" if rating == MISSING else rating for rating in ratings)
            yield [part, *names, "" if np.isnan(value) else str(value), *given]


CLASSES = "classes.tsv"


class ConvertedPairs(NamedTuple):
    """Result of converting the pairs of one part of speech to another lexicon.

    Attributes:
        pairs, kept: number of pairs before and after the conversion.
        without_class, classes_lost: number of pairs whose class sense has no counterpart, and names of these classes.
        without_sense: number of pairs whose other sense has no counterpart, or the same counterpart as the class sense.
        met: number of pairs merged into another pair, because the counterparts of their senses are the same.
    """

    pairs: int
    kept: int
    without_class: int
    without_sense: int
    met: int
    classes_lost: tuple[str, ...]


def carry(similarity: SimilarityMap, to: Lexicon, folder: Path, classes: HoiClasses) -> dict[Part, ConvertedPairs]:
    """Convert a map from the lexicon in use to another lexicon, and write it together with a converted class table.

    If several pairs become the same pair, the highest rating of each rater is kept. Predicted ratings and ratings of
    whole interactions are not converted. Return the counts of converted and dropped pairs, per part of speech.

    ``classes`` are those of the map's dataset, written to classes.tsv with the names of the other lexicon. Raise
    OptionError if both lexicons have the same concepts, or no sense of the map exists in the other lexicon, and
    InputError if the folder cannot be written.
    """
    source = lexicon()
    if source.concepts.digest == to.concepts.digest:
        raise OptionError(f"both lexicons have the concepts of {to.concepts.title}: the map needs no conversion")
    number = np.array(match_concepts(source, to), np.int32)
    moved = {part: _moved(table, number, to) for part, table in similarity.tables.items()}
    if not any(len(table) for table, _ in moved.values()):
        raise OptionError(f"{to.title} shares no sense with the map: no links connect their senses")
    found = {part: counts for part, (_, counts) in moved.items()}
    origin = {"map": similarity.name, "digest": similarity.digest, "lexicon": source.label}
    record = {"from": origin, **{f"{part}s": counts._asdict() for part, counts in found.items()}}
    lines = [line.split("\t") for line in classes.table.splitlines()[1:]]
    for line, verb, object_ in zip(lines, classes.verb_sense.tolist(), classes.object_sense.tolist(), strict=True):
        for column, sense in ((3, verb), (4, object_)):
            counterpart = int(number[sense]) if sense >= 0 else -1
            line[column] = to.name(counterpart) if counterpart >= 0 else ""
    pairs, prose = {part: pairs for part, (pairs, _) in moved.items()}, similarity.provenance | {"carried": record}
    raters, dataset, ensemble = similarity.raters, similarity.dataset, similarity.ensemble
    with use_lexicon(to):
        write_map(folder, dataset=dataset, raters=raters, pairs=pairs, ensemble=ensemble, prose=prose)
    (folder / CLASSES).write_text(class_table(lines), "utf-8")
    return found


def _moved(table: RatedPairs, number: np.typing.NDArray[np.int32], to: Lexicon) -> tuple[RatedPairs, ConvertedPairs]:
    class_sense, sense = number[table.class_sense], number[table.sense]
    no_class = class_sense < 0
    there = ~no_class & (sense >= 0) & (class_sense != sense)
    with use_lexicon(to):
        keys = pair_keys(class_sense[there], sense[there])
        distinct, first, of = np.unique(keys, return_index=True, return_inverse=True)
        ratings = np.full((len(distinct), table.ratings.shape[1]), -1, np.int8)
        np.maximum.at(ratings, of, table.ratings[there])
        moved = RatedPairs(class_sense[there][first], sense[there][first], ratings).by_name()
    counts = ConvertedPairs(
        pairs=len(table),
        kept=len(distinct),
        without_class=int(no_class.sum()),
        without_sense=int((~no_class & ~there).sum()),
        met=len(keys) - len(distinct),
        classes_lost=tuple(sorted({lexicon().name(one) for one in np.unique(table.class_sense[no_class]).tolist()})),
    )
    return moved, counts


def unknown_words(classes: HoiClasses) -> dict[Part, list[str]]:
    """Return a dataset's verbs and objects that are missing in the active lexicon, per part of speech.

    These are class words without a sense in English, and names of class senses without a word in other languages.
    """
    store = lexicon()
    if store.language == ENGLISH:
        words = {part: [word for word in getattr(classes, f"{part}s") if word != "no_interaction"] for part in POS}
        return {part: [word for word in of if not resolve(word, part).candidates] for part, of in words.items()}
    senses = {part: class_senses(classes, part).tolist() for part in POS}
    return {part: sorted(store.name(s) for s in of if not store.lemmas(s)) for part, of in senses.items()}


_PATH = r"(?<![\w./:~\\-])(?:(?:~\w*|\.{1,2}|[A-Za-z]:)[\\/]|/(?=\w)|\\\\(?=\w))[^\s\"'<>,;()]*"
_PRIVATE = re.compile(
    rf"{_PATH}|\w+://[^\s\"'<>,;()]+|[\w.+-]+@(?:[\w-]+\.)+[A-Za-z]{{2,}}\b|\b(?:\d{{1,3}}\.){{3}}\d{{1,3}}\b(?::\d+)?|"
    r"\b[A-Za-z][\w.-]*:\d{2,5}\b|\blocalhost\b|\b[\w-]+(?:\.[\w-]+)*\.(?:local|internal|lan|intranet|corp)\b|"
    rf"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|\b{re.escape(socket.gethostname())}\b"
)
"""Paths, URLs, mail addresses, IP addresses, hosts with a port, local hosts, environment variables, this machine."""


def publish(map_name: str, similarity: SimilarityMap, folder: Path) -> list[str]:
    """Copy a map to a new folder; replace texts in map.json that may be private, such as URLs, by "[removed]".

    If a rater's model, revision or GGUF file is a path, its last component remains. Return one line for each changed
    text and each unchanged free text (note, provenance, licence). Raise InputError if the folder is not empty or not
    writable.
    """
    check_is_new(folder)
    lines: list[str] = []

    def cleaned(value: Any, field: str) -> Any:
        name = field.rpartition(".")[2]
        if name in ("base_url", "api_key_env", "headers"):
            value, text = str(value), "[removed]"
        elif isinstance(value, dict):
            return {key: cleaned(item, f"{field}.{key}") for key, item in value.items()}
        elif isinstance(value, list):
            return [cleaned(item, f"{field}.{index}") for index, item in enumerate(value)]
        elif not isinstance(value, str):
            return value
        elif name in ("model", "revision", "gguf_file"):
            text = Path(value).name if re.fullmatch(_PATH, value) else value
        else:
            text = _PRIVATE.sub("[removed]", value)
        if text != value or (value and name in ("note", "provenance", "licence")):
            lines.append(f"{field[1:]}: {f'kept {quote(value)}' if text == value else f'{quote(value)} -> {text}'}")
        return text

    source = data_folder("similarity_maps") / map_name if map_name in shipped_maps() else Path(map_name)
    folder.mkdir(exist_ok=True)
    for file in filter(Path.is_file, (source / name for name in (LEARNED, WHOLE, *FILES.values()))):
        shutil.copyfile(file, folder / file.name)
    with atomic_write(folder / ABOUT) as stream:
        stream.write(encode(cleaned(similarity.about | {"name": folder.name}, ""), readable=True))
    return lines
