"""The shared memory of one machine's members."""

from sparkdl.exchange.pulse import PULSE
from sparkdl.exchange.shared.lane import Lane
from sparkdl.exchange.shared.layout import Layout
from sparkdl.exchange.shared.watch import Watch

LANES = 2
SLOT = 512 * 1024  # bytes


class SharedMemory:
    """What a process shares with the others of its group on its machine.

    Parameters
    ----------
    segment : Segment
    ranks : list of int
        Of the group: the members of this machine, in order.
    rank : int
        This process's in the group.
    host : str
        For errors.
    timeout, patience : float
        Seconds; see Watch.

    Attributes
    ----------
    lanes : list of Lane
        Independent of each other: each takes one collective at a time.
    """

    def __init__(self, segment, ranks, rank, host, timeout, patience):
        self.ranks = ranks
        layout = layout_of(len(ranks))
        segment.map(layout.nbytes)
        self._watch = Watch(segment, layout, ranks.index(rank), ranks, host, timeout, patience)
        self.lanes = [Lane(self._watch, lane) for lane in range(LANES)]
        self._segment = segment
        PULSE.add(self, timeout / 4)

    def beat(self):
        """Tell the others that this process is alive."""
        self._watch.beat()

    def fail(self, error):
        """Tell the others of this machine what went wrong: they raise it, also if they wait."""
        self._watch.fail(error)

    def close(self):
        """Leave. Whoever waits for this process from now on gets an error."""
        PULSE.discard(self)
        self._watch.leave()
        self._segment.close()


def layout_of(members):
    """The Layout of a machine with so many members."""
    return Layout(members, LANES, SLOT)
