"""Release of tasks bound to the data of an executor that is lost or about to leave.

Spark waits for a lost executor as long as for a busy one if any task of the same stage is bound to
an executor that lives (TaskSetManager checks whether any of them does).
"""

import time

from sparkdl.spark.jobs.held_settings import context_setting, override_setting
from sparkdl.spark.jobs.slots import (
    known_executors,
    leaving_executors,
    option,
    running_tasks,
    runs_task,
    task_sets,
    value_of,
)

EXECUTOR_WAIT = "spark.locality.wait.process"  # how long a task waits for an executor's slot
CPUS = "cpus"  # in a ResourceProfile
STILL = 5.0  # seconds without a task


class LostPlaces:
    """Lets a job's tasks run anywhere if none is running and they wait for no live executor."""

    begin = 3.0  # seconds

    def __init__(self, sc):
        self._sc, self._start = sc, time.time()
        self._seen, self._since = None, time.monotonic()

    def look(self, jobs):
        """Releases waiting tasks if needed; never returns an error."""
        seen, now = [progress(job) for job in jobs], time.monotonic()
        is_still = jobs and seen == self._seen and not runs_task(self._sc, jobs)
        if not is_still or not self._wait_in_vain(jobs):
            self._seen, self._since = seen, now
        elif now - self._since >= STILL:
            release_tasks(self._sc, jobs)

    def _wait_in_vain(self, jobs):
        """Returns whether no remaining executor is so busy that tasks should wait for it.

        If executors run other tasks, this also requires that one was lost or will leave.
        """
        known, leaving = known_executors(self._sc), leaving_executors(self._sc)
        gone = {*leaving, "driver"}
        staying = [one.id() for one in known if one.isActive() and one.id() not in gone]
        busy = [name for name, count in running_tasks(self._sc, staying).items() if count]
        if not busy:
            return True
        if not leaving and not any(map(self._was_lost, known)):
            return False
        profiles = {tasks.taskSet().resourceProfileId() for tasks in task_sets(self._sc, jobs)}
        return not any(is_full(self._sc, one, each) for one in busy for each in profiles)

    def _was_lost(self, executor):
        """Returns whether an executor was lost since the job began."""
        end = value_of(executor.removeTime())
        return end is not None and end.getTime() / 1000 > self._start


def progress(job):
    """Returns figures of a job that change whenever one of its tasks or stages ends."""
    counts = job.numCompletedTasks(), job.numFailedTasks(), job.numKilledTasks()
    return job.jobId(), job.numCompletedStages(), *counts


def is_full(sc, executor, profile):
    """Returns whether an executor that runs tasks of a ResourceProfile has no room for another.

    Executors know only how many tasks of their own profile they run at once; those of others may
    take more of them.
    """
    backend, profiles = sc._jsc.sc().schedulerBackend(), sc._jsc.sc().resourceProfileManager()
    cores = backend.getExecutorAvailableCpus(executor)
    own = backend.getExecutorResourceProfileId(executor)
    if not (cores.isDefined() and profiles.canBeScheduled(profile, own)):
        return False
    wanted = amounts(profiles.resourceProfileFromId(profile))
    free = {CPUS: float(cores.toString()[len("Some(") : -1])}  # py4j misreads a BigDecimal
    others = backend.getExecutorAvailableResources(executor)
    for name in wanted.keys() - free.keys():
        found = value_of(others.get(name))
        free[name] = 0 if found is None else found.availableAddrs().size()
    wanted.setdefault(CPUS, float(option(sc, "spark.task.cpus", "1")))
    return any(free[name] < amount for name, amount in wanted.items())


def amounts(profile):
    """Returns {resource: amount of it that a task takes} of a ResourceProfile in the JVM."""
    return {name: each.amount() for name, each in profile.taskResourcesJMap().items()}


def release_tasks(sc, jobs):
    """Lets tasks of these jobs that wait for an executor's slot run anywhere."""
    with override_setting("0", *context_setting(sc, EXECUTOR_WAIT)):
        for tasks in task_sets(sc, jobs):
            tasks.recomputeLocality()  # reads the setting
    sc._jsc.sc().schedulerBackend().reviveOffers()
