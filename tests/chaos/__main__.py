"""Runs fits with faults for some minutes: python -m tests.chaos --minutes 10 --seed 1.

With --on hosts, the faults hit the link between two hosts (Linux namespaces): this needs root and
nftables. With --on yarn, they also hit HDFS and YARN, which are downloaded from Maven.
"""

import argparse
import sys
import time
from itertools import count

from tests.chaos.hosts import hosts
from tests.chaos.local_cluster import local_cluster
from tests.chaos.on_yarn import on_yarn
from tests.chaos.outcome import HEAD

CLUSTERS = {"local": local_cluster, "hosts": hosts, "yarn": on_yarn}


def main():
    """Prints a Markdown row per turn; returns 1 if anything was wrong or a fit failed."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.chaos")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the turn to begin with")
    parser.add_argument("--on", choices=CLUSTERS, default="local", help="the cluster")
    parser.add_argument("--only", nargs="+", help="names of faults; else all of the cluster")
    given = parser.parse_args()
    only = {"only": tuple(given.only)} if given.only else {}
    deadline, failed = time.monotonic() + 60 * given.minutes, False
    with CLUSTERS[given.on](**only) as cluster:
        print(HEAD, flush=True)
        for turn in count(given.first):
            if time.monotonic() > deadline:
                break
            outcome = cluster.take_turn(f"{given.seed}/{turn}")
            print(outcome.row(turn), flush=True)
            failed |= bool(outcome.wrong or outcome.error)  # restarts suffice for one fault
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
