"""Load of other programs during a measurement, which says whether its figures can be trusted."""

import os
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


class Others:
    """Counts from when it is made until it is asked."""

    def __init__(self, pids):
        self.pids = [os.getpid(), *pids]
        self.began, self.before = time.perf_counter(), self.foreign()

    def cores(self):
        """Cores that programs other than these processes kept busy, on average."""
        return (self.foreign() - self.before) / (time.perf_counter() - self.began)

    def foreign(self):
        """Seconds of work since the machine began, without those of the processes."""
        return busy() - sum(map(used, self.pids))


def busy():
    """Seconds of work of all cores: the first line of /proc/stat without idle, waiting, guests."""
    user, nice, system, _, _, *rest = numbers(Path("/proc/stat"))[:8]
    return (user + nice + system + sum(rest)) / TICKS


def used(pid):
    """Seconds of work of a process."""
    text = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    return sum(map(int, text.split()[11:13])) / TICKS


def numbers(path):
    return [int(word) for word in path.read_text().splitlines()[0].split()[1:]]
