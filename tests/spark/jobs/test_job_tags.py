"""Tags of jobs: Spark's own, and job groups in their place on Spark 3.4."""

import pytest
from pyspark import SparkContext

from sparkdl.spark.jobs import job_tags
from tests.support.bus import told_all

KINDS = [False, pytest.param(True, marks=pytest.mark.skipif("not job_tags.HAS_TAGS"))]


@pytest.fixture
def sc(sc):
    """The SparkContext; no job group remains after the test."""
    yield sc
    sc.setLocalProperty(job_tags.JOB_GROUP, None)


@pytest.mark.parametrize("has_tags", KINDS, ids=["groups", "tags"])
def test_jobs_are_found_by_each_of_their_tags(sc, has_tags):
    seen = []
    for change, tag in [("add", "outer"), ("add", "inner"), ("remove", "inner")]:
        getattr(job_tags, f"{change}_tag")(sc, tag, has_tags)
        sc.parallelize([1], 1).count()
        told_all(sc)
        seen.append([len(job_tags.job_ids(sc, each, has_tags)) for each in ("outer", "inner")])
    job_tags.remove_tag(sc, "outer", has_tags)
    assert seen == [[1, 0], [2, 1], [3, 1]]


@pytest.mark.parametrize("has_tags", KINDS, ids=["groups", "tags"])
def test_a_job_knows_its_tags(sc, has_tags):
    job_tags.add_tag(sc, "outer", has_tags)
    job_tags.add_tag(sc, "inner", has_tags)
    sc.parallelize([1], 1).count()
    number = max(job_tags.job_ids(told_all(sc), "inner", has_tags))
    job = sc._jsc.sc().statusStore().job(number)
    assert {"outer", "inner"} <= job_tags.job_tags(job, has_tags)
    for tag in ("inner", "outer"):
        job_tags.remove_tag(sc, tag, has_tags)


@pytest.mark.parametrize("has_tags", KINDS, ids=["groups", "tags"])
def test_a_thread_knows_its_own_tags(sc, has_tags):
    before = job_tags.own_tags(sc, has_tags)
    job_tags.add_tag(sc, "own", has_tags)
    assert job_tags.own_tags(sc, has_tags) == before | {"own"}
    job_tags.add_tag(sc, "second", has_tags)
    assert job_tags.own_tags(sc, has_tags) == before | {"own", "second"}
    assert not has_tags or job_tags.own_tags(sc) == set(sc.getJobTags())
    job_tags.remove_tag(sc, "second", has_tags)
    job_tags.remove_tag(sc, "own", has_tags)
    assert job_tags.own_tags(sc, has_tags) == before


def test_a_group_of_the_user_s_own_stands_there_again(sc):
    sc.setJobGroup("my own", "jobs of mine")
    job_tags.add_tag(sc, "one", has_tags=False)
    assert sc.getLocalProperty(job_tags.JOB_GROUP) == "my own with tags one"
    job_tags.remove_tag(sc, "one", has_tags=False)
    assert sc.getLocalProperty(job_tags.JOB_GROUP) == "my own"


def test_all_groups_of_a_tag_are_cancelled():
    class Context(dict):
        getLocalProperty, setLocalProperty = dict.get, dict.__setitem__

        def cancelJobGroup(self, group):
            cancelled.append(group)

    context, cancelled = Context(), []
    job_tags.add_tag(context, "a", has_tags=False)
    job_tags.add_tag(context, "b", has_tags=False)
    job_tags.cancel_tag(context, "a", has_tags=False)
    assert cancelled == [" with tags a", " with tags a b"]
    job_tags.forget_tag("b")
    job_tags.cancel_tag(context, "a", has_tags=False)
    job_tags.cancel_tag(context, "b", has_tags=False)
    assert cancelled[2:] == [" with tags a", " with tags a b"]
    assert hasattr(SparkContext, "addJobTag") == job_tags.HAS_TAGS
