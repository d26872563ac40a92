"""Steps that synchronize the members of a machine: none continues before all have arrived.

Microseconds per step with 2 and 4 processes, by the way in which a process waits for the last one,
measured on 2 cores with other load:

    ======================================================  ====  ====
    bytes on a socket between each two                      11.2  63.4
    an eventfd of each process, written by the last          6.3  18.1
    futex: the last one wakes all                            8.9  30.5
    100 looks at the number, then futex                     13.6  45.8
    2000 looks at the number, then futex                     108   269
    5 times sched_yield and a look, then futex               4.5   7.2
    20 times sched_yield and a look, then futex              5.3  13.1
    ======================================================  ====  ====

Busy polling takes a core from the awaited process; yielding the core does not.
"""

import os
from threading import Lock

from sparkdl.exchange.shared import futex
from sparkdl.exchange.shared.peer_watch import PeerWait

YIELDS = 10
MASK = 0xFFFFFFFF


class Steps:
    """One member's part in the steps of a lane.

    Each member writes only its own counter, the last step it has reached. A member that sees all
    others at its step sets "go"; two may see it at once and write the same value.
    """

    def __init__(self, watch, lane):
        layout, members = watch.layout, range(watch.layout.members)
        self.number = 0
        self.awaited_member = None  # a member that keeps this one waiting, or None
        self._watch, self._words, self._fence = watch, watch.words, Lock()
        self._mine = layout.arrived(lane, watch.me) // 4
        self._arrived = [layout.arrived(lane, member) // 4 for member in members]
        self._go = layout.go(lane) // 4
        self._address = watch.address(layout.go(lane))

    def reach(self, what):
        """Reaches the next step; returns when all members have.

        Data written before the step is visible to all members after it. Raises PeerError if a
        member does not arrive; `what` describes the call for the error.
        """
        words = self._words
        self.number = step = (self.number + 1) & MASK
        words[self._mine] = step
        with self._fence:  # a memory barrier: write that number before reading the others
            pass
        if any(words[place] != step for place in self._arrived):
            self._wait(step, what)
        else:
            words[self._go] = step
            futex.wake(self._address)

    def _wait(self, step, what):
        words, go = self._words, self._go
        for _ in range(YIELDS):
            if words[go] == step:
                return
            os.sched_yield()
        wait = PeerWait(self._watch, what)
        while words[go] != step:
            futex.sleep(self._address, (step - 1) & MASK)
            if words[go] != step:
                missing = self._missing(step)
                self.awaited_member = missing[0] if missing else None
                wait.check(missing, lambda: words[go] == step)
        self.awaited_member = None

    def _missing(self, step):
        return [m for m, place in enumerate(self._arrived) if self._words[place] != step]
