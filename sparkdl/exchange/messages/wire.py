"""Wire: messages to and from one peer, with a time limit on each wait."""

import threading

from sparkdl.errors import DataError, PeerError
from sparkdl.exchange.connections.deadline import Deadline
from sparkdl.exchange.liveness.heartbeat import HEARTBEAT
from sparkdl.exchange.messages.byte_stream import Stream, StreamLoss
from sparkdl.exchange.messages.frame import HEADER, Kind, pack_header, unpack_header
from sparkdl.exchange.messages.message import (
    LONGEST_TEXT,
    check_memory,
    fitting,
    memory,
    pack_message,
    raw,
    unpack_message,
)

LIMIT = 1 << 34
BEAT = memoryview(pack_header(Kind.HEARTBEAT))


class Wire:
    """Blocking messages over a socket of an Endpoint, with heartbeats to the peer in between.

    Any thread may send, one at a time may receive. Unusable after an error, except for a message
    that did not arrive in time.

    Parameters
    ----------
    sock : socket
        Taken over by the Wire.
    peer : str
        Host of the peer, for errors.
    timeout : float
        Seconds without any data or heartbeat after which the peer counts as dead.
    rank : int, optional
        Rank of the peer, for errors.
    limit : int
        Largest total bytes of a message's arrays; more is rejected before memory is allocated.
    """

    def __init__(self, sock, peer, timeout=60.0, *, rank=None, limit=LIMIT):
        self.peer, self.rank, self.timeout, self.limit = peer, rank, timeout, limit
        self._stream = Stream(sock, timeout)
        self._sending, self._receiving = threading.Lock(), threading.Lock()
        self._unsent = memoryview(b"")  # a heartbeat, or its rest, for which there was no room
        self._head, self._filled = memoryview(bytearray(HEADER.size + self._stream.checksum)), 0
        self._begun = None  # the FrameHeader of a message not fully read yet
        self._broken = None
        HEARTBEAT.add(self, timeout / 4)

    def send(self, meta, *arrays):
        """Sends a JSON-compatible dict, and arrays (or bytes).

        Raises
        ------
        PeerError
            If the peer is lost or accepts no data for `timeout` seconds.
        """
        pieces = pack_message(meta, arrays)
        with self._sending:
            views = [*filter(None, [self._unsent]), *self._stream.frame(pieces)]
            self._watch(lambda: self._stream.send(views))
            self._unsent = memoryview(b"")

    def receive(self, timeout=None, *, into=None, waiting_for="a message"):
        """Returns (meta, [arrays]) of the next message.

        Parameters
        ----------
        timeout : float, optional
            Seconds within which it must begin; None: no limit while the peer is alive.
        into : list of arrays, optional
            Arrays to receive into, which must match the announced arrays in number, types and
            sizes.
        waiting_for : str
            Description of the message, for errors.

        Raises
        ------
        PeerError
            If the peer is lost, silent for the Wire's `timeout`, late, or sends invalid data.
        """
        check_memory(into)
        with self._receiving:
            if not self._watch(lambda: self._begin(Deadline(timeout)), waiting_for):
                raise self._loss_error(f"sent nothing within {timeout:g} s", waiting_for)
            return self._watch(lambda: self._rest(into), waiting_for)

    def ready(self, timeout=0.0, *, waiting_for="a message"):
        """Returns whether a message begins within `timeout` seconds; PeerError as in `receive`."""
        with self._receiving:
            return self._watch(lambda: self._begin(Deadline(timeout)), waiting_for)

    def beat(self):
        """Sends a heartbeat if that does not block; a message being sent serves as one."""
        if self._sending.acquire(blocking=False):
            try:
                if not self._broken:
                    beat = self._unsent or memoryview(b"".join(self._stream.frame([BEAT])))
                    self._unsent = beat[self._stream.offer(beat) :]
            finally:
                self._sending.release()

    def finish(self, timeout=5.0):
        """Closes after the peer has received all data; for the side that sends the last message.

        A plain close loses data in transit if unread heartbeats of the peer are queued here. This
        waits, for at most `timeout` seconds, until the peer has read everything and hung up too;
        data it still sends is discarded.
        """
        deadline = Deadline(timeout)
        HEARTBEAT.discard(self)
        with self._sending:
            self._broken = self._broken or "closed on this side"
            self._stream.end()
        if self._receiving.acquire(
            timeout=timeout
        ):  # a thread that is receiving drains the stream itself
            try:
                self._stream.drain(deadline)
            finally:
                self._receiving.release()
        self.close()

    def close(self):
        """Hangs up; threads that are sending or receiving get a PeerError."""
        self._broken = self._broken or "closed on this side"
        HEARTBEAT.discard(self)
        self._stream.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _watch(self, act, waiting_for=None):
        """Returns act(); an error in it, possibly in the middle of a message, breaks the wire."""
        if self._broken:
            raise self._loss_error(f"has a broken connection: {self._broken}")
        try:
            return act()
        except (StreamLoss, DataError) as error:
            is_invalid = isinstance(error, DataError)
            what = f"sent an invalid message: {error}" if is_invalid else str(error)
            self._broken = self._broken or what
            raise self._loss_error(what, waiting_for) from error
        except BaseException as error:
            self._broken = repr(error)
            raise

    def _loss_error(self, what, waiting_for=None):
        context = f" while {waiting_for} was awaited" if waiting_for else ""
        return PeerError(self.rank, self.peer, f"{what}{context}")

    def _begin(self, deadline):
        """Reads up to the header of a message; returns False if none arrives in time."""
        while not self._begun:
            try:
                while self._filled < len(self._head):
                    self._filled += self._stream.read(self._head[self._filled :], deadline)
            except TimeoutError:
                return False
            self._filled = 0
            header = unpack_header(self._stream.checked(self._head), LONGEST_TEXT)
            if header.kind == Kind.MESSAGE:
                self._begun = header
            elif header.kind != Kind.HEARTBEAT or header.length:
                raise DataError(f"expected a message, got a frame of {header.kind.name}")
        return True

    def _rest(self, into):
        text = memoryview(bytearray(self._begun.length))
        self._stream.fill_checked(text)
        meta, specs = unpack_message(text, self.limit)
        arrays = memory(specs) if into is None else fitting(into, specs)
        for array in arrays:
            if array.size:
                self._stream.fill_checked(raw(array))
        self._begun = None
        return meta, arrays
