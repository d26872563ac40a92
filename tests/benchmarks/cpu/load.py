"""CPU load of other programs during a measurement: high load makes its figures unreliable."""

import os
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


class Others:
    """Measures from its creation until it is queried."""

    def __init__(self, pids):
        self.pids = [os.getpid(), *pids]
        self.began, self.before = time.perf_counter(), self.foreign()

    def cores(self):
        """Returns the average number of cores that other programs kept busy."""
        return (self.foreign() - self.before) / (time.perf_counter() - self.began)

    def foreign(self):
        """Returns CPU seconds since boot, without those of the given processes."""
        return busy() - sum(map(used, self.pids))


def busy():
    """Returns busy seconds of all cores: /proc/stat without idle, iowait and guests."""
    user, nice, system, _, _, *rest = numbers(Path("/proc/stat"))[:8]
    return (user + nice + system + sum(rest)) / TICKS


def used(pid):
    """Returns the CPU seconds of a process."""
    text = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    return sum(map(int, text.split()[11:13])) / TICKS


def numbers(path):
    return [int(word) for word in path.read_text().splitlines()[0].split()[1:]]
