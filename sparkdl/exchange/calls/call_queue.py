"""Order of a group's calls: which are in progress, and which wait for their turn."""

import time
from collections import Counter, defaultdict, deque

from sparkdl.exchange.links.tag import group_of

AT_ONCE = 4  # concurrent calls per group: enough to keep links busy, few enough to bound early data


class CallQueue:
    """Starts a group's calls in order, a few at a time. Messages start at once.

    The oldest call is in progress on all ranks, so at least one call can always advance.

    Attributes
    ----------
    active : dict
        The calls in progress, oldest first.
    streams : dict
        {stream: tag} of the active calls that all ranks take part in.
    """

    def __init__(self):
        self.active, self.streams = {}, {}
        self._counts, self._waiting = Counter(), defaultdict(deque)
        self._ready = deque()

    @property
    def busy(self):
        return bool(self.active or self._ready or self._waiting)

    def add(self, call):
        """Queues a call; it starts at the next `advance`, or once earlier calls have ended."""
        call.on_end = self._finish
        group = group_of(call.tag)
        if call.shared and self._counts[group] >= AT_ONCE:
            self._waiting[group].append(call)
        else:
            self._counts[group] += call.shared
            self._ready.append(call)

    def advance(self):
        """Starts all calls that are ready."""
        while self._ready:
            call = self._ready.popleft()
            self.active[call] = None
            call.last_progress = time.monotonic()
            if call.shared:
                self.streams[call.stream] = call.tag
                for link in call.links:
                    if link is not None and link.box.early:
                        link.begin(call.tag)
            call.advance()

    def _finish(self, call):
        self.active.pop(call, None)
        if call.shared:
            self.streams.pop(call.stream, None)
            group = group_of(call.tag)
            self._counts[group] -= 1
            self._next(group)

    def _next(self, group):
        if group in self._waiting:
            queue = self._waiting[group]
            self._counts[group] += 1
            self._ready.append(queue.popleft())
            if not queue:
                del self._waiting[group]

    def clear(self):
        """Removes and returns all unfinished calls."""
        waiting = (call for queue in self._waiting.values() for call in queue)
        calls = [*self.active, *self._ready, *waiting]
        for call in calls:
            call.on_end = None
        for container in (self.active, self.streams, self._counts, self._waiting, self._ready):
            container.clear()
        return calls
