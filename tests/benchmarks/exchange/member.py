"""The main loop of one process of a side: it runs each order and reports how long that took.

Orders come as lines of JSON over a Unix socket, so a process that waits for one waits in the
kernel, whatever its library does while it waits for the others. Every side imports this, so it
imports nothing but numpy.
"""

import json
import os
import socket
import time
from pathlib import Path

import numpy as np

AT, RANK, SIZE, SIDE = "CREW_AT", "CREW_RANK", "CREW_SIZE", "CREW_SIDE"
ORDERS = "orders"  # the socket in the folder where they meet
LIMIT = 60.0  # seconds until all have met


def serve(rank, version, actions):
    """Carry out orders until the one who gives them hangs up.

    Parameters
    ----------
    actions : dict
        {what: function}. Each takes a vector (n,) float32; "all_reduce" gives the sum, which may
        be the vector itself. `before` of an action, if it has one, is called before and not timed.
    """
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(folder() / ORDERS))
        say(line, {"rank": rank, "version": version, "pid": os.getpid()})
        for text in line.makefile():
            order = json.loads(text)
            say(line, carried_out(actions, order, rank))


def carried_out(actions, order, rank):
    """The answer to one order: seconds of each repetition."""
    action = actions[order["what"]]
    vector = np.full(order["bytes"] // 4, rank + 1.0, np.float32)
    if order["what"] == "all_reduce":
        check(action(vector), order["size"])
    vector[:] = 0  # sums of zeros stay what they are
    for _ in range(order["warm_up"]):
        timed(action, vector)
    return {"seconds": [timed(action, vector) for _ in range(order["repeats"])]}


def check(total, size):
    """The sum over ranks of rank + 1 must stand everywhere."""
    wanted = size * (size + 1) / 2
    if not (total == wanted).all():
        raise SystemExit(f"the sum must be {wanted}, got {total[total != wanted][0]}")


def timed(action, vector):
    """Seconds of an action, without what it has to make ready before."""
    getattr(action, "before", nothing)(vector)
    began = time.perf_counter()
    action(vector)
    return time.perf_counter() - began


def nothing(vector):
    """Most actions have nothing to make ready."""


def say(line, facts):
    line.sendall(json.dumps(facts).encode() + b"\n")


def folder():
    """Where the processes of a crew meet."""
    return Path(os.environ[AT])


def place():
    """(rank, size) of a process that was started with them."""
    return int(os.environ[RANK]), int(os.environ[SIZE])


def left(name, text):
    """Leave a text for the others."""
    part = folder() / f"{name}.part"
    part.write_text(text)
    part.rename(folder() / name)


def found(name):
    """The text that another leaves; waits for it."""
    path, end = folder() / name, time.monotonic() + LIMIT
    while not path.exists():
        if time.monotonic() > end:
            raise SystemExit(f"{name} must be there within {LIMIT} s")
        time.sleep(0.01)
    return path.read_text()
