"""Answers that are given again: while nothing has changed, to whom they are for, and made once for all who wait."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.service.calling import bearer, calling, done_by_hand, made_folder, submitted


@pytest.mark.slow
def test_what_is_given_again_is_what_would_be_made_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoe.service import boards, runs, tokens
    from shoe.service.folder import Folder
    from shoe.service.runs import Request
    from shoe.service.settings import Rate

    folder = made_folder(tmp_path)
    boards.add_board(folder, "board", Request(truth="small"))
    elsewhere = Folder.open(folder.path)  # as another process has it
    owner, other = bearer(folder, "a"), bearer(folder, "b")
    token = tokens.new_token(folder, "short", "a", days=1)
    ends = {"Authorization": f"Bearer {token}"}
    with calling(folder, always_tokens=True) as client:
        run = submitted(client, owner, board="board")["id"]
        places = [f"/v1/runs/{run}", "/v1/runs", "/runs", "/", "/boards/board", f"/v1/runs/{run}/result"]

        def said(headers: dict[str, str] = owner) -> list[tuple[int, bytes]]:
            found = [client.get(place, headers=headers) for place in places]
            return [(each.status_code, each.content) for each in found]

        def check() -> list[tuple[int, bytes]]:
            first = [said(headers) for headers in (owner, other, {})]
            assert [said(headers) for headers in (owner, other, {})] == first
            with calling(elsewhere, always_tokens=True) as fresh:
                for headers, of in zip((owner, other, {}), first, strict=True):
                    again = [fresh.get(place, headers=headers) for place in places]
                    assert [(each.status_code, each.content) for each in again] == of
            return first[0]

        seen = [check()]
        done_by_hand(elsewhere, {"result.json": b"{}"})
        seen.append(check())
        runs.change(elsewhere, run, "<called otherwise>", "public")
        seen.append(check())
        boards.show_board(elsewhere, "board", hidden=True)
        seen.append(check())
        runs.delete(elsewhere, run)
        seen.append(check())
        assert [[place for place, of in zip(places, each, strict=True) if of[0] == 200] for each in seen] == [
            places[:-1], places, places, places[:-1], places[1:-1],
        ]  # fmt: skip
        assert len({each[1] for each in seen}) == len(seen)

        assert client.get("/v1/runs", headers=ends).status_code == 200
        with monkeypatch.context() as later:
            later.setattr("time.time", lambda: 2e9)
            assert client.get("/v1/runs", headers=ends).status_code == 401
        tokens.revoke(elsewhere, owner["Authorization"].split()[1][:10])
        assert said()[1][0] == 401
    assert tokens.tokens(elsewhere)[0].last_used is not None

    with calling(folder, always_tokens=True, reads=Rate(0.001, 3)) as client:
        assert [client.get("/v1/truths", headers=other).status_code for _ in range(5)] == [200] * 3 + [429] * 2


def test_who_asks_while_an_answer_is_made_waits_for_it(tmp_path: Path) -> None:
    from shoe.service import audit
    from shoe.service.callers import Desk
    from shoe.service.folder import Folder
    from shoe.service.kept import Kept, unchanging
    from shoe.service.settings import Settings

    folder = Folder.open(tmp_path / "service")
    made = 0

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal made
        made, number = made + 1, made
        scope["route"], scope["state"] = SimpleNamespace(endpoint=unchanging(app)), {}
        await asyncio.sleep(0.001)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"%d" % number, "more_body": True})
        await send({"type": "http.response.body", "body": b"%d" % len(audit.entries(folder))})

    kept = Kept(app, Desk(folder, Settings()))

    async def asked(path: str = "/", *headers: tuple[bytes, bytes]) -> bytes:
        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers}
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await kept(scope, None, send)  # type: ignore[arg-type]
        return b"".join(message.get("body", b"") for message in sent)

    def change() -> None:
        audit.record(folder, "who", "does", "what")

    async def all_() -> None:
        assert [await asked(), await asked()] == [b"00"] * 2
        change()
        assert set(await asyncio.gather(*(asked() for _ in range(20)))) == {b"11"}
        waiting = asyncio.gather(*(asked() for _ in range(3)))
        assert await waiting == [b"11"] * 3
        change()
        first = asyncio.gather(*(asked() for _ in range(5)))
        await asyncio.sleep(0)  # one of them has begun
        change()
        second = asyncio.gather(*(asked() for _ in range(5)))
        assert {each[1:] for each in await second} == {b"3"}
        assert len(set(await first)) <= 2
        assert made <= 5
        assert await asked("/", (b"range", b"bytes=0-1")) != await asked("/", (b"authorization", b"x"))

    asyncio.run(all_())


def test_nobody_waits_for_a_client_that_reads_slowly(tmp_path: Path) -> None:
    from shoe.service import audit
    from shoe.service.callers import Desk
    from shoe.service.folder import Folder
    from shoe.service.kept import Kept, unchanging
    from shoe.service.settings import Settings

    folder = Folder.open(tmp_path / "service")
    made = 0

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal made
        made += 1
        scope["route"], scope["state"] = SimpleNamespace(endpoint=unchanging(app)), {}
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"half of %d" % made, "more_body": True})
        if not scope["headers"]:
            await send({"type": "http.response.body", "body": b", whole"})

    kept = Kept(app, Desk(folder, Settings()))

    async def asked(read: asyncio.Event, *headers: tuple[bytes, bytes]) -> bytes:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)
            if not message.get("more_body", message["type"] == "http.response.start"):
                await read.wait()

        scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": headers}
        await kept(scope, None, send)  # type: ignore[arg-type]
        return b"".join(message.get("body", b"") for message in sent)

    async def all_() -> None:
        at_once, never = asyncio.Event(), asyncio.Event()
        at_once.set()
        await asked(at_once)
        audit.record(folder, "who", "does", "what")
        slow = asyncio.create_task(asked(never))
        await asyncio.sleep(0)
        assert await asyncio.wait_for(asked(at_once), 5) == b"half of 2, whole"
        slow.cancel()
        broken = (b"cookie", b"broken off")
        assert [await asked(at_once, broken), await asked(at_once, broken)] == [b"half of 3", b"half of 4"]

    asyncio.run(all_())


@pytest.mark.slow
def test_no_number_of_callers_fills_the_memory(tmp_path: Path) -> None:
    import tracemalloc

    from shoe.service.callers import Desk
    from shoe.service.folder import Folder
    from shoe.service.kept import Kept, unchanging
    from shoe.service.settings import Settings

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["route"], scope["state"] = SimpleNamespace(endpoint=unchanging(app)), {}
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"small"})

    async def send(message: Any) -> None:
        pass

    kept = Kept(app, Desk(Folder.open(tmp_path / "service"), Settings()))

    async def many(each: int, size: int) -> None:
        for number in range(each):
            told = [(b"cookie", b"%d" % number + bytes(size))]
            scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": told}
            await kept(scope, None, send)  # type: ignore[arg-type]

    tracemalloc.start()
    try:
        asyncio.run(many(1000, 30_000))
        asyncio.run(many(5000, 10))
        assert tracemalloc.get_traced_memory()[0] < 2e7
    finally:
        tracemalloc.stop()
