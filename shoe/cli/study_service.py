"""``shoe study publish`` and ``fetch``: a study in a service, whose raters answer by links."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from shoe.cli.serving import opened

_Folder = Annotated[Path, typer.Argument(help="Folder of the study.")]


def publish(
    folder: _Folder,
    service: Annotated[Path, typer.Argument(help="Folder of a service, made where there is none; it may be running.")],
    address: Annotated[str, typer.Option(help="Under which raters reach the service.")] = "http://127.0.0.1:8017",
    again: Annotated[
        list[str] | None, typer.Option(help="Rater who gets a new link, whose old one ends; again for more.")
    ] = None,
) -> None:
    """Have a service of shoe serve ask the raters, and print a link for each, this once.

    With the link a rater may go on at any time, on any device. The command again takes over changed texts, and makes
    links for who has none.

    Example: shoe study publish study lab --address https://shoe.example.org

    Then: shoe serve lab --name shoe.example.org
    """
    from shoe.core.errors import many
    from shoe.io.files import read_bytes
    from shoe.page.pictures import address as picture_address
    from shoe.page.study import read_texts, shown_to_all
    from shoe.study.kept import PICTURES, load_study

    study = load_study(folder)
    texts = read_texts(folder, study)
    orders = {name: study.order(number) for number, name in enumerate(study.names)}
    pictures = {name: list(study.pictures(order)) for name, order in orders.items()}
    addresses = {
        file: picture_address(read_bytes(folder / PICTURES / file)) for file in sorted(set().union(*pictures.values()))
    }
    with opened(service, "study publish", " ".join([study.id, *(again or ())]), create=True) as place:
        from shoe.service import studies

        raters = {name: studies.Rater(order, pictures[name]) for name, order in orders.items()}
        studies.publish(place, study.id, shown_to_all(study, texts), study.levels, raters, addresses)
        links = studies.invite(place, study.id, again or ())
        for name, token in links.items():
            print(f"{name}\t{address.rstrip('/')}/rate#{token}")
        print(f"{service}: study {study.id}, {many(study.raters, 'rater')}, {many(len(links), 'new link')}")


def fetch(
    folder: _Folder,
    service: Annotated[Path, typer.Argument(help="Folder of the service, which may be running.")],
) -> None:
    """Write what raters have answered in a service, each as the file that a page saves: FOLDER/answers/rater-1.json.

    Example: shoe study fetch study lab

    Then: shoe study collect study study/answers/*.json --out answers.csv
    """
    from shoe.core.errors import many
    from shoe.io.files import replacing
    from shoe.io.json import encode
    from shoe.study.kept import load_study

    study = load_study(folder)
    with opened(service) as place:
        from shoe.service import studies

        found = studies.returned(place, study.id)
        with suppress(OSError):  # where it is not made, no file can be written into it, which is told
            (folder / "answers").mkdir(exist_ok=True)
        for number, returned in enumerate(found):
            done = {(answer.item, answer.occasion, answer.phase) for answer in returned.answers}
            with replacing(folder / "answers" / f"{returned.rater}.json") as stream:
                stream.write(encode(returned))
            print(f"{returned.rater}: {len(done)} of {many(len(study.order(number)), 'question')} answered")
