"""ASGI middleware that checks every request first, and adds security headers to every response.

A page of another site can send requests to a server on this machine, and by DNS rebinding even read the responses.
Therefore, the Host header must contain a name of this server, and requests that change something must come from the
server's own pages, or not from a browser.
"""

import asyncio
import logging
import socket
import time
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoe.core.errors import printable
from shoe.service.contract import Refused
from shoe.service.settings import Settings, is_loopback

COOKIE = "shoe_session"
READS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; frame-ancestors 'none'; frame-src 'self'; base-uri 'none'"
)
"""Content security policy of the server's own pages."""
REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads allow-popups; default-src 'none'; script-src 'unsafe-inline' blob:; "
    "worker-src blob:; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
"""Content security policy of reports with inline scripts; because of the sandbox, reports have their own origin."""
FILE_POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""Content security policy of all other output files of a run, which may load and execute nothing."""
_ALWAYS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # with "no-referrer", browsers would send forms with the Origin "null"
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cache-control", b"no-store"),
]
"""Default headers of every response."""
UPLOADS = ("/v1/predictions", "/v1/uploads/")
"""Path prefixes with the size limit of prediction files instead of JSON."""
_GRACE = 5.0  # seconds after the start of a request until the minimum speed applies to its body
_say = logging.getLogger(__name__)


class Guard:
    """Middleware that refuses wrong Host headers and write requests from other sites, and adds security headers.

    Internal errors are logged here, so that their responses also get the headers; the client gets no details.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._local = app, settings.open_to == "local"
        own = {settings.host, socket.gethostname()} if not self._local else set()
        self._names = {"localhost", *own, *settings.names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and pass it on to the application or refuse it."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        started = False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                own = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(each for each in _ALWAYS if each[0] not in own)]
            await send(message)

        try:
            self._check(scope["method"], Headers(scope=scope))
            await self._app(scope, receive, send_guarded)
        except Refused as refused:
            await refused.response()(scope, receive, send_guarded)
        except Exception:
            if started:
                raise
            _say.exception("%s %s", scope["method"], printable(scope["path"]))
            fault = Refused(500, "internal server error", hint="the log of the server contains the cause")
            await fault.response()(scope, receive, send_guarded)

    def _check(self, method: str, headers: Headers) -> None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_own(host_name(hosts[0])):
            hint = "an administrator can add names with `shoe serve --name`"
            raise Refused(421, "Host: not a name of this server", field="Host", hint=hint)
        if "transfer-encoding" in headers and "content-length" in headers:  # proxies differ in which of the two counts
            why = "Content-Length: must not be sent together with Transfer-Encoding"
            raise Refused(400, why, field="Content-Length", headers={"Connection": "close"})
        if method not in READS:
            check_same_origin(headers, hosts[0])

    def _is_own(self, name: str) -> bool:
        # Any literal IP address is accepted, because DNS rebinding needs a host name.
        if name in self._names:
            return True
        try:
            return is_loopback(name) or (not self._local and bool(ip_address(name)))
        except ValueError:
            return False


def host_name(header: str) -> str:
    """Return the lower-case host in a Host header, without port and IPv6 brackets; "" for an invalid header."""
    before, _, port = header.rpartition(":")
    name = before if port.isdigit() else header
    if name.startswith("[") and name.endswith("]"):
        return name[1:-1].lower()
    return name.lower() if ":" not in name else ""


def check_same_origin(headers: Headers, host: str) -> None:
    """Raise Refused (403) if a page of another site sent the request, according to the request headers.

    Requests with neither of the headers Sec-Fetch-Site and Origin are not from a browser, and pass unless they have a
    session cookie. `host` is the value of the Host header.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None and site not in ("same-origin", "none"):
        raise Refused(403, "Sec-Fetch-Site: requests from pages of other sites are refused", field="Sec-Fetch-Site")
    if origin is not None and origin.partition("://")[2].lower() != host.lower():
        raise Refused(403, "Origin: requests from pages of other sites are refused", field="Origin")
    if site is None and origin is None and f"{COOKIE}=" in headers.get("cookie", ""):
        raise Refused(403, "Origin: required in a request with a session cookie", field="Origin")


class BodyLimit:
    """Middleware that refuses request bodies that exceed the size limit (413) or fall below the minimum speed (408)."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, and check size and speed of its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = self._settings.largest_upload if scope["path"].startswith(UPLOADS) else self._settings.largest_json
        announced = Headers(scope=scope).get("content-length", "0")
        if not announced.isdigit() or len(announced) > 18 or int(announced) > most:
            await _too_large(most).response()(scope, receive, send)
            return
        started, read, ended = time.monotonic(), 0, False

        async def counted() -> Message:
            nonlocal read, ended
            if ended:  # what follows is that the client goes away, whenever it does
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), self._settings.patience)
            except TimeoutError:
                raise _too_slow() from None
            ended = not message.get("more_body", False)
            if message["type"] == "http.request":
                read += len(message.get("body", b""))
                if read > most:
                    raise _too_large(most)
                taken = time.monotonic() - started
                if not ended and taken > _GRACE and read < taken * self._settings.slowest:
                    raise _too_slow()
            return message

        await self._app(scope, counted, send)


def _too_large(most: int) -> Refused:
    return Refused(413, f"body: exceeds the limit of {most:,} bytes", headers={"Connection": "close"})


def _too_slow() -> Refused:
    return Refused(408, "body: sent too slowly", headers={"Connection": "close"})
