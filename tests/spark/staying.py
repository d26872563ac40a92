"""Tasks for long-lived workers in tests; `shared` is a folder for their results."""

import json
import os
import signal
import time
from pathlib import Path

from sparkdl.errors import DataError, PeerError, ShapeError
from sparkdl.exchange.rendezvous.file_rendezvous import FileRendezvous

LIMIT = 200.0  # seconds


def take(shared, rank, blocks, validation):
    """Writes down all that the worker is given."""
    own = [[number, sorted(batch.ids.tolist())] for number, batch in blocks]
    judged = None if validation is None else [batch.ids.tolist() for batch in validation]
    Path(shared, str(rank)).write_text(json.dumps({"blocks": own, "judged": judged}))


def keep(secret, shared, rank, blocks, validation):
    """Holds a secret of its own besides the shared input."""
    list(blocks)
    Path(shared, str(rank)).touch()


def wait(shared, rank, blocks, validation):
    """Writes down its process id, then waits to be killed."""
    Path(shared, f"{rank}.new").write_text(str(os.getpid()))
    Path(shared, f"{rank}.new").rename(Path(shared, str(rank)))
    time.sleep(200)


def hold_out(shared, rank, blocks, validation):
    """Ignores SIGTERM, SIGINT and SIGHUP."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    wait(shared, rank, blocks, validation)


def refuse(shared, rank, blocks, validation):
    fail(shared, rank, DataError("record 7: features must be finite,\nnot nan"))


def misfit(shared, rank, blocks, validation):
    fail(shared, rank, ShapeError("features must be (6,), got (5,)"))


def miss(shared, rank, blocks, validation):
    fail(shared, rank, PeerError(0, "left", "silent for 5 s"))


def divide(shared, rank, blocks, validation):
    fail(shared, rank, ZeroDivisionError("division by zero"))


def judge_first(shared, rank, blocks, validation):
    list(validation)


def die(shared, rank, blocks, validation):
    meet(shared, rank)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(200)


def outlive(shared, rank, blocks, validation):
    """Rank 1 dies; the other rank reports only that its peer hung up."""
    meet(shared, rank)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    raise PeerError(1, "right", "hung up")


def fail(shared, rank, error):
    """Rank 1 raises `error` once both ranks have started; the other waits."""
    meet(shared, rank)
    if rank == 1:
        raise error
    time.sleep(200)


def meet(shared, rank):
    """Returns once both ranks have arrived."""
    FileRendezvous(Path(shared, "meeting"), rank, 2).all_gather("", LIMIT)
