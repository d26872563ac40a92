"""A server of one page on this machine, which tells browsers when the page has changed."""

import secrets
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from sparkdl.training.report.loopback import HOST, port_error

MOST_BROWSERS = 16  # that listen for changes at once
SILENCE = 15.0  # seconds after which a browser hears that nothing has changed
TIMEOUT = 30.0  # seconds that a browser has to send its request, or to take an answer


class PageServer:
    """Serves the text of a page under a URL with a token that only who knows it can open.

    A page reads `events` below its URL (server-sent events) and hears of each change.

    Parameters
    ----------
    render : function () -> str
        The page; called when a browser asks, one at a time.
    port : int
        Port to listen on; 0: any free one.
    host : str

    Attributes
    ----------
    url : str
    """

    def __init__(self, render, port=0, host=HOST):
        self.token = secrets.token_urlsafe(16)
        self.changed, self.version, self.closed = threading.Condition(), 0, False
        self.render, self.rendering = render, threading.Lock()
        self.places = threading.BoundedSemaphore(MOST_BROWSERS)
        try:
            self.server = _Server((host, port), _Handler)
        except (OSError, OverflowError) as error:
            raise port_error("Dashboard", host, port, error) from error
        self.server.pages = self
        self.url = f"http://{host}:{self.server.server_port}/{self.token}/"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def notify(self):
        """Tells browsers that the page has changed."""
        with self.changed:
            self.version += 1
            self.changed.notify_all()

    def wait(self, seen):
        """Returns the number of the page's version, once it is another than `seen`, or in time."""
        with self.changed:
            self.changed.wait_for(lambda: self.closed or self.version != seen, SILENCE)
            return self.version

    def close(self):
        """Ends the server; browsers keep the page that they show."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    pages: PageServer

    def handle_error(self, request, client_address):
        """A browser that has gone is no error of the fit's."""


class _Handler(BaseHTTPRequestHandler):
    """Answers a browser; without the token there is nothing."""

    timeout = TIMEOUT

    def do_GET(self):
        pages = self.server.pages
        place, slash, name = self.path.lstrip("/").partition("/")
        answers = {"": self._send_page, "events": self._send_events}
        known = secrets.compare_digest(place.encode(), pages.token.encode())
        if known and slash and name in answers:
            answers[name](pages)
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def _send_page(self, pages):
        with pages.rendering:
            content = pages.render().encode()
        self._send_head("text/html; charset=utf-8", length=len(content))
        self.wfile.write(content)

    def _send_events(self, pages):
        if not pages.places.acquire(blocking=False):
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE)
            return
        try:
            self._send_head("text/event-stream")
            seen = pages.version
            while not pages.closed:
                now = pages.wait(seen)
                text = ": nothing\n\n" if now == seen else f"data: {now}\n\n"
                self.wfile.write(text.encode())
                seen = now
        finally:
            pages.places.release()

    def _send_head(self, kind, length=None):
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()

    def log_message(self, format, *arguments):
        """Requests are not written to the fit's terminal."""
