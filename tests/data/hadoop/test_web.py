"""WebHDFS against a small server: ranges, invalid answers, redirects, and texts of errors."""

import json
import threading
import traceback
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
from requests import Response
from requests.adapters import BaseAdapter

from sparkdl.data import files
from sparkdl.data.file_facts import describe
from sparkdl.data.hadoop import base, file_system, streams, web
from sparkdl.errors import DataError
from tests.data.hadoop.folders import configured
from tests.support.tables import for_all

CONTENT = bytes(range(256)) * 40
SECRET = "KAAKSm9i"
STATUS = {"length": len(CONTENT), "type": "FILE", "modificationTime": 1}
DEAD = f"http://127.0.0.1:1/dn?delegation={SECRET}"


class Node(BaseHTTPRequestHandler):
    """A NameNode that gives its server's answer to each operation, and a DataNode below /dn."""

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        query = {name: value for name, [value] in parse_qs(url.query).items()}
        self.server.asked.append(query.get("op"))
        operation = "DATA" if url.path == "/dn" else query["op"]
        status, location, content = self.server.answers[operation](query)
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.end_headers()
        for piece in content if isinstance(content, list) else [content]:
            try:
                self.wfile.write(piece)
            except OSError:  # the client has hung up
                self.server.sent.append("not all")
                return

    do_GET = do_PUT = answer  # names that http.server calls

    def log_message(self, *words):
        pass


def says(content):
    """Returns an answer of a NameNode with JSON or bytes."""
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    return lambda query: (200, None, content)


def redirects(url):
    return lambda query: (307, url, b"")


def whole(query):
    """Answers as a DataNode, with the requested range."""
    start = int(query["offset"])
    return 200, None, CONTENT[start : start + int(query["length"])]


