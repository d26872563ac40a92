"""Watch over the members of a machine: who is alive and what failed, through shared memory."""

import time

import numpy as np

from sparkdl.error_messages import error_from_text, error_to_text
from sparkdl.errors import PeerError, WorkerError
from sparkdl.exchange.liveness.pause import PauseDetector
from sparkdl.exchange.shared import futex
from sparkdl.exchange.shared.layout import TEXT

LONGEST = 500  # characters of a text: in JSON, at six bytes each, it must fit TEXT


class PeerWatch:
    """One member's view of the others.

    Members are numbers in this machine; ranks are those in the group that has been formed, which
    errors name.

    Parameters
    ----------
    segment : Segment
        Mapped.
    layout : Layout
    me : int
        This member.
    ranks : list of int
        Of each member.
    hosts : dict
        {rank: host} of all ranks of the group.
    timeout : float
        Seconds of silence after which a member that is awaited counts as lost.
    stall_timeout : float
        Seconds that a member may be awaited though it is alive.
    """

    def __init__(self, segment, layout, me, ranks, hosts, timeout, stall_timeout):
        self.segment, self.layout, self.me, self.ranks = segment, layout, me, ranks
        self.hosts, self.timeout, self.stall_timeout = hosts, timeout, stall_timeout
        self.words = memoryview(segment.memory).cast("I")
        self._start = np.frombuffer(segment.memory, np.uint8).ctypes.data

    def beat(self):
        """Tells the others that this member is alive."""
        place = self.layout.beats(self.me) // 4
        self.words[place] = (self.words[place] + 1) & 0xFFFFFFFF

    def await_elsewhere(self, rank):
        """Tells the others that this member can do its part once a rank (None: no) has done its."""
        self.words[self.layout.awaits(self.me) // 4] = 0 if rank is None else 1 + rank

    def complaint(self, member, what):
        """Returns a PeerError about a member."""
        return PeerError(self.ranks[member], self.hosts[self.ranks[member]], what)

    def error(self):
        """Returns the error that a member has reported, as a PeerError, or None."""
        reporter = self.words[self.layout.failed // 4]
        if not reporter:
            return None
        start = self.layout.text(reporter - 1)
        return error_from_text(self.segment.memory[start : start + TEXT].rstrip(b"\0"))

    def fail(self, error):
        """Tells all members what went wrong, unless one has already, and wakes them."""
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
        """Wakes the members that sleep, so that they look around."""
        for lane in range(self.layout.lanes):
            futex.wake(self.address(self.layout.go(lane)))

    def address(self, place):
        """Returns the address in this process of a byte of the memory."""
        return self._start + place

    @property
    def has_left(self):
        """True if this member has ended."""
        return self.words[self.layout.closed(self.me) // 4] != 0

    def leave(self):
        """Tells the others that this member has ended of its own accord."""
        self.words[self.layout.closed(self.me) // 4] = 1
        self.wake()


class PeerWait:
    """The state of one wait: the members it waits for, as seen so far."""

    def __init__(self, watch, what):
        self.watch, self.what = watch, what
        self.start_time = time.monotonic()
        self.pause_detector = PauseDetector(watch.timeout, self.start_time)
        self.seen = {}  # member: its last beat, and when that was first seen

    def check(self, missing, come):
        """Raises PeerError if one of the missing members will not come.

        `come` says whether all have come after all: who has may leave, or die, at once.
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
        """Returns the rank that waits for nobody, at the end of a chain that this member begins."""
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
