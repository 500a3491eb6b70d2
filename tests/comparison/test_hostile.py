"""Runs that somebody edited: what their own bytes belie is refused in one line, and never fills the memory."""

import json
import os
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from shoe.comparison.run_file import read_run
from shoe.core.errors import InputError

Head = dict[str, Any]


def edited(whole: Path, path: Path, edit: Callable[[Head, dict[str, bytes]], object]) -> Path:
    """The same run after an edit of its head and columns."""
    with zipfile.ZipFile(whole) as before:
        contents = {name: before.read(name) for name in before.namelist()}
    head = json.loads(contents.pop("run.json"))
    edit(head, contents)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as after:
        for name, content in {"run.json": json.dumps(head).encode(), **contents}.items():
            after.writestr(name, content)
    return path


def column(part: str, name: str, values: Callable[[int], Any]) -> Callable[[Head, dict[str, bytes]], None]:
    """An edit that gives one part another column of the same length, or of the length of what is returned."""

    def edit(head: Head, contents: dict[str, bytes]) -> None:
        of = head["strict"][0]["entries"] if part == "strict" else head["semantic"][part]
        made = np.asarray(values(head["columns"][of[name]]["length"]))
        of[name] = len(head["columns"])
        head["columns"].append({"type": made.dtype.str[1:], "length": len(made)})
        contents[f"columns/{of[name]}"] = made.tobytes()

    return edit


def no_protocol(head: Head, _: dict[str, bytes]) -> None:
    head["strict"] = []
    del head["semantic"]
    head["signature"] = head["signature"][: head["signature"].index("|strict.protocol")]


def renamed(name: str) -> Callable[[Head, dict[str, bytes]], None]:
    """An edit that gives the strict protocol another name wherever it stands."""

    def edit(head: Head, _: dict[str, bytes]) -> None:
        strict = head["strict"][0]
        strict["options"]["strict.protocol"] = name
        shown = "strict.protocol:" + quote(name, " ,;.+<>=()[]/_-")
        strict["signature"] = strict["signature"].replace("strict.protocol:qpic", shown)
        head["signature"] = head["signature"].replace("strict.protocol:qpic", shown)

    return edit


def fewer_truths(head: Head, contents: dict[str, bytes]) -> None:
    column("f1", "truth_category", lambda n: np.zeros(n - 1, "u1"))(head, contents)
    column("f1", "truth_image", lambda n: np.zeros(n - 1, "u1"))(head, contents)


def a_bomb(head: Head, contents: dict[str, bytes]) -> None:
    contents["columns/0"] = bytes(300_000_000)
    head["columns"][0] |= {"length": 300_000_000, "table": None, "type": "u1"}


