"""The server of a driver that takes what tasks add to accumulators, and the end of its connection.

The JVM has one connection to it, which it closes when it has no more use for it: at its end, or
when it collects garbage of a session that stops. PySpark then prints a traceback, most times too
late to be seen, as the process is gone: of EOFError, or of ConnectionError where the JVM was gone
before the answer to its last update.
"""

import sys
from typing import Any

from pyspark import SparkContext


def expect_hang_up(context: SparkContext) -> None:
    """Makes the accumulator server of a context take the end of a connection for what it is."""
    server = getattr(context, "_accumulatorServer", None)
    if server is None:  # PySpark may call it otherwise some day; then it prints as before
        return
    print_error = server.handle_error

    def handle_error(request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), EOFError | ConnectionError):
            print_error(request, client_address)

    server.handle_error = handle_error
