"""Records of a search: the error names the purpose that has none."""

import numpy as np
import pytest

from sparkdl.data import Arrays
from sparkdl.errors import NoRecords, NothingToEvaluate
from sparkdl.nn import NetworkConf, Output
from sparkdl.spark.records.records import SparkRecords
from sparkdl.tune.shared_data import read_records

CONF = NetworkConf(input_shape=(2,), layers=[Output(units=2)])
EMPTY = {"train on": NoRecords, "evaluate on": NothingToEvaluate}


@pytest.mark.parametrize("purpose", EMPTY)
def test_an_error_says_which_records_there_are_none_of(purpose):
    records = SparkRecords(Arrays(features=np.zeros((0, 2)), labels=np.zeros(0, int)))
    with pytest.raises(EMPTY[purpose], match=f"there are no records to {purpose}") as caught:
        read_records(None, records, CONF, purpose)
    assert type(caught.value) is EMPTY[purpose]


def test_records_of_a_shuffle_come_in_one_order_however_they_arrive(sc):
    """The trials of a search had other weights each time, as a fit once had."""
    pairs, arrivals, read = [(k % 2, ([k, k + 0.5], k % 2)) for k in range(40)], [], []
    for given in (pairs, pairs[::-1]):
        spread = sc.parallelize(given, 2).partitionBy(2).values()
        records = read_records(sc, SparkRecords(spread), CONF, "train on")
        assert sorted(records.features[:, 0]) == list(range(40))
        read.append(records)
        arrivals.append(spread.collect())
    assert arrivals[0] != arrivals[1]  # so there is something to mend
    np.testing.assert_array_equal(read[0].ids, read[1].ids)
    np.testing.assert_array_equal(read[0].features, read[1].features)
    np.testing.assert_array_equal(read[0].labels, read[1].labels)
