"""Watch over a machine's members through shared memory: who is alive, and what failed."""

import time

import numpy as np

from sparkdl.error_messages import error_from_text, error_to_text
from sparkdl.errors import PeerError, WorkerError
from sparkdl.exchange.liveness.pause import PauseDetector
from sparkdl.exchange.shared import futex
from sparkdl.exchange.shared.layout import TEXT

LONGEST = 500  # characters of a text: as JSON, at up to six bytes each, it must fit into TEXT bytes


class PeerWatch:
    """One member's view of the others.

    Members are indices on this machine. Ranks, which errors name, are those in the group originally
    formed.

    Parameters
    ----------
    segment : Segment
        Already mapped.
    layout : Layout
    me : int
        Index of this member.
    ranks : list of int
        Rank of each member.
    hosts : dict
        {rank: host} of all ranks of the group.
    timeout : float
        Seconds of silence after which an awaited member counts as lost.
    stall_timeout : float
        Seconds to wait for a member that is alive.
    """

    def __init__(self, segment, layout, me, ranks, hosts, timeout, stall_timeout):
        self.segment, self.layout, self.me, self.ranks = segment, layout, me, ranks
        self.hosts, self.timeout, self.stall_timeout = hosts, timeout, stall_timeout
        self.words = memoryview(segment.memory).cast("I")
        self._start = np.frombuffer(segment.memory, np.uint8).ctypes.data

    def beat(self):
        """Increments this member's heartbeat counter."""
        place = self.layout.beats(self.me) // 4
        self.words[place] = (self.words[place] + 1) & 0xFFFFFFFF

    def await_elsewhere(self, rank):
        """Tells the other members which rank (or None) this member awaits over a socket."""
        self.words[self.layout.awaits(self.me) // 4] = 0 if rank is None else 1 + rank

    def complaint(self, member, what):
        """Returns a PeerError about a member."""
        return PeerError(self.ranks[member], self.hosts[self.ranks[member]], what)

    def error(self):
        """Returns the error reported by a member, as a PeerError, or None."""
        reporter = self.words[self.layout.failed // 4]
        if not reporter:
            return None
        start = self.layout.text(reporter - 1)
        return error_from_text(self.segment.memory[start : start + TEXT].rstrip(b"\0"))

    def fail(self, error):
        """Reports an error to all members, unless one has been reported already, and wakes them."""
        if self.words[self.layout.failed // 4]:
            return
        if not isinstance(error, PeerError):
            error = self.complaint(self.me, str(error))
        error = PeerError(error.rank, error.host[:64], error.what[:LONGEST])
        data = error_to_text(error).encode()[:TEXT]
        start = self.layout.text(self.me)
        self.segment.memory[start : start + len(data)] = data
        self.words[self.layout.failed // 4] = 1 + self.me
        self.wake()

    def wake(self):
        """Wakes all sleeping members, so that they check for errors."""
        for lane in range(self.layout.lanes):
            futex.wake(self.address(self.layout.go(lane)))

    def address(self, place):
        """Returns the address in this process of an offset in the memory."""
        return self._start + place

    @property
    def has_left(self):
        """True if this member has left."""
        return self.words[self.layout.closed(self.me) // 4] != 0

    def leave(self):
        """Marks this member as having left in order, and wakes the others."""
        self.words[self.layout.closed(self.me) // 4] = 1
        self.wake()


class PeerWait:
    """State of one wait: the members it waits for, as last seen."""

    def __init__(self, watch, what):
        self.watch, self.what = watch, what
        self.start_time = time.monotonic()
        self.pause_detector = PauseDetector(watch.timeout, self.start_time)
        self.seen = {}  # {member: (last beat, when it was first seen)}

    def check(self, missing, come):
        """Raises PeerError if one of the missing members will not arrive.

        `come` returns whether all have arrived: a member may leave or die right afterwards.
        """
        if self.watch.has_left:
            raise WorkerError(f"this process has left the group while it awaited {self.what}")
        if not self.pause_detector.unbroken(time.monotonic()):
            self.seen.clear()
        error = self.watch.error()
        if error is None:
            error = next(filter(None, map(self._complaint, missing)), None)
        if error is not None and not come():
            self.watch.fail(error)
            raise error

    def _complaint(self, member):
        watch, me = self.watch, self.watch.ranks[self.watch.me]
        reason, rank = self._reason(member), watch.ranks[member]
        if reason is None and time.monotonic() - self.start_time > watch.stall_timeout:
            reason = f"is alive, but has not done its part for {watch.stall_timeout:g} s"
            rank = self._last_awaited(member)
        if reason is None:
            return None
        return PeerError(rank, watch.hosts[rank], f"{reason} while rank {me} awaited {self.what}")

    def _last_awaited(self, member):
        """Follows the chain of waits from a member; returns the rank at its end."""
        watch, rank, seen = self.watch, self.watch.ranks[member], set()
        while rank in watch.ranks and rank not in seen:
            seen.add(rank)
            place = watch.layout.awaits(watch.ranks.index(rank)) // 4
            following = watch.words[place] - 1
            if following not in watch.hosts or following == watch.ranks[watch.me]:
                break
            rank = following
        return rank

    def _reason(self, member):
        watch, now = self.watch, time.monotonic()
        if watch.words[watch.layout.closed(member) // 4]:
            return "has left the group"
        if not watch.segment.is_held(member):
            return "is gone"
        beat = watch.words[watch.layout.beats(member) // 4]
        last, since = self.seen.get(member, (None, None))
        if beat != last:
            self.seen[member] = last, since = beat, now
        if now - since > watch.timeout:
            return f"was silent for {watch.timeout:g} s"
        return None
