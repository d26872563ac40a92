"""Collectives of a machine's members, one at a time, through slots of shared memory.

All follow one rule: data that a member writes before a step is read by the others before the next
step. Slots are doubled, so a member writes one while the other is read.

Measured on 2 cores with other load: an all-reduce of 64 MB takes 15 ms with 2 processes (60 ms over
sockets) and 91 ms with 4 (218 ms); one of 4 KB takes 28 us (221 us) and 138 us (537 us).
"""

from functools import partial
from itertools import pairwise
from threading import Lock

import numpy as np

from sparkdl.exchange.collectives.algorithm import is_short
from sparkdl.exchange.collectives.pieces import equal_bounds
from sparkdl.exchange.collectives.sums import add_around, add_in_pairs
from sparkdl.exchange.shared.call import DTYPES, SharedCall
from sparkdl.exchange.shared.layout import PARITIES
from sparkdl.exchange.shared.pieces import Pieces
from sparkdl.exchange.shared.steps import Steps

ADD = {"sum": np.add, "max": np.maximum, "min": np.minimum}
# Bytes of the others' data up to which each member adds up everything itself, in one step instead
# of three. With 2, 4 and 6 processes, 256 KB took 127, 450 and 1080 us this way, 187, 621 and 2620
# us in turns.
AT_ONCE = 3 << 19
EMPTY = np.empty(0, np.uint8)


