"""Group of processes and its collectives."""

import itertools
import json

from sparkdl.errors import ConfigError
from sparkdl.exchange.calls.call import Call
from sparkdl.exchange.calls.pending_call import Pending
from sparkdl.exchange.calls.progress_engine import ProgressEngine
from sparkdl.exchange.collectives import (
    all_gather,
    all_to_all,
    barrier,
    broadcast,
    message,
    ring,
)
from sparkdl.exchange.collectives.algorithm import all_reduce_for, is_short
from sparkdl.exchange.collectives.operands import REDUCTIONS, flat, reducible_vector
from sparkdl.exchange.collectives.pieces import cuts, raw
from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.levels.discovery import find_levels
from sparkdl.exchange.links.tag import LARGEST_CONTEXT, LARGEST_NUMBER, tag_of
from sparkdl.exchange.liveness.heartbeat import HEARTBEAT
from sparkdl.exchange.rendezvous.member_links import connect, meet


class Group:
    """A group of processes that make the same calls in the same order; created by `form`.

    Collectives work in place on contiguous numpy arrays of the same type and size on all ranks.
    Results are bitwise equal on all ranks and in each run, and on one machine with and without
    shared memory. A `start_` method returns a Pending at once; its array must not be used until
    `wait` has returned.

    All calls raise PeerError when a peer is lost, silent for `timeout` seconds, alive without doing
    its part for `stall_timeout` seconds, or making a different call. Every rank then raises it and
    names the same culprit; the group is unusable, and the contents of arrays are undefined.

    Attributes
    ----------
    rank, size : int
    members : list of Member
        By rank in this group; `Member.rank` is the rank in the group originally formed.
    """

    def __init__(self, members, rank, links, progress, context=0):
        self.members, self.rank, self.size = members, rank, len(members)
        self._links, self._progress, self._context = links, progress, context
        self._numbers = itertools.count()
        self._levels, self._runner = None, progress

    @classmethod
    def form(
        cls,
        rendezvous,
        secret,
        *,
        timeout=60.0,
        stall_timeout=600.0,
        ports="0",
        interface=None,
        toward=None,
        tls=None,
        integrity=False,
        shared_memory=True,
    ):
        """Forms a group: meets the other processes at a rendezvous and connects to each of them.

        Parameters
        ----------
        rendezvous : Rendezvous
            Provides rank and size.
        secret : bytes
            The same on all ranks; processes that do not know it are rejected.
        timeout : float
            Seconds that forming the group may take, and seconds of silence after which a peer
            counts as dead.
        stall_timeout : float
            Seconds without progress after which a call fails, even if all peers are alive.
        ports, interface, toward, tls, integrity
            As Endpoint takes them.
        shared_memory : bool
            Whether ranks of one machine use shared memory if they can; the same on all ranks.
            Messages go over sockets in any case.

        Raises
        ------
        WorkerError
            If not all ranks have connected within `timeout` seconds; names the missing ranks.
        """
        options = {"ports": ports, "interface": interface, "toward": toward}
        options |= {"tls": tls, "integrity": integrity}
        with Endpoint(secret, timeout=timeout, **options) as endpoint:
            members = meet(rendezvous, endpoint, timeout)
            sockets = connect(members, rendezvous.rank, endpoint, timeout)
        group = cls.over(sockets, members, rendezvous.rank, timeout, stall_timeout)
        try:
            group.barrier()
            return group._add_levels(shared_memory)
        except BaseException:
            group.close()
            raise

    @classmethod
    def over(cls, sockets, members, rank, timeout=60.0, stall_timeout=600.0):
        """Returns the group of `members` over connected sockets, {rank: socket}, to all others."""
        progress = ProgressEngine(members[rank], timeout, stall_timeout)
        links = [progress.link(sockets[m.rank], m) if m.rank != rank else None for m in members]
        HEARTBEAT.add(progress, timeout / 4)
        return cls(members, rank, links, progress)

    def all_reduce(self, x, op="sum"):
        """Replaces x by its sum ("max", "min") over all ranks, and returns it.

        x must have type float32, float64 or int64.
        """
        self._runner.run(self._all_reduce(x, op))
        return x

    def start_all_reduce(self, x, op="sum"):
        """Starts `all_reduce` in the background; returns a Pending."""
        return Pending(self._runner.start(self._all_reduce(x, op, background=True)), x)

    def reduce_scatter(self, x, op="sum"):
        """Sums flat x over all ranks; returns a view of this rank's part of the result.

        The rest of x then holds partial sums.
        """
        vector, name = reducible_vector(x, "reduce_scatter")
        text = f"reduce_scatter {op} of {len(vector)} {name}"
        steps, add = ring.reduce_scatter, reduction(op)
        if self._levels is not None and self._levels.one_machine:
            self._runner.run(self._levels.reduce_scatter(vector, op))
            return vector[self.part(len(vector))]
        return self._progress.run(self._call(text, steps, vector, add))

    def start_reduce_scatter(self, x):
        """Starts the sum of flat x over all ranks; `wait` returns a view of this rank's part.

        The result is bitwise equal to that of `all_reduce`, unless NCCL carries that (DeviceGroup);
        the rest of x is then undefined. It runs as an `all_reduce`, with the same traffic, for
        short vectors and on several machines with shared memory.
        """
        vector, name = reducible_vector(x, "reduce_scatter")
        own, one_machine = vector[self.part(len(vector))], self._levels and self._levels.one_machine
        if is_short(vector.nbytes) or (self._levels is not None and not one_machine):
            return Pending(self.start_all_reduce(vector), own)
        if one_machine:
            return Pending(self._runner.start(self._levels.reduce_scatter(vector, "sum")), own)
        text = f"reduce_scatter sum of {len(vector)} {name}"
        return self.start_call(text, ring.reduce_scatter, vector, reduction("sum"))

    def part(self, length, rank=None):
        """Returns the slice of a vector of `length` numbers that is a rank's (None: this one's)."""
        rank, edges = self.rank if rank is None else rank, cuts(length, self.size)
        return slice(edges[rank], edges[rank + 1])

    def all_gather(self, x, out):
        """Gathers the parts of all ranks in the vector `out`, and returns it.

        x is this rank's part, of the size of `out[part]`; see `part`. `out` may have any length.
        """
        engine, call = self._all_gather(x, out)
        engine.run(call)
        return out

    def start_all_gather(self, x, out):
        """Starts `all_gather` in the background; returns a Pending."""
        engine, call = self._all_gather(x, out)
        return Pending(engine.start(call), out)

    def _all_gather(self, x, out):
        """Returns the engine that runs an all_gather, and the call."""
        vector, parts = self._parts(x, out)
        if self._levels is not None and self._levels.one_machine:
            return self._runner, self._levels.all_gather(vector)
        text, views = f"all_gather of {len(vector)} {vector.dtype}", [raw(part) for part in parts]
        return self._progress, self._call(text, all_gather.all_gather, views)

    def all_gather_bytes(self, data):
        """Returns the bytes of all ranks, of any lengths, as [uint8 array by rank]."""
        if self._levels is not None:
            return self._runner.run(self._levels.all_gather_bytes(data))
        call = self._call("all_gather_bytes", all_gather.all_gather_bytes, data)
        return self._runner.run(call)

    def all_to_all_bytes(self, parts):
        """Sends each rank its part; returns the bytes received, as [uint8 array by rank].

        Parameters
        ----------
        parts : list of bytes or uint8 arrays
            By rank, of any lengths; this rank's own part is returned as well.
        """
        if len(parts) != self.size:
            raise ConfigError(f"parts must be {self.size}, one for each rank, got {len(parts)}")
        call = self._call("all_to_all_bytes", all_to_all.all_to_all_bytes, parts)
        return self._progress.run(call)

    def ask(self, requests, answer):
        """Sends each rank its request; returns the answers, as [uint8 array by rank].

        Parameters
        ----------
        requests : list of bytes or uint8 arrays
            By rank, of any lengths.
        answer : callable
            Takes the requests to this rank, [uint8 array by rank]; returns the answers by rank.
        """
        return self.call("ask", all_to_all.ask_and_answer, requests, answer)

    def start_ask(self, requests, answer):
        """Starts `ask` in the background; returns a Pending. Another thread calls `answer`."""
        return self.start_call("ask", all_to_all.ask_and_answer, requests, answer)

    def broadcast(self, x, root=0):
        """Replaces x by that of rank `root`, and returns it."""
        check_rank(root, self.size)
        vector = flat(x, "broadcast")
        text = f"broadcast of {len(vector)} {vector.dtype} from rank {root}"
        if self._levels is not None:
            self._runner.run(self._levels.broadcast(vector, root))
        else:
            self._progress.run(self._call(text, broadcast.broadcast, vector, root))
        return x

    def barrier(self):
        """Waits until all ranks have called this."""
        if self._levels is not None:
            return self._runner.run(self._levels.barrier())
        return self._progress.run(self._call("barrier", barrier.barrier))

    def send(self, x, to, tag=0):
        """Sends x to a rank, which must receive an array of the same type and size with this tag.

        Returns once x may be changed; the receiver may not have it yet.
        """
        vector = flat(x, "send", writeable=False)
        self._progress.run(self._message(message.send, vector, to, tag))

    def receive(self, x, source, tag=0):
        """Fills x with the next array that rank `source` sends with this tag; returns x."""
        self._progress.run(self._message(message.receive, flat(x, "receive"), source, tag))
        return x

    def start_send(self, x, to, tag=0):
        """Starts `send` in the background; returns a Pending.

        Messages of a tag keep their order.
        """
        vector = flat(x, "send", writeable=False)
        return Pending(self._progress.start(self._message(message.send, vector, to, tag)))

    def start_receive(self, x, source, tag=0):
        """Starts `receive` in the background; returns a Pending."""
        call = self._message(message.receive, flat(x, "receive"), source, tag)
        return Pending(self._progress.start(call), x)

    def call(self, text, steps, *arguments):
        """Runs a custom collective `steps(call, *arguments)` and returns its result; see Call.

        `text` describes the call and its arguments; it must be the same on all ranks.
        """
        return self._progress.run(self._call(text, steps, *arguments))

    def start_call(self, text, steps, *arguments):
        """Starts `call` in the background; returns a Pending."""
        return Pending(self._progress.start(self._call(text, steps, *arguments)))

    def split(self, color, shared_memory=True):
        """Splits the group; returns the sub-group of ranks with the same color (any JSON value).

        All ranks must call it. The sub-group uses the same links and ends with this group.
        `shared_memory` is as in `form`.
        """
        content = json.dumps([color, self._progress.contexts]).encode()
        gathered = [json.loads(bytes(text)) for text in self.all_gather_bytes(content)]
        context = 1 + max(highest for _, highest in gathered)
        if context > LARGEST_CONTEXT:
            raise ConfigError(f"a group must be split at most {LARGEST_CONTEXT} times")
        self._progress.contexts = context
        ranks = [rank for rank, (other, _) in enumerate(gathered) if other == color]
        members, links = [self.members[r] for r in ranks], [self._links[r] for r in ranks]
        group = Group(members, ranks.index(self.rank), links, self._progress, context)
        return group._add_levels(shared_memory)

    @property
    def sent_bytes(self):
        """Bytes sent to other ranks, including headers and heartbeats."""
        return sum(self.sent_by_rank)

    @property
    def sent_by_rank(self):
        """Bytes sent to each rank; 0 for this one."""
        return [0 if link is None else link.sent for link in self._links]

    def close(self):
        """Leaves the group and closes the links; a rank that still needs this one gets a PeerError.

        Data already sent still arrives: this waits, for `timeout` at most, until the other hosts
        have received it. On a sub-group made by `split` this does nothing: it ends with the whole
        group.
        """
        if self._context == 0:
            HEARTBEAT.discard(self._progress)
            self._progress.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # Construction of calls

    def _add_levels(self, shared_memory):
        """Enables shared memory among ranks that can use it; returns this group."""
        if shared_memory and self.size > 1:
            self._levels, self._runner = find_levels(self, self._progress) or (None, self._progress)
        return self

    def _all_reduce(self, x, op, background=False):
        vector, name = reducible_vector(x, "all_reduce")
        add = reduction(op)
        if self._levels is not None:
            return self._levels.all_reduce(vector, op, background)
        steps = all_reduce_for(vector.nbytes, self.size)
        text = f"all_reduce {op} of {len(vector)} {name}"
        return self._call(text, steps, vector, add)

    def _parts(self, x, out):
        """Returns (flat out, [part of each rank]), with x copied into this rank's part."""
        vector, own = flat(out, "all_gather"), flat(x, "all_gather", writeable=False)
        parts = [vector[self.part(len(vector), rank)] for rank in range(self.size)]
        if own.dtype != vector.dtype or len(own) != len(parts[self.rank]):
            raise ConfigError(
                f"all_gather: the part of rank {self.rank} must be {len(parts[self.rank])} "
                f"{vector.dtype}, got {len(own)} {own.dtype}"
            )
        parts[self.rank][...] = own
        return vector, parts

    def _call(self, text, steps, *arguments):
        tag = tag_of(self._context, False, next(self._numbers), text)
        return Call(self._links, self.rank, tag, text, True, steps, *arguments)

    def _message(self, steps, vector, other, tag):
        check_rank(other, self.size, excluded=self.rank)
        if not (type(tag) is int and 0 <= tag <= LARGEST_NUMBER):
            raise ConfigError(f"tag must be an integer from 0 to {LARGEST_NUMBER}, got {tag!r}")
        text = f"a message of {len(vector)} {vector.dtype} with tag {tag}"
        number = tag_of(self._context, True, tag, text)
        return Call(self._links, self.rank, number, text, False, steps, vector, other)


def reduction(op):
    if op not in REDUCTIONS:
        raise ConfigError(f"op must be one of {sorted(REDUCTIONS)}, got {op!r}")
    return REDUCTIONS[op]


def check_rank(rank, size, excluded=None):
    if type(rank) is not int or not 0 <= rank < size or rank == excluded:
        end = "" if excluded is None else f" other than {excluded}, which is this one"
        raise ConfigError(f"a rank must be an integer from 0 to {size - 1}{end}, got {rank!r}")
