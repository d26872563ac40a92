"""What a process inherits from its owner besides files, for one that another has forked."""

import os
import re
import resource
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

LIMITS = sorted({getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")})
UMASK = re.compile(r"^Umask:\s*([0-7]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Surroundings:
    """The variables, file mode mask, cores, priority and limits of a process; on Linux.

    None stands for a mask, cores or a priority that are not to be changed.
    """

    variables: dict
    umask: int | None
    cores: set | None
    priority: int | None
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

    def since(self, before):
        """Returns all variables, and what else is not as it was before.

        The program that runs Python may have set the rest for it, as `taskset` does.
        """
        names = "umask", "cores", "priority"
        same = [name for name in names if getattr(self, name) == getattr(before, name)]
        limits = {kind: pair for kind, pair in self.limits.items() if pair != before.limits[kind]}
        return replace(self, limits=limits, **dict.fromkeys(same))

    def take(self):
        """Gives them to this process, as far as the system lets it."""
        if self.variables != dict(os.environ):
            os.environ.clear()
            os.environ.update(self.variables)
            time.tzset()
        if self.umask is not None:
            os.umask(self.umask)
        if self.cores is not None:
            with suppress(OSError):  # cores that were taken away meanwhile
                os.sched_setaffinity(0, self.cores)
        if self.priority is not None:
            with suppress(OSError):  # a higher one
                os.setpriority(os.PRIO_PROCESS, 0, self.priority)
        for kind, pair in self.limits.items():
            with suppress(ValueError, OSError):  # a higher hard limit
                resource.setrlimit(kind, pair)
