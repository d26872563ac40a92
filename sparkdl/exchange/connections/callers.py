"""Admitted callers, queued for a handler or for the next `take`."""

import logging
import threading
import time
from collections import deque

from sparkdl.errors import WorkerError
from sparkdl.exchange.connections.admission import NO_THREAD
from sparkdl.exchange.connections.sockets import hang_up, wake
from sparkdl.thread_start import NoThread, start_thread

MOST = 1024  # queued callers per channel
log = logging.getLogger(__name__)


class Callers:
    """Queues of callers by channel; a caller waits at most `stall_timeout` seconds."""

    def __init__(self, stall_timeout):
        self.stall_timeout = stall_timeout
        self._waiting, self._handlers, self._connections = {}, {}, {}
        self._changed = threading.Condition()
        self._closed, self._error, self._report = False, None, None

    def has_room(self, channel):
        """Returns whether the channel's queue has room for another caller."""
        return not self._closed and len(self._waiting.get(channel, ())) < MOST

    def put(self, channel, rank, sock):
        """Passes a caller to the channel's handler, or queues it for `take`."""
        with self._changed:
            if self._closed:
                hang_up(sock)
            elif channel in self._handlers:
                self._attend(channel, rank, sock)
            else:
                queue = self._waiting.setdefault(channel, deque())
                queue.append((time.monotonic(), rank, sock))
                self._changed.notify_all()

    def take(self, channel, timeout):
        """Returns (rank, socket) of the next caller of a channel.

        Raises WorkerError if none arrives in time, or the error given to `fail`.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or self._error or self._waiting.get(channel), timeout
            )
            if self._closed:
                raise WorkerError(f"the endpoint was closed while channel {channel!r} was awaited")
            if not self._waiting.get(channel):
                if self._error is not None:
                    raise self._error
                raise WorkerError(f"nobody connected to channel {channel!r} within {timeout:g} s")
            _, rank, sock = self._waiting[channel].popleft()
            return rank, sock

    def serve(self, channel, handler):
        """Passes each caller of the channel, including those queued, to `handler` from now on."""
        with self._changed:
            self._handlers[channel] = handler
            for _, rank, sock in self._waiting.pop(channel, ()):
                self._attend(channel, rank, sock)

    def fail(self, error):
        """Makes `take` raise this error, as nobody can come; None if callers can come again."""
        with self._changed:
            self._error = error
            self._changed.notify_all()
            self._tell(error)

    def watch(self, report):
        """Calls `report` with the errors of `fail`, and with one that sends a caller away."""
        with self._changed:
            self._report = report

    def expire(self):
        """Hangs up on callers that have waited too long; returns how many."""
        late = []
        with self._changed:
            for channel, queue in list(self._waiting.items()):
                while queue and time.monotonic() - queue[0][0] > self.stall_timeout:
                    late.append(queue.popleft()[2])
                if not queue:
                    del self._waiting[channel]
        for sock in late:
            hang_up(sock)
        return len(late)

    def close(self, timeout):
        """Ends all queued and handled connections, and waits for the handlers' threads."""
        with self._changed:
            self._closed = True
            for queue in self._waiting.values():
                for _, _, sock in queue:
                    hang_up(sock)
            self._waiting.clear()
            for sock in self._connections.values():
                wake(sock)
            threads = [thread for thread in self._connections if thread.is_alive()]
            self._changed.notify_all()
        end = time.monotonic() + timeout
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))

    def _attend(self, channel, rank, sock):
        thread = threading.Thread(
            target=self._run,
            args=(channel, rank, sock),
            name=f"sparkdl-{channel}-{rank}",
            daemon=True,
        )
        self._connections[thread] = sock
        try:
            start_thread(thread)
        except NoThread as error:  # the caller must not wait for a thread that never comes
            del self._connections[thread]
            log.warning("rank %d on channel %s: %s", rank, channel, NO_THREAD)
            self._tell(error)
            hang_up(sock)

    def _tell(self, error):
        if self._report is not None:
            self._report(error)

    def _run(self, channel, rank, sock):
        try:
            self._handlers[channel](rank, sock)
        except (WorkerError, OSError) as error:
            if not self._closed:
                log.warning("rank %d on channel %s: %s", rank, channel, error)
        except Exception:
            log.exception("rank %d on channel %s", rank, channel)
        finally:
            with self._changed:
                del self._connections[threading.current_thread()]
            hang_up(sock)
