"""Main loop of a side's process: it carries out orders and reports their durations.

Orders are lines of JSON on a Unix socket, so an idle process blocks in the kernel, however its
library waits for other ranks. Every side imports this, so it imports only numpy.
"""

import json
import os
import socket
import time
from pathlib import Path

import numpy as np

AT, RANK, SIZE, SIDE = "CREW_AT", "CREW_RANK", "CREW_SIZE", "CREW_SIDE"
ORDERS = "orders"  # the socket in the crew's folder
LIMIT = 60.0  # seconds until all have connected


def serve(rank, version, actions):
    """Carries out orders until the parent hangs up.

    Parameters
    ----------
    actions : dict
        {what: function}. Each takes a vector (n,) float32; "all_reduce" returns the sum, which may
        be the vector itself. An action's `before`, if any, is called first, untimed.
    """
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(folder() / ORDERS))
        say(line, {"rank": rank, "version": version, "pid": os.getpid()})
        for text in line.makefile():
            order = json.loads(text)
            say(line, carried_out(actions, order, rank))


def carried_out(actions, order, rank):
    """Carries out one order; returns the seconds of each repetition."""
    action = actions[order["what"]]
    vector = np.full(order["bytes"] // 4, rank + 1.0, np.float32)
    if order["what"] == "all_reduce":
        check(action(vector), order["size"])
    vector[:] = 0  # sums of zeros stay zero
    for _ in range(order["warm_up"]):
        timed(action, vector)
    return {"seconds": [timed(action, vector) for _ in range(order["repeats"])]}


def check(total, size):
    """Checks that every entry is the sum over ranks of rank + 1."""
    wanted = size * (size + 1) / 2
    if not (total == wanted).all():
        raise SystemExit(f"the sum must be {wanted}, got {total[total != wanted][0]}")


def timed(action, vector):
    """Returns the seconds of an action, without its preparation."""
    getattr(action, "before", nothing)(vector)
    began = time.perf_counter()
    action(vector)
    return time.perf_counter() - began


def nothing(vector):
    """Does nothing, for actions without preparation."""


def say(line, facts):
    line.sendall(json.dumps(facts).encode() + b"\n")


def folder():
    """Returns the folder where a crew's processes meet."""
    return Path(os.environ[AT])


def place():
    """Returns this process's (rank, size)."""
    return int(os.environ[RANK]), int(os.environ[SIZE])


def left(name, text):
    """Publishes a text to the other processes."""
    part = folder() / f"{name}.part"
    part.write_text(text)
    part.rename(folder() / name)


def found(name):
    """Waits for a text from another process and returns it."""
    path, end = folder() / name, time.monotonic() + LIMIT
    while not path.exists():
        if time.monotonic() > end:
            raise SystemExit(f"{name} must be there within {LIMIT} s")
        time.sleep(0.01)
    return path.read_text()
