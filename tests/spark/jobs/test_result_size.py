"""Results that Spark would not pass on are refused before any task computes them."""

from unittest.mock import MagicMock

import pytest

from sparkdl.errors import ConfigError
from sparkdl.spark import SparkWorkers
from sparkdl.spark.jobs.result_size import LARGEST, check_result_size


def test_results_that_pyspark_cannot_send_are_refused(sc):
    with pytest.raises(
        ConfigError, match=r"at most 2130706432 bytes .* got 2147483648; set aggreg"
    ):
        SparkWorkers(sc, 2).check_result(2**31, 2)


@pytest.mark.parametrize(
    "size, depth, count", [(2, 2, 2), (5, 2, 2), (5, 1, 5)], ids=["two", "tree", "all"]
)
def test_the_sums_fit_into_what_the_driver_may_receive(sc, size, depth, count):
    workers = SparkWorkers(sc, size)
    workers.check_result(2**30 // count, depth)
    with pytest.raises(
        ConfigError, match=f"maxResultSize must be more than .* the {count} vec.*1g"
    ):
        workers.check_result(2**30 // count + 1, depth)


def test_no_limit_means_that_of_pyspark():
    sc = MagicMock(_conf={"spark.driver.maxResultSize": "0"})
    sc._jvm.org.apache.spark.network.util.JavaUtils.byteStringAsBytes = int
    check_result_size(sc, LARGEST, 8)
