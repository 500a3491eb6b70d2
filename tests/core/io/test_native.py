import io
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.core.boxes import Coordinates
from shoe.core.errors import InputError
from shoe.core.interactions import Interactions, concatenate
from shoe.core.io.native import read_native, write_native
from tests.errors import input_error
from tests.tables import one_triplet, tables


@given(tables())
def test_a_table_comes_back_to_the_bit(tmp_path: Path, table: Interactions) -> None:
    write_native(table, tmp_path / "table.npz")
    again = read_native(tmp_path / "table.npz")
    assert again.equals(table)
    for name in table.__dataclass_fields__:
        if isinstance(column := getattr(table, name), np.ndarray):
            assert getattr(again, name).dtype == column.dtype


def test_odd_values_come_back_to_the_bit(tmp_path: Path) -> None:
    names = ["", " ", "a\nb", 'q"\\', "\x00\x1b[31m", "\u202eabc", "馬に乗る", "\U0001f40e", "e\u0301", "é"]
    parts = [one_triplet(images=[n], coordinates=Coordinates(i % 3), sizes=[[i, i]]) for i, n in enumerate(names)]
    table = concatenate([*parts, one_triplet(images=["last"], verbs=names, verb=[8])])
    write_native(table, tmp_path / "t.npz")
    assert read_native(tmp_path / "t.npz").equals(table)
    table = one_triplet(score=[np.nextafter(0.1, 1)], human_boxes=[[-0.0, 5e-324, 0.1 + 0.2, 1]])
    write_native(table, tmp_path / "t.npz")
    again = read_native(tmp_path / "t.npz")
    for name in ("score", "human_boxes"):
        assert getattr(again, name).tobytes() == getattr(table, name).tobytes()


def _parts(**changes: Any) -> dict[str, Any]:
    """The arrays of a valid native file, with some changed; None leaves one out."""
    table = one_triplet()
    header = {"shoe": 3, "images": ["a.jpg"], "verbs": ["ride"], "objects": ["horse"]} | changes.pop("header", {})
    names = ("sizes", "coordinates", "offsets", "human_boxes", "object_boxes", "verb", "object", "score")
    parts = {"header": np.frombuffer(msgspec.json.encode(header), np.uint8)} | {n: getattr(table, n) for n in names}
    return {name: part for name, part in (parts | changes).items() if part is not None}


BROKEN = [
    ({"header": {"shoe": 2}, "coordinates": None}, "version: found 2, expected 3"),
    ({"header": {"shoe": "\x1b]0;"}}, "version: found '\\x1b]0;', expected 3"),
    ({"header": {"images": "a"}}, "images: found str"),
    ({"header": {"verbs": [1]}}, "verbs: found a name"),
    ({"header": {"images": ["a", "b"]}}, "offsets: found invalid offsets, expected 3 ascending numbers from 0 to 1"),
    ({"offsets": np.array([0, 2])}, "offsets: found invalid offsets, expected 2 ascending numbers from 0 to 1"),
    *(
        ({"offsets": odd}, "offsets: found invalid")
        for odd in (np.array([0.0, 1.0]), np.array([1, 1]), np.zeros(0, int))
    ),
    ({"score": None}, "found a damaged file (KeyError), expected a native table (.npz)"),
    ({"score": np.array([np.nan])}, "record 1 ('a.jpg'): score: found nan, expected a finite number"),
    ({"score": np.array([1j])}, "score: found values of type complex128, expected numbers"),
    ({"verb": np.array([3])}, "record 1 ('a.jpg'): verb: found index 3, expected 0 to 0"),
    ({"verb": np.array(["0"])}, "verb: found values of type <U1, expected whole numbers"),
    ({"human_boxes": np.zeros((1, 4))}, "human box: found [0, 0, 0, 0], expected finite x1, y1, x2, y2"),
    ({"human_boxes": np.zeros((4, 1))}, "human_boxes: found shape (4, 1), expected shape (1, 4)"),
    ({"coordinates": np.array([9])}, "record 1: coordinates: found index 9, expected 0 to 2"),
]


@pytest.mark.parametrize(("changes", "message"), BROKEN)
def test_a_native_file_that_breaks_a_rule_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    np.savez(tmp_path / "t.npz", **_parts(**changes))
    with input_error(message) as raised:
        read_native(tmp_path / "t.npz")
    assert "\x1b" not in str(raised.value)
    np.savez(tmp_path / "t.npz", **_parts())  # the unchanged parts are a valid file
    assert read_native(tmp_path / "t.npz").equals(one_triplet())


def test_other_files_are_refused(tmp_path: Path) -> None:
    with input_error("no such file", source=str(tmp_path / "none.npz")):
        read_native(tmp_path / "none.npz")
    for number, data in enumerate([b"", b"PK", b"{}", b"\x80\x04.", b"\x93NUMPY"]):
        (tmp_path / f"{number}.npz").write_bytes(data)
    np.save(tmp_path / "array.npy", np.zeros(3))
    with zipfile.ZipFile(tmp_path / "other.npz", "w") as archive:
        archive.writestr("header.npy", "no array")
    np.savez(tmp_path / "pickled.npz", allow_pickle=True, **_parts(score=np.array([print], object)))
    for path in (tmp_path, *tmp_path.iterdir()):
        with input_error("damaged file", source=str(path)):
            read_native(path)


@given(st.data())
def test_damaged_bytes_are_read_rightly_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, **_parts())
    content = bytearray(buffer.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (tmp_path / "t.npz").write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
    with suppress(InputError):
        assert read_native(tmp_path / "t.npz").images == ("a.jpg",)
