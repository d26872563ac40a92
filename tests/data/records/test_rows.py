"""Records as users have them: ids in arrays. The rest is in test_schema.py."""

import numpy as np
import pytest

from sparkdl.data.records.schema import Schema

IDS = Schema(features={"words": (2,), "x": (1,)}, ids=frozenset({"words"}))


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint64])
def test_ids_of_records_may_be_arrays(kind):
    words = np.array([[2**24 + 1, 3], [5, 7]], kind)  # float32 has no 2^24 + 1
    records = [{"words": row, "x": np.array([0.5])} for row in words]
    [batch] = IDS.records(records, 0)
    assert batch.columns["words"].dtype == np.int64
    assert batch.columns["words"].tolist() == words.tolist()
    assert batch.columns["x"].dtype == np.float32
