"""The most memory that this process has had."""

import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")
KIB = 1024


def peak_memory():
    """Returns the most bytes of memory that this process has had in use at once, shared ones too.

    getrusage would count, in a process that another one has started, what that one had.
    """
    try:
        lines = STATUS.read_text().splitlines()
        [peak] = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
        return KIB * int(peak)
    except (OSError, ValueError):  # no Linux
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else KIB * most
