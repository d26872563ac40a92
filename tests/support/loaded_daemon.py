"""sparkdl's daemon of Python processes, whose forks have fork servers that load nothing.

A failing task ends its process, and the next one would reload everything, which takes longer than
most tasks. So would each process that such a task starts: they are forks too.
"""

import sys

from pyspark import daemon

from sparkdl.spark.python_daemon import load

IN_TESTS = {"spark.python.daemon.module": __name__}  # Spark's setting, where tests can be imported


if __name__ == "__main__":
    from tests.support.fork_server import fork_servers

    load()
    if sys.platform == "linux":
        fork_servers()
    daemon.manager()
