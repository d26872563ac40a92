"""Records of a search: the error names the purpose that has none."""

import numpy as np
import pytest

from sparkdl.data import Arrays
from sparkdl.errors import DataError, NoRecords
from sparkdl.nn import NetworkConf, Output
from sparkdl.spark.records.records import SparkRecords
from sparkdl.tune.shared_data import read_records

CONF = NetworkConf(input_shape=(2,), layers=[Output(units=2)])
EMPTY = {"train on": NoRecords, "evaluate on": DataError}


@pytest.mark.parametrize("purpose", EMPTY)
def test_an_error_says_which_records_there_are_none_of(purpose):
    records = SparkRecords(Arrays(features=np.zeros((0, 2)), labels=np.zeros(0, int)))
    with pytest.raises(EMPTY[purpose], match=f"there are no records to {purpose}") as caught:
        read_records(None, records, CONF, purpose)
    assert type(caught.value) is EMPTY[purpose]
