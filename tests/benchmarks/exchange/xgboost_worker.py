"""xgboost's collective; its tracker runs in the process of rank 0.

Its all-reduce returns a new array, so the time includes the copy.
"""

import json

import xgboost
from xgboost import collective, tracker

from tests.benchmarks.exchange.member import LIMIT, found, left, place, serve


def all_reduce(vector):
    return collective.allreduce(vector, collective.Op.SUM)


def started(size):
    """Starts a tracker for `size` workers and publishes its address."""
    one = tracker.RabitTracker(size, "127.0.0.1", sortby="task", timeout=round(LIMIT))
    one.start()
    left("tracker", json.dumps(one.worker_args()))
    return one


def main():
    rank, size = place()
    mine = started(size) if rank == 0 else None
    where = json.loads(found("tracker"))
    with collective.CommunicatorContext(**where, dmlc_task_id=f"{rank:02}"):
        actions = {"all_reduce": all_reduce}
        serve(collective.get_rank(), f"xgboost {xgboost.__version__}", actions)
    if mine:
        mine.wait_for()


if __name__ == "__main__":
    main()
