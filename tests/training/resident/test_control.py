"""A worker's final report to the driver, and which errors make workers restart."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.error_messages import error_from_json
from sparkdl.errors import DivergedError, PeerError, ShapeError, WorkerError
from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.connections.job_tls import JobTls
from sparkdl.exchange.messages.wire import Wire
from sparkdl.thread_start import NoThread
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.resident.control import CHANNEL, Control, is_loss, send_arrays
from tests.exchange.few_threads import no_thread

SECRET, LIMIT = b"the secret of this launch", 60.0
GONE = ModuleNotFoundError("No module named 'sparkdl.engine'", name="sparkdl.engine")
ENDS = {
    "a worker is gone": (WorkerError("rank 1 is gone"), True),
    "a peer is silent": (PeerError(1, "a", "is silent"), True),
    "a disk is full": (OSError(28, "No space left on device"), True),
    "no memory": (MemoryError(), True),
    "files of a container that is removed": (GONE, True),
    "a module asked of its package": (
        ImportError("cannot import name 'device' from 'sparkdl.nn'", name="sparkdl.nn"),
        True,
    ),
    "a module of the user's": (ModuleNotFoundError("No module named 'mine'", name="mine"), False),
    "a module without a name": (ModuleNotFoundError("no module"), False),
    "weights that are not finite": (DivergedError("the loss is nan"), False),
    "shapes": (ShapeError("rows of 3"), False),
    "an error of the user's": (KeyError("a"), False),
}


@pytest.mark.parametrize("error, begins_anew", ENDS.values(), ids=list(ENDS))
def test_whether_workers_begin_anew(error, begins_anew):
    assert is_loss(error) == begins_anew


def setup_of(address, layers):
    """What Control takes of a FitSetup."""
    return SimpleNamespace(
        master=AllReduceSGD(timeout=LIMIT),
        secret=SECRET,
        address=address,
        state=SimpleNamespace(rounds=0),
        layers=layers,
    )


@pytest.fixture(params=["plain", "TLS"])
def ends(request):
    """The Control of a worker, and its driver's Wire, which has not been read yet."""
    layers = {"tls": JobTls.new()} if request.param == "TLS" else {}
    with Endpoint(SECRET, timeout=LIMIT, **layers) as endpoint:
        shared, made = setup_of(endpoint.address, layers), []
        warnings = SimpleNamespace(take=list)
        worker = threading.Thread(target=lambda: made.append(Control(shared, 0, warnings)))
        worker.start()
        _, sock = endpoint.accept(CHANNEL)
        with Wire(sock, "the worker", LIMIT) as wire:
            for _ in range(2):
                send_arrays(wire, {})
            worker.join(LIMIT)
            yield made[0], wire


@pytest.mark.slow
def test_the_last_word_of_a_worker_comes_however_late_the_driver_reads_it(ends):
    """Heartbeats of the driver meanwhile do not break the connection."""
    control, wire = ends

    def end():
        control.report_evaluation(1, [np.ones(2_000_000)])  # more than fits into the sockets
        control.report_end(1, [7])
        control.close()

    worker = threading.Thread(target=end)
    worker.start()
    for _ in range(20):
        wire.beat()
        time.sleep(0.02)
    meta, [counts] = wire.receive()
    assert meta["kind"] == "evaluated" and counts.sum() == counts.size
    for _ in range(20):  # the rest now lies in the worker's socket
        wire.beat()
        time.sleep(0.02)
    meta, [sent] = wire.receive()
    assert (meta["kind"], sent.tolist()) == ("done", [7])
    wire.close()
    worker.join(LIMIT)
    assert not worker.is_alive()


def test_a_worker_whose_driver_is_gone_ends_at_once(ends):
    control, wire = ends
    wire.close()
    start = time.monotonic()
    control.close()
    assert time.monotonic() - start < LIMIT / 2


def test_a_worker_that_gets_no_thread_tells_the_driver_so(monkeypatch):
    with Endpoint(SECRET, timeout=LIMIT) as endpoint, ThreadPoolExecutor(1) as one:
        with no_thread(monkeypatch, "sparkdl-control"):
            made = one.submit(
                Control, setup_of(endpoint.address, {}), 0, SimpleNamespace(take=list)
            )
            _, sock = endpoint.accept(CHANNEL)
            with Wire(sock, "the worker", LIMIT) as wire:
                for _ in range(2):
                    send_arrays(wire, {})
                meta, _ = wire.receive()
            with pytest.raises(NoThread):
                made.result()
    error = error_from_json(meta, "worker 0")
    assert (meta["kind"], meta["lost"], type(error)) == ("failed", True, WorkerError)
    assert "can't start new thread; raise the number of processes (ulimit -u" in str(error)
