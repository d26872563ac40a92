"""The driver's side of a group of workers that were launched together."""

import math
import secrets
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue

from sparkdl.error_messages import error_from_json, error_to_json
from sparkdl.errors import PeerError, SparkdlError, WorkerError
from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.devices.choice import format_ranks
from sparkdl.exchange.messages.wire import Wire
from sparkdl.exchange.rendezvous.address_rendezvous import RendezvousServer
from sparkdl.training.resident.control import CHANNEL, VECTORS, arrays_by_name, send_arrays
from sparkdl.training.resident.driver_log import WorkerLog
from sparkdl.training.resident.lifecycle import run_worker

POLL = 0.2  # seconds
GRACE = 2.0  # seconds to wait for the cause of a failure, often reported after its consequences
ENDING = 30.0  # seconds for workers that have done everything to end


class LostWorker(Exception):
    """A worker is gone; others may take over. `error` is the WorkerError that describes it.

    `forming`: whether it was lost before it had reached the others of its group.
    """

    def __init__(self, error, forming=False):
        super().__init__(str(error))
        self.error, self.forming = error, forming


class WorkerGroup:
    """Launches `run_worker` on workers, and receives their messages.

    Parameters
    ----------
    workers : Workers
    blocks : Blocks
    shared : FitSetup
    validation : what `workers.launch` takes
    """

    def __init__(self, workers, blocks, shared, validation):
        self.size, self.master = shared.schedule.workers, shared.master
        self._messages, self._received, self._wires = SimpleQueue(), {}, {}
        self._log = WorkerLog()
        self._limit = math.inf  # deadline for messages
        self._no_thread = None  # why this process cannot answer its workers
        secret, timeout = secrets.token_bytes(32), shared.master.timeout
        tls = self.master.tls and self.master.tls.for_job()
        self._endpoint = Endpoint(
            secret,
            ports=self.master.ports,
            toward=workers.host,
            tls=tls,
            integrity=self.master.integrity,
            timeout=timeout,
        )
        state = shared.state
        self._saved_states = state.worker_states or [{}] * self.size  # each gets only its own
        self._conf = shared.conf
        try:
            state, share = self.master.divide_state(shared.conf, state, self.size)
            self._shares = {rank: partial(share, rank) for rank in range(self.size)}
            state, self._tables = replace(state, worker_states=()), state.tables
            shared = replace(shared, address=self._endpoint.address, state=state)
            self._endpoint.watch_threads(self._note_threads)
            self._endpoint.serve(CHANNEL, self._listen)
            RendezvousServer(self.size, self._endpoint)
            shares = shared.schedule.shares
            task = partial(run_worker, secret, tls)
            self._launched = workers.launch(task, blocks, shares, shared, validation)
        except BaseException as error:
            self._endpoint.close()
            if isinstance(error, WorkerError):
                raise LostWorker(error) from error
            raise

    def gather(self, kind, key=None):
        """Waits for a message of this kind from all workers; returns [[array]] by rank.

        Raises
        ------
        LostWorker
            If a worker is gone, or none sends anything for `stall_timeout` seconds.
        SparkdlError
            Any other error of a worker.
        """
        while len(there := self._received.get((kind, key), ())) < self.size:
            self._take(kind, there)
        messages = self._received.pop((kind, key))
        return [messages[rank][1] for rank in range(self.size)]

    def snapshot(self, rounds):
        """Returns the fields of a TrainState after this many rounds; None if rank 0 sent none."""
        messages = self._received.pop(("snapshot", rounds), None)
        if messages is None:
            return None
        meta, arrays = messages[0]
        vectors, others = arrays[: len(VECTORS)], arrays[len(VECTORS) :]
        fields = dict(zip(VECTORS, vectors, strict=True))
        names, count = meta["names"], len(meta["names"])
        states = {
            "master_state": dict(zip(names, others[:count], strict=True)),
            "worker_states": self._worker_states(rounds),
            "tables": dict(zip(meta["tables"], others[count:], strict=True)),
        }
        fields = meta["counters"] | fields | states
        return self.master.join_state(self._conf, fields, self._tables)

    def _worker_states(self, rounds):
        """Returns the workers' own states after this many rounds: those of all, or ()."""
        messages = self._received.pop(("worker_state", rounds), {})
        if len(messages) not in (0, self.size):
            raise WorkerError(
                f"workers {sorted(messages)} of {self.size} have sent their own state"
            )
        return tuple(arrays_by_name(*messages[rank]) for rank in sorted(messages))

    def tell(self, meta):
        """Sends a message to all workers; ignores those that are gone, which others report."""
        for wire in list(self._wires.values()):
            with suppress(PeerError):
                wire.send(meta)

    def limit(self, seconds):
        """Sets a deadline in this many seconds for all further messages."""
        self._limit = time.monotonic() + seconds

    def halt(self):
        """Stops all workers after the same round; returns the total of rounds done by then."""
        return self._name_round("last")

    def request_state(self):
        """Makes all workers send their state after the same round; returns the rounds done then."""
        return self._name_round("snapshot")

    def _name_round(self, kind):
        """Tells all workers the last round that any of them has begun; returns it."""
        self._received.pop(("halting", None), None)  # of an earlier call
        self.tell({"kind": "halt"})
        while len(begun := self._begun()) < self.size:
            self._take("halting", begun)
        rounds = max(begun.values())
        self.tell({"kind": kind, "rounds": rounds})
        return rounds

    def _begun(self):
        """Returns the rounds that halting or finished workers have begun, by rank."""
        kinds = (self._received.get((kind, None), {}) for kind in ("halting", "done"))
        return {rank: meta["begun"] for kind in kinds for rank, (meta, _) in kind.items()}

    def finish(self):
        """Waits until all workers have ended successfully.

        Returns the bytes that each worker has sent to each, as rows by rank.
        """
        sent = tuple(tuple(counts.tolist()) for [counts] in self.gather("done"))
        deadline = time.monotonic() + ENDING
        while not self._launched.is_finished() and time.monotonic() < deadline:
            time.sleep(POLL / 20)
        return sent

    def stop(self):
        """Stops all remaining workers."""
        self._launched.stop()
        self._endpoint.close()

    def _take(self, awaited, there):
        """Receives a message, while waiting for `awaited`, which the ranks `there` have sent
        already.
        """
        rank, meta, arrays = self._next(awaited, there)
        kind = meta["kind"]
        if kind == "failed":
            self._fail(error_of(rank, meta), meta["lost"], meta["forming"])
        key = meta["counters"]["rounds"] if kind == "snapshot" else meta.get("rounds")
        self._received.setdefault((kind, key), {})[rank] = meta, arrays

    def _next(self, awaited, there):
        deadline = min(self._limit, time.monotonic() + self.master.stall_timeout)
        while time.monotonic() < deadline:
            try:
                return self._messages.get(timeout=POLL)
            except Empty:
                error = self._no_thread or self._launched.error()
                if error is not None:
                    self._fail(error, isinstance(error, WorkerError))
                if self._launched.is_queued():
                    deadline = min(self._limit, time.monotonic() + self.master.stall_timeout)
        late = format_ranks([rank for rank in range(self.size) if rank not in there])
        limit = f"{self.master.stall_timeout:g} s"
        text = f"no worker has reported for {limit} while {awaited!r} of {late} was awaited"
        raise LostWorker(WorkerError(text))

    def _fail(self, error, lost, forming=False):
        """Raises the cause of a failure: when a worker is lost, others report errors first."""
        if lost and self._no_thread is not None:  # not the workers' connections, which they name
            raise LostWorker(self._no_thread)
        deadline = time.monotonic() + GRACE
        while lost and time.monotonic() < deadline:
            cause = self._launched.error()
            if cause is not None and not isinstance(cause, PeerError):
                error, lost, forming = cause, isinstance(cause, WorkerError), False
                break
            if not self._messages.empty():
                rank, meta, _ = self._messages.get()
                failed = meta["kind"] == "failed"
                if failed and (other := prefer_cause(error, error_of(rank, meta))):
                    error, lost, forming = other, meta["lost"], meta["forming"]
                continue
            time.sleep(POLL / 4)
        if lost:
            error = error if isinstance(error, WorkerError) else WorkerError(str(error))
            raise LostWorker(error, forming)
        raise error

    def _note_threads(self, error):
        self._no_thread = error

    def _listen(self, rank, sock):
        """Receives the messages of one worker, in a thread."""
        with Wire(sock, sock.getpeername()[0], self.master.timeout, rank=rank) as wire:
            self._wires[rank] = wire
            try:
                send_arrays(wire, self._saved_states[rank])
                send_arrays(wire, self._shares.pop(rank)())
                while True:
                    meta, arrays = wire.receive(waiting_for="a message from a worker")
                    if meta["kind"] == "log":
                        self._log.write(rank, wire.peer, meta["messages"])
                        continue
                    self._messages.put((rank, meta, arrays))
                    if meta["kind"] in ("done", "failed"):
                        return
            except SparkdlError as error:
                what = getattr(error, "what", str(error))  # a PeerError's text also names the peer
                meta = error_to_json(PeerError(rank, wire.peer, what))
                self._messages.put(
                    (rank, {"kind": "failed", "lost": True, "forming": False} | meta, [])
                )


def error_of(rank, meta):
    """Returns the error that made a worker fail."""
    return error_from_json(meta, f"worker {rank}")


def prefer_cause(error, other):
    """Returns the other error if only the first is a consequence of a lost peer, else None."""
    return other if isinstance(error, PeerError) and not isinstance(other, PeerError) else None
