"""The service behind nginx and Caddy, as configured in ``deploy``: cookies, addresses, limits, slow clients."""

import hashlib
import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.service.calling import made_folder
from tests.service.processes import free_port, is_listening, server_command, waited

pytestmark = pytest.mark.slow
DEPLOY = Path(__file__).parents[2] / "deploy"
NAME = "shoe.example.org"


def configured(kind: str, to: Path, http_port: int, port: int, server: int) -> list[str]:
    """Write a configuration of ``deploy`` with the ports and the certificate of the test; the command that runs it."""
    certificate, key = to / "cert.pem", to / "key.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}"]
    words += ["-addext", f"subjectAltName=DNS:{NAME}", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(words, check=True, capture_output=True)
    changes = {"127.0.0.1:8017": f"127.0.0.1:{server}", "20s": "3s"}
    if kind == "nginx":
        text, file = (DEPLOY / "nginx.conf").read_text("utf-8"), to / "nginx.conf"
        changes |= {"listen 80;": f"listen 127.0.0.1:{http_port};", "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;"}
        changes |= {f"/etc/ssl/{NAME}.pem": str(certificate), f"/etc/ssl/{NAME}.key": str(key)}
        text = f"pid {to}/pid;\ndaemon off;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{text}\n}}\n"
        command = ["nginx", "-p", str(to), "-c", str(file)]
    else:
        text, file = (DEPLOY / "Caddyfile").read_text("utf-8"), to / "Caddyfile"
        changes |= {"read_body 1h": "read_body 15s", "\n{\n": f"\n{{\n\tadmin off\n\thttp_port {http_port}\n"}
        changes |= {f"\n{NAME} {{": f"\nhttps://{NAME}:{port} {{\n\ttls {certificate} {key}"}
        command = ["caddy", "run", "--config", str(file), "--adapter", "caddyfile"]
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    file.write_text(text, "utf-8")
    return command


class Proxy:
    def __init__(self, port: int, http_port: int, admin: str, certificate: Path) -> None:
        self.port, self.http_port, self.admin = port, http_port, admin
        self.trusted = ssl.create_default_context(cafile=str(certificate))

    def connected(self, source: str = "127.0.0.1") -> ssl.SSLSocket:
        plain = socket.create_connection(("127.0.0.1", self.port), 30, (source, 0))
        return self.trusted.wrap_socket(plain, server_hostname=NAME)

    def asked(self, method: str, path: str, body: Any = None, source: str = "127.0.0.1", **headers: str) -> Any:
        with closing(http.client.HTTPSConnection(NAME, self.port, timeout=120)) as connection:
            connection.sock = self.connected(source)
            connection.request(method, path, body, {"Host": f"{NAME}:{self.port}", **headers})
            answer = connection.getresponse()
            return answer, answer.read()


@pytest.fixture(params=["nginx", "caddy"])
def proxy(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Proxy]:
    if shutil.which(request.param) is None or shutil.which("openssl") is None:
        pytest.skip(f"{request.param} or openssl is not installed: apt-get install {request.param}")
    folder = made_folder(tmp_path)
    folder.close()
    http_port, port, behind = free_port(), free_port(), free_port()
    command = configured(request.param, tmp_path, http_port, port, behind)
    environment = os.environ | {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    words = server_command(folder.path, f"port={behind}, names=('{NAME}',), patience=3.0, free_below=0")
    with (
        subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server,
        (tmp_path / "proxy.log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log, env=environment) as process,
    ):
        try:
            assert server.stdout is not None
            token = [server.stdout.readline() for _ in range(3)][-1].rpartition(" ")[2].strip()
            waited(lambda: is_listening(port) or process.poll() is not None, 20)
            assert process.poll() is None, (tmp_path / "proxy.log").read_text()
            yield Proxy(port, http_port, token, tmp_path / "cert.pem")
        finally:
            process.terminate()
            server.terminate()


def test_cookies_addresses_limits_and_slow_clients_behind_a_proxy(proxy: Proxy) -> None:
    bearer = {"Authorization": f"Bearer {proxy.admin}"}
    login = json.dumps({"token": proxy.admin})
    answer, _ = proxy.asked("POST", "/v1/session", login, "127.0.0.2", **{"X-Forwarded-For": "10.9.9.9"})
    cookie = answer.headers["Set-Cookie"].lower()
    assert all(flag in cookie for flag in ("secure", "httponly", "samesite=strict"))
    page = proxy.asked("GET", "/api", Cookie=cookie.partition(";")[0])[1].decode()
    assert f"https://{NAME}" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    name = {"Content-Type": "application/json"}
    made, _ = proxy.asked(
        "POST", "/v1/tokens", '{"name": "ci", "team": "a", "scopes": ["submit"]}', "127.0.0.2", **bearer, **name,
        **{"X-Forwarded-For": "10.9.9.9"},
    )  # fmt: skip
    assert made.status == 201
    (entry,) = json.loads(proxy.asked("GET", "/v1/audit?limit=1", **bearer)[1])["entries"]
    assert (entry["action"], entry["address"]) == ("POST /v1/tokens", "127.0.0.2")

    large = os.urandom(1 << 20) * 100
    began = time.monotonic()
    answer, body = proxy.asked("PUT", "/v1/predictions?name=large", large, **bearer)
    assert (answer.status, json.loads(body)) == (200, {"sha256": hashlib.sha256(large).hexdigest(), "size": len(large)})
    assert time.monotonic() - began < 60
    with proxy.connected() as greedy:
        greedy.sendall(f"PUT /v1/predictions HTTP/1.1\r\nHost: {NAME}\r\nContent-Length: {3 << 30}\r\n\r\n".encode())
        greedy.settimeout(1)
        answer, until = b"", time.monotonic() + 30
        while not answer and time.monotonic() < until:
            with suppress(OSError):  # Caddy passes the response on only while it receives data
                greedy.sendall(bytes(65536))
                answer = greedy.recv(100)
        assert b" 413 " in answer

    for start in (
        "GET /v1/health HTT",
        f"PUT /v1/predictions HTTP/1.1\r\nHost: {NAME}\r\nAuthorization: Bearer {proxy.admin}\r\n"
        "Content-Length: 10\r\n\r\n123",
    ):
        began = time.monotonic()
        with proxy.connected() as slow:
            slow.settimeout(40)
            slow.sendall(start.encode())
            with suppress(ConnectionError):
                slow.recv(100)
        assert time.monotonic() - began < 25
    with closing(http.client.HTTPConnection("127.0.0.1", proxy.http_port, timeout=10)) as plain:
        plain.request("GET", "/runs", headers={"Host": NAME})
        moved = plain.getresponse()
        assert moved.status in (301, 308)
        assert moved.headers["Location"].startswith(f"https://{NAME}")
    assert proxy.asked("GET", "/v1/health")[0].status == 200
