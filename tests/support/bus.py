"""The bus over which Spark's trackers and stores hear of jobs, later than those who ran them."""

LIMIT = 120_000  # milliseconds


def told_all(sc):
    """The SparkContext, once what has happened so far is known to its trackers and stores."""
    sc._jsc.sc().listenerBus().waitUntilEmpty(LIMIT)
    return sc
