"""The bus over which Spark's trackers and stores hear of jobs, later than those who ran them."""

from uuid import uuid4

LIMIT = 120_000  # milliseconds


def told_all(sc):
    """The SparkContext, once what has happened so far is known to its trackers and stores."""
    sc._jsc.sc().listenerBus().waitUntilEmpty(LIMIT)
    return sc


def stages_of_jobs(sc, call):
    """The numbers of stages of the jobs that `call` runs in this thread, a job each."""
    group = uuid4().hex
    sc.setJobGroup(group, "")
    try:
        call()
    finally:
        sc.setLocalProperty("spark.jobGroup.id", None)
    tracker = told_all(sc).statusTracker()
    return [len(tracker.getJobInfo(job).stageIds) for job in tracker.getJobIdsForGroup(group)]
