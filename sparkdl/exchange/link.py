"""A connection to one other member: frames out and in, neither of which ever waits."""

import contextlib
import fcntl
import json
import socket
import sys
import termios
import time
from collections import deque

from sparkdl.errors import DataError, PeerError
from sparkdl.exchange.frame import HEADER, MAGIC, Kind, packed, unpacked
from sparkdl.exchange.mail import Box

LONGEST_FRAME = 2 << 20  # bytes; longer vectors go in several frames
STAGE = 8 << 10  # bytes read at once while it is not known what comes
MOST_KEPT = 64 << 20  # bytes that nobody awaits, before the peer has to wait
AT_ONCE = 2 << 20  # bytes read before others get a turn
PIECES = 32  # of memory that one system call sends
HEAD = HEADER.size
GOODBYE = packed(Kind.GOODBYE)


class Link:
    """Frames to and from `member` over a connected socket, which belongs to the link from now on.

    Parameters
    ----------
    sock : socket
    member : Member
        The other side.
    calls : dict
        {stream: tag} of the calls under way here (see Box).
    changed : set
        Gets this link when it is to be watched for other events than before.

    Attributes
    ----------
    heard : float
        When the last bytes came, by the monotonic clock.
    blocked : bool
        Whether frames wait for room in the socket.
    left : bool
        Whether the peer has said goodbye.
    sent : int
        Bytes, with headers.
    awaits : int or None
        The rank that the peer waited for when it last said so.
    """

    def __init__(self, sock, member, calls, changed):
        sock.setblocking(False)
        self.member, self.box = member, Box(calls)
        self.heard, self.sent, self.left = time.monotonic(), 0, False
        self.awaits = None
        self._sock, self._changed = sock, changed
        self._queue = deque()  # of [views, call or None, whether begun]
        self._stage, self._filled = bytearray(STAGE), 0
        self._stage_view = memoryview(self._stage)
        self._body = self._goal = None  # what is left to fill, and whom to tell then

    def fileno(self):
        return self._sock.fileno()

    @property
    def blocked(self):
        return bool(self._queue)

    @property
    def full(self):
        """Whether so much has come unasked that the rest may wait in the socket."""
        return self.box.kept > MOST_KEPT and not self.box.awaits

    def begin(self, tag):
        """A call of all ranks begins here: PeerError if this peer has begun another."""
        try:
            self.box.begin(tag)
        except DataError as error:
            raise self.trouble(str(error)) from error

    def post(self, receipt):
        """Wait for the next frame of a receipt's stream."""
        try:
            self.box.post(receipt)
        except DataError as error:
            raise self.trouble(str(error)) from error
        if self.box.kept:
            self._changed.add(self)
        if self.left and not receipt.done:
            raise self.trouble("has left the group")

    def send(self, head, view, call, copy=False):
        """Send a frame, now or as soon as there is room; `call.unsent` counts what is not out.

        With `copy`, `view` may change after that.
        """
        if self.left:
            raise self.trouble("has left the group")
        if not self._queue:
            sent = self._push((head, view))
            if sent == HEAD + len(view):
                return
            views = rest([head, view], sent)
        else:
            sent, views = 0, [head, view]
        if copy:
            views = [memoryview(b"".join(views))]
        self._wait([views, call, sent > 0])
        call.unsent += 1

    def _wait(self, entry):
        self._queue.append(entry)
        self._changed.add(self)

    def flush(self):
        """Send what waits, as far as there is room."""
        self._changed.add(self)
        while self._queue:
            views = [view for entry in self._queue for view in entry[0]][:PIECES]
            sent = self._push(views)
            if not sent:
                return
            self._sent(sent)

    def _sent(self, count):
        while count:
            entry = self._queue[0]
            length = sum(map(len, entry[0]))
            if count < length:
                entry[0], entry[2] = rest(entry[0], count), True
                return
            count -= length
            self._queue.popleft()
            if entry[1] is not None:
                entry[1].sent_one()

    def _push(self, views):
        try:
            sent = self._sock.sendmsg(views)
        except BlockingIOError:
            return 0
        except OSError:
            return 0  # it hung up; why, is among what is left to read
        self.sent += sent
        return sent

    def beat(self, awaited=None):
        """Show that we live, and which rank we wait for; what waits to be sent shows it as well."""
        if not self._queue and not self.left:
            self._notice(packed(Kind.HEARTBEAT, 0 if awaited is None else awaited + 1))

    def abort(self, error):
        """Tell the peer who failed, instead of all that has not begun to go out."""
        told = {"rank": error.rank, "host": error.host, "what": error.what[:2000]}
        text = json.dumps(told).encode()
        self._queue = deque(entry for entry in self._queue if entry[2])
        self._notice(packed(Kind.ABORT, length=len(text)) + text)

    def goodbye(self):
        """Tell the peer that nothing more will come."""
        self._notice(GOODBYE)

    def _notice(self, data):
        self._wait([[memoryview(data)], None, False])
        self.flush()

    def read(self, now):
        """Take in what has come, as far as it fits in one turn."""
        self.heard, taken = now, 0
        if self.box.kept:
            self._changed.add(self)
        while taken < AT_ONCE:
            room = self._stage_view[self._filled :] if self._body is None else self._body
            got = self._pull(room)
            if not got:
                return
            if self._body is None:
                self._filled += got
                self._unpack()
            else:
                self._body = self._body[got:]
                self._complete()
            if got < len(room):
                return  # that was all
            taken += got

    def _pull(self, room):
        try:
            got = self._sock.recv_into(room)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise self.trouble(f"is gone: {error}") from error
        if not got:
            raise self.trouble("hung up")
        return got

    def _unpack(self):
        """Take apart what lies in the stage: frames, and the beginning of one."""
        at, end = 0, self._filled
        while end - at >= HEAD and self._body is None:
            self._open(at)
            at += HEAD
            count = min(end - at, len(self._body))
            self._body[:count] = self._stage_view[at : at + count]
            self._body = self._body[count:]
            at += count
            self._complete()
        self._stage[: end - at] = self._stage[at:end]
        self._filled = end - at

    def _open(self, at):
        """Find memory for the frame whose header lies at `at`."""
        magic, kind, tag, length = HEADER.unpack_from(self._stage, at)
        try:
            if magic != MAGIC or kind != Kind.DATA or length > LONGEST_FRAME:
                header = unpacked(self._stage[at : at + HEAD], LONGEST_FRAME)
                self._goal = Notice(self, header)
            else:
                self._goal = self.box.arrive(tag, length)
        except DataError as error:
            raise self.trouble(str(error)) from error
        self._body = self._goal.view

    def _complete(self):
        if not self._body:
            goal, self._body, self._goal = self._goal, None, None
            goal.complete()

    def end(self):
        """The peer has said goodbye: PeerError if it is still needed."""
        self.left = True
        if self.box.awaits or any(call is not None for _, call, _ in self._queue):
            raise self.trouble("has left the group")

    def trouble(self, what):
        """The PeerError that says so about the other side."""
        return PeerError(self.member.rank, self.member.host, what)

    @property
    def on_its_way(self):
        """Bytes that the peer's host has not confirmed yet; 0 where the system does not tell."""
        if self._sock.family == socket.AF_UNIX:
            return 0  # never lost
        try:
            return int.from_bytes(
                fcntl.ioctl(self._sock, termios.TIOCOUTQ, bytes(4)), sys.byteorder
            )
        except OSError:
            return 0

    def close(self):
        """Hang up; what is still on its way may be lost, if heartbeats of the peer cross it."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)
            while self._sock.recv_into(self._stage):  # unread bytes would turn it into a reset
                pass
        self._sock.close()


class Notice:
    """A frame that is not for any call."""

    def __init__(self, link, header):
        self._link, (self._kind, self._tag, length) = link, header
        if length and self._kind != Kind.ABORT:
            raise DataError(f"sent {length} bytes with {self._kind.name}, which has none")
        self.view = memoryview(bytearray(length))

    def complete(self):
        if self._kind == Kind.HEARTBEAT:
            self._link.awaits = self._tag - 1 if self._tag else None
        elif self._kind == Kind.GOODBYE:
            self._link.end()
        elif self._kind == Kind.ABORT:
            raise self._told()
        else:
            raise self._link.trouble(f"sent {self._kind.name}, which no group sends")

    def _told(self):
        try:
            told = json.loads(bytes(self.view))
            rank, host, what = told["rank"], str(told["host"]), str(told["what"])
            error = PeerError(rank if type(rank) is int else None, host, what)
            error.told = True
            return error
        except (ValueError, TypeError, KeyError, RecursionError):
            return self._link.trouble("failed, and could not say why")


def rest(views, count):
    """What is left of views after `count` bytes of them."""
    left = []
    for view in views:
        if count < len(view):
            left.append(view[count:])
            count = 0
        else:
            count -= len(view)
    return left
