"""Users without an entry among the system's users, as containers have them: Java knows no home.

Its user.home is "?" then, and Spark wants the folder of packages there, even where there are none.
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
    """Returns whether this process's user has no entry."""
    try:
        import pwd  # which Windows has not

        return not pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return True
    except ImportError:
        return False


def package_folder(known: Mapping[str, str]) -> dict[str, str]:
    """Returns Spark's option for a folder of packages that exists, for a user without a name.

    Parameters
    ----------
    known : {option: value} of the installation
    """
    if FOLDER in known:
        return {}
    with suppress(OSError, UnsupportedError):  # Spark then says what it lacks
        path = Path(tempfile.gettempdir(), f"sparkdl-{os.getuid()}-ivy")
        return {FOLDER: str(make_own_folder(path))}
    return {}


def name_user() -> None:
    """Gives a user without a name one for Spark, which refuses to start for none."""
    if is_nameless():
        os.environ.setdefault("SPARK_USER", f"uid-{os.getuid()}")
