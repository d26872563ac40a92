"""A side's processes as seen by the parent, which starts them and sends all the same orders."""

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from statistics import median

from tests.benchmarks.cpu.processes import Failed
from tests.benchmarks.exchange.member import ORDERS
from tests.benchmarks.exchange.sides import commands, variables
from tests.benchmarks.peers.environment import ROOT

LIMIT = 60.0  # seconds for a start or an answer
GRACE = 5.0  # seconds to exit


class Crew:
    """The processes of one side; each blocks in the kernel until it gets an order.

    Parameters
    ----------
    name : str
        Name of the side.
    size : int
        Number of ranks.

    Raises
    ------
    Failed, with their last output, if they do not all connect.
    """

    def __init__(self, name, size):
        self.size, self.processes, self.lines, self.held = size, [], [], ExitStack()
        try:
            self._start(name)
            self.facts = [self._answer(line) for line in self.lines]
        except BaseException:
            self.close()
            raise
        self.version = self.facts[0]["version"]
        self.pids = [fact["pid"] for fact in self.facts]

    def measure(self, burst, what="all_reduce", nbytes=64_000_000):
        """Returns an action's median seconds on the slowest rank, in runs that fill `burst`."""
        [first] = self.told(what, nbytes, 1)
        repeats = max(3, min(1000, round(burst / first)))
        return median(self.told(what, nbytes, repeats, warm_up=1 + repeats // 10))

    def told(self, what, nbytes, repeats, warm_up=1):
        """Returns the seconds of each repetition, of its slowest rank."""
        order = {"what": what, "bytes": nbytes, "repeats": repeats, "warm_up": warm_up}
        for line in self.lines:
            print(json.dumps(order | {"size": self.size}), file=line, flush=True)
        return list(map(max, zip(*[self._answer(line)["seconds"] for line in self.lines])))

    def close(self):
        """Hangs up; kills processes that do not exit in time, with their children."""
        for line in self.lines:
            line.close()
        end = time.monotonic() + GRACE
        for process in self.processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, end - time.monotonic()))
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.held.close()

    def _start(self, name):
        folder = Path(self.held.enter_context(tempfile.TemporaryDirectory()))
        self.words = self.held.enter_context((folder / "words").open("w+b"))
        door = self.held.enter_context(socket.socket(socket.AF_UNIX))
        door.bind(str(folder / ORDERS))
        door.listen()
        options = {"stdin": subprocess.DEVNULL, "stdout": self.words, "stderr": self.words}
        options |= {"cwd": ROOT, "start_new_session": True}
        for rank, command in enumerate(commands(name, self.size)):
            environment = variables(name, self.size, rank, folder)
            self.processes.append(subprocess.Popen(command, env=environment, **options))
        end = time.monotonic() + LIMIT
        while len(self.lines) < self.size:
            self._let_in(door, end)

    def _let_in(self, door, end):
        """Accepts one more process."""
        door.settimeout(0.2)
        with suppress(TimeoutError):
            line, _ = door.accept()
            line.settimeout(LIMIT)
            self.lines.append(line.makefile("rw"))
            line.close()  # the file keeps the connection open
        if time.monotonic() > end or any(p.poll() is not None for p in self.processes):
            raise Failed(self._last_word())

    def _answer(self, line):
        try:
            return json.loads(line.readline())
        except (OSError, ValueError):
            raise Failed(self._last_word()) from None

    def _last_word(self):
        size = os.fstat(self.words.fileno()).st_size
        text = os.pread(self.words.fileno(), 4096, max(0, size - 4096)).decode(errors="replace")
        return (text.strip().splitlines() or [f"no word within {LIMIT} s"])[-1]
