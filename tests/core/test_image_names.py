"""One picture under several names."""

import pytest

from shoe.core.interactions import image_index

KNOWN = ["a.jpg", "x/b.png", "c.jpg", "c.png", ".hidden"]


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("a.jpg", 0),
        ("a", 0),
        ("folder/a.jpeg", 0),
        (r"c:\pictures\a.PNG", 0),
        ("b", 1),
        ("c.png", 3),  # as it stands
        ("c", -1),  # could be either
        ("c.gif", -1),
        (".hidden.jpg", 4),
        ("d.jpg", -1),
        ("X/B.PNG", 1),
        ("A", 0),
        ("C.png", -1),
        ("", -1),
    ],
)
def test_by_name_then_without_folder_and_ending(name: str, index: int) -> None:
    assert image_index([name], KNOWN).tolist() == [index]
    assert image_index([name, "no such"], KNOWN).tolist() == [index, -1]
