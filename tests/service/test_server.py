"""The server as a process: how it starts and ends, and what slow clients get of it."""

import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from shoe.service.tokens import new_token
from tests.service.calling import calling, done_by_hand, made_folder, submitted
from tests.service.processes import server_command

pytestmark = pytest.mark.slow
SETTINGS = "port=0, patience=1.0, connections=100"


def command(folder: Path) -> list[str]:
    return server_command(folder, SETTINGS)


@contextmanager
def serving(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    with subprocess.Popen(command(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2])
        try:
            yield process, port
        finally:
            process.kill()


def asked(port: int, sent: bytes, patience: float = 20) -> bytes:
    """What comes back until the connection ends."""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as connection:
        connection.sendall(sent)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    return answer


def request(line: str, *headers: str) -> bytes:
    return "\r\n".join([f"{line} HTTP/1.1", "Host: 127.0.0.1", *headers, "", ""]).encode()


HEALTH = request("GET /v1/health", "Connection: close")
TOKEN = "admin token, shown only once: shoe_"


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_with_streams_open(tmp_path: Path, by: int) -> None:
    folder = made_folder(tmp_path)
    folder.close()
    with serving(folder.path) as (process, port):
        second = subprocess.run(command(folder.path), capture_output=True, text=True)
        assert (second.returncode, "Traceback" in second.stderr) == (1, False)
        assert f"{folder.path}: another `shoe serve`" in second.stderr
        with socket.create_connection(("127.0.0.1", port)) as idle:
            idle.sendall(request("GET /v1/health"))
            assert idle.recv(65536).startswith(b"HTTP/1.1 200")
            process.send_signal(by)
            assert process.wait(15) == 0
        out, errors = process.communicate()
        assert (out.splitlines()[-1], errors) == ("ended", "")


@pytest.mark.parametrize("others", [False, True])
def test_the_first_start_alone_prints_an_admin_token_though_others_have_theirs(tmp_path: Path, others: bool) -> None:
    if others:
        folder = made_folder(tmp_path)
        new_token(folder, "ci", "vision")
        folder.close()
    for line in (TOKEN, "ended"):
        with serving(tmp_path / "service") as (process, port):
            answer = asked(port, HEALTH)
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["state"] in ("working", "full")
            process.terminate()
            assert process.stdout is not None
            assert process.stdout.readline().startswith(line)


def test_many_connections_leave_files_to_work_with(tmp_path: Path) -> None:
    with serving(tmp_path / "service") as (process, port):
        with ExitStack() as slow:
            for _ in range(200):
                one = slow.enter_context(socket.create_connection(("127.0.0.1", port)))
                with suppress(OSError):  # it is closed
                    one.sendall(b"GET / HTTP/1.1\r\nX: ")
            time.sleep(0.3)
            other = slow.enter_context(socket.create_connection(("127.0.0.1", port), 10, ("127.0.0.2", 0)))
            other.sendall(request("GET /v1/health"))
            assert other.recv(65536).startswith(b"HTTP/1.1 200")  # one address does not have them all
        time.sleep(1)
        assert asked(port, HEALTH).startswith(b"HTTP/1.1 200")
        process.terminate()
        assert process.communicate()[1] == ""


def test_slow_and_broken_clients_are_let_go(tmp_path: Path) -> None:
    with serving(tmp_path / "service") as (_process, port):
        began = time.monotonic()
        assert asked(port, b"") == b""  # says nothing
        assert asked(port, b"GET /v1/health HT") == b""  # never ends its headers
        slow = asked(port, request("PUT /v1/predictions", "Content-Length: 10") + b"123")
        assert slow.startswith(b"HTTP/1.1 408")
        assert time.monotonic() - began < 15
        for wrong, status in (
            (request("PUT /v1/predictions", f"Content-Length: {10**10}"), 413),
            (b"\x16\x03\x01 hello\r\n\r\n", 400),
            (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n", 400),
            (request("GET /v1/health", "Host: evil.example"), 400),
        ):
            answer = asked(port, wrong)
            assert answer.startswith(b"HTTP/1.1 %d" % status)
            assert b'{"error":' in answer
        began = time.monotonic()
        with socket.create_connection(("127.0.0.1", port), timeout=10) as endless, suppress(OSError):
            endless.sendall(request("PUT /nothing", "Transfer-Encoding: chunked"))
            while time.monotonic() - began < 10:  # an answer ends what nobody reads
                endless.sendall(b"1000\r\n" + bytes(4096) + b"\r\n")
                time.sleep(0.01)
        assert time.monotonic() - began < 8
        assert asked(port, HEALTH).startswith(b"HTTP/1.1 200")


def test_an_answer_comes_as_one_packet_and_100_continue_at_once(tmp_path: Path) -> None:
    with serving(tmp_path / "s") as (_, port), socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        for line in ("GET /v1/version", "HEAD /v1/version", "GET /nothing"):
            connection.sendall(request(line))
            head, _, body = connection.recv(65536).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 ")
            assert body.startswith(b"{") is not line.startswith("HEAD")
        connection.sendall(request("PUT /v1/predictions", "Content-Length: 3", "Expect: 100-continue"))
        assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"[1]")
        assert b'"sha256"' in connection.recv(65536)


def test_who_stops_reading_is_let_go_and_who_reads_slowly_gets_all(tmp_path: Path) -> None:
    folder, size = made_folder(tmp_path), 20_000_000
    with calling(folder) as client:
        run = submitted(client)["id"]
    done_by_hand(folder, {"result.json": bytes(size)})
    folder.close()
    with serving(folder.path) as (_process, port):
        for pause, whole in ((3.0, False), (0.0, True)):
            with socket.socket() as reader:
                reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                reader.connect(("127.0.0.1", port))
                reader.sendall(request(f"GET /v1/runs/{run}/result", "Connection: close"))
                got, began = len(reader.recv(65536)), time.monotonic()
                time.sleep(pause)
                with suppress(ConnectionError):
                    while piece := reader.recv(65536):
                        got += len(piece)
                        if whole and got < size and time.monotonic() - began < 4:
                            time.sleep(0.01)
                assert (got > size) is whole


def test_a_damaged_database_is_not_served(tmp_path: Path) -> None:
    folder = made_folder(tmp_path)
    folder.close()
    database = folder.path / "shoe.sqlite"
    content = database.read_bytes()
    for damaged in (content[:4096] + b"x" * (len(content) - 4096), b"no database" * 1000):
        database.write_bytes(damaged)
        done = subprocess.run(command(folder.path), capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
        assert f"shoe serve doctor {folder.path}" in done.stderr
