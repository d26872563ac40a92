"""Shared parts of the fuzzers: the command line, and turns of equal time for each target."""

import argparse
import os
import random
import time


def fuzz_arguments(doc, targets, *options, case=int):
    """Returns (parsed arguments, names of the targets to run).

    Parameters
    ----------
    options : str
        Names of further options.
    case : function of a str
        Parses the option --case.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=targets)
    parser.add_argument("--case", type=case)
    for option in options:
        parser.add_argument(option)
    given = parser.parse_args()
    return given, (given.only,) if given.only else tuple(targets)


def drawn_seed():
    """Returns a seed: in CI always the same, as property tests draw the same examples there."""
    return 0 if os.environ.get("CI") else random.randrange(1 << 30)


def take_turns(seconds, names, turn):
    """Runs the target with the least time so far, until time is up and each had a turn.

    Parameters
    ----------
    turn : function (name, {target: cases until now})
        Runs some cases of a target and adds to its count.

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