@contextmanager
def serving(**answers):
    """Yields a server with these answers, and those of a healthy node to other operations."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Node)
    server.asked, server.sent = [], []
    sound = {
        "GETFILESTATUS": says({"FileStatus": STATUS}),
        "MKDIRS": says({"boolean": True}),
        "OPEN": lambda q: (307, f"/dn?offset={q['offset']}&length={q['length']}", b""),
        "DATA": whole,
    }
    server.answers = sound | answers
    server.authority = f"127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def cluster(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "_clients", {})
    monkeypatch.setattr(streams, "PAUSE", 0)
    monkeypatch.setattr(streams, "TRIES", 2)
    monkeypatch.setenv("HADOOP_USER_NAME", "ann")
    configured(tmp_path, monkeypatch)


def read(uri, start=0, length=-1):
    with files.open(uri) as file:
        file.seek(start)
        return file.read(length)


def write(uri):
    with files.open(uri, "wb") as file:
        file.write(b"some")


def test_ranges_of_a_sound_server():
    with serving() as server:
        uri = f"webhdfs://{server.authority}/a"
        assert read(uri) == CONTENT and read(uri, 100, 200) == CONTENT[100:300]
        assert files.size(uri) == len(CONTENT)


TOO_MUCH = {
    "thrice": lambda q: (200, None, CONTENT[int(q["offset"]) :] * 3),
    "to the end of the file": lambda q: (200, None, CONTENT[int(q["offset"]) :]),
    "without an end": lambda q: (200, None, [bytes(2**16)] * 10**4),
}


def test_a_server_that_sends_more_than_a_range_is_not_heard_to_the_end(monkeypatch):
    monkeypatch.setattr(web, "BUFFER", 2**12)
    asked = {"thrice": (0, -1), "to the end of the file": (0, 200), "without an end": (0, -1)}

    def check(name):
        with serving(DATA=TOO_MUCH[name]) as server:
            uri = f"webhdfs://{server.authority}/a"
            why = f"^{uri}: cannot be read from byte 0 on .*: [0-9]+ bytes were requested, got more"
            with pytest.raises(DataError, match=why):
                read(uri, *asked[name])
            assert server.asked.count("OPEN") == web.TRIES
            if name == "without an end":
                assert server.sent

    for_all(TOO_MUCH, check)


ANSWERS = {
    "no length": {"FileStatus": {"type": "FILE", "modificationTime": 1}},
    "no time": {"FileStatus": {"type": "FILE", "length": 1}},
    "a list": [1],
    "a list inside": {"FileStatus": [1]},
    "no status": {"FileStatus": None},
    "a text as length": {"FileStatus": STATUS | {"length": "12"}},
    "less than no length": {"FileStatus": STATUS | {"length": -5}},
    "half a byte": {"FileStatus": STATUS | {"length": 0.5}},
    "a length of no file": {"FileStatus": STATUS | {"length": 2**63}},
    "a text as time": {"FileStatus": STATUS | {"modificationTime": "now"}},
    "a time of no calendar": {"FileStatus": STATUS | {"modificationTime": 2**60}},
    "a page": b"<html>a proxy</html>",
    "digits": b'{"FileStatus": {"length": ' + b"9" * 5000 + b"}}",
    "deep lists": b"[" * 10**5,
}


def test_answers_that_are_none_are_named():
    def check(row):
        name, (verb, done) = row
        with pytest.raises(DataError, match=f"^{uri}: cannot be {done}: (the answer|FileStatus)"):
            server.answers["GETFILESTATUS"] = says(ANSWERS[name])
            verb(uri)

    verbs = [(files.open, "opened"), (describe, "looked up"), (files.exists, "looked up")]
    with serving() as server:
        uri = f"webhdfs://{server.authority}/a"
        for_all(
            [(name, verb) for name in ANSWERS for verb in verbs[: 3 if "no" in name else 1]], check
        )


def test_listings_that_are_none_are_named():
    folder = {"FileStatus": STATUS | {"type": "DIRECTORY"}}
    row = STATUS | {"pathSuffix": "a"}
    listings = {
        "a list": [1],
        "no length": {"FileStatuses": {"FileStatus": [{"pathSuffix": "a"}, row]}},
        "less than no length": {"FileStatuses": {"FileStatus": [row | {"length": -1}, row]}},
    }

    def check(name):
        server.answers["LISTSTATUS"] = says(listings[name])
        with pytest.raises(DataError, match=f"^{uri}: cannot be listed: (the answer|FileStatus)"):
            files.list(uri)

    with serving(GETFILESTATUS=says(folder)) as server:
        uri = f"webhdfs://{server.authority}/d"
        for_all(listings, check)
        server.answers["LISTSTATUS"] = says({"FileStatuses": {"FileStatus": [row, row]}})
        assert files.list(uri) == ["a", "a"]


def test_a_write_that_is_told_no_place_is_named():
    with serving(CREATE=lambda query: (201, None, b"")) as server:
        uri = f"webhdfs://{server.authority}/a"
        with pytest.raises(DataError, match=f"^{uri}: cannot be written: the answer .*location"):
            write(uri)
        assert server.asked.count("CREATE") == 1, "an answer is no failure"


TOKENS = {
    "read": (read, "read from byte 0 on .*", DEAD, "ConnectionError with 127.0.0.1:1: .* refused"),
    "write": (write, "written", DEAD, "ConnectionError with 127.0.0.1:1: .* refused"),
    "read, no HTTP": (read, "read from .*", DEAD.replace("http", "ftp"), "InvalidSchema$"),
    "write, no HTTP": (write, "written", DEAD.replace("http", "ftp"), "InvalidSchema$"),
    "write, no URL": (write, "written", DEAD.replace("http:", ""), "InvalidSchema$"),
    "write whole": (
        partial(files.write, content=b"some"), "written", DEAD, "ConnectionError with 127.0.0.1:1"),
}  # fmt: skip


@pytest.mark.parametrize("name", TOKENS)
def test_a_token_of_a_redirect_is_in_no_error(name):
    verb, done, location, why = TOKENS[name]
    with serving(OPEN=redirects(location), CREATE=redirects(location)) as server:
        uri = f"webhdfs://{server.authority}/"
        with pytest.raises(DataError, match=f"^{uri}.*: cannot be {done}: {why}") as error:
            verb(f"{uri}a")
    assert SECRET not in "".join(traceback.format_exception(error.value))


def unless_excluded(sound):
    """Returns an answer that names a dead DataNode, until the request excludes its host."""
    return lambda query: sound(query) if "excludedatanodes" in query else redirects(DEAD)(query)


@pytest.mark.parametrize("verb", [read, write])
def test_another_datanode_is_tried_at_once(verb, monkeypatch):
    pauses = []
    monkeypatch.setattr(streams, "time", SimpleNamespace(sleep=pauses.append))
    with serving() as server:
        sound = redirects(f"http://{server.authority}/dn?offset=0&length={len(CONTENT)}")
        server.answers |= {"OPEN": unless_excluded(sound), "CREATE": unless_excluded(sound)}
        assert verb(f"webhdfs://{server.authority}/a") in (CONTENT, None)
        assert server.asked[-1] is None and not pauses, "a DataNode has answered"


class Redirects(BaseAdapter):
    """A NameNode over TLS that redirects to `location`, such as a DataNode without TLS."""

    def __init__(self, location):
        super().__init__()
        self.location = location

    def send(self, request, **options):
        response = Response()
        response.request, response.url = request, request.url
        asks = "OPEN" in request.url or "CREATE" in request.url
        response.status_code = 307 if asks else 200
        response.headers["location"] = self.location
        response.raw = BytesIO(json.dumps({"FileStatus": STATUS}).encode())
        return response


@pytest.mark.parametrize("verb", [read, write])
def test_over_tls_no_redirect_leads_to_http(verb):
    with serving(CREATE=lambda query: (201, None, b"")) as server:
        location = (
            f"http://{server.authority}/dn?delegation={SECRET}&offset=0&length={len(CONTENT)}"
        )
        client = file_system("swebhdfs://nn:1/a")[0].client
        client._session.mount("https://", Redirects(location))
        why = f"swebhdfs:// must be redirected to https://, got http://{server.authority};"
        with pytest.raises(DataError, match=f"^swebhdfs://nn:1/a: cannot be .*: {why}") as error:
            verb("swebhdfs://nn:1/a")
        assert not server.asked, "something went in clear"
    assert SECRET not in "".join(traceback.format_exception(error.value))
