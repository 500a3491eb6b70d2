"""Made pictures with made boxes."""

from pathlib import Path

from PIL import Image, ImageDraw

from shoe.predict.images import Picture, check_images

SIZE = (64, 48)


def made_pictures(folder: Path, names: list[str], size: tuple[int, int] = SIZE) -> list[Picture]:
    """Grey pictures with a box each, which is somewhere else in each."""
    folder.mkdir(exist_ok=True, parents=True)
    for number, name in enumerate(names):
        picture = Image.new("RGB", size, (90, 90, 90))
        left = 3 * number % (size[0] - 9)
        ImageDraw.Draw(picture).rectangle((left, 5, left + 8, 30), fill=(200, 40 + 9 * number % 200, 30))
        picture.save(folder / name)
    pictures, errors = check_images([folder / name for name in names])
    assert not errors
    return pictures
