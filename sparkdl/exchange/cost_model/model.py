"""Cost model of the exchanges, computed from a few constants that a short run measures.

Alpha-beta models: a message costs its latency and its bytes by the bandwidth. What processors do
to a byte (moving it through a connection, adding it, encoding it) is counted apart, in seconds of
a core, as workers share cores and it may take longer than the wire does.
"""

from dataclasses import dataclass
from math import ceil, log2, sqrt

from sparkdl.errors import require

# Of Spark 4.0 in local-cluster mode, by `bench exchange --only averaging_round`.
JOB, DRIVER = 0.05, 9e-9


@dataclass(frozen=True, kw_only=True)
class Costs:
    """The cost of each part of one process's work; see `measurement` beside this module.

    Parameters
    ----------
    message : float
        Seconds until a small message between two processes of this machine is there.
    socket : float
        Seconds of a core to send a byte through a connection and to receive one.
    add : float
        Seconds of a core to add a byte of one float32 vector to another.
    shared : float
        Seconds of a core for a byte of a vector that others of the machine add up: it is shown to
        them, as much is added, and as much taken back.
    barrier : float
        Seconds for processes of a machine to meet in shared memory: the sum of a small vector.
    job : float
        Seconds that Spark takes to run a round of tasks that have nothing to do.
    driver : float
        Seconds of a core for a byte that passes through Spark: broadcast, or collected.
    """

    message: float
    socket: float
    add: float
    shared: float
    barrier: float
    job: float = JOB
    driver: float = DRIVER


@dataclass(frozen=True, kw_only=True)
class Coding:
    """The effect of a codec on a vector: its size and the time it takes.

    Parameters
    ----------
    name : str
    ratio : float
        Bytes of a message for each byte of the vector.
    encode, decode : float
        Seconds of a core for a byte of the vector.
    to_all : bool
        Whether messages go to all; else each process sums a stripe and encodes the sum again.
    """

    name: str
    ratio: float
    encode: float
    decode: float
    to_all: bool


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """The cost of one exchange.

    Parameters
    ----------
    seconds : float
    sent : float
        Bytes that leave one worker.
    """

    seconds: float
    sent: float

    def __add__(self, other):
        return Exchange(seconds=self.seconds + other.seconds, sent=self.sent + other.sent)


