"""Why Spark does not start, in a sentence: from what its JVM has printed, or before it begins."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sparkdl.errors import UnsupportedError

NO_JAVA = re.compile(
    r"JAVA_HOME is not set|java: (command )?not found|bin/java: |CMD: bad array subscript"
    r"|UnsupportedClassVersionError"
)
IN_MAIN = 'Exception in thread "main" '
CAUSE = re.compile(rf"{IN_MAIN}|Caused by: |\d\d:\d\d:\d\d ERROR ")


def why_not(log: Path, options: Mapping[str, Any], error: BaseException) -> str:
    """Returns why a JVM did not start, from what it printed; deletes its log."""
    lines = lines_of(log)
    log.unlink()
    for line in lines:
        if "org.apache.spark.SparkException: " in line:  # Java is fine, an option is not
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


def lines_of(log: Path) -> list[str]:
    """Returns the lines of a log that are not blank."""
    return [line.strip() for line in log.read_text(errors="replace").split("\n") if line.strip()]


def first_cause(lines: Iterable[str]) -> str | None:
    """Returns what the first line that tells of a failure says, without what stands before it."""
    for line in lines:
        if found := CAUSE.search(line):
            return line[found.end() :]
    return None


def check_work_folder(master: str, home: str) -> None:
    """Raises UnsupportedError for a local-cluster whose executors could have no folders.

    Spark makes them in "work" below its own folder, and nothing can tell it another place.
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
