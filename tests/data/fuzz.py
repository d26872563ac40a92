"""Feeds mutated files to each parser, in child processes that may crash.

Usage: python -m tests.data.fuzz [--minutes 10] [--seed 0] [--only LMDB] [--case 1234 or a file]
       python -m tests.data.fuzz --guided FOLDER [--minutes 60] [--only LMDB]

A case must not end in a signal or in an error other than ours, take more than two seconds of CPU
time, or more memory than ten times the file plus 64 MB. Violations are printed with the number of
the case, which reproduces them.

With `--guided`, atheris (`pip install atheris`) prefers files that reach new code of ours. The
folder keeps them, for the next run to start from, and a file of each violation.
"""

import multiprocessing
import os
import random
import resource
import tempfile
import time
import traceback
import warnings
from functools import cache
from pathlib import Path

from sparkdl.errors import SparkdlError
from tests.data.fuzz_pieces import TARGETS
from tests.data.guided_fuzz import explore_targets
from tests.exchange.mutation import garbage, mutated
from tests.support.fuzzing import fuzz_arguments, take_turns

CPU_LIMIT, PATIENCE = 2.0, 120.0  # seconds: of CPU time; of wall time until a case is killed
SLACK = (64 << 20) + (8 << 20)  # bytes: the limit, and noise of the interpreter
ADDRESSES = 8 << 30
BATCH = 50  # cases per child process

FORK = multiprocessing.get_context("fork")


@cache
def good(name):
    return TARGETS[name].good()


def content_of(name, seed, case):
    """Returns the contents of the file of a case, which is a number, or these contents."""
    if isinstance(case, bytes):
        return case
    rng = random.Random(f"{name} {seed} {case}")
    return garbage(rng) if rng.random() < 0.02 else mutated(good(name), rng)


def write_case(name, seed, number, folder):
    """Returns (path of the file of a case, its bytes)."""
    path, content = Path(folder, TARGETS[name].name), content_of(name, seed, number)
    path.write_bytes(content)
    return path, content


def run_case(name, seed, number, folder):
    """Runs a case and returns the violation, or None."""
    return run_file(name, *write_case(name, seed, number, folder))


def run_file(name, path, content):
    """Reads the file of these contents and returns the violation, or None."""
    before, start = settled_memory(), time.process_time()
    try:
        TARGETS[name].read(path)
    except SparkdlError:
        pass
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        return f"{type(error).__name__} in {where}: {error}"[:200]
    seconds, grown = time.process_time() - start, peak_memory() - before
    if seconds > CPU_LIMIT:
        return f"took {seconds:.1f} s"
    most = SLACK + 10 * len(content)
    return f"took {grown >> 20} MB for {len(content)} bytes" if grown > most else None


def settled_memory():
    """Resets the peak of memory to the bytes in use and returns it."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_memory()


def peak_memory():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) << 10


def limit_process():
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def child(name, seed, numbers, told, folder):
    """Runs cases; sends (number, None) before each and (number, violation or "") after it."""
    limit_process()
    good(name)  # loads what is not to be counted
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # C libraries print errors
    for number in numbers:
        told.send((number, None))
        told.send((number, run_case(name, seed, number, folder) or ""))


def run_batch(name, seed, numbers):
    """Yields (number, violation) of cases, each of which may crash its process."""
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
        if not current:
            raise RuntimeError(
                f"{name}: its process ended with {process.exitcode} before a case began"
            )
        yield from ((number, what) for number, what in current.items() if what)
        for number in [number for number, what in current.items() if what is None]:
            signal = -(process.exitcode or 0)
            yield number, f"hangs for {PATIENCE:g} s" if ended == "hang" else f"signal {signal}"
        left = [number for number in left if number not in current]


def listen(hears):
    """Returns ({number: violation, None if unfinished}, "end" or "hang")."""
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
    """Returns ({target: number of cases}, [(target, number, violation)])."""
    wrong = []

    def turn(name, counts):
        numbers = range(counts[name], counts[name] + BATCH)
        for number, what in run_batch(name, seed, numbers):
            wrong.append((name, number, what))
            print(f"--only {name!r} --seed {seed} --case {number}: {what}", flush=True)
        counts[name] += BATCH

    return take_turns(seconds, names, turn), wrong


def run_guided(seconds, folder, names):
    """Explores each target for the same time; prints what was run and each violation."""
    for name, told, files in explore_targets(seconds, folder, names):
        print(f"{name}: {told}", flush=True)
        cases = {file.read_bytes(): str(file) for file in files}
        for content, what in run_batch(name, 0, cases):
            print(f"--only {name!r} --case {cases[content]!r}: {what}", flush=True)


def number_or_content(case):
    """Returns the number of a case, or the contents of the file that it names."""
    return int(case) if case.isdigit() else Path(case).read_bytes()


def main():
    given, names = fuzz_arguments(__doc__, TARGETS, "--guided", case=number_or_content)
    if given.case is not None:
        with tempfile.TemporaryDirectory() as folder:
            path, _ = write_case(given.only, given.seed, given.case, folder)
            TARGETS[given.only].read(path)
        return
    if given.guided:
        return run_guided(60 * given.minutes, given.guided, names)
    counts, wrong = run(60 * given.minutes, given.seed, names)
    print(f"{sum(counts.values())} cases, {len(wrong)} wrong: {counts}")


if __name__ == "__main__":
    main()