OTHER = {"strict.threshold": "0.1"}
EDITS: dict[str, tuple[Callable[[Head, dict[str, bytes]], object], str]] = {
    "a fact less": (lambda head, _: head["facts"].pop("split"), "metadata without split"),
    "a fact that a terminal obeys": (lambda head, _: head["facts"].update(split="\x1b[31m"), "invalid fact"),
    "another number of images": (lambda head, _: head["images"].append("x"), "tables of thresholds"),
    "no images": (lambda head, _: head.update(images=[]), "a number outside"),
    "another number of images, without thresholds": (
        lambda head, _: (head["images"].append("x"), head["semantic"].pop("tau")),
        "images .* 4 in",
    ),
    "thresholds beyond the last": (column("tau", "stop", lambda n: np.full(n, 99)), "a number outside"),
    "an image twice": (lambda head, _: head.update(images=[head["images"][0]] * 3), "an image .*twice"),
    "another signature": (lambda head, _: head.update(signature="shoe:1"), "a signature that"),
    "other options": (lambda head, _: head["strict"][0]["options"].update(OTHER), "a signature that"),
    "another map": (lambda head, _: head["facts"].update(map="/etc"), "a signature that"),
    "no rare class": (
        lambda head, _: head.update(classes=head["classes"].replace("\trare\nh", "\t\nh")),
        "a class table",
    ),
    "a class more": (
        lambda head, _: head.update(classes=head["classes"] + "jump\tdragon\tjumping\t\t\t\n"),
        "class-list",
    ),
    "nothing measured": (no_protocol, "no protocol"),
    "a protocol twice": (lambda head, _: head["strict"].append(head["strict"][0]), "a protocol .*twice"),
    "a protocol with a colon": (renamed("a:b"), "a colon"),
    "a protocol with colours": (renamed("a\x1b[31m"), "invalid protocol"),
    "absent and there": (lambda head, _: head.update(absent={"semantic": "x"}), "both semantic results and"),
    "raters without names": (lambda head, _: head.update(raters={"\x1b": 0.5, "b": 0.5}), "invalid rater"),
    "raters beyond 1": (lambda head, _: head.update(raters={"a": 5, "b": 0.5}), "0 to 1"),
    "an upturned interval": (
        lambda head, _: head.update(interval={"map": [0.5, 0.2], "mf1": None, "unrated_pairs": 1}),
        "an interval",
    ),
    "classes as fractions": (column("strict", "category", lambda n: np.full(n, 1.5)), "category .* float64"),
    "classes beyond the last": (column("strict", "category", lambda n: np.full(n, 600)), "a number outside"),
    "scores that are none": (column("strict", "score", lambda n: np.full(n, np.nan)), "not finite"),
    "credit above 1": (column("entries", "credit", lambda n: np.full(n, 1.5)), "a number outside"),
    "other ground truths": (column("f1", "truth_category", lambda n: np.full(n, 3, "u1")), "ground truths that"),
    "fewer ground truths": (fewer_truths, "ground truths that"),
    "columns counted from the end": (lambda head, _: head["strict"][0]["entries"].update(score=-1), "`int` >= 0"),
    "a member more": (lambda _, contents: contents.update({"../x": b"x"}), "members that differ"),
    "a longer column": (lambda _, contents: contents.update({"columns/0": bytes(10**6)}), "has a length"),
    "a later version": (lambda head, _: head.update(shoe_run="\x1b" * 1000), "shoe_run: found '.{,80}, expected"),
}


@pytest.mark.parametrize("kind", EDITS)
def test_an_edit_that_belies_itself_is_refused(whole: Path, tmp_path: Path, kind: str) -> None:
    edit, says = EDITS[kind]
    with pytest.raises(InputError, match=says) as found:
        read_run(edited(whole, tmp_path / "x.shoe", edit))
    assert str(found.value).isprintable()
    assert len(str(found.value)) < 600


def test_an_archive_that_is_more_or_other_than_a_run_is_refused(whole: Path, tmp_path: Path) -> None:
    data, path = whole.read_bytes(), tmp_path / "x.shoe"
    central = data.index(b"PK\x01\x02")
    packed_otherwise = data[: central + 10] + struct.pack("<H", zipfile.ZIP_LZMA) + data[central + 12 :]
    for content in (b"#!/bin/sh\n" + data, data + b"junk", packed_otherwise):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"(edited|not a) run"):
            read_run(path)


@pytest.mark.slow
def test_a_small_file_does_not_fill_the_memory(whole: Path, tmp_path: Path) -> None:
    honest = edited(whole, tmp_path / "honest.shoe", a_bomb)
    data = honest.read_bytes()
    central = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1)  # of the first column
    lying = tmp_path / "lying.shoe"
    lying.write_bytes(data[: central + 24] + struct.pack("<I", 100) + data[central + 28 :])
    zeros = tmp_path / "zeros.shoe"
    for start in (b"PK\x03\x04", b""):
        zeros.write_bytes(start)
        os.truncate(zeros, 10**9)
        for path in (honest, lying, zeros):
            tracemalloc.start()
            with pytest.raises(InputError, match=r"(edited|not a) run"):
                read_run(path)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 50_000_000
