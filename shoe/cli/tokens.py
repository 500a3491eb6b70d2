"""``shoe serve token``: who may read, submit, and run a service."""

from __future__ import annotations

from typing import Annotated

import typer

from shoe.cli.serving import FolderPath, opened

app = typer.Typer(
    help="Make, list and revoke tokens: who may read, submit, and run the service.",
)


@app.command("new")
def new_token(
    folder: FolderPath,
    name: Annotated[str, typer.Argument(help="What it is for, as ci.")],
    team: Annotated[str, typer.Option(help="Whose runs it sees and makes.")],
    scope: Annotated[list[str] | None, typer.Option(help="read, submit or admin; each allows those before it.")] = None,
    days: Annotated[float | None, typer.Option(help="Until it expires.")] = None,
) -> None:
    """Make a token and print it, this once.

    Example: shoe serve token new lab ci --team vision --days 90
    """
    with opened(folder, "token new", f"{name} of {team}") as place:
        from shoe.service.tokens import new_token as new

        print(new(place, name, team, scope or ("submit",), days))


@app.command("list")
def list_tokens(folder: FolderPath) -> None:
    """List tokens by how they begin; what they are is not known here.

    Example: shoe serve token list lab
    """
    from datetime import UTC, datetime

    from shoe.report.text import aligned

    def day(at: float | None) -> str:
        return "-" if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"

    with opened(folder) as place:
        from shoe.service.tokens import tokens

        rows: list[tuple[str, ...]] = [
            ("token", "name", "team", "scopes", "created", "expires", "last used", "revoked")
        ]
        for of in tokens(place):
            days = map(day, (of.created, of.expires, of.last_used, of.revoked))
            rows.append((f"{of.prefix}...", of.name, of.team, " ".join(of.scopes), *days))
        print("\n".join(aligned(rows)))


@app.command("revoke")
def revoke_token(
    folder: FolderPath, token: Annotated[str, typer.Argument(help="How it begins, as in the list.")]
) -> None:
    """Take a token back, and the logins made with it.

    Example: shoe serve token revoke lab shoe_Ab12C
    """
    with opened(folder, "token revoke", token) as place:
        from shoe.service.tokens import revoke

        taken = revoke(place, token.removesuffix("..."))
        print(f"{taken.prefix}...: revoked")
