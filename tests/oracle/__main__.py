"""python -m tests.oracle --networks 20000 --seed 1 --processes 2 --json failures.jsonl

Draws networks, compares the backends, and reports failures, each reduced to a small case.
"""

import argparse
import json
from time import perf_counter

from tests.oracle.case import Case
from tests.oracle.children import outcomes
from tests.oracle.outcomes import counted
from tests.oracle.reduction import reduced


def main():
    arguments = parsed()
    start, found = perf_counter(), []
    for outcome in outcomes(
        arguments.seed, arguments.networks, arguments.processes, arguments.start
    ):
        if outcome.failed:
            outcome = told(outcome, arguments)
        found.append(outcome)
    report(found, perf_counter() - start)


def parsed():
    parser = argparse.ArgumentParser(prog="python -m tests.oracle")
    parser.add_argument("--networks", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="number of the first network")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--json", help="file to which failures are appended, one a line")
    parser.add_argument("--reduce", type=float, default=20.0, help="seconds for each failure")
    return parser.parse_args()


def told(outcome, arguments):
    """Prints a failure and appends it to the file; returns its Outcome, reduced if possible."""
    if outcome.kind in ("differs", "raised") and arguments.reduce:
        outcome = reduced(outcome, arguments.reduce)
    print(f"number {outcome.index} {outcome.kind}: {outcome.told}")
    print(f"    {Case.from_dict(outcome.case)!r}", flush=True)
    if arguments.json:
        with open(arguments.json, "a") as file:
            file.write(json.dumps(outcome.to_dict()) + "\n")
    return outcome


def report(found, seconds):
    for what, counts in counted(found).items():
        print(f"{what}: " + ", ".join(f"{name} {n}" for name, n in counts.most_common()))
    margins = sorted(outcome.excess for outcome in found if outcome.kind == "same")
    if margins:
        shares = [(q, margins[int(q * (len(margins) - 1))]) for q in (0.5, 0.9, 0.99, 1)]
        print("share of the permitted error: " + ", ".join(f"{q:.0%} {m:.2g}" for q, m in shares))
    computing = sum(outcome.seconds for outcome in found)
    print(f"{len(found)} networks in {seconds:.0f} s, {computing / len(found):.2f} s each")


if __name__ == "__main__":
    main()
