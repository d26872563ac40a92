"""Checks that the executors' Python matches the driver's."""

import os
import re
import shutil
import subprocess
import sys
from functools import lru_cache

from sparkdl.errors import ConfigError
from sparkdl.spark.daemon_search import DAEMON, MODULE
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
    """Raises ConfigError if executors on this machine have a Python without sparkdl.

    Skipped if it is the driver's own Python. Executors on other machines can be checked only once
    they run a task; see `python_cure`.
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
    """Returns why the Python at `path` cannot run tasks of this driver, or ""."""
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
    """Returns the remedy for a task that failed for lack of a package or module, else ""."""
    if MODULE in why:
        return f"; {CURE}; if --py-files brings it, set {DAEMON}=pyspark.daemon"
    if lacks_package(why) or "PYTHON_VERSION_MISMATCH" in why:
        return f"; {CURE}"
    return f"; {SEND_MODULE}" if lacks_own_module(why) else ""


def lacks_package(why):
    return any(f"No module named '{name}" in why for name in NEEDED)


def lacks_own_module(why):
    """Returns whether a task lacks one of the user's modules, so that a retry would fail as well.

    A missing package, in contrast, may mean that the cluster is just removing a container.
    """
    return bool(ABSENT.match(why)) and not lacks_package(why)
