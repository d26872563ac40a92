"""The shared memory of one machine's members."""

from sparkdl.exchange.liveness.heartbeat import HEARTBEAT
from sparkdl.exchange.shared.lane import Lane
from sparkdl.exchange.shared.layout import SegmentLayout
from sparkdl.exchange.shared.peer_watch import PeerWatch

# Bytes. With 2 processes 64 MB took 23, 15, 12, 12, 14 ms with slots of 64 K, 256 K, 512 K, 1 M and
# 4 M; with 4 on 2 cores 171, 79, 69, 74, 62 ms. Smaller ones cost wake-ups, larger ones memory.
SLOT = 512 * 1024


class SharedMemory:
    """The memory that a process shares with the others of its group on its machine.

    Parameters
    ----------
    segment : Segment
    me : int
        This process among those of the machine.
    ranks : list of int
        Of each of them.
    hosts : dict
        {rank: host} of all ranks of the group.
    timeout, stall_timeout : float
        Seconds; see PeerWatch.
    lanes : int

    Attributes
    ----------
    lanes : list of Lane
        Independent of each other: each takes one collective at a time.
    """

    def __init__(self, segment, me, ranks, hosts, timeout, stall_timeout, lanes):
        layout = layout_of(len(ranks), lanes)
        segment.map(layout.nbytes)
        self._watch = PeerWatch(segment, layout, me, ranks, hosts, timeout, stall_timeout)
        self.lanes = [Lane(self._watch, lane) for lane in range(lanes)]
        self._segment = segment
        HEARTBEAT.add(self, timeout / 4)

    def beat(self):
        """Tells the others that this process is alive."""
        self._watch.beat()

    @property
    def awaited_rank(self):
        """The rank that the oldest call waits for here, None if it is not known to wait."""
        members = (lane.awaited_member for lane in reversed(self.lanes))
        return next((self._watch.ranks[member] for member in members if member is not None), None)

    def await_elsewhere(self, rank):
        """Tells the others that this process waits for a rank (None: no) over a socket."""
        self._watch.await_elsewhere(rank)

    def fail(self, error):
        """Tells the others of this machine what went wrong: they raise it, also if they wait."""
        self._watch.fail(error)

    def leave(self):
        """Ends this member's part: others that wait for it get an error, also its own threads."""
        self._watch.leave()

    def close(self):
        """Leaves, and lets go of the memory."""
        HEARTBEAT.discard(self)
        self.leave()
        self._segment.close()


def layout_of(members, lanes):
    """Returns the SegmentLayout of a machine with so many members."""
    return SegmentLayout(members, lanes, SLOT)
