"""Keeps what the function of an RDD holds, as the secret of a fit, out of files."""

from pyspark.serializers import CloudPickleSerializer

from sparkdl.errors import ConfigError
from sparkdl.spark.jobs.shared_value import encrypts

OPTION = "spark.broadcast.UDFCompressionThreshold"


def check_command(sc, rdd):
    """Raises ConfigError where Spark would write the function of an RDD to disks.

    It sends a function with each task, in memory, but a large one as a broadcast: in a file of the
    driver, and in blocks of the executors. What makes it large belongs into a SharedValue.

    Parameters
    ----------
    sc : SparkContext
    rdd : PipelinedRDD
        What mapPartitions gives, before anything else is asked of it.
    """
    if encrypts(sc):
        return
    command = rdd.func, None, rdd._prev_jrdd_deserializer, rdd._jrdd_deserializer
    size = len(CloudPickleSerializer().dumps(command))
    limit = sc._jvm.PythonUtils.getBroadcastThreshold(sc._jsc)
    if size > limit:
        sc._pickled_broadcast_vars.clear()  # else they would go with the thread's next job
        raise ConfigError(
            f"{OPTION} must be at least {size} bytes, got {limit}: Spark writes larger functions "
            "to disks, and this one holds the secret of the job"
        )
