"""Control of timed processes: their command, threads and environment, and requests to them."""

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

LIMIT = 900  # seconds: torch.compile takes minutes on busy cores
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
    """Raised when a process fails before its first step; holds its last output."""


def command(name, workload):
    """Returns the command of a side: sparkdl, the matrix product, or a peer's mode."""
    package = "tests.benchmarks.cpu"
    if name in MODES:
        environment, mode = MODES[name]
        return [python_of(environment), "-m", f"{package}.{MODULES[environment]}", workload, mode]
    return [sys.executable, "-m", f"{package}.our_worker", workload]


def variables(threads, spin_count=SPIN_COUNT):
    """Returns the environment of every side: the same number of threads and spinning."""
    kept = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    fixed = {"OMP_NUM_THREADS": str(threads), "PYTHONNOUSERSITE": "1", "PYTHONPATH": str(ROOT)}
    fixed |= {} if spin_count is None else {"GOMP_SPINCOUNT": spin_count}
    fixed |= {"TF_CPP_MIN_LOG_LEVEL": "3", "TORCHINDUCTOR_CACHE_DIR": str(ROOT / ".bench/compiled")}
    return {**kept, **fixed}


class Process:
    """A process that holds a step, started by a command line.

    `limit` is the timeout of an answer in seconds.

    Raises
    ------
    Failed, with its last output, if it gives no answer.
    """

    def __init__(self, words, environment, limit=LIMIT):
        self.limit = limit
        self.errors, path = tempfile.mkstemp()
        os.unlink(path)
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self.errors}
        self.process = subprocess.Popen(words, env=environment, cwd=ROOT, text=True, **options)
        self.facts, self.resident = self.answer(), 0

    def ask(self, steps):
        """Returns the seconds of each of `steps` steps."""
        answer = self.asked(steps)
        self.resident = answer["resident"]
        return answer["seconds"]

    def asked(self, line):
        """Sends a line and returns the answer."""
        with suppress(BrokenPipeError):  # a dead process answers with its last output
            print(line, file=self.process.stdin, flush=True)
        return self.answer()

    def took(self, steps):
        """Returns the seconds until `steps` steps were done."""
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
    """Measures the seconds per step in one process."""

    def __init__(self, name, workload, threads):
        self.process = Process(command(name, workload), variables(threads))
        self.facts, self.close = self.process.facts, self.process.close
        self.pids = [self.process.process.pid]

    def measure(self, burst):
        """Returns the median over the steps that fit into `burst` seconds."""
        first = self.process.ask(1)[0]
        return median([first, *self.process.ask(max(2, min(200, round(burst / first))))])

    @property
    def resident(self):
        return self.process.resident


class Start:
    """Measures seconds from the configuration to the end of the first step, each in a new process.

    `whole` collects the seconds from each process's start, less those of an idle interpreter.
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
    """Measures the seconds per step of two concurrent processes of two threads each."""

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
        """Returns the seconds until each process finished its steps."""
        with ThreadPoolExecutor(len(self.processes)) as pool:
            return list(pool.map(lambda process: process.took(steps), self.processes))

    def close(self):
        for process in self.processes:
            process.close()
