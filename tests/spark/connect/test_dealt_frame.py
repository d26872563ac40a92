"""Keys that make Spark give each task of a fit over Connect its own rows."""

import pytest

from sparkdl.spark.connect import dealt_frame
from sparkdl.spark.connect.dealt_frame import keys_of_tasks
from tests.support.bus import stages_of_jobs


@pytest.mark.parametrize("size", [1, 3])
def test_a_key_leads_to_its_task(spark, size):
    keys = keys_of_tasks(spark, size)
    rows = spark.createDataFrame([(key,) for key in keys], "key long").repartition(size, "key")
    assert rows.rdd.map(lambda row: row.key).glom().collect() == [[key] for key in keys]


def test_keys_are_asked_for_once(sc, spark, monkeypatch):
    monkeypatch.setattr(dealt_frame, "_keys", {})
    asked = [stages_of_jobs(sc, lambda: keys_of_tasks(spark, 2)) for _ in range(2)]
    assert asked == [[1], []]
