"""Ends this process's Spark JVM, which otherwise lives as long as the process."""

import sys


def end_jvm():
    """Ends the JVM of a stopped Spark session in this process."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    gateway = context and context._gateway
    if gateway:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
        context._gateway = context._jvm = None
