"""Peak memory of this process."""

import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")
KIB = 1024


def peak_memory():
    """Returns the peak bytes of memory in use by this process, including shared memory.

    In a spawned process, getrusage would include the peak of its parent.
    """
    try:
        lines = STATUS.read_text().splitlines()
        [peak] = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
        return KIB * int(peak)
    except (OSError, ValueError):  # not on Linux
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else KIB * most
