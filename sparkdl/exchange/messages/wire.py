"""Messages to and from one peer, each wait with a limit."""

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
    """Blocking messages over a socket of an Endpoint, with heartbeats to the peer meanwhile.

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
        self._stream = Stream(sock, timeout)
        self._sending, self._receiving = threading.Lock(), threading.Lock()
        self._unsent = memoryview(b"")  # a heartbeat, or its rest, for which there was no room
        self._head, self._filled = memoryview(bytearray(HEADER.size + self._stream.checksum)), 0
        self._begun = None  # the FrameHeader of a message whose rest has not been read
        self._broken = None
        HEARTBEAT.add(self, timeout / 4)

    def send(self, meta, *arrays):
        """Sends a dict that JSON can hold, and arrays (or bytes) of numbers.

        Raises
        ------
        PeerError
            If the peer is gone or takes nothing for `timeout` seconds.
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
            if not self._watch(lambda: self._begin(Deadline(timeout)), waiting_for):
                raise self._loss_error(f"sent nothing within {timeout:g} s", waiting_for)
            return self._watch(lambda: self._rest(into), waiting_for)

    def ready(self, timeout=0.0, *, waiting_for="a message"):
        """Returns whether a message begins within so many seconds; PeerError as in `receive`."""
        with self._receiving:
            return self._watch(lambda: self._begin(Deadline(timeout)), waiting_for)

    def beat(self):
        """Shows that we live, if that takes no waiting; a message under way shows it as well."""
        if self._sending.acquire(blocking=False):
            try:
                if not self._broken:
                    beat = self._unsent or memoryview(b"".join(self._stream.frame([BEAT])))
                    self._unsent = beat[self._stream.offer(beat) :]
            finally:
                self._sending.release()

    def finish(self, timeout=5.0):
        """Closes so that the peer gets all that was sent: for the side that has the last word.

        A close drops what is still on its way if the peer's heartbeats lie unread here. This waits,
        `timeout` seconds at most, until the peer has read to the end and hung up too; what it still
        says is not heard.
        """
        deadline = Deadline(timeout)
        HEARTBEAT.discard(self)
        with self._sending:
            self._broken = self._broken or "closed on this side"
            self._stream.end()
        if self._receiving.acquire(
            timeout=timeout
        ):  # a thread that receives meanwhile reads up to the end
            try:
                self._stream.drain(deadline)
            finally:
                self._receiving.release()
        self.close()

    def close(self):
        """Hangs up; threads that send or receive then get a PeerError."""
        self._broken = self._broken or "closed on this side"
        HEARTBEAT.discard(self)
        self._stream.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _watch(self, act, waiting_for=None):
        """Returns act(); an error in it, perhaps in the middle of a message, ends the wire."""
        if self._broken:
            raise self._loss_error(f"has a broken connection: {self._broken}")
        try:
            return act()
        except (StreamLoss, DataError) as error:
            what = f"sent what cannot be: {error}" if isinstance(error, DataError) else str(error)
            self._broken = self._broken or what
            raise self._loss_error(what, waiting_for) from error
        except BaseException as error:
            self._broken = repr(error)
            raise

    def _loss_error(self, what, waiting_for=None):
        context = f" while {waiting_for} was awaited" if waiting_for else ""
        return PeerError(self.rank, self.peer, f"{what}{context}")

    def _begin(self, deadline):
        """Reads up to the header of a message; False if it has not come by then."""
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
                raise DataError(f"a message was due, got a frame of {header.kind.name}")
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
