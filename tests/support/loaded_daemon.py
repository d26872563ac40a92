"""pyspark's daemon, with the modules that test tasks need preloaded for its forks.

A failing task ends its process, and the next one would reload everything, which takes longer than
most tasks. So would each process that such a task starts: they are forks too. Nothing here runs or
loads a library that starts threads.
"""

import importlib
import sys

from pyspark import daemon

from sparkdl.spark.jobs.archive_imports import keep_archives
from sparkdl.training.workers.frozen_modules import freeze_modules

LOADED = [
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "pandas",
    "pyarrow",
    "sparkdl.engine.backends.onednn.backend",
    "llvmlite.binding",
    "sparkdl.exchange.group",
    "sparkdl.spark.inference.predictions",
    "sparkdl.spark.launch.worker_stage",
    "sparkdl.spark.workers",
    "sparkdl.training.masters.registry",
    "sparkdl.training.resident.lifecycle",
    "sparkdl.training.rounds.block_training",
]
IN_TESTS = {"spark.python.daemon.module": __name__}  # Spark's setting, where tests can be imported


def load():
    for name in LOADED:
        importlib.import_module(name)
    keep_archives()
    freeze_modules()  # else each fork would do it


if __name__ == "__main__":
    from tests.support.fork_server import fork_servers

    load()
    if sys.platform == "linux":
        fork_servers()
    daemon.manager()
