"""What workers that stay are asked to do in the tests; `shared` is a folder for what they find."""

import json
import os
import signal
import time
from pathlib import Path

from sparkdl.errors import DataError, PeerError, ShapeError

LIMIT = 200.0  # seconds


def take(shared, rank, rendezvous, blocks, validation):
    """Writes down all that a worker is given."""
    own = [[number, sorted(batch.ids.tolist())] for number, batch in blocks]
    judged = None if validation is None else [batch.ids.tolist() for batch in validation]
    texts = [rendezvous.all_gather(f"{word} {rank}", LIMIT) for word in ("one", "two")]
    found = {"blocks": own, "judged": judged, "texts": texts, "size": rendezvous.size}
    Path(shared, str(rank)).write_text(json.dumps(found))


def wait(shared, rank, rendezvous, blocks, validation):
    """Says which process it is, then waits until it is killed."""
    Path(shared, f"{rank}.new").write_text(str(os.getpid()))
    Path(shared, f"{rank}.new").rename(Path(shared, str(rank)))
    time.sleep(200)


def hold_out(shared, rank, rendezvous, blocks, validation):
    """Signals that ask it to end are not heard."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    wait(shared, rank, rendezvous, blocks, validation)


def be_late(shared, rank, rendezvous, blocks, validation):
    if rank:
        rendezvous.all_gather("here", 1.0)
    time.sleep(200)


def refuse(shared, rank, rendezvous, blocks, validation):
    fail(rank, rendezvous, DataError("record 7: features must be finite,\nnot nan"))


def misfit(shared, rank, rendezvous, blocks, validation):
    fail(rank, rendezvous, ShapeError("features must be (6,), got (5,)"))


def miss(shared, rank, rendezvous, blocks, validation):
    fail(rank, rendezvous, PeerError(0, "left", "silent for 5 s"))


def divide(shared, rank, rendezvous, blocks, validation):
    fail(rank, rendezvous, ZeroDivisionError("division by zero"))


def judge_first(shared, rank, rendezvous, blocks, validation):
    list(validation)


def die(shared, rank, rendezvous, blocks, validation):
    rendezvous.all_gather("", LIMIT)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(200)


def outlive(shared, rank, rendezvous, blocks, validation):
    """Rank 1 dies; the other has nothing to say but that."""
    rendezvous.all_gather("", LIMIT)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    raise PeerError(1, "right", "hung up")


def fail(rank, rendezvous, error):
    """Rank 1 raises it once all are there; the others go on."""
    rendezvous.all_gather("", LIMIT)
    if rank == 1:
        raise error
    time.sleep(200)
