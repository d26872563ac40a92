"""Watch that waits for events on all links at once."""

import contextlib
import os
import select
import time

from sparkdl.errors import PeerError

AWAKE = 50e-6  # seconds of busy polling


class LinkWatch:
    """Reads and flushes links as their sockets become ready; another thread may wake it.

    Attributes
    ----------
    links : list of Link
    changed : set
        Links whose events to poll for have changed.
    """

    def __init__(self):
        self.links, self.changed = [], set()
        self._by_number, self._poll = {}, select.poll()
        self._wake_requested = self._is_waiting = False
        self._wake_reader, self._wake_writer = os.pipe()
        for end in (self._wake_reader, self._wake_writer):
            os.set_blocking(end, False)
        self._poll.register(self._wake_reader, select.POLLIN)

    def add(self, link):
        self.links.append(link)
        self._by_number[link.fileno()] = link
        self._poll.register(link, select.POLLIN)

    def ring(self):
        """Wakes a `turn` waiting in another thread, or makes the next one return at once."""
        self._wake_requested = True
        if not self._is_waiting:
            return
        with contextlib.suppress(BlockingIOError):  # enough wake-ups are queued
            os.write(self._wake_writer, b"!")

    def turn(self, seconds, awake=False):
        """Serves links that are ready, after waiting for one for at most `seconds`.

        With `awake` it first polls repeatedly for a short time, since the answer to a short message
        arrives sooner than a sleeping thread wakes up. It yields the core between polls.
        """
        for link in self.changed:
            if not link.has_left:
                self._poll.modify(link, interest(link))
        self.changed.clear()
        for number, event in (awake and self._soon()) or self._sleep(seconds):
            if number == self._wake_reader:
                os.read(self._wake_reader, 1 << 16)
            else:
                self._serve(self._by_number[number], event)

    def _sleep(self, seconds):
        """Returns the poll events within `seconds`."""
        self._is_waiting = True  # from now on `ring` writes to the pipe
        events = self._poll.poll(0 if self._wake_requested else 1000 * seconds)
        self._is_waiting = self._wake_requested = False
        return events

    def _soon(self):
        """Returns the poll events within AWAKE seconds of busy polling."""
        end = time.perf_counter() + AWAKE
        while not (events := self._poll.poll(0)) and time.perf_counter() < end:
            os.sched_yield()
        return events

    def _serve(self, link, event):
        if event & select.POLLOUT:
            link.flush()
        if event & ~select.POLLOUT:
            link.read(time.monotonic())
            if link.has_left:
                self._poll.unregister(link)

    def flush(self, seconds):
        """Sends queued data on all links, for at most `seconds`."""
        end = time.monotonic() + seconds
        open_ones = {link.fileno(): link for link in self.links if link.is_blocked}
        while open_ones and (remaining := end - time.monotonic()) > 0:
            poll = select.poll()
            for number in open_ones:
                poll.register(number, select.POLLOUT)
            for number, event in poll.poll(1000 * remaining):
                if event & ~select.POLLOUT or not flush(open_ones[number]):  # closed, or all sent
                    del open_ones[number]

    def settle(self, seconds):
        """Waits until all peers' hosts have received the data sent, for at most `seconds`."""
        end, pause, links = time.monotonic() + seconds, 0.0001, self.links
        while (links := [link for link in links if is_sending(link)]) and time.monotonic() < end:
            time.sleep(pause)
            pause = min(2 * pause, 0.05)

    def close(self):
        for link in self.links:
            link.close()
        os.close(self._wake_reader)
        os.close(self._wake_writer)


def interest(link):
    return (0 if link.full else select.POLLIN) | (select.POLLOUT if link.is_blocked else 0)


def is_sending(link):
    """Returns whether data is in transit to a peer that has not hung up."""
    if link.has_left or not link.unconfirmed_bytes:
        return False
    poll = select.poll()
    poll.register(link, 0)
    return not poll.poll(0)  # poll reports a closed connection without being asked


def flush(link):
    """Sends what there is room for; returns whether more is queued."""
    try:
        link.flush()
        return link.is_blocked
    except PeerError:
        return False
