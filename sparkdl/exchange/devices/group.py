"""A Group whose sums go from device to device."""

from sparkdl.errors import DeviceError, PeerError
from sparkdl.exchange.calls.pending_call import Pending
from sparkdl.exchange.collectives import barrier
from sparkdl.exchange.collectives.operands import flat
from sparkdl.exchange.collectives.pieces import cuts
from sparkdl.exchange.devices.choice import CARRIED, format_ranks, is_carried
from sparkdl.exchange.devices.process_exit import end_soon
from sparkdl.exchange.devices.watchdog import Watchdog
from sparkdl.exchange.group import Group, check_rank


class DeviceGroup(Group):
    """The same members and calls as another Group's, which is not to be used beside it.

    Sums, broadcasts and gathers of numbers of 16 or 32 bits go by NCCL: of arrays of the host, to
    the device and back, and of vectors that stay on the device, by `add_up`. All else goes as
    before. Each call by NCCL is accompanied by one over sockets: so ranks whose calls differ, and
    peers that are gone, are found and named as in any Group. `sent_bytes` are those of sockets.

    Parameters
    ----------
    group : Group
    link : see sparkdl.engine.backends.link.Link
    """

    def __init__(self, group, link):
        super().__init__(group.members, group.rank, group._links, group._progress, group._context)
        self._numbers, self._levels, self._runner = group._numbers, group._levels, group._runner
        self._link, self._ticket = link, None
        self._watchdog = Watchdog(link, self, self._progress, end_soon)

    def describe(self):
        """Describes in a line how the members exchange."""
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
        """Lets the link do what `verb` says, beside a barrier of those who do the same."""
        self._progress.check()
        of = "".join(f" from {a}" for a in arguments if isinstance(a, int))
        text = f"{verb} of {len(vector)} {vector.dtype}{of} by NCCL"
        call = self._progress.start(self._call(text, barrier.barrier))
        return WatchedPending(call, self._put(text, verb, vector, *arguments), result)

    def _put(self, text, verb, *arguments):
        """Returns the WatchedCall for what the link does."""
        ticket = self._watchdog.watch(text)
        try:
            ticket.work = getattr(self._link, verb)(*arguments)
        except DeviceError as error:
            self._progress.check()  # it may be the end of what the watchdog has aborted
            self.fail(error)
            raise
        return ticket

    # Vectors that stay on the device; see Link. A call of all ranks must accompany each sum, such
    # as that of the weights which the factors are made of.

    def keep(self, name, weight):
        self._link.keep(name, weight)

    def clear(self, name):
        return self._link.clear(name)

    def add_up(self, name, part, factor, share, mark):
        """Begins the sum of a part of a vector; what `join_in` and `settle` wait for."""
        self._progress.check()
        text = f"the sum of {part.stop - part.start} {name} by NCCL"
        self._ticket = self._put(text, "add_up", name, part, factor, share, mark)

    def join_in(self):
        """Makes the device's next work wait for all sums that have begun."""
        self._link.join_in()

    def settle(self):
        """Waits for all sums that have begun; PeerError if one has failed."""
        ticket, self._ticket = self._ticket, None
        if ticket is not None:
            ticket.wait()

    # The watchdog and the thread that joins the link use these

    @property
    def timeout(self):
        return self._progress.timeout

    @property
    def stall_timeout(self):
        return self._progress.stall_timeout

    def look(self):
        """Raises PeerError if the group has failed, or is seen to."""
        self._progress.look()

    def fail(self, error):
        """Makes all members raise this error from now on."""
        self._progress.fail(error)

    def missing_error(self, what):
        """Returns the PeerError for all other members: NCCL does not tell which one it is."""
        others = [member for member in self.members if member.rank != self.members[self.rank].rank]
        hosts = ", ".join(sorted({member.host for member in others}))
        if len(others) == 1:
            return PeerError(others[0].rank, hosts, what)
        return PeerError(None, hosts, f"one of {format_ranks([m.rank for m in others])} {what}")


class WatchedPending(Pending):
    """A Pending of what devices do, and of the call over sockets beside it."""

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
