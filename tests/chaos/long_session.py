"""Fits, evaluations, predictions and faults in one driver: python -m tests.chaos.long_session.

A round is a fit with a fault, then fits, evaluations and predictions of new and of kept data. For
each it prints the outcome of the fault and what the driver and its processes hold.
"""

import argparse
import sys
import time
from collections import Counter
from datetime import datetime
from itertools import count
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

from sparkdl.spark import SparkNetwork
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from tests.benchmarks.session_memory import MB, by_kind, heap, network, records
from tests.chaos.local_cluster import local_cluster
from tests.chaos.outcome import HEAD as OUTCOMES

COUNTS = "threads", "files", "ports", "children", "shared memory files", "Spark's files"


def main():
    """Returns 1 if any turn was wrong or ended with an error."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.chaos.long_session")
    parser.add_argument("--hours", type=float, default=8.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between rounds")
    given = parser.parse_args()
    deadline, failed = time.monotonic() + 3600 * given.hours, False
    with local_cluster() as cluster:
        frame = records(cluster.sc)
        print(OUTCOMES, flush=True)
        for turn in count():
            if time.monotonic() > deadline:
                break
            outcome = cluster.take_turn(f"{given.seed}/{turn}")
            print(outcome.row(turn), flush=True)
            use(cluster.sc, frame)
            show(turn, cluster.sc)
            failed |= bool(outcome.wrong or outcome.error)
            time.sleep(given.pause)
    return int(failed)


def use(sc, kept):
    """Fits, evaluates and predicts, on `kept` and on a new DataFrame of the same rows."""
    for frame, master in ((records(sc), None), (kept, AllReduceSGD())):
        net = SparkNetwork(sc, network(), master)
        net.fit(frame, epochs=2)
        net.evaluate(frame)
        net.predict(frame).count()


def show(turn, sc):
    """Prints a round's figures: counts of resources, and megabytes by kind of process."""
    sizes = {f"{kind} MB": size // MB for kind, size in (by_kind() | {"heap": heap(sc)}).items()}
    print(f"{turn}: {datetime.now():%H:%M:%S}", holdings() | sizes, flush=True)


def holdings():
    """Returns {name: count} of what this process and its JVM hold."""
    held, me = Counter(dict.fromkeys(COUNTS, 0)), psutil.Process()
    children = me.children(recursive=True)
    held["children"] = len(children)
    for process in [me, *(each for each in me.children() if "java" in each.name())]:
        held["threads"] += process.num_threads()
        held["files"] += process.num_fds()
        held["ports"] += len(process.net_connections())
    held["shared memory files"] = sum(1 for _ in Path("/dev/shm").iterdir())
    local = SparkSession.getActiveSession().sparkContext.getConf().get("spark.local.dir")
    held["Spark's files"] = sum(1 for _ in Path(local).rglob("*")) if local else 0
    return dict(held)


if __name__ == "__main__":
    sys.exit(main())
