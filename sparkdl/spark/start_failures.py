"""Explanations of why Spark does not start, from its JVM's output or from checks beforehand."""

import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

from sparkdl.errors import UnsupportedError

NO_JAVA = re.compile(
    r"JAVA_HOME is not set|java: (command )?not found|bin/java: |CMD: bad array subscript"
    r"|UnsupportedClassVersionError"
)
IN_MAIN = 'Exception in thread "main" '
CAUSE = re.compile(rf"{IN_MAIN}|Caused by: |\d\d:\d\d:\d\d ERROR ")
PATIENCE = 30.0  # seconds until a start is said to be slow
log = logging.getLogger(__name__)


@contextmanager
def warn_when_slow(master: str, printed: Path | None) -> Iterator[None]:
    """Warns if Spark has not started after PATIENCE, as it waits for YARN indefinitely.

    `printed` is the file with the JVM's output, None if users see that themselves.
    """
    if printed is None:
        yield
        return
    timer = Timer(PATIENCE, tell_wait, (master, printed))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def tell_wait(master: str, printed: Path) -> None:
    lines = lines_of(printed) if printed.is_file() else []
    log.warning(
        "Spark has not started with master %r for %g s: see whether the cluster has room, as the "
        "queue of YARN may have none; what Spark prints is in %s%s",
        *(master, PATIENCE, printed, f", the last line: {lines[-1]}" if lines else ""),
    )


def why_not(printed: Path, options: Mapping[str, Any], error: BaseException) -> str:
    """Returns why a JVM did not start, from its output; deletes its log."""
    lines = lines_of(printed)
    printed.unlink()
    for line in lines:
        if "org.apache.spark.SparkException: " in line:  # an option is at fault, not Java
            return refusal(options["spark.master"], line.partition("SparkException: ")[2])
    for line in lines:
        if NO_JAVA.search(line):
            return (
                f"Spark needs Java 17 or newer, and its JVM did not start: {line}; install a JDK "
                "and let JAVA_HOME point to it"
            )
    return refusal(options["spark.master"], first_cause(lines) or (lines or [str(error)])[-1])


def refusal(master: str, why: str) -> str:
    return f"Spark did not start with master {master!r}: {why}"


def lines_of(printed: Path) -> list[str]:
    """Returns the non-blank lines of a log."""
    lines = printed.read_text(errors="replace").split("\n")
    return [line.strip() for line in lines if line.strip()]


def first_cause(lines: Iterable[str]) -> str | None:
    """Returns the message of the first line that reports a failure, without its prefix."""
    for line in lines:
        if found := CAUSE.search(line):
            return line[found.end() :]
    return None


def check_work_folder(master: str, home: str) -> None:
    """Raises UnsupportedError if a local-cluster's executors could not create their folders.

    Spark creates them in "work" below its own folder, which cannot be configured.
    """
    if not master.startswith("local-cluster"):
        return
    work = Path(home, "work")
    place = work if work.is_dir() else work.parent
    if not os.access(place, os.W_OK | os.X_OK):
        raise UnsupportedError(
            f"a local-cluster needs {work}, the folder of its executors, and this user may not "
            f"write to {place}; let the master be 'local[2]' (--master local[2], spark.master of a "
            "run), or install pyspark in an environment of your own"
        )
