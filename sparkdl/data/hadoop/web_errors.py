"""Errors of WebHDFS as OSErrors without URLs, as a DataNode's URL contains a user token."""

import re
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from hdfs import HdfsError
from requests import JSONDecodeError, RequestException

from sparkdl.data.hadoop import kerberos
from sparkdl.data.hadoop.name_node import refusal
from sparkdl.data.hadoop.streams import RequestRefused, Unreachable, first_line
from sparkdl.errors import SparkdlError, named

WRONG_ANSWER = KeyError, TypeError, AttributeError, IndexError, ValueError, RecursionError
TITLE, EMPTY = re.compile("<title>(.*?)</title>"), str(b"")
UNTOLD = "HDFS refuses this without a reason; its log has one"
OF_URLS = frozenset("/?=")  # texts with one of these are not shown


@contextmanager
def plain(path):
    """Turns errors of HDFS and HTTP, and invalid answers, into OSErrors of one line."""
    try:
        yield
    except HdfsError as error:
        if error.exception == "FileNotFoundException":
            raise FileNotFoundError(path) from None
        raise refusal(error.exception, str(error), kerberos.with_cure(shown(error))) from error
    except SparkdlError:  # some are ValueErrors
        raise
    except RequestException as error:
        if not isinstance(error, JSONDecodeError):
            kind = Unreachable if is_broken(error) else OSError
            raise kind(failure(error)) from None  # its own text contains the URL
        raise RequestRefused(wrong_answer(error)) from error
    except WRONG_ANSWER as error:
        raise RequestRefused(wrong_answer(error)) from error


def shown(error):
    """Returns what users see of an HdfsError; its text may be a web server's page, or empty."""
    text = first_line(error)
    if page := TITLE.search(text):
        return page[1]
    return UNTOLD if text == EMPTY else named(error.exception or "HdfsError", text)


def wrong_answer(error):
    return f"the answer must be one of WebHDFS, got {type(error).__name__}: {first_line(error)}"


def is_broken(error):
    """Returns whether a connection was refused, or broke off."""
    return any(isinstance(one, ConnectionError) for one in causes(error))


def failure(error):
    """Describes a RequestException: its kind, the server, and the system's reason.

    For example "ConnectionError with 10.0.0.7:9864: Connection refused".
    """
    url = error.request.url if error.request is not None else None
    about = f" with {place}" if (place := place_of(url or "")) else ""
    texts = [text for one in causes(error) if (text := own_text(one))]
    return f"{type(error).__name__}{about}" + (f": {texts[-1]}" if texts else "")


def place_of(url):
    """Returns host:port of a URL, without user name and password, or ""."""
    with suppress(ValueError):
        return urlsplit(url).netloc.rpartition("@")[2]
    return ""


def causes(error):
    """Yields an error and its causes, but not errors that were being handled meanwhile."""
    yield error
    for one in (*error.args, getattr(error, "reason", None), error.__cause__):
        if isinstance(one, BaseException):
            yield from causes(one)


def own_text(error):
    """Returns an error's text, or "" if it may contain a URL."""
    text = getattr(error, "strerror", None) or next(iter(error.args), None)
    return text if isinstance(text, str) and not OF_URLS & set(text) else ""
