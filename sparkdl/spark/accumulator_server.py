"""Silent handling of the end of a connection in the driver's accumulator server.

The JVM has one connection to this server, and closes it at its own end, or when it collects garbage
of a stopped session. PySpark then prints a traceback, usually too late to be seen: of EOFError, or
of ConnectionError if the JVM was gone before its last update was answered.
"""

import sys
from typing import Any

from pyspark import SparkContext


def expect_hang_up(context: SparkContext) -> None:
    """Makes a context's accumulator server treat the end of a connection as normal."""
    server = getattr(context, "_accumulatorServer", None)
    if server is None:  # PySpark may rename it one day; then it prints as before
        return
    print_error = server.handle_error

    def handle_error(request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), EOFError | ConnectionError):
            print_error(request, client_address)

    server.handle_error = handle_error
