"""Group whose sums run directly between devices."""

from sparkdl.errors import DeviceError, PeerError
from sparkdl.exchange.calls.pending_call import Pending
from sparkdl.exchange.collectives import barrier
from sparkdl.exchange.collectives.operands import flat
from sparkdl.exchange.collectives.pieces import cuts
from sparkdl.exchange.devices.choice import CARRIED, format_ranks, is_carried
from sparkdl.exchange.devices.process_exit import end_soon
from sparkdl.exchange.devices.watchdog import Watchdog
from sparkdl.exchange.group import Group, check_rank
from sparkdl.thread_start import NoThread


class DeviceGroup(Group):
    """A Group with the members and calls of another Group, which it replaces.

    NCCL carries sums, broadcasts and gathers of 16-bit and 32-bit floating-point numbers: host
    arrays are copied to the device and back, and `add_up` sums vectors that stay on the device. All
    else goes as before. `start_reduce_scatter` does too, except for short vectors, so its sums may
    differ from those of `all_reduce` in their last bits. Each NCCL call is accompanied by a call
    over sockets, so mismatched calls and lost peers are detected and named as in any Group.
    `sent_bytes` counts sockets only.

    Parameters
    ----------
    group : Group
    link : see sparkdl.engine.backends.link.Link
    """

    def __init__(self, group, link):
        super().__init__(group.members, group.rank, group._links, group._progress, group._context)
        self._numbers, self._levels, self._runner = group._numbers, group._levels, group._runner
        self._link, self._ticket = link, None
        try:
            self._watchdog = Watchdog(link, self, self._progress, end_soon)
        except NoThread as error:
            self.fail(error)  # the others wait for this rank in NCCL
            raise

    def describe(self):
        """Describes in one line how the members exchange."""
        return f"{self.size} GPUs exchange {', '.join(CARRIED)} by NCCL {self._link.version}"

    def start_all_reduce(self, x, op="sum"):
        if not is_carried(x, op):
            return super().start_all_reduce(x, op)
        return self._start("all_reduce", flat(x, "all_reduce"), x)

    def all_reduce(self, x, op="sum"):
        if not is_carried(x, op):
            return super().all_reduce(x, op)
        return self.start_all_reduce(x).wait()

    def reduce_scatter(self, x, op="sum"):
        if not is_carried(x, op):
            return super().reduce_scatter(x, op)
        vector = flat(x, "reduce_scatter")
        own, edges = vector[self.part(len(vector))], cuts(len(vector), self.size)
        return self._start("reduce_scatter", vector, own, edges).wait()

    def all_gather(self, x, out):
        if not is_carried(out):
            return super().all_gather(x, out)
        vector, _ = self._parts(x, out)
        return self._start("all_gather", vector, out, cuts(len(vector), self.size)).wait()

    def broadcast(self, x, root=0):
        if not is_carried(x):
            return super().broadcast(x, root)
        check_rank(root, self.size)
        return self._start("broadcast", flat(x, "broadcast"), x, root).wait()

    def _start(self, verb, vector, result, *arguments):
        """Starts the link's method `verb` along with a barrier over sockets for the same call."""
        self._progress.check()
        of = "".join(f" from {a}" for a in arguments if isinstance(a, int))
        text = f"{verb} of {len(vector)} {vector.dtype}{of} by NCCL"
        call = self._progress.start(self._call(text, barrier.barrier))
        return WatchedPending(call, self._put(text, verb, vector, *arguments), result)

    def _put(self, text, verb, *arguments):
        """Starts work on the link under the watchdog; returns its WatchedCall."""
        ticket = self._watchdog.watch(text)
        try:
            ticket.work = getattr(self._link, verb)(*arguments)
        except DeviceError as error:
            self._progress.check()  # the watchdog may have aborted it
            self.fail(error)
            raise
        return ticket

    # Vectors that stay on the device; see Link. Each sum must be accompanied by a call of all
    # ranks, such as the sum of the weights from which the factors are computed.

    def keep(self, name, weight):
        self._link.keep(name, weight)

    def clear(self, name):
        return self._link.clear(name)

    def add_up(self, name, part, factor, share, mark):
        """Begins the sum of a part of a vector; `join_in` and `settle` wait for it."""
        self._progress.check()
        text = f"the sum of {part.stop - part.start} {name} by NCCL"
        self._ticket = self._put(text, "add_up", name, part, factor, share, mark)

    def join_in(self):
        """Makes subsequent work on the device wait for all sums begun so far."""
        self._link.join_in()

    def settle(self):
        """Waits for all sums begun so far; raises PeerError if one has failed."""
        ticket, self._ticket = self._ticket, None
        if ticket is not None:
            ticket.wait()

    # Used by the watchdog and by the thread that joins the link

    @property
    def timeout(self):
        return self._progress.timeout

    @property
    def stall_timeout(self):
        return self._progress.stall_timeout

    def look(self):
        """Raises PeerError if the group has failed; checks for lost peers."""
        self._progress.look()

    def fail(self, error):
        """Fails the group with this error on all members."""
        self._progress.fail(error)

    def missing_error(self, what):
        """Returns a PeerError about all other members: NCCL does not tell which one is missing."""
        others = [member for member in self.members if member.rank != self.members[self.rank].rank]
        hosts = ", ".join(sorted({member.host for member in others}))
        if len(others) == 1:
            return PeerError(others[0].rank, hosts, what)
        return PeerError(None, hosts, f"one of {format_ranks([m.rank for m in others])} {what}")


class WatchedPending(Pending):
    """A Pending of device work and of the accompanying call over sockets."""

    def __init__(self, call, ticket, result):
        super().__init__(call, result)
        self._ticket = ticket

    @property
    def is_done(self):
        return super().is_done and self._ticket.is_done

    def wait(self):
        super().wait()
        self._ticket.wait()
        return self._result
