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
    """A listening socket whose callers come on named channels.

    Parameters
    ----------
    secret : bytes
        Of the job; 16 or more.
    ports : str
        "0" (any free port), "40000" or "40000-40100".
    interface : str, optional
        Interface, address or network (10.1.0.0/16) to listen on; else what SPARKDL_INTERFACE says,
        else the address from which `toward` is reached, else the loopback.
    toward : str, optional
        A host that all processes reach, as the driver.
    tls : Tls, optional
        On all processes of the job or on none.
    integrity : bool
        Whether frames carry checksums under a key that follows from the secret, so that changed
        ones are an error; on all processes of the job or on none. TLS has checksums of its own.
    timeout : float
        Seconds that a call may take, and that a caller waits to be taken.

    Attributes
    ----------
    address : (str, int)
        What others dial.
    refused : collections.Counter
        How many connections were turned away, by reason: "garbage" (another protocol), "another
        secret", "too slow", "hung up", "TLS", "too many callers", "not taken". They do no harm.

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
        self._admission = Admission(listener, self._examine, self.refused, limit, self._expire)

    def connect(self, address, channel, rank=0, timeout=None):
        """Returns a socket to `channel` of the Endpoint at `address`, as `rank`.

        Tries until the limit.

        Returns before the other takes the call, so all may first connect and then accept.

        Raises
        ------
        PeerError
            If nobody answers within `timeout` (None: the endpoint's) seconds, or a stranger does.
        """
        timeout = self.timeout if timeout is None else timeout
        layers = {"tls": self._tls, "integrity": self._integrity}
        return dial(address, self._secret, channel, rank, timeout=timeout, **layers)

    def accept(self, channel, timeout=None):
        """Returns (rank, socket) of the next caller of `channel`.

        The socket is the caller's to close.

        Raises
        ------
        WorkerError
            If nobody calls within `timeout` (None: the endpoint's) seconds.
        """
        check_channel(channel)
        return self._callers.take(channel, self.timeout if timeout is None else timeout)

    def serve(self, channel, handler):
        """Calls `handler(rank, socket)` in a thread for each caller of `channel`, from now on.

        The socket is closed when the handler returns. What it raises is logged.
        """
        check_channel(channel)
        self._callers.serve(channel, handler)

    def close(self):
        """Listens no more; ends the connections of handlers, not those from connect and accept."""
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
        """Returns the socket of a caller as handlers are to use it."""
        if self._tls:
            return self._tls.plain(sock)
        if self._integrity:
            return checked_socket(sock, self._secret, caller.transcript, False)
        return sock

    def _expire(self):
        late = self._callers.expire()
        if late:
            self.refused["not taken"] += late
