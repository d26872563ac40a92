"""Ctrl-C at random moments under every master: python -m tests.chaos.interrupts --times 20."""

import argparse
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from dataclasses import replace

import numpy as np

from sparkdl.spark import SparkNetwork
from sparkdl.spark.jobs.job_watch import running_jobs
from sparkdl.spark.jobs.slots import value_of
from sparkdl.spark.session import session
from tests.conftest import SMALL
from tests.spark.networks import arrays, rich
from tests.training.master_table import MASTERS

EPOCHS, RECORDS = 4, 62
HEAD = "| master | interrupts | in a fit | before its first round | wrong |\n" + "|---" * 5 + "|"


def main():
    """Prints a Markdown row per master; returns 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.chaos.interrupts")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=MASTERS, default=[*MASTERS])
    given = parser.parse_args()
    print(HEAD, flush=True)
    failed = False
    with session("local-cluster[2,1,1024]", SMALL, name="interrupts") as spark:
        for name in given.only:
            found = interrupt_fits(spark.sparkContext, name, given.times, given.seed)
            wrong = {what: n for what, n in found.items() if what not in ("hit", "early")}
            cells = name, given.times, found["hit"], found["early"], wrong or "nothing"
            print(f"| {' | '.join(map(str, cells))} |", flush=True)
            failed |= bool(wrong)
    return int(failed)


def interrupt_fits(sc, name, times, seed):
    """Counts the outcomes of a master's fits, each interrupted once."""
    master = replace(MASTERS[name].master, workers=2)
    fit(sc, master)  # starts the processes
    began = time.monotonic()
    fit(sc, master)
    whole, draw = time.monotonic() - began, random.Random(f"{seed}/{name}")
    found = Counter()
    for _ in range(times):
        found.update(interrupt_fit(sc, master, draw.uniform(0, whole)))
    return found


def fit(sc, master, epochs=EPOCHS):
    net = SparkNetwork(sc, rich(), master)
    net.fit(arrays(RECORDS), epochs)
    return net


def interrupt_fit(sc, master, delay):
    """Yields the outcomes of a fit that Ctrl-C interrupts after `delay` seconds."""
    net, has_ended = SparkNetwork(sc, rich(), master), False
    timer = threading.Timer(delay, os.kill, [os.getpid(), signal.SIGINT])
    try:
        timer.start()  # may be so soon that there is no fit yet
        net.fit(arrays(RECORDS), EPOCHS)
        has_ended = True
        timer.join()
        time.sleep(0.1)  # for the interrupt, which was too late
    except KeyboardInterrupt:
        pass
    if not has_ended:
        yield "hit"
    yield from wrongs(sc, net, master)


def wrongs(sc, net, master):
    """Yields what is wrong after an interrupt, and "early" if no round had ended."""
    state, history = net.network.state, net.history
    if jobs := jobs_left(sc):
        yield f"jobs left: {jobs}"
    if not np.isfinite(state.params).all():
        yield "weights not finite"
    rounds = len(history.rounds) if history else 0
    if not rounds:
        yield "early"
    elif state.rounds != rounds:
        yield f"weights after {state.rounds} rounds, history of {rounds}"
    if net.network.unfinished is not None:
        net.fit(arrays(RECORDS), resume=True)
        if net.network.state.epoch != EPOCHS:
            yield "not resumed to its end"
    elif fit(sc, master, 1).network.state.epoch != 1:
        yield "the next fit ended early"


def jobs_left(sc, limit=60.0):
    """Returns Spark's descriptions of the jobs that still run after some seconds."""
    deadline = time.monotonic() + limit
    while (jobs := running_jobs(sc)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return [str(value_of(job.description())) for job in jobs]


if __name__ == "__main__":
    sys.exit(main())
