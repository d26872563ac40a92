"""Shared memory of the members of one machine."""

from sparkdl.exchange.liveness.heartbeat import HEARTBEAT
from sparkdl.exchange.shared.lane import Lane
from sparkdl.exchange.shared.layout import SegmentLayout
from sparkdl.exchange.shared.peer_watch import PeerWatch

# Bytes. With 2 processes 64 MB took 23, 15, 12, 12, 14 ms with slots of 64 K, 256 K, 512 K, 1 M and
# 4 M; with 4 on 2 cores 171, 79, 69, 74, 62 ms. Smaller slots cost wake-ups, larger ones memory.
SLOT = 512 * 1024


class SharedMemory:
    """Memory that a process shares with the other members of its group on its machine.

    Parameters
    ----------
    segment : Segment
    me : int
        Index of this process on its machine.
    ranks : list of int
        Rank of each member of the machine.
    hosts : dict
        {rank: host} of all ranks of the group.
    timeout, stall_timeout : float
        Seconds; see PeerWatch.
    lanes : int

    Attributes
    ----------
    lanes : list of Lane
        Independent of each other; each runs one collective at a time.
    """

    def __init__(self, segment, me, ranks, hosts, timeout, stall_timeout, lanes):
        layout = layout_of(len(ranks), lanes)
        segment.map(layout.nbytes)
        self._watch = PeerWatch(segment, layout, me, ranks, hosts, timeout, stall_timeout)
        self.lanes = [Lane(self._watch, lane) for lane in range(lanes)]
        self._segment = segment
        HEARTBEAT.add(self, timeout / 4)

    def beat(self):
        """Tells the other members that this process is alive."""
        self._watch.beat()

    @property
    def awaited_rank(self):
        """The rank that the oldest call here waits for, or None if not known."""
        members = (lane.awaited_member for lane in reversed(self.lanes))
        return next((self._watch.ranks[member] for member in members if member is not None), None)

    def await_elsewhere(self, rank):
        """Tells the other members which rank (or None) this process awaits over a socket."""
        self._watch.await_elsewhere(rank)

    def fail(self, error):
        """Reports an error to the other members, which raise it, even while waiting."""
        self._watch.fail(error)

    def leave(self):
        """Ends this member's part: members that wait for it, and its own threads, get an error."""
        self._watch.leave()

    def close(self):
        """Leaves, and releases the memory."""
        HEARTBEAT.discard(self)
        self.leave()
        self._segment.close()


def layout_of(members, lanes):
    """Returns the SegmentLayout for `members` members and `lanes` lanes."""
    return SegmentLayout(members, lanes, SLOT)
