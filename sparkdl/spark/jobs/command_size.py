"""Check that a function with secrets is not so large that Spark writes it to files."""

from pyspark.serializers import CloudPickleSerializer

from sparkdl.errors import ConfigError
from sparkdl.spark.jobs.shared_value import encrypts

OPTION = "spark.broadcast.UDFCompressionThreshold"


def check_command(sc, rdd):
    """Raises ConfigError if Spark would write the function of an RDD to disk.

    Spark sends functions with each task, in memory, but large ones as broadcasts: in a file of the
    driver and in blocks of the executors. Large data belongs in a SharedValue.

    Parameters
    ----------
    sc : SparkContext
    rdd : PipelinedRDD
        The result of mapPartitions, before any other use.
    """
    if encrypts(sc):
        return
    command = rdd.func, None, rdd._prev_jrdd_deserializer, rdd._jrdd_deserializer
    size = len(CloudPickleSerializer().dumps(command))
    limit = sc._jvm.PythonUtils.getBroadcastThreshold(sc._jsc)
    if size > limit:
        sc._pickled_broadcast_vars.clear()  # or they would be sent with the thread's next job
        raise ConfigError(
            f"{OPTION} must be at least {size} bytes, got {limit}: Spark writes larger functions "
            "to disks, and this one holds the secret of the job"
        )
