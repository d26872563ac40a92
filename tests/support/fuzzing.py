"""What fuzzers share: their command line, and turns that give each target the same time."""

import argparse
import time


def fuzz_arguments(doc, targets):
    """Returns (what was given, the names of targets to run)."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=targets)
    parser.add_argument("--case", type=int)
    given = parser.parse_args()
    return given, (given.only,) if given.only else tuple(targets)


def take_turns(seconds, names, turn):
    """Has the target that ran shortest run next, until the time is over and each had a turn.

    Parameters
    ----------
    turn : function (name, {target: cases until now})
        Runs some cases of a target, and adds them to their number.

    Returns
    -------
    {target: cases}
    """
    counts, spent = dict.fromkeys(names, 0), dict.fromkeys(names, 0.0)
    end = time.monotonic() + seconds
    while time.monotonic() < end or not all(counts.values()):
        name, start = min(names, key=spent.get), time.monotonic()
        turn(name, counts)
        spent[name] += time.monotonic() - start
    return counts
