"""Checksums with a key of the connection, which protect frames against changes in transit."""

import hmac
import socket
from struct import Struct

from sparkdl.errors import DataError

CHECKSUM = 16  # bytes
PLACE = Struct("<QQ")  # index of the frame, index of the piece in it
CHANGED = "bytes that were changed on their way: they do not fit the checksum that came with them"


class Checksums:
    """Checksums of one direction: HMAC-SHA256 of each piece of a frame and its position.

    So no piece can be changed, dropped, repeated or moved unnoticed.

    Parameters
    ----------
    key : bytes
        Used only for this direction of this connection.
    """

    def __init__(self, key):
        self._keyed, self._frame, self._piece = hmac.new(key, digestmod="sha256"), 0, 0

    def frame(self, head, *pieces):
        """Returns the buffers of the next frame: each non-empty piece, followed by its checksum."""
        views = [head, self._begin(head)]
        for piece in filter(len, pieces):
            views += piece, self._next(piece)
        return views

    def take_back(self, frames):
        """Uncounts the last `frames` frames, of which nothing was sent."""
        self._frame -= frames

    def checked(self, head):
        """Returns the first piece of the next frame without its trailing checksum.

        Raises DataError if the checksum is wrong.
        """
        content, checksum = head[:-CHECKSUM], head[-CHECKSUM:]
        compare(checksum, self._begin(content))
        return content

    def check(self, piece, checksum):
        """Raises DataError unless `checksum` is that of the next piece of the frame."""
        compare(checksum, self._next(piece))

    def _begin(self, head):
        self._frame, self._piece = self._frame + 1, 0
        return self._next(head)

    def _next(self, piece):
        keyed = self._keyed.copy()
        keyed.update(PLACE.pack(self._frame, self._piece))
        keyed.update(piece)
        self._piece += 1
        return keyed.digest()[:CHECKSUM]


def compare(one, other):
    if not hmac.compare_digest(one, other):
        raise DataError(CHANGED)


class CheckedSocket(socket.socket):
    """A connected socket with a pair of Checksums, for sending and receiving."""

    def __init__(self, sock, sending, receiving):
        super().__init__(fileno=sock.detach())
        self.checksums = sending, receiving


def checksums_of(sock):
    """Returns (Checksums for sending, for receiving) of a socket, or (None, None)."""
    return getattr(sock, "checksums", (None, None))
