"""Time from the start of a task's process to our first function, imports included."""

import os
import time
from pathlib import Path

_asked = []
_noted = []  # seconds noted before they are asked for


def note_start():
    """Notes the age of this process, which `seconds_to_start` returns later."""
    if not (_asked or _noted):
        _noted.append(age())


def seconds_to_start():
    """Returns the startup seconds of this process at the first call, else 0; always 0 off Linux."""
    if _asked:
        return 0.0
    _asked.append(True)
    return _noted[0] if _noted else age()


def age():
    """Returns the seconds since this process was started; 0 off Linux."""
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start_time = int(fields[19]) / os.sysconf("SC_CLK_TCK")  # "starttime", in ticks since boot
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - start_time)
    except (OSError, AttributeError, ValueError, IndexError):
        return 0.0
