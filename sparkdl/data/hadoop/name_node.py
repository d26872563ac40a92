"""A NameNode, which is asked again while it restarts.

References
----------
Hadoop's client: ipc.client.connect.max.retries and ipc.client.connect.retry.interval, 10 s by
default; for a name service dfs.client.failover.max.attempts, three minutes by default.
"""

import logging
import time

from sparkdl.data.hadoop.streams import (
    ANSWERS,
    NoAnswer,
    RequestRefused,
    Starting,
    Unreachable,
    first_line,
)

log = logging.getLogger(__name__)
PAUSE = 1.0  # seconds between two questions
CONNECT = 10.0  # seconds for a NameNode that has never answered: its address may be wrong
RESTART = 180.0  # seconds for one that has answered, or says that it is starting


class NameNode:
    """The NameNode of a cluster, or those of a name service, as seen by this process.

    Parameters
    ----------
    uri : str
    """

    def __init__(self, uri):
        self.uri, self._has_answered = uri, False

    def ask(self, question, is_done=None):
        """Returns question(), which is called again while the NameNode is unreachable.

        Parameters
        ----------
        question : function
            Raises Unreachable where another call may succeed.
        is_done : function or None
            Returns whether a call whose answer was lost has had its effect; for changes that
            cannot be made twice.

        Raises
        ------
        NoAnswer
            If the NameNode stays unreachable for CONNECT, or RESTART, seconds. The next question
            then waits as for one that has never answered.
        OSError
            From `question`.
        """
        start, is_first = time.monotonic(), True
        while True:
            try:
                return self._answer(question)
            except Unreachable as error:
                self._wait(error, time.monotonic() - start, is_first)
            is_first = False
            if is_done and is_done():
                return True

    def _answer(self, question):
        try:
            found = question()
        except NoAnswer:
            raise
        except ANSWERS:
            self._has_answered = True
            raise
        self._has_answered = True
        return found

    def _wait(self, error, passed, is_first):
        limit = RESTART if self._has_answered or isinstance(error, Starting) else CONNECT
        if passed + PAUSE > limit:
            self._has_answered = False
            why, *cure = first_line(error).split("; ", 1)
            raise NoAnswer("; ".join([f"{why}, for {passed:.0f} s", *cure])) from error
        if is_first:
            why = "%s: the NameNode is not ready (%s); it is asked again for up to %.0f s"
            log.warning(why, self.uri, first_line(error), limit)
        time.sleep(PAUSE)


def refusal(exception, text, shown):
    """Returns the OSError for an exception of the NameNode.

    Safe mode ends by itself after a start, but not if an administrator has switched it on. A
    standby answers while no other NameNode of its service is active.

    Parameters
    ----------
    exception : str
        Name of its Java class, without the package.
    text : str
        Its whole message.
    shown : str
        What users see of it.
    """
    ends = "manually" not in text, "automatically" in text
    starting = {"RetriableException": ends[0], "SafeModeException": all(ends)}
    if exception == "StandbyException":
        return Unreachable(shown)
    return (Starting if starting.get(exception) else RequestRefused)(shown)
