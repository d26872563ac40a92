"""Support for users without a passwd entry, as in containers.

Java then sets user.home to "?", where Spark looks for its package folder even without packages.
"""

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from sparkdl.errors import UnsupportedError
from sparkdl.own_folders import make_own_folder

FOLDER = "spark.jars.ivy"


def is_nameless() -> bool:
    """Returns whether this process's user has no passwd entry."""
    try:
        import pwd  # missing on Windows

        return not pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return True
    except ImportError:
        return False


def package_folder(known: Mapping[str, str]) -> dict[str, str]:
    """Returns the Spark option for a package folder that exists, for a user without a passwd entry.

    Parameters
    ----------
    known : {option: value} of the installation
    """
    if FOLDER in known:
        return {}
    with suppress(OSError, UnsupportedError):  # Spark then reports what it lacks
        path = Path(tempfile.gettempdir(), f"sparkdl-{os.getuid()}-ivy")
        return {FOLDER: str(make_own_folder(path))}
    return {}


def name_user() -> None:
    """Gives a user without a passwd entry a name, as Spark refuses to start without one."""
    if is_nameless():
        os.environ.setdefault("SPARK_USER", f"uid-{os.getuid()}")
