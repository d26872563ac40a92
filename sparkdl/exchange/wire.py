"""Messages to and from one peer, each wait with a limit."""

import select
import threading

import numpy as np

from sparkdl.errors import ConfigError, DataError, PeerError
from sparkdl.exchange.deadline import Deadline
from sparkdl.exchange.frame import HEADER, Kind, packed, unpacked
from sparkdl.exchange.message import LONGEST_TEXT, packed_message, raw, unpacked_message
from sparkdl.exchange.pulse import PULSE
from sparkdl.exchange.sockets import hang_up

LIMIT = 1 << 34
AT_ONCE = 64  # pieces that one system call takes
BEAT = packed(Kind.HEARTBEAT)


class Wire:
    """Blocking messages over a socket of an Endpoint; tells the peer meanwhile that it lives.

    Any thread may send, one at a time receive. Of no more use after an error, but for a late one.

    Parameters
    ----------
    sock : socket
        Belongs to the Wire from now on.
    peer : str
        The other process, for errors: its host.
    timeout : float
        Seconds of silence, not even heartbeats, after which the peer counts as dead.
    rank : int, optional
        Of the peer, for errors.
    limit : int
        Bytes that the arrays of one message may have: more is refused before memory is taken.
    """

    def __init__(self, sock, peer, timeout=60.0, *, rank=None, limit=LIMIT):
        self.peer, self.rank, self.timeout, self.limit = peer, rank, timeout, limit
        self._sock = sock
        sock.setblocking(False)
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(sock, select.POLLIN)
        self._writable.register(sock, select.POLLOUT)
        self._sending, self._receiving = threading.Lock(), threading.Lock()
        self._unsent = memoryview(b"")  # the rest of a heartbeat, if there was room for a part only
        self._head, self._filled = memoryview(bytearray(HEADER.size)), 0
        self._begun = None  # the Header of a message whose rest has not been read
        self._broken = None
        PULSE.add(self, timeout / 4)

    def send(self, meta, *arrays):
        """Send a dict that JSON can hold, and arrays (or bytes) of numbers.

        Raises
        ------
        PeerError
            If the peer is gone or takes nothing for `timeout` seconds.
        """
        views = packed_message(meta, arrays)
        with self._sending:
            self._check()
            try:
                self._push([view for view in (self._unsent, *views) if view])
                self._unsent = memoryview(b"")
            except BaseException as error:
                self._broken = repr(error)  # perhaps half a message is out
                raise

    def receive(self, timeout=None, *, into=None, waiting_for="a message"):
        """(meta, [arrays]) of the next message.

        Parameters
        ----------
        timeout : float, optional
            Seconds in which it must begin; None: any, as long as the peer shows that it lives.
        into : list of arrays, optional
            Memory to receive into: as many, of the same types and sizes as those that come.
        waiting_for : str
            What is awaited, for the error.

        Raises
        ------
        PeerError
            If the peer is gone, silent for the Wire's `timeout`, late, or sends what cannot be.
        """
        check_memory(into)
        with self._receiving:
            if not self._watched(lambda: self._begin(Deadline(timeout)), waiting_for):
                raise self._lost(f"sent nothing within {timeout:g} s", waiting_for)
            return self._watched(lambda: self._rest(into), waiting_for)

    def ready(self, timeout=0.0, *, waiting_for="a message"):
        """Whether a message begins within so many seconds; PeerError as in `receive`."""
        with self._receiving:
            return self._watched(lambda: self._begin(Deadline(timeout)), waiting_for)

    def beat(self):
        """Show that we live, if that takes no waiting; a message under way shows it as well."""
        if not self._sending.acquire(blocking=False):
            return
        try:
            if not self._broken:
                beat = self._unsent or memoryview(BEAT)
                self._unsent = beat[self._sock.send(beat) :]
        except OSError:
            pass  # full, which is no news, or gone, which the next message will find
        finally:
            self._sending.release()

    def close(self):
        """Hang up; whoever sends or receives meanwhile gets a PeerError."""
        self._broken = self._broken or "closed on this side"
        PULSE.discard(self)
        hang_up(self._sock)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _check(self):
        if self._broken:
            raise self._lost(f"cannot be talked to any more: {self._broken}")

    def _lost(self, what, waiting_for=None):
        awaited = f" while {waiting_for} was awaited" if waiting_for else ""
        return PeerError(self.rank, self.peer, f"{what}{awaited}")

    def _watched(self, receive, waiting_for):
        """What `receive` returns; its trouble, and ours in the middle of it, end the wire."""
        self._check()
        try:
            return receive()
        except (Trouble, DataError) as error:
            what = f"sent what cannot be: {error}" if isinstance(error, DataError) else str(error)
            self._broken = what
            raise self._lost(what, waiting_for) from error
        except BaseException as error:
            self._broken = repr(error)
            raise

    def _push(self, views):
        while views:
            try:
                sent = self._sock.sendmsg(views[:AT_ONCE])
            except BlockingIOError:
                if not self._writable.poll(1000 * self.timeout):
                    raise self._lost(f"took nothing for {self.timeout:g} s") from None
                continue
            except OSError as error:
                raise self._lost(f"is gone: {error}") from error
            while views and sent >= len(views[0]):
                sent -= len(views.pop(0))
            if sent:
                views[0] = views[0][sent:]

    def _begin(self, deadline):
        """Read up to the header of a message; False if it has not come by then."""
        while not self._begun:
            try:
                while self._filled < HEADER.size:
                    self._filled += self._read(self._head[self._filled :], deadline)
            except TimeoutError:
                return False
            self._filled = 0
            header = unpacked(self._head, LONGEST_TEXT)
            if header.kind == Kind.MESSAGE:
                self._begun = header
            elif header.kind != Kind.HEARTBEAT or header.length:
                raise DataError(f"a message was due, got a frame of {header.kind.name}")
        return True

    def _rest(self, into):
        text = self._filled_memory(bytearray(self._begun.length))
        meta, specs = unpacked_message(text, self.limit)
        arrays = memory(specs) if into is None else fitting(into, specs)
        for array in arrays:
            if array.size:
                self._filled_memory(raw(array))
        self._begun = None
        return meta, arrays

    def _filled_memory(self, data):
        view, never = memoryview(data), Deadline(None)
        while view:
            view = view[self._read(view, never) :]
        return data

    def _read(self, view, deadline):
        """Some bytes; TimeoutError at the deadline, Trouble if the peer is gone or silent."""
        while True:
            try:
                got = self._sock.recv_into(view)
            except BlockingIOError:
                self._await(deadline)
                continue
            except OSError as error:
                raise Trouble(f"is gone: {error}") from error
            if not got:
                raise Trouble("hung up")
            return got

    def _await(self, deadline):
        left = deadline.left()
        if left is not None and left < self.timeout:
            self._readable.poll(1000 * left)
        elif not self._readable.poll(1000 * self.timeout):
            raise Trouble(f"was silent for {self.timeout:g} s")


class Trouble(Exception):
    """What happened to the peer, yet without what was awaited."""


def check_memory(into):
    for array in into or ():
        if not (array.flags.c_contiguous and array.flags.writeable):
            raise ConfigError("into must be contiguous arrays that can be written to")


def memory(specs):
    return [np.empty(shape, dtype) for dtype, shape in specs]


def fitting(into, specs):
    """The given arrays, if what comes fits into them."""
    wanted = [(view.dtype, view.size) for view in into]
    coming = [(dtype, int(np.prod(shape, dtype=object))) for dtype, shape in specs]
    if wanted != coming:
        raise DataError(f"arrays of (type, size) {wanted} were due, got {coming}")
    return into
