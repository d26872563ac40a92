"""Layout of the memory that the members of a machine share.

Each number that one process writes and others read has its own cache line, to avoid false sharing.
"""

from typing import NamedTuple

LINE = 64  # bytes
PAGE = 4096
TEXT = 4096  # bytes for a member's error text
PARITIES = 2


class SegmentLayout(NamedTuple):
    """Byte offsets for `members` processes and `lanes` lanes with `slot` bytes per member.

    First come the lines of all members (beats, closed, awaits), of all lanes (go, arrived,
    entered), and the texts; then for each lane the slots: two of each member, and two for results.
    """

    members: int
    lanes: int
    slot: int

    @property
    def failed(self):
        """Offset of the number of the last member that reported a failure, plus 1; 0: none."""
        return 0

    def beats(self, member):
        """Returns the offset of the member's heartbeat counter."""
        return (1 + member) * LINE

    def closed(self, member):
        """Returns the offset of a flag that is 1 once the member has left."""
        return (1 + self.members + member) * LINE

    def awaits(self, member):
        """Returns the offset of the rank, plus 1, that the member awaits over a socket; 0: none."""
        return (1 + 2 * self.members + member) * LINE

    def _lane(self, lane):
        return (1 + 3 * self.members + lane * (1 + 2 * self.members)) * LINE

    def go(self, lane):
        """Returns the offset of the last step that all members have reached."""
        return self._lane(lane)

    def arrived(self, lane, member):
        """Returns the offset of the last step that the member has reached."""
        return self._lane(lane) + (1 + member) * LINE

    def entered(self, lane, member):
        """Returns the offset of two 64-bit numbers: the member's calls, by parity of the step."""
        return self._lane(lane) + (1 + self.members + member) * LINE

    def text(self, member):
        return self._lane(self.lanes) + member * TEXT

    @property
    def slots(self):
        """Offset of the slots, indexed [lane][parity][member, or the result at the end]."""
        return -(-self.text(self.members) // PAGE) * PAGE

    @property
    def shape(self):
        """Shape of all slots as one array of bytes."""
        return (self.lanes, PARITIES, self.members + 1, self.slot)

    @property
    def nbytes(self):
        return self.slots + self.lanes * PARITIES * (self.members + 1) * self.slot
