"""Early start of Python on the executors, while the driver still plans a session's first job."""

from contextlib import suppress

from pyspark import InheritableThread

from sparkdl.spark.jobs.slots import is_on

MOST = 64  # tasks; further slots start Python when they read
_begun = set()  # applications


def start_python(sc, task):
    """Makes executors start Python and import the task's module, without waiting for it.

    Runs once per application, as a small job with the caller's description and tags. Failures are
    left to the jobs after it to report.

    Parameters
    ----------
    sc : SparkContext
    task : function of an iterator
        From a module that executors have.
    """
    is_reused = is_on(sc, "spark.python.worker.reuse", "true")
    if sc.applicationId in _begun or not is_reused:
        return
    _begun.add(sc.applicationId)
    InheritableThread(target=run, args=(sc, task), daemon=True).start()


def run(sc, task):
    """Runs a task in each slot of the first executors."""
    with suppress(Exception):  # later jobs report what is wrong
        count = min(sc.defaultParallelism, MOST)
        sc.parallelize(range(count), count).mapPartitions(task).count()
