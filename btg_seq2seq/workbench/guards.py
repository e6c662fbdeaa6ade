"""A guard before all handlers: hosts, origins, sizes, security headers and metrics.

Written for ASGI itself, so that a body that is too large is never read into memory.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from btg_seq2seq.workbench.limits import Limits
from btg_seq2seq.workbench.metrics import Metrics
from btg_seq2seq.workbench.problems import Problem, answer

LOOPBACK = ("localhost", "127.0.0.1", "::1")
SAFE = ("GET", "HEAD", "OPTIONS")
CLIENT_LEFT = 499  # in the metrics only, as other servers count it
# Nothing is loaded from elsewhere, and nothing in a page is run but its own script.
SECURITY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class Guard:
    """Refuse requests that no handler should see, and count all others.

    Args:
        app: what comes next.
        limits: sizes and times.
        metrics: where requests are counted.
        hosts: names of this server that clients may use; empty for any. A page of another site
            cannot reach a server on loopback by a name of its own.
        origins: other sites whose pages may send requests.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        metrics: Metrics,
        hosts: Collection[str] = (),
        origins: Collection[str] = (),
    ) -> None:
        self.app, self.limits, self.metrics = app, limits, metrics
        self.hosts, self.origins = {host.lower() for host in hosts}, set(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, status = time.monotonic(), 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY.items():
                    headers.setdefault(name, value)
            await send(message)

        body = _Body(receive, self.limits.body_bytes, self.limits.deadline)
        try:
            self._check(scope)
            if not await self._handle(scope, body, send_with_headers):
                status = CLIENT_LEFT
        except Problem as problem:
            response = answer(Request(scope), problem)
            await response(scope, receive, send_with_headers)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.requests.labels(route, str(status)).inc()
            self.metrics.seconds.labels(route).observe(time.monotonic() - begin)

    async def _handle(self, scope: Scope, body: _Body, send: Send) -> bool:
        """Run the handler; stop it if the client leaves, whose sentences then leave the queue.

        False if it was stopped.
        """
        handling = asyncio.ensure_future(self.app(scope, body, send))
        headers = Headers(scope=scope)
        is_empty = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
        leaving = asyncio.ensure_future(body.client_left(is_empty))
        try:
            await asyncio.wait({handling, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if handling.done():
                await handling  # raises what the handler has raised
                return True
            return False
        finally:
            leaving.cancel()
            handling.cancel()
            await asyncio.gather(leaving, handling, return_exceptions=True)

    def _check(self, scope: Scope) -> None:
        """Refuse hosts, origins and sizes that are not allowed."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self.hosts and _host_name(host) not in self.hosts:
            raise Problem(421, f"this server has not the name {host[:100]!r}; see --hosts")
        origin = headers.get("origin")
        is_own = origin is None or urlsplit(origin).netloc == host or origin in self.origins
        if scope["method"] not in SAFE and not is_own:
            raise Problem(403, "requests from other sites are refused; see --origins")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self.limits.body_bytes:
            raise _too_large(self.limits.body_bytes)


class _Body:
    """The body of a request, as far as it is within its limits."""

    def __init__(self, receive: Receive, most: int, deadline: float) -> None:
        self.receive, self.most, self.deadline = receive, most, deadline
        self.size, self.is_complete = 0, False
        self.was_read = asyncio.Event()
        self.ahead: Message | None = None

    async def client_left(self, is_empty: bool) -> None:
        """Wait until the client is gone.

        The handler reads the body first, unless it is empty: many handlers do not read it then.
        """
        if not is_empty:
            await self.was_read.wait()
        elif not self.is_complete:
            self.is_complete = True
            self.ahead = await self.receive()  # for the handler, if it asks
        while (await self.receive())["type"] != "http.disconnect":
            pass

    async def __call__(self) -> Message:
        if self.ahead is not None:
            message, self.ahead = self.ahead, None
            return message
        if self.is_complete:  # waiting for the client to leave, which may take long
            return await self.receive()
        try:
            async with asyncio.timeout(self.deadline):
                message = await self.receive()
        except TimeoutError as error:
            raise Problem(408, "the body of the request did not arrive in time") from error
        self.size += len(message.get("body", b""))
        self.is_complete = not message.get("more_body", False)
        if self.size > self.most:
            raise _too_large(self.most)
        if self.is_complete:
            self.was_read.set()
        return message


def _too_large(most: int) -> Problem:
    return Problem(413, f"the body of the request is longer than {most} bytes")


def _host_name(host: str) -> str:
    """Return the name in a ``Host`` header, without its port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""
