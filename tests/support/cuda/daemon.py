"""pyspark's daemon where tasks may have a GPU: the host's double, which their processes bring."""

import runpy

from sparkdl.engine.backends import base

IN_TESTS = {"spark.python.daemon.module": __name__}

if __name__ == "__main__":
    del base.PROBES["cuda"]
    runpy.run_module("tests.support.loaded_daemon", run_name="__main__")
