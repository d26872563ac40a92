"""A local server of one page, which notifies browsers when the page has changed."""

import secrets
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from sparkdl.training.report.loopback import HOST, port_error

MOST_BROWSERS = 16  # most browsers that listen for changes at once
SILENCE = 15.0  # seconds after which a browser is told that nothing has changed
TIMEOUT = 30.0  # seconds for a browser to send its request, or to receive a response


class PageServer:
    """Serves a page under a URL with a secret token.

    The page reads server-sent events from `events` below its URL to learn of changes.

    Parameters
    ----------
    render : function () -> str
        Returns the page; called when a browser asks, one call at a time.
    port : int
        0: any free port.
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
        except OSError as error:
            raise port_error("Dashboard", host, port, error) from error
        self.server.pages = self
        self.url = f"http://{host}:{self.server.server_port}/{self.token}/"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def notify(self):
        """Notifies browsers that the page has changed."""
        with self.changed:
            self.version += 1
            self.changed.notify_all()

    def wait(self, seen):
        """Waits until the page's version differs from `seen`, or SILENCE has passed; returns it."""
        with self.changed:
            self.changed.wait_for(lambda: self.closed or self.version != seen, SILENCE)
            return self.version

    def close(self):
        """Stops the server; browsers keep showing the page."""
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
        """Ignores browsers that have disconnected."""


class _Handler(BaseHTTPRequestHandler):
    """Answers requests; without the token everything is 404."""

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
        """Keeps requests out of the fit's terminal."""
