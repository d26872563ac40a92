"""Guard against scripts that start workers while worker processes import them.

A worker process first of all imports its owner's script, if there is one.
"""

import multiprocessing
import os
import sys
from multiprocessing import process

from sparkdl.errors import ConfigError

UNGUARDED = 93  # exit code of a process whose script starts workers when imported
WORKER = "sparkdl worker"  # name of a process whose owner knows the exit code
CURE = "put the script's statements below `if __name__ == '__main__':`"


def check_script():
    """Exits, without a traceback, from a process that is still importing its owner's script.

    Raises
    ------
    ConfigError
        If processes cannot import this one's script, as it was read from standard input.
    """
    current = multiprocessing.current_process()
    if getattr(current, "_inheriting", False):
        if current.name != WORKER:  # its owner does not know the exit code
            print(unguarded_error(), file=sys.stderr)
        sys.exit(UNGUARDED)
    path = script()
    if path is not None and not os.path.exists(path):
        raise ConfigError(
            f"the script that starts workers must be a file, which they import, got {name()}; "
            f"save it to a file, and {CURE}"
        )


def script():
    """Returns the path of the script that worker processes will import, or None.

    A module run by `python -m` is imported by name; an interactive interpreter, a notebook and
    `python -c` have nothing to import.
    """
    main = sys.modules["__main__"]
    path = getattr(main, "__file__", None)
    if getattr(main, "__spec__", None) is not None or path is None:
        return None
    return os.path.join(getattr(process, "ORIGINAL_DIR", None) or "", path)


def name():
    return getattr(sys.modules["__main__"], "__file__", None) or "it"


def unguarded_error():
    """Returns the error for processes that ended with UNGUARDED, in their owner."""
    return ConfigError(
        f"each worker process imports the script that starts it, and {name()} starts workers "
        f"while it is imported; {CURE}"
    )
