"""pyspark's daemon where tasks may have a GPU: the host's double, which their processes bring.

These start as those of users do.
"""

from pyspark import daemon

from sparkdl.engine.backends import base
from sparkdl.spark.python_daemon import load

IN_TESTS = {"spark.python.daemon.module": __name__}

if __name__ == "__main__":
    del base.PROBES["cuda"]
    load()
    daemon.manager()
