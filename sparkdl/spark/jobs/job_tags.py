"""Tags of jobs, by which they are found and cancelled.

Spark 3.4 has none: there the job group stands in, as the user's own with the tags behind it; to
cancel the user's own group does not end those jobs.
"""

from pyspark import SparkContext

HAS_TAGS = hasattr(SparkContext, "addJobTag")
JOB_GROUP = "spark.jobGroup.id"
MARK = " with tags "  # between a group of the user's own and our tags
GROUPS: dict[str, set[str]] = {}  # of each tag, on Spark 3.4


def add_tag(sc, tag, has_tags=HAS_TAGS):
    """Gives the jobs that this thread runs from here on a tag."""
    if has_tags:
        sc.addJobTag(tag)
    else:
        set_group(sc, [*group_tags(sc), tag])


def remove_tag(sc, tag, has_tags=HAS_TAGS):
    """Takes a tag from the jobs that this thread runs from here on."""
    if has_tags:
        sc.removeJobTag(tag)
    else:
        set_group(sc, [each for each in group_tags(sc) if each != tag])


def cancel_tag(sc, tag, has_tags=HAS_TAGS):
    """Cancels the jobs that run with a tag."""
    if has_tags:
        sc.cancelJobsWithTag(tag)
        return
    for group in groups_of(tag):
        sc.cancelJobGroup(group)


def job_ids(sc, tag, has_tags=HAS_TAGS):
    """Returns the numbers of the jobs with a tag, also of those that have ended."""
    tracker = sc._jsc.sc().statusTracker()
    if has_tags:
        return list(tracker.getJobIdsForTag(tag))
    return [number for group in groups_of(tag) for number in tracker.getJobIdsForGroup(group)]


def count_tasks(sc, tag):
    """Returns how many tasks of the jobs with a tag run.

    Those of a cancelled job end some seconds later.
    """
    tracker, running = sc._jsc.sc().statusTracker(), 0
    for number in job_ids(sc, tag):
        for stage in tracker.getJobInfo(number).get().stageIds():
            info = tracker.getStageInfo(stage)
            running += info.get().numActiveTasks() if info.isDefined() else 0
    return running


def group_tags(sc):
    """Returns the tags in this thread's job group."""
    return read_group(sc)[1].split()


def set_group(sc, tags):
    """Puts tags behind the user's own job group, in place of those that stand there."""
    group = read_group(sc)[0]
    if tags:
        group += MARK + " ".join(tags)
    for tag in tags:
        GROUPS.setdefault(tag, set()).add(group)
    sc.setLocalProperty(JOB_GROUP, group or None)


def read_group(sc):
    """Returns (the user's own group, our tags with spaces between)."""
    own, _, tags = (sc.getLocalProperty(JOB_GROUP) or "").partition(MARK)
    return own, tags


def groups_of(tag):
    return sorted(GROUPS.get(tag, ()))
