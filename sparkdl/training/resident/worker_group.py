"""The driver's side of a group of workers that were launched together."""

import secrets
import time
from dataclasses import replace
from queue import Empty, SimpleQueue

from sparkdl.error_messages import error_from_json, error_to_json
from sparkdl.errors import PeerError, SparkdlError, WorkerError
from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.messages.wire import Wire
from sparkdl.exchange.rendezvous.address_rendezvous import RendezvousServer
from sparkdl.training.resident.control import CHANNEL, VECTORS, arrays_by_name
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
        self._said, self._kept = SimpleQueue(), {}
        secret, timeout = secrets.token_bytes(32), shared.master.timeout
        self._endpoint = Endpoint(
            secret,
            ports=self.master.ports,
            toward=workers.host,
            tls=self.master.tls,
            timeout=timeout,
        )
        state = shared.state
        self._own = state.own or [{}] * self.size  # each gets only its own
        shared = replace(shared, address=self._endpoint.address, secret=secret)
        shared = replace(shared, state=replace(state, own=()))
        try:
            self._endpoint.serve(CHANNEL, self._listen)
            RendezvousServer(self.size, self._endpoint)
            shares = shared.schedule.shares
            self._launched = workers.launch(run_worker, blocks, shares, shared, validation)
        except BaseException as error:
            self._endpoint.close()
            if isinstance(error, WorkerError):
                raise LostWorker(error) from error
            raise

    def gather(self, say, key=None):
        """Waits for a message of this kind from all workers; returns them by rank: [[array]].

        Raises
        ------
        LostWorker
            If a worker is gone, or none says anything for `patience` seconds.
        SparkdlError
            What else a worker has raised.
        """
        while len(self._kept.get((say, key), ())) < self.size:
            self._take()
        found = self._kept.pop((say, key))
        return [found[rank][1] for rank in range(self.size)]

    def snapshot(self, rounds):
        """Returns the fields of a TrainState after so many rounds, None if rank 0 sent none."""
        found = self._kept.pop(("snapshot", rounds), None)
        if found is None:
            return None
        meta, arrays = found[0]
        vectors, kept = arrays[: len(VECTORS)], arrays[len(VECTORS) :]
        held = dict(zip(VECTORS, vectors, strict=True)) | {"own": self._own_states(rounds)}
        return meta["counters"] | held | {"kept": dict(zip(meta["kept"], kept, strict=True))}

    def _own_states(self, rounds):
        """Returns each worker's own state after so many rounds; of none, or of all."""
        found = self._kept.pop(("own", rounds), {})
        if len(found) not in (0, self.size):
            raise WorkerError(
                f"workers {sorted(found)} of {self.size} have told what they alone have"
            )
        return tuple(arrays_by_name(*found[rank]) for rank in sorted(found))

    def finish(self):
        """Waits until all workers have ended well."""
        self.gather("done")
        deadline = time.monotonic() + ENDING
        while not self._launched.is_finished() and time.monotonic() < deadline:
            time.sleep(POLL / 20)

    def stop(self):
        """Ends all that is left."""
        self._launched.stop()
        self._endpoint.close()

    def _take(self):
        rank, meta, arrays = self._next()
        say = meta["say"]
        if say == "failed":
            self._fail(error_of(rank, meta), meta["lost"], meta["forming"])
        key = meta["counters"]["rounds"] if say == "snapshot" else meta.get("rounds")
        self._kept.setdefault((say, key), {})[rank] = meta, arrays

    def _next(self):
        deadline = time.monotonic() + self.master.patience
        while time.monotonic() < deadline:
            try:
                return self._said.get(timeout=POLL)
            except Empty:
                error = self._launched.error()
                if error is not None:
                    self._fail(error, isinstance(error, WorkerError))
        raise LostWorker(WorkerError(f"no worker has said anything for {self.master.patience:g} s"))

    def _fail(self, error, lost, forming=False):
        """Raises the cause: after the loss of one worker, the others report errors first."""
        deadline = time.monotonic() + GRACE
        while lost and time.monotonic() < deadline:
            cause = self._launched.error()
            if cause is not None and not isinstance(cause, PeerError):
                error, lost, forming = cause, isinstance(cause, WorkerError), False
                break
            if not self._said.empty():
                rank, meta, _ = self._said.get()
                if meta["say"] == "failed" and (other := prefer_cause(error, error_of(rank, meta))):
                    error, lost, forming = other, meta["lost"], meta["forming"]
                continue
            time.sleep(POLL / 4)
        if lost:
            error = error if isinstance(error, WorkerError) else WorkerError(str(error))
            raise LostWorker(error, forming)
        raise error

    def _listen(self, rank, sock):
        """Reads one worker's line, in a thread of its own."""
        with Wire(sock, sock.getpeername()[0], self.master.timeout, rank=rank) as wire:
            try:
                wire.send({"names": list(self._own[rank])}, *self._own[rank].values())
                while True:
                    meta, arrays = wire.receive(waiting_for="word from a worker")
                    self._said.put((rank, meta, arrays))
                    if meta["say"] in ("done", "failed"):
                        return
            except SparkdlError as error:
                what = getattr(error, "what", str(error))  # a PeerError's text names it as well
                meta = error_to_json(PeerError(rank, wire.peer, what))
                self._said.put((rank, {"say": "failed", "lost": True, "forming": False} | meta, []))


def error_of(rank, meta):
    """Returns the error that a worker has failed with."""
    return error_from_json(meta, f"worker {rank}")


def prefer_cause(error, other):
    """Returns the other error, if it is no mere consequence of a worker that is gone."""
    return other if isinstance(error, PeerError) and not isinstance(other, PeerError) else None
