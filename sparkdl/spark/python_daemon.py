"""PySpark's daemon, which forks the Python processes of an executor's tasks, with their modules.

Each process else imports them anew, which takes 1.5 s of a core: in each slot, after each minute
without a task, and after a failure. The executors' Python must have sparkdl before a task runs, as
from a wheel or the archive of an environment: --py-files come too late.
"""

import importlib
import os
from contextlib import suppress
from functools import partial

import numpy as np
from pyspark import daemon

from sparkdl.spark.jobs.archive_imports import keep_archives
from sparkdl.training.workers.frozen_modules import freeze_modules

LOADED = [  # none starts a thread but those of numpy's BLAS, which begins anew in forks
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "pandas",
    "pyarrow",
    "llvmlite.binding",
    "sparkdl.engine.backends.onednn.backend",
    "sparkdl.exchange.group",
    "sparkdl.spark.inference.predictions",
    "sparkdl.spark.launch.worker_stage",
    "sparkdl.spark.workers",
    "sparkdl.training.masters.registry",
    "sparkdl.training.resident.lifecycle",
    "sparkdl.training.rounds.block_training",
]


def load():
    """Loads the modules of tasks; what fails to load is left to the tasks, which say why."""
    os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")  # pyarrow's only one
    for name in LOADED:
        with suppress(Exception):  # the job may need none of it
            importlib.import_module(name)
    keep_archives()
    freeze_modules()  # else each fork would do it
    os.register_at_fork(after_in_child=partial(seed_fork, os.getpid()))


def seed_fork(daemon_process):
    """Seeds numpy's random numbers in a fork of the daemon, else all forks draw the same ones."""
    if os.getppid() == daemon_process:  # forks of forks are the user's own
        np.random.seed()


if __name__ == "__main__":
    load()
    daemon.manager()
