"""A non-blocking connection to one other member, which sends and receives frames."""

import contextlib
import fcntl
import socket
import sys
import termios
import time

from sparkdl.errors import DataError, PeerError
from sparkdl.exchange.connections.checksums import CHECKSUM, checksums_of
from sparkdl.exchange.links.checked_body import CheckedBody
from sparkdl.exchange.links.control_frames import GOODBYE, ControlFrame, abort, beat
from sparkdl.exchange.links.frame_reader import FrameReader, LinkLoss
from sparkdl.exchange.links.frame_writer import FrameWriter
from sparkdl.exchange.links.mailbox import Mailbox
from sparkdl.exchange.messages.frame import HEADER, MAGIC, Kind, unpack_header

LONGEST_FRAME = 2 << 20  # bytes; longer vectors take several frames
MOST_UNEXPECTED = 64 << 20  # bytes of unexpected frames beyond which the peer is throttled


class Link:
    """Frames to and from `member` over a connected socket, which the link takes over.

    Parameters
    ----------
    sock : socket
    member : Member
        The peer.
    calls : dict
        {stream: tag} of the calls in progress here (see Mailbox).
    changed : set
        This link is added to it when the events to poll for change.

    Attributes
    ----------
    last_received : float
        Monotonic time of the last read.
    has_left : bool
        Whether the peer has said goodbye.
    awaited_rank : int or None
        The rank that the peer waits for, according to its last heartbeat.
    """

    def __init__(self, sock, member, calls, changed):
        sock.setblocking(False)
        self.member, self.box = member, Mailbox(calls)
        self.last_received, self.has_left, self.awaited_rank = time.monotonic(), False, None
        self._sock, self._changed = sock, changed
        sending, self._received = checksums_of(sock)
        self._out = FrameWriter(sock, sending)
        if self._received is None:
            self._in = FrameReader(sock, self._open_frame)
        else:
            self._in = FrameReader(sock, self._open_checked_frame, HEADER.size + CHECKSUM)

    def fileno(self):
        return self._sock.fileno()

    @property
    def sent(self):
        """Bytes sent, including headers."""
        return self._out.sent

    @property
    def is_blocked(self):
        """True if queued frames wait for room in the socket."""
        return self._out.waiting

    @property
    def full(self):
        """True if so much unexpected data is buffered that the link should not be read for now."""
        return self.box.unexpected_bytes > MOST_UNEXPECTED and not self.box.awaits

    def begin(self, tag):
        """Records that a call of all ranks begins; raises PeerError if the peer began another."""
        try:
            self.box.begin(tag)
        except DataError as error:
            raise self.trouble(str(error)) from error

    def post(self, receipt):
        """Posts a receipt for the next frame of its stream."""
        try:
            self.box.post(receipt)
        except DataError as error:
            raise self.trouble(str(error)) from error
        if self.box.unexpected_bytes:
            self._changed.add(self)
        if self.has_left and not receipt.done:
            raise self.trouble("has left the group")

    def send(self, head, view, call, copy=False):
        """Sends a frame, now or as soon as there is room; `call.unsent` counts queued frames.

        With `copy`, `view` may be changed afterwards.
        """
        if self.has_left:
            raise self.trouble("has left the group")
        if self._out.send(head, view, call, copy):
            self._changed.add(self)

    def flush(self):
        """Sends queued data as far as there is room."""
        self._changed.add(self)
        self._out.flush()

    def beat(self, awaited_rank=None):
        """Sends a heartbeat with the awaited rank, unless queued data already serves as one."""
        if not self.is_blocked and not self.has_left:
            self._tell(beat(awaited_rank))

    def abort(self, error):
        """Sends the peer the failure, in place of all frames not yet begun."""
        self._out.drop()
        self._tell(abort(error))

    def goodbye(self):
        """Tells the peer that no more data follows."""
        self._tell(GOODBYE)

    def _tell(self, notice):
        self._out.add(notice)
        self.flush()

    def read(self, now):
        """Reads the available data, up to a limit per turn."""
        if self.box.unexpected_bytes:
            self._changed.add(self)
        try:
            if self._in.read():
                self.last_received = now
        except LinkLoss as error:
            raise self.trouble(str(error)) from error

    def look(self, now):
        """Reads data that has arrived but is too little to make the socket ready."""
        if self._in.may_have_more and not self.has_left:
            self.read(now)

    def _open_frame(self, head):
        """Returns the goal that receives the body of a frame with this header."""
        magic, kind, tag, length = HEADER.unpack(head)
        try:
            if magic != MAGIC or kind != Kind.DATA or length > LONGEST_FRAME:
                return ControlFrame(self, unpack_header(head, LONGEST_FRAME))
            return self.box.arrive(tag, length)
        except DataError as error:
            raise self.trouble(str(error)) from error

    def _open_checked_frame(self, head):
        """Does so for a header with a checksum; verifies the checksum of the body as well."""
        try:
            goal = self._open_frame(self._received.checked(head))
        except DataError as error:
            raise self.trouble(f"sent {error}") from error
        return CheckedBody(self, goal) if len(goal.view) else goal

    def check(self, body, checksum):
        """Raises PeerError unless this is the checksum of a frame's body."""
        try:
            self._received.check(body, checksum)
        except DataError as error:
            raise self.trouble(f"sent {error}") from error

    def end(self):
        """Records the peer's goodbye; raises PeerError if it is still needed."""
        self.has_left = True
        if self.box.awaits or self._out.has_call_frames:
            raise self.trouble("has left the group")

    def trouble(self, what):
        """Returns a PeerError about the peer."""
        return PeerError(self.member.rank, self.member.host, what)

    @property
    def unconfirmed_bytes(self):
        """Bytes not yet acknowledged by the peer's host; 0 if the system does not tell."""
        if self._sock.family == socket.AF_UNIX:
            return 0  # a local socket loses nothing
        try:
            return int.from_bytes(
                fcntl.ioctl(self._sock, termios.TIOCOUTQ, bytes(4)), sys.byteorder
            )
        except OSError:
            return 0

    def close(self):
        """Hangs up; data in transit may be lost if the peer's heartbeats cross it."""
        unread = bytearray(1 << 16)
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)
            while self._sock.recv_into(unread):  # unread bytes would cause a reset
                pass
        self._sock.close()
