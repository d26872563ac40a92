"""The Python of the executors: it must have what the driver's has."""

import os
import re
import shutil
import subprocess
import sys
from functools import lru_cache

from sparkdl.errors import ConfigError
from sparkdl.spark.jobs.slots import option

NEEDED = ("numpy", "pyarrow", "sparkdl")
PROGRAM = (
    "import sys\n"
    f"for name in {NEEDED}:\n"
    "    __import__(name)\n"
    "print('%d.%d' % sys.version_info[:2])"
)
SEND_MODULE = (
    "send it to the executors: sc.addPyFile(path), spark-submit --py-files, or over Spark Connect "
    "spark.addArtifact(path, pyfile=True); a package has to be installed there"
)
ABSENT = re.compile(r"ModuleNotFoundError: No module named|AttributeError: Can't get attribute")
LIMIT = 60.0  # seconds for a Python to start
CURE = (
    f"start the session with PYSPARK_PYTHON={sys.executable}, or with spark.archives of an "
    "environment that has sparkdl; sparkdl doctor compares the Pythons"
)


def check_executor_python(sc):
    """Raises ConfigError where executors on this machine have a Python without sparkdl.

    Nothing is asked where it is the driver's own. Those of other machines are known only once
    they have a task; see `python_cure`.
    """
    path = shutil.which(sc.pythonExec)
    is_own = path is not None and os.path.abspath(path) == sys.executable
    if is_own or not sc.master.startswith("local") or brings_packages(sc):
        return
    problem = f"{sc.pythonExec}: not found" if path is None else find_problem(path)
    if problem:
        raise ConfigError(
            f"the executors' Python must have sparkdl and be the driver's version, got "
            f"{problem}; {CURE}"
        )


def brings_packages(sc):
    """Returns whether the session sends Python packages or an environment to its executors."""
    options = ("spark.submit.pyFiles", "spark.archives", "spark.yarn.dist.archives")
    return bool(sc._python_includes) or any(option(sc, name) for name in options)


@lru_cache
def find_problem(path):
    """Returns why the Python at `path` cannot run tasks of this driver, or an empty text."""
    try:
        done = subprocess.run(
            [path, "-c", PROGRAM], capture_output=True, text=True, timeout=LIMIT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{path}: {error}"
    if done.returncode:
        return f"{path}: {(done.stderr.strip().splitlines() or ['it fails'])[-1]}"
    version, own = done.stdout.strip(), "{}.{}".format(*sys.version_info)
    return "" if version == own else f"{path}: Python {version} where the driver has {own}"


def python_cure(why):
    """Returns what to do where a task failed as it lacks a package or module, else nothing."""
    if lacks_package(why) or "PYTHON_VERSION_MISMATCH" in why:
        return f"; {CURE}"
    return f"; {SEND_MODULE}" if lacks_own_module(why) else ""


def lacks_package(why):
    return any(f"No module named '{name}" in why for name in NEEDED)


def lacks_own_module(why):
    """Returns whether a task failed as it has not a module of the user's: another one would, too.

    Packages may be about to be removed, with a container that a cluster kills.
    """
    return bool(ABSENT.match(why)) and not lacks_package(why)
