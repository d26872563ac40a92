"""Listening socket of a process, which admits only callers that know the job's secret."""

from collections import Counter
from functools import partial

from sparkdl.errors import require
from sparkdl.exchange.connections.address import own_address
from sparkdl.exchange.connections.admission import Admission
from sparkdl.exchange.connections.callers import Callers
from sparkdl.exchange.connections.dialer import dial
from sparkdl.exchange.connections.handshake import (
    CHECKED,
    PROTOCOL,
    HandshakeRefused,
    check_channel,
    check_secret,
    checked_socket,
    examine,
    turn_away,
    welcome,
)
from sparkdl.exchange.connections.sockets import listening

HANDSHAKE = 10.0  # seconds at most


class Endpoint:
    """A listening socket whose callers connect to named channels.

    Parameters
    ----------
    secret : bytes
        Shared by all processes of the job; at least 16 bytes.
    ports : str
        "0" (any free port), "40000" or "40000-40100".
    interface : str, optional
        Interface, address or network (10.1.0.0/16) to listen on. Defaults to SPARKDL_INTERFACE,
        then to the address from which `toward` is reached, then to the loopback.
    toward : str, optional
        A host that all processes can reach, such as the driver.
    tls : Tls, optional
        To be given on all processes of the job or on none.
    integrity : bool
        Whether frames carry checksums under a key derived from the secret, so that tampering is
        detected. The same on all processes of the job. TLS has its own integrity checks.
    timeout : float
        Seconds that connecting may take, and that a caller is kept waiting to be accepted.

    Attributes
    ----------
    address : (str, int)
        Address that other processes dial.
    refused : collections.Counter
        Number of rejected connections by reason: "garbage" (another protocol), "another secret",
        "too slow", "hung up", "TLS", "too many callers", "not taken". They do not affect other
        connections.

    Raises
    ------
    ConfigError
        If no port of the range is free, or there is no such interface.
    """

    def __init__(
        self,
        secret,
        *,
        ports="0",
        interface=None,
        toward=None,
        tls=None,
        integrity=False,
        timeout=60.0,
    ):
        check_secret(secret)
        self._secret, self.timeout = secret, timeout
        self._tls, self._integrity = tls, integrity
        require(self, "timeout", timeout > 0, "a number of seconds > 0")
        if tls:
            tls.check()
        listener = listening(own_address(interface, toward), ports)
        self.address = listener.getsockname()[:2]
        self.refused = Counter()
        self._callers = Callers(timeout)
        limit = min(timeout, HANDSHAKE)
        self._admission = Admission(
            listener, self._examine, self.refused, limit, self._expire, self._callers.fail
        )

    def connect(self, address, channel, rank=0, timeout=None):
        """Connects to `channel` of the Endpoint at `address` as `rank`, and returns the socket.

        Retries until the time limit. Returns before the other side accepts, so all processes may
        first connect and then accept.

        Raises
        ------
        PeerError
            If no process of the job answers within `timeout` (None: the endpoint's) seconds.
        """
        timeout = self.timeout if timeout is None else timeout
        layers = {"tls": self._tls, "integrity": self._integrity}
        return dial(address, self._secret, channel, rank, timeout=timeout, **layers)

    def accept(self, channel, timeout=None):
        """Returns (rank, socket) of the next caller of `channel`; the socket is yours to close.

        Raises
        ------
        WorkerError
            If no caller arrives within `timeout` (None: the endpoint's) seconds, or callers
            cannot be answered, as this process may have no more threads (NoThread).
        """
        check_channel(channel)
        return self._callers.take(channel, self.timeout if timeout is None else timeout)

    def serve(self, channel, handler):
        """Calls `handler(rank, socket)` in a thread for each caller of `channel`, from now on.

        The socket is closed when the handler returns. Its exceptions are logged.
        """
        check_channel(channel)
        self._callers.serve(channel, handler)

    def watch_threads(self, report):
        """Calls `report` with a NoThread once callers get no thread of this process.

        Calls it with None once callers' handshakes get one again; a caller that a handler had to
        send away does not come back.
        """
        self._callers.watch(report)

    def close(self):
        """Stops listening and ends connections of handlers, but not those of connect and accept."""
        self._admission.close()
        self._callers.close(timeout=5.0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _examine(self, connection):
        if self._tls:
            self._tls.as_listener(connection)
        protocol = CHECKED if self._integrity else PROTOCOL
        caller = examine(connection.sock, self._secret, connection.deadline, protocol)
        if not self._callers.has_room(caller.channel):
            turn_away(connection.sock, connection.deadline)
            raise HandshakeRefused("too many callers")
        welcome(connection.sock, self._secret, caller, connection.deadline)
        connection.sock.settimeout(None)
        connection.sock = self._layered(connection.sock, caller)
        return partial(self._callers.put, caller.channel, caller.rank, connection.sock)

    def _layered(self, sock, caller):
        """Returns a caller's socket, wrapped for TLS or checksums as configured."""
        if self._tls:
            return self._tls.plain(sock)
        if self._integrity:
            return checked_socket(sock, self._secret, caller.transcript, False)
        return sock

    def _expire(self):
        late = self._callers.expire()
        if late:
            self.refused["not taken"] += late
