"""Connections between hosts that are slow, cut, or gone, and whose order changes on the way."""

import itertools
import math

from tests.chaos.simulation.world import Waitable

CAPACITY = 256 << 10  # bytes that a connection holds which nobody has read yet
SPLIT = 0.1  # chance that bytes sent at once arrive in two parts
DIALS_LATE = 0.05  # seconds by which a new connection may come later than another


class Network:
    """All connections, and when their bytes arrive."""

    def __init__(self, world):
        self.world, self.numbers, self.by_number = world, itertools.count(3), {}
        self.listeners, self.cuts, self.delays, self.hosts = {}, [], {}, {}

    def number(self, thing):
        """Returns a new number of a file, as the system gives it."""
        number = next(self.numbers)
        self.by_number[number] = thing
        return number

    def cut(self, one_side, start, end, one_way=False):
        """Lets nothing pass between a set of processes and all others from start to end.

        With `one_way` only what they send is lost.
        """
        self.cuts.append((one_side, start, end, one_way))

    def arrival(self, one, other, sent):
        """Returns when what one process sends reaches another; infinity for never."""
        base = self.delays.setdefault((one, other), 0.0001 + 0.002 * self.world.random.random())
        time = sent + base * (1 + self.world.random.random())
        for side, start, end, one_way in self.cuts:
            crosses = (one in side) != (other in side) and (one in side or not one_way)
            if crosses and start <= time < end:
                time = end + base
        return time

    def kill(self, process):
        """Ends a process; the system of its host hangs up for it."""
        self.world.kill(process)
        for sock in list(process.sockets):
            sock.close()


class Connection(Waitable):
    """One end of a connection.

    Attributes
    ----------
    in_flight, unread : int
        Bytes sent that have not arrived; that have, and lie with the other's unread ones.
    """

    def __init__(self, network, process):
        super().__init__()
        self.network, self.world, self.process = network, network.world, process
        self.number, self.peer, self.pollers = network.number(self), None, {}
        self.inbox, self.least = bytearray(), 1
        self.has_end = self.is_reset = self.is_closed = self.has_shut = False
        self.in_flight = self.unread = 0
        self._last_arrival = 0.0
        process.sockets.append(self)

    @property
    def room(self):
        return CAPACITY - self.in_flight - self.unread

    @property
    def is_readable(self):
        return len(self.inbox) >= self.least or self.has_end or self.is_reset

    @property
    def is_writable(self):
        return self.room > 0 or self.is_reset

    @property
    def is_over(self):
        return self.is_reset or (self.has_end and self.has_shut)

    def touch(self):
        """Has all look again who wait for this end."""
        for poll in self.pollers:
            poll.candidates.add(self.number)
            self.world.changed(poll)
        self.world.changed(self)

    def push(self, data):
        """Sends as much as there is room for; returns the bytes."""
        if self.is_closed:
            raise OSError(9, "Bad file descriptor")
        if self.is_reset or self.has_shut:
            raise BrokenPipeError(32, "Broken pipe")
        data = bytes(data[: self.room])
        middle = len(data)
        if middle > 1 and self.world.random.random() < SPLIT:
            middle = self.world.random.randrange(1, middle)
        for part in filter(None, (data[:middle], data[middle:])):
            self.in_flight += len(part)
            self._later(lambda part=part: self._deliver(part))
        return len(data)

    def take(self, count):
        """Returns so many bytes that have come, at most; ConnectionResetError after a reset."""
        part = bytes(self.inbox[:count])
        del self.inbox[:count]
        if part:
            self.peer.unread -= len(part)
            self.peer.touch()
        elif self.is_reset:
            raise ConnectionResetError(104, "Connection reset by peer")
        return part

    def shut(self):
        """Lets the peer see an end behind all that was sent."""
        if not self.has_shut and self.peer is not None:
            self.has_shut = True
            self._later(self._deliver_end)

    def close(self):
        """Hangs up: in order, or by a reset if bytes of the peer have not been read."""
        if self.is_closed:
            return
        self.is_closed = True
        self.process.sockets.remove(self)
        self.network.by_number.pop(self.number, None)
        if self.peer is None:
            return
        if self.inbox:
            self._send_reset()
        else:
            self.shut()
        self.touch()

    def _later(self, act):
        """Has act() called when what is sent now arrives; all arrives in the order sent."""
        time = self.network.arrival(self.process, self.peer.process, self.world.now)
        self._last_arrival = time = max(time, self._last_arrival)
        if time < math.inf:
            self.world.at(time, act)

    def _deliver(self, part):
        self.in_flight -= len(part)
        peer = self.peer
        if peer.is_closed:
            peer._send_reset()
        elif not peer.is_reset:
            peer.inbox += part
            self.unread += len(part)
            peer.touch()
        self.touch()

    def _deliver_end(self):
        self.peer.has_end = True
        self.peer.touch()

    def _send_reset(self):
        def arrive():
            self.peer.is_reset = True
            self.peer.touch()

        self._later(arrive)


class Listener(Waitable):
    """A socket that listens; connections come in the order of their arrival."""

    def __init__(self, network, process, address):
        super().__init__()
        self.network, self.process, self.address = network, process, address
        self.backlog, self.is_closed = [], False
        process.sockets.append(self)
        network.listeners[address] = self

    def close(self):
        if not self.is_closed:
            self.is_closed = True
            self.process.sockets.remove(self)
            self.network.listeners.pop(self.address, None)
            for one in self.backlog:
                one.close()
            self.network.world.changed(self)


def dial(network, process, address, until):
    """Returns the near end of a new connection; what a socket raises if there is none in time."""
    world, outcome = network.world, Waitable()
    outcome.result = None
    host = network.hosts[address[0]]

    def reach():
        listener = network.listeners.get(address)
        if listener is None:
            answer(None)
            return
        here, there = Connection(network, process), Connection(network, host)
        here.peer, there.peer = there, here
        listener.backlog.append(there)
        world.changed(listener)
        answer(here)

    def answer(result):
        back = network.arrival(host, process, world.now)
        if back < math.inf:
            world.at(back, lambda: finish(result))

    def finish(result):
        outcome.result = (result,)
        world.changed(outcome)

    late = world.random.random() * DIALS_LATE
    there = network.arrival(process, host, world.now + late)
    if there < math.inf:
        world.at(there, reach)
    while outcome.result is None:
        if until is not None and world.now >= until:
            raise TimeoutError("timed out")
        world.wait([outcome], until)
    if outcome.result[0] is None:
        raise ConnectionRefusedError(111, "Connection refused")
    return outcome.result[0]
