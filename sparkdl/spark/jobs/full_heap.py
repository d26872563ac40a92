"""The cure for a JVM of Spark that has run out of memory."""

import re

FULL = re.compile("Java heap space|GC overhead limit exceeded")  # more heap cures no others
IN_EXECUTOR = re.compile(r"Lost task(?!.*executor driver\))", re.DOTALL)


def heap_cure(text: str) -> str:
    """Returns the end of a message if Spark's text is of a JVM that had no memory left, else ""."""
    if not FULL.search(text):
        return ""
    if IN_EXECUTOR.search(text):
        return "; an executor's JVM had no memory left: raise spark.executor.memory"
    return (
        "; the driver's JVM had no memory left: raise spark.driver.memory before Spark starts, or "
        "give files instead of arrays, which pass through it"
    )
