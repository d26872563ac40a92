"""A driver whose fit outlasts any test; its argument is the folder of a Slow.

It prints the name of its application.
"""

import sys

from sparkdl.spark import SparkNetwork
from sparkdl.spark.session import session
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from tests.spark.networks import arrays, plain
from tests.spark.slow import Slow
from tests.support.executors import all_awaited


def main(folder):
    all_awaited()
    master = ParameterAveraging(aggregation="peers", workers=2, batch_size_per_worker=5)
    with session("local-cluster[2,1,1024]", name="long fit") as spark:
        print(spark.sparkContext.applicationId, flush=True)
        SparkNetwork(spark, plain(), master).fit(arrays(transform=Slow(folder, 0.5)), epochs=1000)


if __name__ == "__main__":
    main(sys.argv[1])
