"""Tags of jobs, by which they are found and cancelled.

Spark 3.4 has none: there the tags are appended to the user's own job group. Cancelling the user's
group does not end those jobs, nor does the end of a stream's query those of its micro-batch.
"""

from pyspark import SparkContext

from sparkdl.spark.jobs.slots import elements, value_of

HAS_TAGS = hasattr(SparkContext, "addJobTag")
JOB_GROUP = "spark.jobGroup.id"
JOB_TAGS = "spark.job.tags"  # separated by commas
MARK = " with tags "  # between the user's own group and our tags
GROUPS: dict[str, set[str]] = {}  # of each tag, on Spark 3.4


def add_tag(sc, tag, has_tags=HAS_TAGS):
    """Adds a tag to the jobs that this thread runs from now on."""
    if has_tags:
        sc.addJobTag(tag)
    else:
        set_group(sc, [*group_tags(sc), tag])


def remove_tag(sc, tag, has_tags=HAS_TAGS):
    """Removes a tag from the jobs that this thread runs from now on."""
    if has_tags:
        sc.removeJobTag(tag)
    else:
        set_group(sc, [each for each in group_tags(sc) if each != tag])


def cancel_tag(sc, tag, has_tags=HAS_TAGS):
    """Cancels the running jobs with a tag."""
    if has_tags:
        sc.cancelJobsWithTag(tag)
        return
    for group in groups_of(tag):
        sc.cancelJobGroup(group)


def own_tags(sc, has_tags=HAS_TAGS):
    """Returns the tags of the jobs that this thread runs from now on.

    `sc.getJobTags()` would take 20 calls of the JVM: py4j's sets end in an exception.
    """
    if not has_tags:
        return set(group_tags(sc))
    return {tag for tag in (sc.getLocalProperty(JOB_TAGS) or "").split(",") if tag}


def forget_tag(tag):
    """Drops what is known of a tag on Spark 3.4; its jobs' other tags still find them."""
    GROUPS.pop(tag, None)


def job_ids(sc, tag, has_tags=HAS_TAGS):
    """Returns the numbers of all jobs with a tag, including ended ones."""
    tracker = sc._jsc.sc().statusTracker()
    if has_tags:
        return list(tracker.getJobIdsForTag(tag))
    return [number for group in groups_of(tag) for number in tracker.getJobIdsForGroup(group)]


def job_tags(job, has_tags=HAS_TAGS):
    """Returns our tags of a job, given by Spark's data about it."""
    if has_tags:
        return set(elements(job.jobTags()))
    group = value_of(job.jobGroup()) or ""
    return set(group.partition(MARK)[2].split())


def count_tasks(sc, tag):
    """Returns the number of running tasks of jobs with a tag.

    Tasks of a cancelled job end some seconds later.
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
    """Appends these tags to the user's own job group, replacing previous ones."""
    group = read_group(sc)[0]
    if tags:
        group += MARK + " ".join(tags)
    for tag in tags:
        GROUPS.setdefault(tag, set()).add(group)
    sc.setLocalProperty(JOB_GROUP, group or None)


def read_group(sc):
    """Returns (the user's own group, our tags separated by spaces)."""
    own, _, tags = (sc.getLocalProperty(JOB_GROUP) or "").partition(MARK)
    return own, tags


def groups_of(tag):
    return sorted(GROUPS.get(tag, ()))
