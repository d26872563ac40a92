"""Runs fits with faults for some minutes: python -m tests.chaos --minutes 10 --seed 1."""

import argparse
import sys
import time
from functools import cache
from itertools import count

from sparkdl.spark.session import session
from tests.chaos.turn import fit, take_turn
from tests.conftest import SMALL

HEAD = "| turn | master | fault | struck | s | restarts | outcome | wrong |\n" + "|---" * 8 + "|"


def main():
    """Prints a Markdown row for each turn; returns 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.chaos")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the turn to begin with")
    given = parser.parse_args()
    deadline, failed = time.monotonic() + 60 * given.minutes, False
    with session("local-cluster[2,1,1024]", SMALL, name="chaos") as spark:
        sc = spark.sparkContext
        calm = cache(lambda name: fit(sc, name, None)[0].network.state.params)
        print(HEAD, flush=True)
        for turn in count(given.first):
            if time.monotonic() > deadline:
                break
            found = take_turn(sc, f"{given.seed}/{turn}", calm)
            print(row(turn, found), flush=True)
            failed |= bool(found.wrong)
    return int(failed)


def row(turn, found):
    struck, wrong = "yes" if found.struck else "no", "; ".join(found.wrong) or "nothing"
    cells = turn, found.master, found.fault, struck, f"{found.seconds:.0f}", found.restarts
    return f"| {' | '.join(map(str, cells))} | {found.error or 'finished'} | {wrong} |"


if __name__ == "__main__":
    sys.exit(main())