FREE = Exchange(seconds=0.0, sent=0.0)


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Workers on machines that are alike, and the network between them.

    Parameters
    ----------
    costs : Costs
    workers : int
    per_machine : int
        Workers on each machine, which share its cores and its connection.
    cores : int
        Of each machine.
    bandwidth : float
        Bytes a second that leave a machine, and as many that arrive; inf: what processors can do.
    latency : float
        Seconds for a byte from one machine to another, on top of `costs.message`.
    shared_memory : bool
        Whether workers of one machine sum there first.
    """

    costs: Costs
    workers: int
    per_machine: int = 1
    cores: int = 1
    bandwidth: float = float("inf")
    latency: float = 0.0
    shared_memory: bool = True

    def __post_init__(self):
        for name in ("workers", "per_machine", "cores"):
            require(self, name, getattr(self, name) >= 1, "an integer >= 1")
        require(self, "bandwidth", self.bandwidth > 0, "above 0 bytes a second")
        require(self, "latency", self.latency >= 0, "at least 0 seconds")

    @property
    def machines(self):
        return ceil(self.workers / self.per_machine)

    @property
    def crowd(self):
        """The factor by which work slows down because workers wait for cores."""
        return max(1.0, min(self.per_machine, self.workers) / self.cores)

    @property
    def delay(self):
        """Seconds until a small message is there."""
        return self.costs.message * self.crowd + self.latency * (self.machines > 1)

    def transfer(self, nbytes, work=0.0, through=None):
        """Returns the seconds in which each worker sends so many bytes and receives as many.

        Parameters
        ----------
        nbytes : float
        work : float
            Seconds of a core for what else is done with them meanwhile.
        through : float or None
            Bytes that leave a machine meanwhile; None: what one worker sends, as in a ring.
        """
        wire = (nbytes if through is None else through) / self.bandwidth
        return max((nbytes * self.costs.socket + work) * self.crowd, wire * (self.machines > 1))

    def all_reduce(self, nbytes):
        """Returns the Exchange of a sum over all workers: shared memory, then connections."""
        local = min(self.per_machine, self.workers)
        if not self.shared_memory or local == 1:
            return self.over_links(nbytes, self.workers)
        nbytes_shared = nbytes * (local - 1) / local
        seconds = (self.costs.shared * nbytes_shared + self.costs.barrier) * self.crowd
        inside = Exchange(seconds=seconds, sent=0.0)
        return inside + self.one_of_each().over_links(nbytes, self.machines)

    def reduce_scatter(self, nbytes):
        """Returns the Exchange in which each worker gets the sum of its part of a vector.

        It is half a ring; what several machines that share memory do is a whole all-reduce.
        """
        size = self.workers
        if size == 1 or (self._has_levels and self.machines > 1):
            return self.all_reduce(nbytes)
        part = nbytes * (size - 1) / size
        if self._has_levels:
            return self._half_inside(part)
        transfer_seconds = self.transfer(part, part * self.costs.add)
        return Exchange(seconds=transfer_seconds + (size - 1) * self.delay, sent=part)

    def all_gather(self, nbytes):
        """Returns the Exchange in which all get all parts of a vector, each from its owner."""
        local, size = min(self.per_machine, self.workers), self.workers
        part = nbytes * (size - 1) / size
        if self._has_levels and self.machines == 1:
            return self._half_inside(part)
        crossing = nbytes / size * local * (size - local)
        seconds = self.transfer(part, through=crossing) + self.delay * (size > 1)
        return Exchange(seconds=seconds, sent=part)

    def all_to_all(self, nbytes):
        """Returns the Exchange in which each worker sends bytes, an equal part to each worker."""
        local, size = min(self.per_machine, self.workers), self.workers
        part = nbytes * (size - 1) / size
        crossing = nbytes / size * local * (size - local)
        seconds = self.transfer(part, through=crossing) + self.delay * (size > 1)
        return Exchange(seconds=seconds, sent=part)

    def _half_inside(self, nbytes):
        """Returns the Exchange of one half of a sum through the memory of a machine."""
        seconds = (self.costs.shared * nbytes * 2 / 3 + self.costs.barrier) * self.crowd
        return Exchange(seconds=seconds, sent=0.0)

    @property
    def _has_levels(self):
        """Whether workers of one machine exchange through its memory."""
        return self.shared_memory and min(self.per_machine, self.workers) > 1

    def one_of_each(self):
        """Returns the cluster as connections between machines see it: one worker on each."""
        return Cluster(
            costs=self.costs,
            workers=self.machines,
            cores=self.cores,
            bandwidth=self.bandwidth,
            latency=self.latency,
        )

    def over_links(self, nbytes, size):
        """Returns the faster of a ring and of recursive doubling between `size` processes."""
        if size == 1:
            return FREE
        return min(self.ring(nbytes, size), self.doubling(nbytes, size), key=seconds_of)

    def ring(self, nbytes, size):
        """Returns the Exchange of 2 (R - 1) steps of chunks (Patarasuk and Yuan 2009)."""
        part = nbytes * (size - 1) / size
        transfer_seconds = self.transfer(2 * part, part * self.costs.add)
        return Exchange(seconds=transfer_seconds + 2 * (size - 1) * self.delay, sent=2 * part)

    def doubling(self, nbytes, size):
        """Returns the Exchange of log2 R steps of the vector, plus two unless R is a power of 2."""
        rounds = int(log2(size))
        steps = rounds + 2 * (2**rounds != size)
        crossing = nbytes * min(self.per_machine, size)
        one = self.transfer(nbytes, nbytes * self.costs.add, through=crossing)
        return Exchange(seconds=steps * (one + self.delay), sent=steps * nbytes)

    def compressed_all_reduce(self, nbytes, coding):
        """Returns the Exchange of a sum of encoded vectors, see Coding."""
        size, message = self.workers, nbytes * coding.ratio
        if size == 1:
            return FREE
        if coding.to_all:
            sent = message * (size - 1)
            work, steps = nbytes * (coding.encode + size * coding.decode), size - 1
        else:
            sent = 2 * message * (size - 1) / size
            work = nbytes * (coding.encode * (1 + 1 / size) + 2 * coding.decode)
            steps = 2
        transfer_seconds = self.transfer(sent, through=sent * min(self.per_machine, size))
        seconds = work * self.crowd + transfer_seconds + steps * self.delay
        return Exchange(seconds=seconds, sent=sent)

    def parameter_server(self, nbytes, servers):
        """Returns the Exchange with servers, which add each worker's vector; each fetches one.

        Parameters
        ----------
        servers : int
            Workers that hold an equal share of the vector each; 1: one process holds it all.
        """
        size = self.workers
        share = size / servers  # vectors that go through a server
        work = nbytes * share * self.costs.add
        sent = 2 * nbytes * max(1.0, share) * (size - 1) / size
        transfer_seconds = self.transfer(sent, work, through=sent * min(self.per_machine, servers))
        return Exchange(seconds=transfer_seconds + 2 * self.delay, sent=2 * nbytes)

    def through_driver(self, nbytes):
        """Returns the Exchange of a broadcast from the driver and a sum in a tree of two levels."""
        costs, branches = self.costs, ceil(sqrt(self.workers))
        passed = nbytes * (1 + branches)
        wire = passed / self.bandwidth * (self.machines > 1)
        seconds = costs.job + max(passed * costs.driver * self.crowd, wire) + 4 * self.latency
        return Exchange(seconds=seconds, sent=nbytes)


def seconds_of(exchange):
    return exchange.seconds
