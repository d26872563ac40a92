"""Connection of a worker to the driver, for reports and orders; detects the loss of the driver."""

import threading
import time
from contextlib import closing, suppress

import numpy as np

from sparkdl.error_messages import error_to_json
from sparkdl.errors import SparkdlError, WorkerError
from sparkdl.exchange.connections.dialer import dial
from sparkdl.exchange.messages.wire import Wire
from sparkdl.thread_start import NoThread, start_thread
from sparkdl.training.resident.orders import Orders

CHANNEL = "control"
READING = 5.0  # seconds between two messages of a worker that reads its records
VECTORS = ("params", "buffers", "slots")


class Control:
    """A worker's connection to the driver.

    Pending `warnings`, a KeptWarnings, are sent before the next message.

    Attributes
    ----------
    saved_state : {name: vector}
        State of this worker alone that it starts from, the first message of the driver.
    orders : Orders
        The driver's later messages.

    Raises
    ------
    PeerError
        From any call, if the driver is gone or silent.
    """

    def __init__(self, shared, rank, warnings):
        timeout, layers = shared.master.timeout, shared.layers
        sock = dial(shared.address, shared.secret, CHANNEL, rank, timeout=timeout, **layers)
        self._wire = Wire(sock, f"{shared.address[0]} (the driver)", timeout)
        self._lost, self._ended, self._warnings = None, False, warnings
        self.saved_state, self._share = (
            arrays_by_name(*self._wire.receive(waiting_for="what to go on from")) for _ in range(2)
        )
        self.orders = Orders(shared.state.rounds, self.check)
        self._watch = threading.Thread(target=self._listen, name="sparkdl-control", daemon=True)
        try:
            start_thread(self._watch)
        except NoThread as error:
            with closing(self._wire), suppress(SparkdlError):  # the driver may be gone, too
                self.report_failure(error)
                self._wire.finish(timeout)
            raise

    def take_share(self):
        """Returns the share and drops it here, as it may be most of a worker's memory."""
        share, self._share = self._share, None
        return share

    def check(self):
        """Raises PeerError if the driver is gone."""
        if self._lost is not None:
            raise self._lost

    def report_reading(self, blocks):
        """Yields the blocks, telling the driver from time to time that reading goes on."""
        last_report = time.monotonic()
        for block in blocks:
            if time.monotonic() - last_report > READING:
                last_report = time.monotonic()
                self._send({"kind": "reading"})
            yield block

    def report_device(self, device):
        """Tells the driver the description of the device that this worker computes on."""
        self._send({"kind": "device"}, np.frombuffer(device.encode(), np.uint8))

    def report_joined(self):
        """Tells the driver that this worker has its records and has joined the group."""
        self._send({"kind": "joined"})

    def report(self, state, metrics):
        """Reports a round; `state` has the counters after it."""
        self._send({"kind": "report", "rounds": state.rounds}, metrics.vector())

    def snapshot(self, state):
        """Sends the state after a round, from one worker for all, before its report."""
        vectors = [*(getattr(state, name) for name in VECTORS), *state.master_state.values()]
        vectors += state.tables.values()
        meta = {"kind": "snapshot", "counters": state.counters, "names": list(state.master_state)}
        meta["tables"] = list(state.tables)
        self._send(meta, *map(np.ascontiguousarray, vectors))

    def worker_state(self, rounds, vectors):
        """Sends this worker's own state after this many rounds, before its report."""
        meta = {"kind": "worker_state", "rounds": rounds, "names": list(vectors)}
        self._send(meta, *vectors.values())

    def report_evaluation(self, rounds, counts):
        """Sends the counts of this worker's share of the evaluation, as arrays."""
        self._send({"kind": "evaluated", "rounds": rounds}, *counts)

    def report_failure(self, error, forming=False):
        """Reports why this worker ends, and whether the group failed to form; only the first call
        counts.
        """
        if not self._ended:
            self._ended = True
            meta = {"kind": "failed", "lost": is_loss(error), "forming": forming}
            self._send(meta | error_to_json(error))

    def report_end(self, rounds, sent):
        """Tells the driver that this worker ends after this many rounds, and its bytes sent by
        rank.
        """
        self._send({"kind": "done", "begun": rounds}, np.array(sent, np.int64))

    def close(self):
        """Hangs up once the driver has read everything, which may take a while over a slow link."""
        if self._lost is None:
            self._wire.finish(self._wire.timeout)
        self._wire.close()
        self._watch.join(5.0)

    def _send(self, meta, *arrays):
        self.check()
        if kept := self._warnings.take():
            self._wire.send({"kind": "log", "messages": kept})
        self._wire.send(meta, *arrays)

    def _listen(self):
        try:
            while True:
                meta, _ = self._wire.receive(waiting_for="the end of the fit")
                if answer := self.orders.take(meta):
                    self._wire.send(answer)
        except SparkdlError as error:
            self._lost = error
            self.orders.wake()


def arrays_by_name(meta, arrays):
    """Returns {name: array} of a message that includes the names."""
    return dict(zip(meta["names"], arrays, strict=True))


def send_arrays(wire, arrays):
    """Sends {name: array}, to be restored by `arrays_by_name`."""
    wire.send({"names": list(arrays)}, *arrays.values())


def is_loss(error):
    """Returns whether the error means the loss of a worker: others may succeed where it failed.

    A missing module of this package existed when the worker began: its files are being removed, as
    when a cluster kills a container.
    """
    if isinstance(error, ImportError):  # "from package import module" raises nothing more specific
        return (error.name or "").startswith("sparkdl.")
    return isinstance(error, (WorkerError, OSError, MemoryError))
