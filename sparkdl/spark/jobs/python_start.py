"""Python on the executors, started while the driver still plans the first job of a session."""

from contextlib import suppress

from pyspark import InheritableThread

from sparkdl.spark.jobs.slots import is_on

MOST = 64  # tasks; where there are more slots, the others start Python when they read
_begun = set()  # applications


def start_python(sc, task):
    """Has the executors start Python and import what a task's module does; waits for nothing.

    It is done once for an application, by a small job of the caller's own description and tags.
    What goes wrong is for the jobs after it to say.

    Parameters
    ----------
    sc : SparkContext
    task : function of an iterator
        Of a module that executors have.
    """
    is_reused = is_on(sc, "spark.python.worker.reuse", "true")
    if sc.applicationId in _begun or not is_reused:
        return
    _begun.add(sc.applicationId)
    InheritableThread(target=run, args=(sc, task), daemon=True).start()


def run(sc, task):
    """Runs a task in each slot of the first executors."""
    with suppress(Exception):  # jobs after it say what is wrong
        count = min(sc.defaultParallelism, MOST)
        sc.parallelize(range(count), count).mapPartitions(task).count()
