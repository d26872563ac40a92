"""Runs fits with faults for some minutes: python -m tests.chaos --minutes 10 --seed 1.

With --on hosts, the faults hit the link between two hosts (Linux namespaces): this needs root and
nftables. With --on yarn, they also hit HDFS and YARN, which are downloaded from Maven.
"""

import argparse
import sys
import time
from itertools import count

from tests.chaos import local_cluster, on_yarn
from tests.chaos.hosts import hosts
from tests.chaos.link_faults import LINK_FAULTS
from tests.chaos.outcome import HEAD

CLUSTERS = {"local": local_cluster.local_cluster, "hosts": hosts, "yarn": on_yarn.on_yarn}
FAULTS = {"local": local_cluster.FAULTS, "hosts": LINK_FAULTS, "yarn": on_yarn.FAULTS}


def main():
    """Prints a Markdown row per turn; returns 1 if anything was wrong or a fit failed."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.chaos")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the turn to begin with")
    parser.add_argument("--on", choices=CLUSTERS, default="local", help="the cluster")
    parser.add_argument("--only", nargs="+", help="names of faults; else all of the cluster")
    given = parser.parse_args()
    known = FAULTS[given.on]
    if unknown := [name for name in given.only or () if name not in known]:
        parser.error(f"--only must be some of {sorted(known)} on {given.on}, got {unknown}")
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
