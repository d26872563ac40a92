"""The script that spawned processes import: what keeps it from starting them once more.

A spawned process imports the script of its owner, if there is one, before it does anything else.
"""

import multiprocessing
import os
import sys
from multiprocessing import process

from sparkdl.errors import ConfigError

UNGUARDED = 93  # the exit code of a process whose script starts workers while it is imported
WORKER = "sparkdl worker"  # the name of a process whose owner knows the code
CURE = "put the script's statements below `if __name__ == '__main__':`"


def check_script():
    """Ends a process that is still importing its owner's script, without a traceback.

    Raises
    ------
    ConfigError
        Processes cannot import this one's script: it has been read from standard input.
    """
    current = multiprocessing.current_process()
    if getattr(current, "_inheriting", False):
        if current.name != WORKER:  # whoever started it does not know the code
            print(unguarded_error(), file=sys.stderr)
        sys.exit(UNGUARDED)
    path = script()
    if path is not None and not os.path.exists(path):
        raise ConfigError(
            f"the script that starts workers must be a file, which they import, got {name()}; "
            f"save it to a file, and {CURE}"
        )


def script():
    """Returns the path of the script that spawned processes will import, or None.

    What runs as a module (`python -m`) goes by its name; an interpreter that is typed into, a
    notebook and `python -c` have nothing to import.
    """
    main = sys.modules["__main__"]
    path = getattr(main, "__file__", None)
    if getattr(main, "__spec__", None) is not None or path is None:
        return None
    return os.path.join(getattr(process, "ORIGINAL_DIR", None) or "", path)


def name():
    return getattr(sys.modules["__main__"], "__file__", None) or "it"


def unguarded_error():
    """Returns the error of the process that has started those which ended as UNGUARDED."""
    return ConfigError(
        f"each worker process imports the script that starts it, and {name()} starts workers "
        f"while it is imported; {CURE}"
    )
