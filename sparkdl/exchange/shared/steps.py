"""Steps that the members of a machine take together: none goes on before all have come.

Measured on 2 cores with other load, microseconds per step with 2 and with 4 processes, and how a
process waits for the last one:

    ======================================================  ====  ====
    bytes on a socket between each two                      11.2  63.4
    an eventfd of each process, written by the last          6.3  18.1
    futex: the last one wakes all                            8.9  30.5
    100 looks at the number, then futex                     13.6  45.8
    2000 looks at the number, then futex                     108   269
    5 times sched_yield and a look, then futex               4.5   7.2
    20 times sched_yield and a look, then futex              5.3  13.1
    ======================================================  ====  ====

Looking again and again keeps a core from the process that is awaited; giving the core away does
not.
"""

import os
from threading import Lock

from sparkdl.exchange.shared import futex
from sparkdl.exchange.shared.peer_watch import PeerWait

YIELDS = 10
MASK = 0xFFFFFFFF


class Steps:
    """One member's part in the steps of a lane.

    Each member writes only its own number: the last step it has reached. Whoever sees that all
    have reached a step says "go"; two may see it at once, and say the same.
    """

    def __init__(self, watch, lane):
        layout, members = watch.layout, range(watch.layout.members)
        self.number = 0
        self.awaited_member = None  # a member, if one keeps this one waiting
        self._watch, self._words, self._fence = watch, watch.words, Lock()
        self._mine = layout.arrived(lane, watch.me) // 4
        self._arrived = [layout.arrived(lane, member) // 4 for member in members]
        self._go = layout.go(lane) // 4
        self._address = watch.address(layout.go(lane))

    def reach(self, what):
        """Comes to the next step; returns when all have. What was written before is seen after.

        Raises PeerError if one does not come; `what` says what it should have come for.
        """
        words = self._words
        self.number = step = (self.number + 1) & MASK
        words[self._mine] = step
        with self._fence:  # the processor writes that number before it reads the others
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
