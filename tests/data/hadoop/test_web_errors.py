"""HTTP errors are described without their URL."""

import ssl
from http.client import RemoteDisconnected

import pytest
from hdfs import HdfsError
from requests import (
    ConnectionError,
    ConnectTimeout,
    PreparedRequest,
    ReadTimeout,
    Request,
    TooManyRedirects,
)
from requests.exceptions import InvalidURL, SSLError
from urllib3.exceptions import MaxRetryError, NameResolutionError, NewConnectionError, ProtocolError
from urllib3.exceptions import SSLError as TlsError

from sparkdl.data.hadoop.streams import RequestRefused, Starting, Unreachable
from sparkdl.data.hadoop.web_errors import failure, plain
from sparkdl.errors import DataError

URL = "http://ann:pass@dn:9864/webhdfs/v1/a?op=OPEN&delegation=SECRET"


def tried(reason, cause=None):
    """Returns urllib3's error after its last retry."""
    reason.__cause__ = cause
    return MaxRetryError(None, URL, reason)


def asked(kind, *arguments, url=URL):
    return kind(*arguments, request=url and Request("GET", url).prepare())


REFUSED = tried(NewConnectionError(None, f"to {URL}"), ConnectionRefusedError(111, "refused"))
GONE = ProtocolError("Connection aborted.", RemoteDisconnected("Remote end closed"))
UNKNOWN = OSError(-2, "no such name")
WHY = "certificate verify failed"
FAILURES = [
    (asked(ConnectionError, REFUSED), "ConnectionError with dn:9864: refused"),
    (asked(ConnectionError, GONE), "ConnectionError with dn:9864: Remote end closed"),
    (asked(ConnectionError, tried(NameResolutionError("dn", None, UNKNOWN), UNKNOWN)),
     "ConnectionError with dn:9864: no such name"),
    (asked(SSLError, tried(TlsError(ssl.SSLError(1, WHY)))), f"SSLError with dn:9864: {WHY}"),
    (asked(ReadTimeout, f"of {URL}"), "ReadTimeout with dn:9864"),
    (asked(ConnectTimeout, url="http://[fd00::7]:1/?a=b"), "ConnectTimeout with [fd00::7]:1"),
    (asked(TooManyRedirects, "Exceeded 30 redirects."),
     "TooManyRedirects with dn:9864: Exceeded 30 redirects."),
    (asked(InvalidURL, f"{URL} is none", url=None), "InvalidURL"),
    (asked(ConnectionError, url=None), "ConnectionError"),
]  # fmt: skip


@pytest.mark.parametrize("error, words", FAILURES, ids=[words for _, words in FAILURES])
def test_a_failure_in_words(error, words):
    assert failure(error) == words


def test_a_failure_about_no_url():
    request = PreparedRequest()
    request.url = "http://[dn/?delegation=SECRET"
    assert failure(ConnectionError(request=request)) == "ConnectionError"


def time_out():
    with plain("/a"):
        raise asked(ReadTimeout)


SAFE = "Cannot create /a. Name node is in safe mode.\n"
KINDS = [
    (asked(ConnectionError, REFUSED), Unreachable),
    (asked(ConnectionError, GONE), Unreachable),
    (asked(ConnectionError, tried(NameResolutionError("dn", None, UNKNOWN), UNKNOWN)), OSError),
    (asked(ReadTimeout), OSError),
    (HdfsError(SAFE + "It ends automatically.", exception="SafeModeException"), Starting),
    (HdfsError(SAFE + "It was turned on manually.", exception="SafeModeException"), RequestRefused),
    (HdfsError("in startup mode", exception="RetriableException"), Starting),
    (HdfsError("no"), RequestRefused),
]


@pytest.mark.parametrize("error, kind", KINDS)
def test_which_errors_pass(error, kind):
    with pytest.raises(OSError, match="dn:9864|safe mode|startup|no") as found, plain("/a"):
        raise error
    assert type(found.value) is kind


def test_what_was_handled_meanwhile_is_no_cause():
    try:
        raise OSError(2, "no such file")
    except OSError:
        with pytest.raises(OSError, match="^ReadTimeout with dn:9864$"):
            time_out()


def test_errors_of_sparkdl_stay_as_they_are():
    with pytest.raises(DataError, match="^own$"), plain("/a"):
        raise DataError("own")
