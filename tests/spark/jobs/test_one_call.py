"""Calls whose jobs are told from those of other threads."""

from sparkdl.spark.jobs.job_tags import job_ids, own_tags
from sparkdl.spark.jobs.one_call import call_tags, one_call


def test_the_jobs_of_a_call_have_its_tag(sc):
    before = own_tags(sc)
    with one_call(sc):
        [outer] = call_tags(sc)
        with one_call(sc):
            inner = call_tags(sc) - {outer}
            sc.parallelize([1], 1).count()
        sc.parallelize([1], 1).count()
        assert [len(job_ids(sc, tag)) for tag in (outer, *inner)] == [2, 1]
    assert own_tags(sc) == before
