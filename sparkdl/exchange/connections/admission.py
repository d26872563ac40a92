"""Admission of incoming connections by concurrent handshakes, bounded in time and number."""

import logging
import threading
import time
from dataclasses import dataclass, field

from sparkdl.exchange.connections.deadline import Deadline
from sparkdl.exchange.connections.handshake import HandshakeRefused
from sparkdl.exchange.connections.sockets import format_address, hang_up, wake
from sparkdl.thread_start import CURE, NoThread, start_thread

MOST = 128  # concurrent handshakes; further callers wait in the listen backlog
GRACE = 1.0  # seconds after which the oldest handshake may be evicted to make room
TICK = 0.5
PATIENCE = 5.0  # seconds without a thread for any handshake
LULL = 10.0  # seconds without callers after which it is unknown whether threads start again
NO_THREAD = f"no thread could be started; {CURE}"
log = logging.getLogger(__name__)


@dataclass(eq=False)
class PendingConnection:
    """A connection in the middle of its handshake; TLS replaces its socket."""

    sock: object
    host: str
    deadline: Deadline
    since: float = field(default_factory=time.monotonic)
    ended: bool = False

    def replace_sock(self, sock):
        """Continues with another socket of the same connection; an ended connection stays ended."""
        self.sock = sock
        if self.ended:
            wake(sock)

    def end(self):
        """Ends the connection; `replace_sock` may run at the same time in the handshake thread."""
        self.ended = True
        wake(self.sock)


class Admission:
    """Calls `examine(connection)` in a thread for each connection of `listener`.

    Parameters
    ----------
    listener : socket
    examine : callable
        Raises HandshakeRefused, OSError or TimeoutError to reject the caller. Returns a function ()
        that is called once Admission has released the connection.
    refused : collections.Counter
        Counts rejected connections by reason.
    limit : float
        Seconds for each handshake.
    tick : callable
        Called about every half second, or more often.
    fail : callable
        Called with a NoThread when no handshake has got a thread for PATIENCE seconds, and then
        with None once one has got it, or nobody has called for LULL seconds.
    """

    def __init__(self, listener, examine, refused, limit, tick, fail):
        self._listener, self._examine, self._tick = listener, examine, tick
        self._fail, self._first_starved, self._last_starved = fail, None, None
        self._refused, self._limit = refused, limit
        self._pending, self._changed = {}, threading.Condition()
        self._closed = False
        listener.settimeout(TICK)
        self._thread = threading.Thread(target=self._run, name="sparkdl-admission", daemon=True)
        try:
            start_thread(self._thread)
        except NoThread:
            listener.close()  # else it keeps its port from the next attempt
            raise

    def close(self):
        """Stops admitting connections and ends all handshakes."""
        self._closed = True
        wake(self._listener)
        self._thread.join(10 * TICK)
        self._listener.close()
        with self._changed:
            for connection in self._pending.values():
                connection.end()
            self._changed.wait_for(lambda: not self._pending, 10 * TICK)

    def _run(self):
        while not self._closed:
            self._tick()
            self._forget()
            self._make_room()
            try:
                sock, address = self._listener.accept()
            except TimeoutError:
                continue
            except OSError as error:  # includes "too many open files", which is transient
                if not self._closed:
                    log.warning("cannot accept a connection: %s", error)
                    time.sleep(TICK)
                continue
            self._admit(PendingConnection(sock, format_address(address[:2]), Deadline(self._limit)))

    def _admit(self, connection):
        thread = threading.Thread(
            target=self._receive, args=(connection,), name="sparkdl-handshake", daemon=True
        )
        with self._changed:
            self._pending[id(connection)] = connection
        try:
            start_thread(thread)
        except NoThread as error:  # perhaps for a moment: keep listening
            self._leave(connection, NO_THREAD)
            hang_up(connection.sock)
            self._starve(error)

    def _starve(self, error):
        with self._changed:
            self._last_starved = time.monotonic()
            self._first_starved = self._first_starved or self._last_starved
            if self._last_starved - self._first_starved > PATIENCE:
                self._fail(error)

    def _forget(self):
        """Recovers after a LULL, as only callers show whether threads are still lacking."""
        if self._first_starved and time.monotonic() - self._last_starved > LULL:
            self._recover()

    def _recover(self):
        with self._changed:
            if self._first_starved:
                self._first_starved = None
                self._fail(None)

    def _receive(self, connection):
        self._recover()  # before the caller is welcomed, as it may be awaited from then on
        reason = let_in = None
        try:
            let_in = self._examine(connection)
        except HandshakeRefused as error:
            reason = error.reason
        except TimeoutError:
            reason = "too slow"
        except OSError:
            reason = "hung up"
        except Exception:
            log.exception("the handshake with %s", connection.host)
            reason = "failed"
        if self._leave(connection, reason):
            let_in()
        else:
            hang_up(connection.sock)

    def _leave(self, connection, reason):
        """Ends a handshake; `reason` is set if it failed.

        Returns whether the caller is admitted.
        """
        with self._changed:
            evicted = self._pending.pop(id(connection), None) is None  # and counted there
            if reason and not evicted and not self._closed:
                self._count(reason, connection.host)
            self._changed.notify_all()
            return not (reason or evicted or self._closed)

    def _make_room(self):
        """Waits for room for one more handshake, evicting the oldest if it takes too long."""
        with self._changed:
            while len(self._pending) >= MOST and not self._closed:
                oldest = next(iter(self._pending.values()))
                age = time.monotonic() - oldest.since
                if age >= GRACE:
                    del self._pending[id(oldest)]
                    oldest.end()
                    self._count("too slow", oldest.host)
                else:
                    self._changed.wait(GRACE - age)

    def _count(self, reason, host):
        self._refused[reason] += 1
        count = self._refused[reason]
        if count & (count - 1) == 0:  # 1st, 2nd, 4th ...: a flood must not fill the log
            log.warning(
                "refused a connection from %s: %s (%d of these so far)", host, reason, count
            )
