"""Frames that are for no call: heartbeats, and how a peer ends."""

import json

from sparkdl.errors import DataError, PeerError
from sparkdl.exchange.frame import Kind, packed

GOODBYE = packed(Kind.GOODBYE)


def beat(awaited):
    """The frame that shows that we live, and which rank we wait for, if any."""
    return packed(Kind.HEARTBEAT, 0 if awaited is None else awaited + 1)


def abort(error):
    """The frame that tells who failed, and what was awaited."""
    told = {"rank": error.rank, "host": error.host, "what": error.what[:2000]}
    text = json.dumps(told).encode()
    return packed(Kind.ABORT, length=len(text)) + text


class Notice:
    """One that comes in over a link, which hears of it."""

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
