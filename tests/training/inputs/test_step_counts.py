"""Networks that keep the number of steps: labels have as many, or the error names a record."""

import numpy as np
import pyarrow as pa
import pytest

from sparkdl.data import Arrays, Batch, OneHot
from sparkdl.data.batches.columns import NO_MASK
from sparkdl.data.readers.encodings.arrow_columns import table_batch
from sparkdl.data.records.label import Label
from sparkdl.data.records.schema import Schema
from sparkdl.errors import DataError
from sparkdl.nn import GraphBuilder, NetworkConf
from sparkdl.nn.layers import (
    LSTM,
    Bidirectional,
    Conv1D,
    Dense,
    EmbeddingSequence,
    LastTimeStep,
    MaxPool1D,
    Merge,
    Output,
    RepeatVector,
    RnnOutput,
    UpSampling1D,
)
from sparkdl.nn.losses import Ctc, SoftmaxCrossEntropy
from sparkdl.training.inputs.schema import schema_of

T, F = 8, 2
SAME = {"labels": "features"}
CLASSES = RnnOutput(units=3)


def steps_of(*layers, output=CLASSES, shape=(T, F), **options):
    conf = NetworkConf(input_shape=shape, layers=[*layers, output])
    return schema_of(conf, **options).steps


def of_two_inputs(*names):
    build = GraphBuilder(left=(T, F), right=(T, F))
    for name in ("left", "right"):
        build.add(LSTM(units=2), name, name=f"after_{name}")
    build.add(LastTimeStep(), "after_left", name="last")
    build.add(RepeatVector(count=T), "last", name="wide")
    build.add(Merge(), *names, name="both")
    build.add(RnnOutput(units=3), "both", name="out")
    return schema_of(build.conf()).steps


CONVOLUTION = {"filters": 3, "kernel_size": 3}
NETWORKS = {
    "nothing between": (steps_of(), SAME),
    "recurrent": (steps_of(Bidirectional(layer=LSTM(units=2)), Dense(units=4)), SAME),
    "a convolution of one step": (steps_of(Conv1D(padding="same", **CONVOLUTION)), SAME),
    "ids": (steps_of(EmbeddingSequence(vocabulary_size=5, units=2), shape=(T,)), SAME),
    "codes": (steps_of(transform=OneHot(classes=F)), SAME),
    "values": (steps_of(output=RnnOutput(units=1, loss="mse")), SAME),
    "no labels": (steps_of(labels=False), {}),
    "half as many, and again as many": (steps_of(MaxPool1D(size=2), UpSampling1D(size=2)), {}),
    "fewer": (steps_of(Conv1D(**CONVOLUTION)), {}),
    "another sequence": (
        steps_of(LSTM(units=2, return_sequences=False), RepeatVector(count=T)),
        {},
    ),
    "one label": (steps_of(LSTM(units=2, return_sequences=False), output=Output(units=3)), {}),
    "labels that may be left out": (
        steps_of(output=RnnOutput(units=3, loss=SoftmaxCrossEntropy(ignore_label=-1))),
        {},
    ),
    "texts of other lengths": (steps_of(output=RnnOutput(units=3, loss=Ctc(label_length=T))), {}),
    "the steps of one of two": (of_two_inputs("wide", "after_right"), {"labels": "right"}),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_which_labels_are_as_many_as_steps(name):
    found, expected = NETWORKS[name]
    assert found == expected


STEPS = {"features": "mask", "labels": "labels_mask"}
SCHEMA = schema_of(NetworkConf(input_shape=(T, F), layers=[RnnOutput(units=3)]))
LENGTHS = {  # steps of features, steps of labels, the error
    "as many": ([3, 8, 1], [3, 8, 1], None),
    "more": (
        [2, 3, 4],
        [2, 8, 4],
        "record 1: label must have no more steps than features, 3, got 8",
    ),
    "fewer": ([2, 3, 4], [2, 3, 1], None),
    "none": ([2, 3, 4], [0, 3, 4], None),
    "more, all alike": ([3, 3], [4, 4], "record 0: label must .* than features, 3, got 4"),
    "fewer for features that may be padded": ([8, 8], [2, 5], None),
}


def records(case):
    features, labels, message = LENGTHS[case]
    x = [np.arange(F * n).reshape(n, F).tolist() for n in features]
    return x, [[1] * n for n in labels], message


def read_rows(x, y):
    return Batch.concat(SCHEMA.records(zip(x, y, strict=True), 0))


def read_table(x, y):
    columns = [pa.array(x, pa.list_(pa.list_(pa.float32()))), pa.array(y, pa.list_(pa.int32()))]
    table = pa.RecordBatch.from_arrays(columns, names=["features", "label"])
    names = {"features": "features", "labels": "label"}
    return SCHEMA.check(table_batch(table, names, "partition 0", 0, 0, STEPS), "partition 0")


@pytest.mark.parametrize("read", [read_rows, read_table])
@pytest.mark.parametrize("case", LENGTHS)
def test_labels_are_as_many_as_the_steps_of_their_record(case, read):
    x, y, message = records(case)
    if message is None:
        own = read(x, y).columns["labels_mask"]  # NO_MASK if a record has a label for each step
        assert np.abs(own).sum(axis=1).tolist() == LENGTHS[case][1]
        assert ((own == NO_MASK).all(axis=1) == (np.array(LENGTHS[case][1]) == T)).all()
        return
    with pytest.raises(DataError, match=f"^partition 0, {message}$"):
        read(x, y)


@pytest.mark.parametrize("mask", STEPS.values())
def test_a_mask_says_itself_which_steps_count(mask):
    own = {"features": np.ones((2, 3, F)), "mask": np.ones((2, T)), "labels_mask": np.ones((2, T))}
    given = {"features": own["features"], mask: own[mask]}
    [split] = Arrays(given, np.ones((2, 5), int)).splits()
    assert len(SCHEMA.check(split.data, "here")) == 2


def test_schemas_without_known_steps_compare_nothing():
    label = Label(kind="class", size=3, shape=(T,))
    schema = Schema(features=(T, F), labels={"labels": label}, masks=STEPS)
    x, y, _ = records("more")
    assert len(Batch.concat(schema.records(zip(x, y, strict=True), 0))) == 3
