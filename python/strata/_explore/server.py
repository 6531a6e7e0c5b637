"""Serves the page and its answers to this machine alone.

Bound to the loopback address; an address has a random token; a request for another host (a name that was made to lead here:
DNS rebinding), or from a page of another origin, is refused. Two addresses exist beside the page, both for JSON: no file is
served. Sizes, times and the number of connections are bounded; whatever goes wrong is told as JSON.
"""

import hmac
import http
import http.server
import json
import re
import secrets
import socket
import socketserver
import sys
import threading
import time

from ..errors import Error
from . import answer, matrices, page

#: bytes of a request
LONGEST_BODY = 1 << 16
#: seconds that a request may take to arrive
PATIENCE = 10
#: connections at a time
CONNECTIONS = 32

_HOST = re.compile(r"(127\.0\.0\.1|localhost)(:\d{1,5})?", re.ASCII)


class Refused(Error):
    """A request that is not answered."""

    status = http.HTTPStatus.BAD_REQUEST


def _refused(status, what, **more):
    e = Refused(what, **more)
    e.status = http.HTTPStatus(status)
    return e


class Explorer(http.server.ThreadingHTTPServer):
    """The server. `url` is where its page is; `start` what the page starts with."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = CONNECTIONS

    def __init__(self, port=0, start=None):
        self.token = secrets.token_urlsafe(24)
        self.page, self.policy = page.whole(page.start() if start is None else start)
        self._free = threading.BoundedSemaphore(CONNECTIONS)
        self._computing = threading.Lock()
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except (OSError, OverflowError) as e:
            raise Error(
                f"port {port} cannot be listened on",
                got=getattr(e, "strerror", None) or str(e),
                fix="leave --port out: a free one is taken",
            ) from None
        self.url = f"http://127.0.0.1:{self.server_port}/{self.token}/"

    def server_bind(self):
        socketserver.TCPServer.server_bind(self)  # HTTPServer's looks its own name up, which may take long
        self.server_name, self.server_port = self.server_address

    def compute(self, name, query):
        """One at a time: there is one person to answer."""
        with self._computing:
            if name == "explore":
                return answer.answer(query)
            if not isinstance(query, dict):
                raise Refused("a query is an object", expected="{preset, rows, columns, seed}")
            wanted = (query.get(k, d) for k, d in (("preset", ""), ("rows", 8), ("columns", 8), ("seed", 0)))
            return {"matrix": matrices.preset(*wanted)}

    def process_request(self, request, client_address):
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free.release()
            raise

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (ConnectionError, socket.timeout)):  # who asked is gone
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    timeout = PATIENCE

    def version_string(self):
        return "strata"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self._answer(self._get)

    def do_POST(self):
        self._answer(self._post)

    def _answer(self, made):
        try:
            self._refuse_strangers()
            status, kind, body = 200, *made()
        except Error as e:
            status, kind, body = getattr(e, "status", http.HTTPStatus.BAD_REQUEST), "application/json", _told(e)
        except (ConnectionError, socket.timeout):
            raise
        except Exception as e:  # ours: told, and the next request is answered
            status, kind, body = http.HTTPStatus.INTERNAL_SERVER_ERROR, "application/json", _told(e)
        self._send(status, kind, body)
        if status != 200:
            self._leave()

    def _refuse_strangers(self):
        hosts, origins = (self.headers.get_all(name, []) for name in ("Host", "Origin"))
        if len(hosts) != 1 or not _HOST.fullmatch(hosts[0]):
            raise _refused(
                403, "a request for another host", expected="127.0.0.1 or localhost", got=", ".join(hosts)[:100]
            )
        if origins not in ([], [f"http://{hosts[0]}"]):
            raise _refused(
                403, "a request from another page", expected=f"http://{hosts[0]}", got=", ".join(origins)[:100]
            )
        token, slash, self.name = self.path[1:].partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()) or not slash:
            raise _refused(403, "the address lacks the token", fix="open the address that strata explore printed")

    def _get(self):
        if self.name:
            raise _refused(404, "there is nothing at this address", fix="open the address that strata explore printed")
        return "text/html; charset=utf-8", self.server.page

    def _post(self):
        if self.name not in ("explore", "matrix"):
            raise _refused(404, "there is nothing at this address", expected="explore or matrix")
        if self.headers.get_content_type() != "application/json":
            raise _refused(415, "a query is JSON", expected="application/json", got=self.headers.get_content_type())
        try:
            query = json.loads(self._body().decode())
        except (ValueError, RecursionError) as e:
            raise _refused(400, "the query is no JSON", got=str(e)[:100]) from None
        return "application/json", json.dumps(self.server.compute(self.name, query)).encode()

    def _body(self):
        length = self.headers.get_all("Content-Length", [])
        if (
            len(length) != 1
            or not re.fullmatch(r"\d{1,18}", length[0], re.ASCII)
            or "Transfer-Encoding" in self.headers
        ):
            raise _refused(411, "a query comes with its length", expected="Content-Length, once")
        left = int(length[0])
        if left > LONGEST_BODY:
            raise _refused(413, "the query is too long", expected=f"at most {LONGEST_BODY} bytes", got=f"{left} bytes")
        out, until = [], time.monotonic() + PATIENCE  # however slowly it trickles
        while left:
            try:
                self.connection.settimeout(max(until - time.monotonic(), 1e-3))
                piece = self.rfile.read1(left)
            except socket.timeout:
                piece = None
            if piece is None or time.monotonic() > until:
                raise _refused(408, "the query took too long", expected=f"{PATIENCE} seconds at most")
            if not piece:
                raise _refused(400, "the query ended too early", expected=f"{left} more bytes")
            out.append(piece)
            left -= len(piece)
        return b"".join(out)

    def _leave(self):
        """Reads on for a moment what was not wanted: closing with something unread would take the answer back."""
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(1)
            until = time.monotonic() + 1
            while self.connection.recv(1 << 16) and time.monotonic() < until:
                pass
        except OSError:
            pass

    def send_error(self, code, message=None, explain=None):
        """What the standard library refuses: lines too long, unknown methods, ..."""
        self.close_connection = True
        self._send(code, "application/json", _told(Refused(message or http.HTTPStatus(code).phrase)))

    def _send(self, status, kind, body):
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", self.server.policy + "; frame-ancestors 'none'"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _told(e):
    return json.dumps({"error": answer.error(e)}).encode()
