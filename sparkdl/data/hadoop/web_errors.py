"""Errors of WebHDFS as OSErrors that show no URL: a DataNode's has a token of the user in it."""

from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from hdfs import HdfsError
from requests import JSONDecodeError, RequestException

from sparkdl.data.hadoop.streams import RequestRefused, reason
from sparkdl.errors import SparkdlError

WRONG_ANSWER = KeyError, TypeError, AttributeError, IndexError, ValueError, RecursionError
OF_URLS = frozenset("/?=")  # no text with one of these is shown


@contextmanager
def plain(path):
    """Raises errors of HDFS, of HTTP, and of answers that are none, as OSErrors of one line."""
    try:
        yield
    except HdfsError as error:
        if error.exception == "FileNotFoundException":
            raise FileNotFoundError(path) from None
        raise RequestRefused(reason(error)) from error
    except SparkdlError:  # many are ValueErrors
        raise
    except RequestException as error:
        if not isinstance(error, JSONDecodeError):
            raise OSError(failure(error)) from None  # its own text has the URL
        raise RequestRefused(wrong_answer(error)) from error
    except WRONG_ANSWER as error:
        raise RequestRefused(wrong_answer(error)) from error


def wrong_answer(error):
    return f"the answer must be one of WebHDFS, got {type(error).__name__}: {reason(error)}"


def failure(error):
    """Returns a RequestException in words: its kind, whom it was about, and what the system said.

    "ConnectionError with 10.0.0.7:9864: Connection refused".
    """
    url = error.request.url if error.request is not None else None
    about = f" with {place}" if (place := place_of(url or "")) else ""
    texts = [text for one in causes(error) if (text := own_text(one))]
    return f"{type(error).__name__}{about}" + (f": {texts[-1]}" if texts else "")


def place_of(url):
    """Returns host:port of a URL, without a user's name or password; empty if it has none."""
    with suppress(ValueError):
        return urlsplit(url).netloc.rpartition("@")[2]
    return ""


def causes(error):
    """Yields an error and those that it tells of; not what else was handled meanwhile."""
    yield error
    for one in (*error.args, getattr(error, "reason", None), error.__cause__):
        if isinstance(one, BaseException):
            yield from causes(one)


def own_text(error):
    """Returns what an error says, empty where that may be of a URL."""
    text = getattr(error, "strerror", None) or next(iter(error.args), None)
    return text if isinstance(text, str) and not OF_URLS & set(text) else ""
