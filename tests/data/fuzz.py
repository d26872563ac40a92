"""Feeds mutated files to each parser, in child processes that may crash.

Usage: python -m tests.data.fuzz [--minutes 10] [--seed 0] [--only LMDB] [--case 1234]

Of each case: no signal, two seconds of processor time at most, memory of ten times the file and
64 MB at most, and no error but ours. What breaks that is printed with its number, which repeats it.
"""

import multiprocessing
import os
import random
import resource
import tempfile
import time
import warnings
from functools import cache
from pathlib import Path

from sparkdl.errors import SparkdlError
from tests.data.fuzz_targets import TARGETS
from tests.exchange.mutation import garbage, mutated
from tests.support.fuzzing import fuzz_arguments, take_turns

CPU_LIMIT, PATIENCE = 2.0, 30.0  # seconds of a processor; on the clock, where it must be stopped
SLACK = (64 << 20) + (8 << 20)  # bytes, and what an interpreter takes at a whim
ADDRESSES = 8 << 30
BATCH = 50  # cases of a child

FORK = multiprocessing.get_context("fork")


@cache
def good(name):
    return TARGETS[name].good()


def content_of(name, seed, number):
    """Returns the bytes of a case."""
    rng = random.Random(f"{name} {seed} {number}")
    return garbage(rng) if rng.random() < 0.02 else mutated(good(name), rng)


def write_case(name, seed, number, folder):
    """Returns (path of the file of a case, its bytes)."""
    path, content = Path(folder, TARGETS[name].name), content_of(name, seed, number)
    path.write_bytes(content)
    return path, content


def run_case(name, seed, number, folder):
    """Returns what is wrong with a case, or None."""
    path, content = write_case(name, seed, number, folder)
    before, start = settled_memory(), time.process_time()
    try:
        TARGETS[name].read(path)
    except SparkdlError:
        pass
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:200]
    seconds, grown = time.process_time() - start, peak_memory() - before
    if seconds > CPU_LIMIT:
        return f"took {seconds:.1f} s"
    most = SLACK + 10 * len(content)
    return f"took {grown >> 20} MB for {len(content)} bytes" if grown > most else None


def settled_memory():
    """Returns the bytes in use, from which on the peak is counted."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_memory()


def peak_memory():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) << 10


def child(name, seed, numbers, told, folder):
    """Tells (number, None) before a case, and (number, what is wrong) after it."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # C libraries say what they think
    for number in numbers:
        told.send((number, None))
        told.send((number, run_case(name, seed, number, folder) or ""))


def run_batch(name, seed, numbers):
    """Yields (number, what is wrong) of cases, each of which may end its process."""
    left = list(numbers)
    while left:
        hears, tells = FORK.Pipe(duplex=False)
        with tempfile.TemporaryDirectory() as folder:
            process = FORK.Process(target=child, args=(name, seed, left, tells, folder))
            process.start()
            tells.close()
            current, ended = listen(hears)
            if ended == "hang":
                process.kill()
            process.join()
        yield from ((number, what) for number, what in current.items() if what)
        for number in [number for number, what in current.items() if what is None]:
            signal = -(process.exitcode or 0)
            yield number, f"hangs for {PATIENCE:g} s" if ended == "hang" else f"signal {signal}"
        left = [number for number in left if number not in current]


def listen(hears):
    """Returns ({number: what is wrong, None while it runs}, how it ended)."""
    current = {}
    while True:
        if not hears.poll(PATIENCE):
            return current, "hang"
        try:
            number, what = hears.recv()
        except EOFError:
            return current, "end"
        current[number] = what


def run(seconds, seed=0, names=tuple(TARGETS)):
    """Returns ({target: cases}, [(target, number, what is wrong)])."""
    wrong = []

    def turn(name, counts):
        numbers = range(counts[name], counts[name] + BATCH)
        for number, what in run_batch(name, seed, numbers):
            wrong.append((name, number, what))
            print(f"--only {name!r} --seed {seed} --case {number}: {what}", flush=True)
        counts[name] += BATCH

    return take_turns(seconds, names, turn), wrong


def main():
    given, names = fuzz_arguments(__doc__, TARGETS)
    if given.case is not None:
        with tempfile.TemporaryDirectory() as folder:
            path, _ = write_case(given.only, given.seed, given.case, folder)
            TARGETS[given.only].read(path)
        return
    counts, wrong = run(60 * given.minutes, given.seed, names)
    print(f"{sum(counts.values())} cases, {len(wrong)} wrong: {counts}")


if __name__ == "__main__":
    main()
