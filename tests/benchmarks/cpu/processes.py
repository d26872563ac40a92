"""The outside of processes that are timed: what starts them, with what threads; asking them."""

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from statistics import median

from tests.benchmarks.peers.environment import ROOT, python_of

LIMIT = 900  # seconds: torch.compile takes minutes where the cores are busy
SPIN_COUNT = "500"

OURS = "sparkdl"
AS_RUN = "torch eager"
MODULES = {"torch": "torch_worker", "tensorflow": "keras_worker"}
MODES = {
    AS_RUN: ("torch", "eager"),
    "torch channels_last, fused": ("torch", "channels_last"),
    "torch.compile": ("torch", "compile"),
    "tf.function": ("tensorflow", "function"),
    "keras train_on_batch": ("tensorflow", "train_on_batch"),
}


class Failed(Exception):
    """A process did not get as far as its first step; says what it wrote."""


def command(name, workload):
    """The process of a side: sparkdl, the matrix product, or a peer's mode."""
    package = "tests.benchmarks.cpu"
    if name in MODES:
        environment, mode = MODES[name]
        return [python_of(environment), "-m", f"{package}.{MODULES[environment]}", workload, mode]
    return [sys.executable, "-m", f"{package}.our_worker", workload]


def variables(threads, spin_count=SPIN_COUNT):
    """The environment of every side: as many threads, and the same spinning."""
    kept = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    fixed = {"OMP_NUM_THREADS": str(threads), "PYTHONNOUSERSITE": "1", "PYTHONPATH": str(ROOT)}
    fixed |= {} if spin_count is None else {"GOMP_SPINCOUNT": spin_count}
    fixed |= {"TF_CPP_MIN_LOG_LEVEL": "3", "TORCHINDUCTOR_CACHE_DIR": str(ROOT / ".bench/compiled")}
    return {**kept, **fixed}


class Process:
    """One process that holds a step, started by the words of a command.

    `limit` is how many seconds it may take for an answer.

    Raises
    ------
    Failed, with what it wrote last, where it gives no answer.
    """

    def __init__(self, words, environment, limit=LIMIT):
        self.limit = limit
        self.errors, path = tempfile.mkstemp()
        os.unlink(path)
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self.errors}
        self.process = subprocess.Popen(words, env=environment, cwd=ROOT, text=True, **options)
        self.facts, self.resident = self.answer(), 0

    def ask(self, steps):
        """Seconds of each of so many steps."""
        answer = self.asked(steps)
        self.resident = answer["resident"]
        return answer["seconds"]

    def asked(self, line):
        """The answer to a line."""
        with suppress(BrokenPipeError):  # a dead process answers with its last words
            print(line, file=self.process.stdin, flush=True)
        return self.answer()

    def took(self, steps):
        """Seconds until so many steps were done."""
        began = time.perf_counter()
        self.ask(steps)
        return time.perf_counter() - began

    def answer(self):
        ready, _, _ = select.select([self.process.stdout], [], [], self.limit)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        text = os.pread(self.errors, 1 << 20, 0).decode(errors="replace")
        last = text.strip().splitlines()[-1:] or ["no word"]
        self.close()
        raise Failed(last[0] if ready else f"no answer within {self.limit:.0f} s")

    def close(self):
        self.process.kill()
        self.process.communicate()
        os.close(self.errors)


class Steps:
    """Seconds a step takes in one process."""

    def __init__(self, name, workload, threads):
        self.process = Process(command(name, workload), variables(threads))
        self.facts, self.close = self.process.facts, self.process.close
        self.pids = [self.process.process.pid]

    def measure(self, burst):
        """The median over the steps that fit into `burst` seconds."""
        first = self.process.ask(1)[0]
        return median([first, *self.process.ask(max(2, min(200, round(burst / first))))])

    @property
    def resident(self):
        return self.process.resident


class Start:
    """Seconds from the configuration to the end of the first step, in a new process each time.

    `whole` has for each of them the seconds from the start of the process, without those of an
    interpreter that does nothing.
    """

    def __init__(self, name, workload, threads):
        self.what, self.threads, self.whole = (name, workload), threads, []

    def measure(self, burst):
        environment = variables(self.threads)
        words = command(*self.what)
        began = time.time()
        subprocess.run([words[0], "-c", ""], env=environment, check=True)
        nothing = time.time() - began
        began = time.time()
        process = Process(words, environment)
        process.close()
        self.whole.append(process.facts["first"] - began - nothing)
        return process.facts["first"] - process.facts["imported"]


class Together:
    """Seconds a step takes in each of two processes of two threads that run at the same time."""

    def __init__(self, name, workload, threads):
        words, environment = command(name, workload), variables(threads, None)
        self.processes = [Process(words, environment) for _ in range(2)]
        self.facts = self.processes[0].facts
        self.pids = [process.process.pid for process in self.processes]

    def measure(self, burst):
        first = max(self.at_once(1))
        steps = max(5, min(200, round(burst / first)))
        return max(self.at_once(steps)) / steps

    def at_once(self, steps):
        """For each process the seconds until its steps were done."""
        with ThreadPoolExecutor(len(self.processes)) as pool:
            return list(pool.map(lambda process: process.took(steps), self.processes))

    def close(self):
        for process in self.processes:
            process.close()
