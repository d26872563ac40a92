"""Cost model of the exchanges, based on a few constants that a short benchmark measures.

Alpha-beta models: a message costs its latency and its bytes by the bandwidth. Processor work on a
byte (socket transfer, addition, encoding) is counted separately, in core seconds, since workers
share cores and the work may take longer than the network.
"""

from dataclasses import dataclass
from math import ceil, log2, sqrt

from sparkdl.errors import require

# Measured with Spark 4.0 in local-cluster mode by `bench exchange --only averaging_round`.
JOB, DRIVER = 0.05, 9e-9


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Cost of each kind of work in one process; measurement.py measures them.

    Parameters
    ----------
    message : float
        Latency of a small message between two processes of this machine, in seconds.
    socket : float
        Core seconds to send a byte through a connection and to receive one.
    add : float
        Core seconds to add a byte of one float32 vector to another.
    shared : float
        Core seconds per byte of a vector summed in shared memory: to write it, add its share, and
        read back the result.
    barrier : float
        Seconds for a barrier in shared memory: the sum of a small vector.
    job : float
        Seconds that Spark takes to run a round of empty tasks.
    driver : float
        Core seconds per byte that passes through Spark, broadcast or collected.
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
    """A codec's compression ratio and speed.

    Parameters
    ----------
    name : str
    ratio : float
        Bytes of a message per byte of the vector.
    encode, decode : float
        Core seconds per byte of the vector.
    to_all : bool
        Whether messages go to all processes; otherwise each sums a stripe and encodes the sum.
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
        Bytes sent by one worker.
    """

    seconds: float
    sent: float

    def __add__(self, other):
        return Exchange(seconds=self.seconds + other.seconds, sent=self.sent + other.sent)


FREE = Exchange(seconds=0.0, sent=0.0)


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Workers on identical machines, and the network between them.

    Parameters
    ----------
    costs : Costs
    workers : int
    per_machine : int
        Workers per machine, which share its cores and network connection.
    cores : int
        Cores per machine.
    bandwidth : float
        Bytes per second out of a machine, and the same into it; inf: only processors limit.
    latency : float
        Network latency between machines in seconds, in addition to `costs.message`.
    shared_memory : bool
        Whether workers of a machine first sum in shared memory.
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
        """Slowdown of work because workers share cores."""
        return max(1.0, min(self.per_machine, self.workers) / self.cores)

    @property
    def delay(self):
        """Latency of a small message, in seconds."""
        return self.costs.message * self.crowd + self.latency * (self.machines > 1)

    def transfer(self, nbytes, work=0.0, through=None):
        """Returns the seconds for each worker to send `nbytes` and receive as many.

        Parameters
        ----------
        nbytes : float
        work : float
            Core seconds of other work on these bytes during the transfer.
        through : float or None
            Bytes that leave a machine in total; None: those of one worker, as in a ring.
        """
        wire = (nbytes if through is None else through) / self.bandwidth
        return max((nbytes * self.costs.socket + work) * self.crowd, wire * (self.machines > 1))

    def all_reduce(self, nbytes):
        """Returns the Exchange of an all-reduce: in shared memory, then between machines."""
        local = min(self.per_machine, self.workers)
        if not self.shared_memory or local == 1:
            return self.over_links(nbytes, self.workers)
        nbytes_shared = nbytes * (local - 1) / local
        seconds = (self.costs.shared * nbytes_shared + self.costs.barrier) * self.crowd
        inside = Exchange(seconds=seconds, sent=0.0)
        return inside + self.one_of_each().over_links(nbytes, self.machines)

    def reduce_scatter(self, nbytes):
        """Returns the Exchange of a reduce-scatter over all workers.

        It costs half a ring, except on several machines with shared memory: there a whole
        all-reduce.
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
        """Returns the Exchange of an all-gather, in which each worker owns a part of the vector."""
        local, size = min(self.per_machine, self.workers), self.workers
        part = nbytes * (size - 1) / size
        if self._has_levels and self.machines == 1:
            return self._half_inside(part)
        crossing = nbytes / size * local * (size - local)
        seconds = self.transfer(part, through=crossing) + self.delay * (size > 1)
        return Exchange(seconds=seconds, sent=part)

    def all_to_all(self, nbytes):
        """Returns the Exchange of an all-to-all, in which each worker sends equal parts to all."""
        local, size = min(self.per_machine, self.workers), self.workers
        part = nbytes * (size - 1) / size
        crossing = nbytes / size * local * (size - local)
        seconds = self.transfer(part, through=crossing) + self.delay * (size > 1)
        return Exchange(seconds=seconds, sent=part)

    def _half_inside(self, nbytes):
        """Returns the Exchange of half an all-reduce in the shared memory of a machine."""
        seconds = (self.costs.shared * nbytes * 2 / 3 + self.costs.barrier) * self.crowd
        return Exchange(seconds=seconds, sent=0.0)

    @property
    def _has_levels(self):
        """Whether workers on one machine exchange through shared memory."""
        return self.shared_memory and min(self.per_machine, self.workers) > 1

    def one_of_each(self):
        """Returns the cluster of one worker per machine, as for connections between machines."""
        return Cluster(
            costs=self.costs,
            workers=self.machines,
            cores=self.cores,
            bandwidth=self.bandwidth,
            latency=self.latency,
        )

    def over_links(self, nbytes, size):
        """Returns the cheaper Exchange of a ring and recursive doubling of `size` processes."""
        if size == 1:
            return FREE
        return min(self.ring(nbytes, size), self.doubling(nbytes, size), key=seconds_of)

    def ring(self, nbytes, size):
        """Returns the Exchange of a ring: 2 (R - 1) steps of chunks (Patarasuk and Yuan 2009)."""
        part = nbytes * (size - 1) / size
        transfer_seconds = self.transfer(2 * part, part * self.costs.add)
        return Exchange(seconds=transfer_seconds + 2 * (size - 1) * self.delay, sent=2 * part)

    def doubling(self, nbytes, size):
        """Returns the Exchange of recursive doubling (R processes).

        It takes log2 R steps of the whole vector, and two more unless R is a power of 2.
        """
        rounds = int(log2(size))
        steps = rounds + 2 * (2**rounds != size)
        crossing = nbytes * min(self.per_machine, size)
        one = self.transfer(nbytes, nbytes * self.costs.add, through=crossing)
        return Exchange(seconds=steps * (one + self.delay), sent=steps * nbytes)

    def compressed_all_reduce(self, nbytes, coding):
        """Returns the Exchange of a sum of compressed vectors; see Coding."""
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
        """Returns the Exchange of a push to parameter servers, which sum the vectors, and a pull.

        Parameters
        ----------
        servers : int
            Number of workers that hold an equal share of the vector each.
        """
        size = self.workers
        share = size / servers  # vectors that pass through each server
        work = nbytes * share * self.costs.add
        sent = 2 * nbytes * max(1.0, share) * (size - 1) / size
        transfer_seconds = self.transfer(sent, work, through=sent * min(self.per_machine, servers))
        return Exchange(seconds=transfer_seconds + 2 * self.delay, sent=2 * nbytes)

    def through_driver(self, nbytes):
        """Returns the Exchange of a driver's broadcast and a tree sum of two levels."""
        costs, branches = self.costs, ceil(sqrt(self.workers))
        passed = nbytes * (1 + branches)
        wire = passed / self.bandwidth * (self.machines > 1)
        seconds = costs.job + max(passed * costs.driver * self.crowd, wire) + 4 * self.latency
        return Exchange(seconds=seconds, sent=nbytes)


def seconds_of(exchange):
    return exchange.seconds
