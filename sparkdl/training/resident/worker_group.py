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
GRACE = 2.0  # seconds in which the cause of a failure is reported, often after its consequences
ENDING = 30.0  # seconds for workers that have done everything to end


class LostWorker(Exception):
    """A worker is gone; others may take over. `error` is the WorkerError that says so.

    `forming`: it has not reached the others of its group, which was yet to form.
    """

    def __init__(self, error, forming=False):
        super().__init__(str(error))
        self.error, self.forming = error, forming


class WorkerGroup:
    """Launches `live` on workers, and listens to them.

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
        self._limit = math.inf  # when to wait no longer for messages
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
        """Waits for a message of this kind from all workers; returns them by rank: [[array]].

        Raises
        ------
        LostWorker
            If a worker is gone, or none says anything for `stall_timeout` seconds.
        SparkdlError
            What else a worker has raised.
        """
        while len(there := self._received.get((kind, key), ())) < self.size:
            self._take(kind, there)
        messages = self._received.pop((kind, key))
        return [messages[rank][1] for rank in range(self.size)]

    def snapshot(self, rounds):
        """Returns the fields of a TrainState after so many rounds, None if rank 0 sent none."""
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
        """Returns each worker's own state after so many rounds; of none, or of all."""
        messages = self._received.pop(("worker_state", rounds), {})
        if len(messages) not in (0, self.size):
            raise WorkerError(
                f"workers {sorted(messages)} of {self.size} have sent their own state"
            )
        return tuple(arrays_by_name(*messages[rank]) for rank in sorted(messages))

    def tell(self, meta):
        """Sends a message to all workers; of one that has ended, others tell."""
        for wire in list(self._wires.values()):
            with suppress(PeerError):
                wire.send(meta)

    def limit(self, seconds):
        """Has all that is awaited from now on come within so many seconds."""
        self._limit = time.monotonic() + seconds

    def halt(self):
        """Has all workers stop after the same round; returns how many are done then in all."""
        return self._name_round("last")

    def request_state(self):
        """Has all workers send their state after the same round; returns how many are done then."""
        return self._name_round("snapshot")

    def _name_round(self, kind):
        """Tells all workers the last round that one of them has begun; returns it."""
        self._received.pop(("halting", None), None)  # of an earlier call
        self.tell({"kind": "halt"})
        while len(begun := self._begun()) < self.size:
            self._take("halting", begun)
        rounds = max(begun.values())
        self.tell({"kind": kind, "rounds": rounds})
        return rounds

    def _begun(self):
        """Returns the rounds that workers have begun, by rank, as they halt or have ended."""
        kinds = (self._received.get((kind, None), {}) for kind in ("halting", "done"))
        return {rank: meta["begun"] for kind in kinds for rank, (meta, _) in kind.items()}

    def finish(self):
        """Waits until all workers have ended well.

        Returns the bytes that each has sent to each, as rows by rank.
        """
        sent = tuple(tuple(counts.tolist()) for [counts] in self.gather("done"))
        deadline = time.monotonic() + ENDING
        while not self._launched.is_finished() and time.monotonic() < deadline:
            time.sleep(POLL / 20)
        return sent

    def stop(self):
        """Ends all that is left."""
        self._launched.stop()
        self._endpoint.close()

    def _take(self, awaited, there):
        """Takes the next message; one of the kind `awaited` has come from the ranks `there`."""
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
                error = self._launched.error()
                if error is not None:
                    self._fail(error, isinstance(error, WorkerError))
        late = format_ranks([rank for rank in range(self.size) if rank not in there])
        limit = f"{self.master.stall_timeout:g} s"
        text = f"no worker has reported for {limit} while {awaited!r} of {late} was awaited"
        raise LostWorker(WorkerError(text))

    def _fail(self, error, lost, forming=False):
        """Raises the cause: after the loss of one worker, the others report errors first."""
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

    def _listen(self, rank, sock):
        """Reads the messages of one worker, in a thread."""
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
                what = getattr(error, "what", str(error))  # a PeerError's text names it as well
                meta = error_to_json(PeerError(rank, wire.peer, what))
                self._messages.put(
                    (rank, {"kind": "failed", "lost": True, "forming": False} | meta, [])
                )


def error_of(rank, meta):
    """Returns the error that a worker has failed with."""
    return error_from_json(meta, f"worker {rank}")


def prefer_cause(error, other):
    """Returns the other error, if it is no mere consequence of a worker that is gone."""
    return other if isinstance(error, PeerError) and not isinstance(other, PeerError) else None
