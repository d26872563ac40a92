"""Calls of the library hdfs-native: time limits, and its errors as OSErrors of one line."""

import re
import threading
from contextlib import contextmanager
from queue import Empty, SimpleQueue

from sparkdl.data.hadoop import kerberos
from sparkdl.data.hadoop.name_node import refusal
from sparkdl.data.hadoop.streams import NoAnswer, RequestRefused, Unreachable, reason
from sparkdl.thread_start import start_thread

# Seconds for an answer or a piece. Linux takes 127 s to detect a lost host, after which the library
# asks another.
ANSWER = 300.0
REMOTE = re.compile(r'(?:Fatal)?RPCError\("(?:\w+[.$])*(\w+)", "(.*?)(?:\\n.*)?"\)', re.DOTALL)
# A connection that is refused, or breaks off: EPIPE, ECONNRESET, ECONNREFUSED
BROKEN = re.compile(r"disconnected|early eof|\(os error (32|104|111)\)")


def answer(path, call, *arguments):
    """Returns the cluster's answer to call(*arguments) about a path; raises OSError without one."""
    with plain(path):
        return call_within(ANSWER, NoAnswer("HDFS did not answer"), call, *arguments)


def call_within(seconds, failure, call, *arguments):
    """Returns call(*arguments); raises an OSError like `failure` if it takes more than `seconds`.

    The library may wait forever for a node that has died; its thread is then abandoned.
    """
    ended = SimpleQueue()

    def run():
        try:
            ended.put((call(*arguments), None))
        except BaseException as error:
            ended.put((None, error))

    start_thread(threading.Thread(target=run, name="sparkdl-hdfs", daemon=True))
    try:
        result, error = ended.get(timeout=seconds)
    except Empty:
        raise type(failure)(f"{failure} within {seconds:g} s") from None
    if error is not None:
        raise error
    return result


@contextmanager
def plain(path):
    """Turns the library's errors into OSErrors of one line, without Java's stack trace."""
    try:
        yield
    except RequestRefused:
        raise
    except FileNotFoundError as error:
        if "is not a file" in str(error):
            raise IsADirectoryError(f"{path} is a directory") from None
        raise FileNotFoundError(reason(error)) from None
    except (OSError, RuntimeError, ValueError) as error:
        raise as_os_error(reason(error)) from error


def as_os_error(text):
    """Returns the OSError for the text of an error of the library."""
    if remote := REMOTE.fullmatch(text):
        return refusal(remote[1], text, kerberos.with_cure(f"{remote[1]}: {remote[2]}"))
    if error := kerberos.failure(text):
        return error
    return (Unreachable if BROKEN.search(text) else OSError)(text)
