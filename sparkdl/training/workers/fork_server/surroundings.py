"""What a process inherits from its owner besides files, for one that another has forked."""

import os
import re
import resource
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LIMITS = sorted({getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")})
UMASK = re.compile(r"^Umask:\s*([0-7]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Surroundings:
    """The variables, file mode mask, cores, priority and limits of a process; on Linux."""

    variables: dict
    umask: int
    cores: set
    priority: int
    limits: dict

    @classmethod
    def of_this_process(cls):
        """Returns those of this process and thread, now."""
        return cls(
            variables=dict(os.environ),
            umask=int(UMASK.search(Path("/proc/self/status").read_text())[1], 8),
            cores=os.sched_getaffinity(0),
            priority=os.getpriority(os.PRIO_PROCESS, 0),
            limits={kind: resource.getrlimit(kind) for kind in LIMITS},
        )

    def take(self):
        """Gives them to this process, as far as the system lets it."""
        if self.variables != dict(os.environ):
            os.environ.clear()
            os.environ.update(self.variables)
            time.tzset()
        os.umask(self.umask)
        with suppress(OSError):  # cores that were taken away meanwhile
            os.sched_setaffinity(0, self.cores)
        with suppress(OSError):  # a higher one
            os.setpriority(os.PRIO_PROCESS, 0, self.priority)
        for kind, pair in self.limits.items():
            if pair != resource.getrlimit(kind):
                with suppress(ValueError, OSError):  # a higher hard limit
                    resource.setrlimit(kind, pair)
