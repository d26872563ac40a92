"""The training of a worker, in the process that computes for it: it imports little."""

import logging
import time

from sparkdl.spark.jobs.log_prefix import sign_logs
from sparkdl.spark.launch.batch_spool import split_items

log = logging.getLogger(__name__)


def train(task, shared, evaluates, worker, items):
    """Trains in the process that computes for a worker; yields nothing."""
    rank, start = worker.rank, time.perf_counter()
    with sign_logs(rank, worker.size):
        with split_items(items) as (blocks, validation):
            log.info("begins to train")
            task(shared.value, rank, blocks, validation if evaluates else None)
        log.info("has trained for %.1f s", time.perf_counter() - start)
    return iter(())
