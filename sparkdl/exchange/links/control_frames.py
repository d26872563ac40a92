"""Control frames, which belong to no call: heartbeats, goodbyes and aborts."""

from sparkdl.error_messages import error_from_text, error_to_text
from sparkdl.errors import DataError, PeerError
from sparkdl.exchange.messages.frame import Kind, pack_header

GOODBYE = pack_header(Kind.GOODBYE)


def beat(awaited_rank):
    """Returns a heartbeat frame, which names the rank that this process waits for, if any."""
    return pack_header(Kind.HEARTBEAT, 0 if awaited_rank is None else awaited_rank + 1)


def abort(error):
    """Returns an abort frame with the error that ends the group."""
    text = error_to_text(error).encode()
    return pack_header(Kind.ABORT, length=len(text)) + text


class ControlFrame:
    """A control frame received over a link, which handles it."""

    def __init__(self, link, header):
        self._link, (self._kind, self._tag, length) = link, header
        if length and self._kind != Kind.ABORT:
            raise DataError(f"sent {length} bytes with {self._kind.name}, which has none")
        self.view = memoryview(bytearray(length))

    def complete(self):
        if self._kind == Kind.HEARTBEAT:
            self._link.awaited_rank = self._tag - 1 if self._tag else None
        elif self._kind == Kind.GOODBYE:
            self._link.end()
        elif self._kind == Kind.ABORT:
            raise self._error()
        else:
            raise self._link.trouble(f"sent {self._kind.name}, which no group sends")

    def _error(self):
        try:
            error = error_from_text(bytes(self.view))
        except (ValueError, RecursionError):
            error = None
        if not isinstance(error, PeerError):
            return self._link.trouble("failed for an unknown reason")
        error.is_explained = True
        return error
