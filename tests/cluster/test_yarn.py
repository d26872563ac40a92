"""The YARN of the tests: spark-submit runs there, and what runs there can be killed."""

from tests.support.waiting import until

COUNT = """
import sys
from pyspark.sql import SparkSession
context = SparkSession.builder.getOrCreate().sparkContext
total = context.parallelize(range(100), 4).sum()
context.parallelize([str(total)], 1).saveAsTextFile(sys.argv[1])
"""


def test_spark_submit_runs_in_containers(yarn, hdfs, tmp_path):
    script = tmp_path / "count.py"
    script.write_text(COUNT)
    done = yarn.submit(script, f"{hdfs.uri}/counted")
    assert hdfs.read("/counted/part-00000") == b"4950\n"
    assert yarn.applications()[done.application]["finalStatus"] == "SUCCEEDED"
    assert len(yarn.logs(done.application)) >= 4
    until(lambda: not yarn.containers(done.application))  # the driver has ended; they do soon