class Lane:
    """One member's part in the collectives of a lane; all members make the same calls in order.

    Vectors are contiguous arrays (n,) of float32, float64, int64 or uint8. Sums are made in the
    same order as over sockets (collectives/sums.py), so they are bitwise equal.

    Parameters
    ----------
    watch : Watch
    lane : int
    """

    def __init__(self, watch, lane):
        layout, memory = watch.layout, watch.segment.memory
        self.me, self.members = watch.me, layout.members
        self._slot_bytes = layout.slot
        self._watch, self._steps, self._one_at_a_time = watch, Steps(watch, lane), Lock()
        self._calls = memoryview(memory).cast("q")
        self._call_at = [layout.entered(lane, member) // 8 for member in range(self.members)]
        slots = np.frombuffer(memory, np.uint8, np.prod(layout.shape), layout.slots)
        slots = slots.reshape(layout.shape)[lane]
        self._slots = {
            dtype: [list(slots[parity].view(dtype)) for parity in range(PARITIES)]
            for dtype in DTYPES
        }

    @property
    def awaited_member(self):
        """The member that the call in progress waits for, or None if not known."""
        return self._steps.awaited_member

    def barrier(self):
        """Waits until all members have called this."""
        with self._one_at_a_time:
            self._enter(SharedCall.about("barrier", EMPTY))

    def all_reduce(self, x, op="sum"):
        """Replaces x (n,) by its sum (or "max", "min") over the members."""
        call = SharedCall.about(f"all_reduce {op}", x)
        with self._one_at_a_time:
            if x.nbytes <= min(AT_ONCE // (self.members - 1), self._slot_bytes):
                self._add_at_once(x, call, ADD[op])
            else:
                self._add_in_turns(x, call, ADD[op])

    def reduce_scatter(self, x, bounds, op="sum"):
        """Replaces x[start:stop] of bounds[i] by its sum on member i; the rest of x stays."""
        call = SharedCall.about(f"reduce_scatter {op}", x, bounds)
        slots, pieces = self._slots[x.dtype], self._pieces(x, bounds, len(bounds))
        with self._one_at_a_time:
            for turn in range(max(1, pieces.turns)):
                self._offer(slots, pieces, x, turn)
                self._next(call, turn)
                if self.me < len(bounds):
                    self._add(slots, pieces, x, turn, self._around(ADD[op]))

    def all_gather(self, x, bounds, bytes_of=""):
        """Copies x[start:stop] of bounds[i] from member i to all; a broadcast if one has any.

        `bytes_of` names the type of the numbers of which x is the bytes; members must agree on it.
        """
        call = SharedCall.about("all_gather", x, bounds, bytes_of)
        slots, pieces = self._slots[x.dtype], self._pieces(x, bounds, 1)
        others = [owner for owner in range(len(bounds)) if owner != self.me]
        with self._one_at_a_time:
            for turn in range(max(1, pieces.turns)):
                if self.me < len(bounds):
                    piece_of_this = pieces.of(x, self.me, turn)
                    self._free_slots(slots)[self.me][: piece_of_this.size] = piece_of_this
                self._next(call, turn)
                for owner in others:
                    piece = pieces.of(x, owner, turn)
                    piece[:] = self._readable(slots)[owner][: piece.size]

    def all_gather_bytes(self, data):
        """Returns the bytes of all members, [uint8 array by member]; lengths may differ."""
        lengths = np.zeros(self.members, np.int64)
        lengths[self.me] = len(data)
        self.all_gather(lengths, [(member, member + 1) for member in range(self.members)])
        edges = [0, *np.cumsum(lengths).tolist()]
        joined, bounds = np.empty(edges[-1], np.uint8), list(pairwise(edges))
        parts = [joined[start:stop] for start, stop in bounds]
        parts[self.me][:] = data
        self.all_gather(joined, bounds)
        return parts

    def _add_at_once(self, x, call, add):
        slots = self._slots[x.dtype]
        self._free_slots(slots)[self.me][: x.size] = x
        self._enter(call)
        parts = [slot[: x.size] for slot in self._readable(slots)[:-1]]
        if is_short(x.nbytes) or self.members == 2:  # two members have only one order
            add_in_pairs(parts, add, x)
            return
        for owner, (start, stop) in enumerate(equal_bounds(x.size, self.members)):
            add_around([part[start:stop] for part in parts], owner, add, x[start:stop])

    def _around(self, add):
        """Returns a function (parts, out) that sums parts of this member's chunk."""
        return partial(add_around, owner=self.me, add=add)

    def _add_in_turns(self, x, call, add):
        """Sums in pipelined turns: one turn is offered, one summed, and one taken at a time."""
        slots = self._slots[x.dtype]
        pieces = self._pieces(x, equal_bounds(x.size, self.members), self.members)
        sums = partial(add_in_pairs, add=add) if is_short(x.nbytes) else self._around(add)
        for turn in range(pieces.turns + 2):
            if turn < pieces.turns:
                self._offer(slots, pieces, x, turn)
            if 1 <= turn <= pieces.turns:
                self._add(slots, pieces, x, turn - 1, sums)
            if turn >= 2:
                self._take(slots, pieces, x, turn - 2)
            if turn <= pieces.turns:
                self._next(call, turn)

    def _pieces(self, x, bounds, sharing):
        """Returns pieces of x small enough for `sharing` of them to fit into a slot."""
        return Pieces(bounds, self._slot_bytes // x.itemsize // sharing)

    def _offer(self, slots, pieces, x, turn):
        """Writes the pieces that the other members add up."""
        slot = self._free_slots(slots)[self.me]
        for owner in range(len(pieces.bounds)):
            if owner != self.me:
                piece = pieces.of(x, owner, turn)
                pieces.room(slot, owner, piece)[:] = piece

    def _add(self, slots, pieces, x, turn, sums):
        """Sums this member's piece over all members by sums(parts, out=); publishes the result."""
        own_piece = pieces.of(x, self.me, turn)
        parts = [
            own_piece if member == self.me else pieces.room(slot, self.me, own_piece)
            for member, slot in enumerate(self._readable(slots)[:-1])
        ]
        result = pieces.room(self._free_slots(slots)[-1], self.me, own_piece)
        sums(parts, out=result)
        own_piece[:] = result

    def _take(self, slots, pieces, x, turn):
        """Copies the sums that the other members have published."""
        result = self._readable(slots)[-1]
        for owner in range(self.members):
            if owner != self.me:
                piece = pieces.of(x, owner, turn)
                piece[:] = pieces.room(result, owner, piece)

    def _free_slots(self, slots):
        """Returns the slots that are not read before the next step."""
        return slots[(self._steps.number + 1) % PARITIES]

    def _readable(self, slots):
        """Returns the slots that were written before the last step."""
        return slots[self._steps.number % PARITIES]

    def _next(self, call, turn):
        """Takes the next step; the first turn also checks the calls of the other members."""
        if turn:
            self._steps.reach(call)
        else:
            self._enter(call)

    def _enter(self, call):
        """Takes the first step of a collective; raises PeerError if the members' calls differ."""
        error = self._watch.error()
        if error is not None:
            raise error
        number, parity = call.pack(), (self._steps.number + 1) % PARITIES
        calls, places = self._calls, self._call_at
        calls[places[self.me] + parity] = number
        self._steps.reach(call)
        if any(calls[place + parity] != number for place in places):
            self._refuse([SharedCall.unpack(calls[place + parity]) for place in places])

    def _refuse(self, calls):
        """Blames the first member that differs from member 0, which is the same on all members."""
        member = next(member for member, call in enumerate(calls) if call != calls[0])
        what = f"entered {calls[member]} where rank {self._watch.ranks[0]} entered {calls[0]}"
        cure = "all ranks must make the same calls, with arrays of the same type and size"
        error = self._watch.complaint(member, f"{what}; {cure}")
        self._watch.fail(error)
        raise error
