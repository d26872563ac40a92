"""Columns of ids of a vocabulary: accepted types, and errors that name the first wrong id."""

import numpy as np
import pytest

from sparkdl.data import Batch, Schema
from sparkdl.errors import DataError

WORDS = Schema(features=(3,), vocabularies={"features": 10}, masks={"features": "mask"})
KNOWN = [[0, 9, 1], [2, 3, 4]]


def read(records):
    return Batch.concat(WORDS.records(iter(records), 1))


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, np.float64, bool])
def test_ids_of_a_vocabulary_come_as_any_whole_numbers(dtype):
    words = np.array(KNOWN, dtype)
    batch = WORDS.check(Batch.of(words), "here")
    np.testing.assert_array_equal(batch.features, words)
    assert batch.features.dtype == (np.uint8 if dtype is np.uint8 else np.float32)
    np.testing.assert_array_equal(read([*words, words[0, :1]]).features[2], [words[0, 0], 0, 0])


def test_no_records_have_no_wrong_ids():
    assert len(WORDS.check(Batch.of(np.ones((0, 3))), "here")) == 0


RANGE = r"features must be ids in \[0, 10\), got "
STRANGE_IDS = [
    ([1, 10, 99], RANGE + "10 at 1; vocabulary_size must be 11 for it at least$"),
    ([10], RANGE + "10 at 0; vocabulary_size must be 11 for it at least$"),
    ([1.0, 2, 12], RANGE + "12 at 2; vocabulary_size must be 13 for it at least$"),
    (np.array([1, 2, 255], np.uint8), RANGE + "255 at 2; vocabulary_size must be 256"),
    ([-1, 0, 0], RANGE + "-1 at 0$"),
    ([0, 1.5, 2], "features must be whole numbers, as they are ids, got 1.5 at 1$"),
    ([0, 1, -0.9], "features must be whole numbers, as they are ids, got -0.9 at 2$"),
    (
        [0, 1, float("nan")],
        "features must be finite, got nan at 2; fill in missing numbers first, as Imputer does$",
    ),
]


@pytest.mark.parametrize("words, message", STRANGE_IDS, ids=[m for _, m in STRANGE_IDS])
def test_ids_that_a_vocabulary_lacks_are_refused_by_record(words, message):
    with pytest.raises(DataError, match=f"^partition 1, record 17: {message}"):
        read([[1, 2, 3]] * 17 + [words])
    if len(words) == 3:
        with pytest.raises(DataError, match=f"^here, record 2: {message}"):
            WORDS.check(Batch.of(np.array([*KNOWN, words], np.asarray(words).dtype)), "here")


def test_the_only_id_of_a_record_has_no_place():
    schema = Schema(features={"user": (1,), "x": (1,)}, vocabularies={"user": 4})
    columns = {"user": np.array([3, 4]), "x": np.array([0.5, 77])}
    with pytest.raises(DataError, match=r"1: user must be ids in \[0, 4\), got 4; vocabulary_size"):
        schema.check(Batch(columns=columns, ids=np.arange(2)), "here")


WHOLE = Schema(features=(2,), integers=frozenset({"features"}))
FAR = 2**62 + 1


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64, np.uint64, np.float32, bool])
def test_whole_numbers_of_any_type_become_int64(dtype):
    numbers = np.array([[3, 120], [0, 1]]).astype(dtype)
    batches = [WHOLE.check(Batch.of(numbers), "here"), *WHOLE.records(iter(numbers), 1)]
    for batch in batches:
        assert batch.features.dtype == np.int64
        np.testing.assert_array_equal(batch.features, numbers)


@pytest.mark.parametrize("record", [[FAR, -FAR], np.array([FAR, -FAR])], ids=["list", "array"])
def test_whole_numbers_of_records_are_exact(record):
    [batch] = WHOLE.records([record], 1)
    assert batch.features.tolist() == [[FAR, -FAR]]
    assert WHOLE.column_bytes == {"features": 16} and not WHOLE.singles


BROKEN = [
    ([0, 1.7], r"whole numbers, as the network takes int64, got 1.7 at 1$"),
    ([-0.5, 0], r"whole numbers, as the network takes int64, got -0.5 at 0$"),
    ([np.nan, 0], r"whole numbers, as the network takes int64, got nan at 0$"),
    ([np.inf, 0], r"below 2\^53 as float64, .* which CSV has not, got inf at 0$"),
    ([2**53 + 1, 0.0], r"below 2\^53 as float64, .*, got 9007199254740992.0 at 0$"),
    (
        np.array([0, -(2**24) - 1], np.float32),
        r"below 2\^24 as float32, .*, got -1\.?6777216.* at 1$",
    ),
    (np.array([0, 2**63], np.uint64), r"below 2\^63, got 9223372036854775808 at 1$"),
]


@pytest.mark.parametrize("record, message", BROKEN, ids=[m for _, m in BROKEN])
def test_numbers_that_are_not_whole_are_refused(record, message):
    with pytest.raises(DataError, match=f"^partition 1, record 0: features must be {message}"):
        list(WHOLE.records([record], 1))


def test_the_largest_unsigned_number_that_fits_is_kept():
    largest = 2**63 - 1
    [batch] = WHOLE.records([np.array([0, largest], np.uint64)], 1)
    assert batch.features.tolist() == [[0, largest]]
