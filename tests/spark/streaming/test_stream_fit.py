"""Training on streams: each micro-batch counts once, and each end has a reason."""

import json
import os
import threading

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from py4j.java_gateway import JavaPackage
from pyspark.sql import DataFrame

from sparkdl.data import files
from sparkdl.errors import CheckpointError, ConfigError, DataError, WorkerError
from sparkdl.spark import SparkNetwork
from sparkdl.spark.streaming import stream_fit
from sparkdl.spark.streaming.stream_counts import StreamCounts
from sparkdl.spark.streaming.stream_folder import StreamFolder
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.lambda_listener import LambdaListener
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.steering import StopTraining
from sparkdl.training.saving.checkpoint import Checkpoints, latest
from tests.interop.caffe.solver_files import write_solver
from tests.spark.networks import data, rich
from tests.training.models import assert_equal
from tests.training.reports import report

MASTER = ParameterAveraging(
    aggregation="driver", batch_size_per_worker=4, averaging_frequency=2, workers=2
)
SCHEMA = "number int, features array<float>, label int"
NOW = {"availableNow": True}
PARTS = 4


class Stop(Exception):
    """Interrupts a fit."""


class StopAt(Listener):
    def __init__(self, epoch):
        self.epoch = epoch

    def on_round(self, report, state):
        if report.epoch == self.epoch:
            raise Stop


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with one file per micro-batch."""
    folder = tmp_path_factory.mktemp("stream")
    for i in range(PARTS):
        x, y = data(20, seed=i)
        numbers = np.full(20, i, "i4")
        table = pyarrow.table({"number": numbers, "features": list(x), "label": y.astype("i4")})
        pyarrow.parquet.write_table(table, folder / f"{i}.parquet")
        os.utime(folder / f"{i}.parquet", (1e9 + i, 1e9 + i))  # Spark takes the oldest first
    return folder


@pytest.fixture(scope="module")
def uninterrupted(spark, folder):
    """The state after fits to one file after the other."""
    net = SparkNetwork(spark, rich(), MASTER)
    for i in range(PARTS):
        net.fit(spark.read.schema(SCHEMA).parquet(f"file:{folder}/{i}.parquet"))
    return net.network.state


def stream(spark, folder):
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.parquet(f"file:{folder}")


def fitted(spark, frame, path=None, master=MASTER, **options):
    """Returns (network, history) of a fit on all available data."""
    if path is not None:
        options["checkpoints"] = Checkpoints(path=str(path))
    net = SparkNetwork(spark, rich(), master)
    return net, net.fit(frame, trigger=NOW, **options)


def test_each_micro_batch_is_trained_on_in_turn(spark, folder, uninterrupted, tmp_path):
    net, history = fitted(spark, stream(spark, folder), tmp_path)
    assert_equal(net.network.state, uninterrupted)
    assert [report.examples for report in history.epochs] == [20] * PARTS
    assert (
        history.end_reason
        == "the stream ended after micro-batch 3: all available data has been trained on"
    )
    assert str(history).endswith(history.end_reason)
    assert_equal(SparkNetwork.load(spark, latest(tmp_path)).network.state, uninterrupted)
    again, history = fitted(spark, stream(spark, folder), tmp_path)
    assert_equal(again.network.state, uninterrupted)
    assert not history.rounds


def test_labels_that_teach_nothing_are_told_once(spark, folder, caplog):
    _, history = fitted(spark, stream(spark, folder).selectExpr("features", "1 AS label"))
    assert len(history.epochs) == PARTS
    assert sum("learns to predict nothing else" in text for text in caplog.messages) == 1


def test_checkpoints_have_names_of_every_kind(spark, folder, uninterrupted, tmp_path):
    name = "mit platz é%20[1]"
    for rounds in (True, False):
        net, history = fitted(spark, stream(spark, folder), tmp_path / name)
        assert_equal(net.network.state, uninterrupted)
        assert bool(history.rounds) == rounds
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_restarted_query_goes_on_where_it_failed(spark, folder, uninterrupted, tmp_path):
    with pytest.raises(Stop) as caught:
        fitted(spark, stream(spark, folder), tmp_path, listeners=[StopAt(2)])
    assert (
        f"in micro-batch 2 of a stream; the last checkpoint is {tmp_path}"
        in caught.value.__notes__[0]
    )
    net, history = fitted(spark, stream(spark, folder), tmp_path)
    assert_equal(net.network.state, uninterrupted)
    assert [report.epoch for report in history.epochs] == [2, 3]


def test_a_micro_batch_that_spark_did_not_note_is_not_repeated(
    spark, folder, uninterrupted, tmp_path
):
    """As when the driver dies between our checkpoint and Spark's commit."""
    fitted(spark, stream(spark, folder), tmp_path)
    (tmp_path / "stream/commits/3").unlink()
    (tmp_path / "stream/commits/.3.crc").unlink()
    net, history = fitted(spark, stream(spark, folder), tmp_path)
    assert (tmp_path / "stream/commits/3").exists()
    assert_equal(net.network.state, uninterrupted)
    assert not history.rounds


def test_a_model_that_is_not_the_streams_is_refused(spark, folder, tmp_path):
    with pytest.raises(Stop):
        fitted(spark, stream(spark, folder), tmp_path, listeners=[StopAt(2)])
    newest = latest(tmp_path)
    files.remove(f"{newest}/vectors.safetensors")
    with pytest.raises(
        CheckpointError, match="has 1 micro-batches, but Spark continues after 2: .*skip"
    ):
        fitted(spark, stream(spark, folder), tmp_path)
    files.remove(newest)
    files.remove(f"{tmp_path}/stream")
    with pytest.raises(CheckpointError, match="checkpoints must be of one stream, but the model's"):
        fitted(spark, stream(spark, folder), tmp_path)


def test_a_query_without_an_id_is_refused(tmp_path):
    place = StreamFolder(Checkpoints(path=str(tmp_path)), Network(rich()))
    (tmp_path / "stream").mkdir()
    (tmp_path / "stream/metadata").write_text('{"other": 1}')
    with pytest.raises(CheckpointError, match=r"stream/metadata: must have the id of a query, got"):
        place.awaits(0)


def test_what_a_filter_leaves_empty_is_passed_over(spark, folder, tmp_path):
    frame = stream(spark, folder).where("number % 2 = 1")
    _, history = fitted(spark, frame, tmp_path, epochs=2)
    assert [report.examples for report in history.epochs] == [20] * 4
    _, history = fitted(spark, frame, tmp_path)
    assert history.end_reason.startswith("the stream ended before a micro-batch")


def test_workers_that_talk_to_each_other(spark, folder):
    master = AllReduceSGD(batch_size_per_worker=4, workers=2)
    _, history = fitted(spark, stream(spark, folder).where("number < 2"), master=master)
    assert [report.examples for report in history.epochs] == [20, 20]


class StopQuery(Listener):
    def on_epoch(self, report, state):
        if report.epoch == 1:
            [query] = self.spark.streams.active
            self.thread = threading.Thread(target=query.stop, daemon=True)
            self.thread.start()


def test_an_endless_stream_ends_when_it_is_stopped(spark):
    numbers = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 12).load()
    columns = ["array_repeat(float(value % 3), 6) features", "int(value % 3) label"]
    stop = StopQuery()
    stop.spark = spark
    net = SparkNetwork(spark, rich(), MASTER)
    history = net.fit(numbers.selectExpr(*columns), listeners=[stop])
    stop.thread.join(30)
    assert not stop.thread.is_alive()
    assert "its query was stopped" in history.end_reason
    assert net.network.state.epoch == len(history.epochs) >= 2
    assert not spark.streams.active


def test_a_stream_ends_when_a_listener_stops_the_training(spark, folder):
    def stop(report, state):
        if report.epoch == 1:
            raise StopTraining("enough")

    net, history = fitted(spark, stream(spark, folder), listeners=[LambdaListener(on_epoch=stop)])
    assert len(history.epochs) == net.network.state.epoch == 2
    assert history.end_reason == "the stream ended after micro-batch 1: enough"
    assert not spark.streams.active


def test_a_record_that_cannot_be_used_and_a_file_that_cannot_be_read(spark, folder, tmp_path):
    with pytest.raises(DataError, match="record 0: column 'features' must have 6 numbers, got 5"):
        fitted(spark, stream(spark, folder).selectExpr("slice(features, 1, 5) features", "label"))
    (tmp_path / "bad.parquet").write_bytes(b"no Parquet" * 9)
    with pytest.raises(WorkerError, match="bad.parquet"):
        fitted(spark, stream(spark, tmp_path))
    assert spark.sparkContext._jsc.getPersistentRDDs().isEmpty()


REFUSED = [
    ({"trigger": {"often": 3}}, "cannot be started with trigger .*often"),
    ({"trigger": {"processingTime": "x"}}, "cannot be started with trigger"),
    ({"metrics": [max]}, "^metrics must be left out where there is no validation data, got "),
    ({"resume": "a"}, "'resume'. must be left out where data is a stream"),
    ({"checkpoints": Checkpoints(path="memory://no", every_rounds=3)}, "every_rounds must be None"),
    ({"checkpoints": Checkpoints(path="memory://no")}, 'No FileSystem for scheme "memory"'),
]


@pytest.mark.parametrize("options, message", REFUSED, ids=str)
def test_options_are_refused(spark, folder, options, message):
    with pytest.raises(ConfigError, match=message) as refused:
        SparkNetwork(spark, rich(), MASTER).fit(stream(spark, folder), **options)
    assert not hasattr(refused.value, "__notes__"), "not only at a micro-batch"


def test_streams_and_what_is_none_are_not_mixed_up(spark, folder):
    net, frame = SparkNetwork(spark, rich(), MASTER), stream(spark, folder)
    with pytest.raises(ConfigError, match="got a DataFrame that streams; fit takes one"):
        net.evaluate(frame)
    with pytest.raises(ConfigError, match="trigger must be None for data that is no stream"):
        net.fit(
            spark.createDataFrame([([1.0] * 6, 1)], "features array<float>, label int"), trigger=NOW
        )


class More(Listener):
    """Adds records to a memory stream after the first epoch; stops the query after the second."""

    def __init__(self, spark, add):
        self.spark, self.add, self.threads = spark, add, []

    def on_epoch(self, report, state):
        [query] = self.spark.streams.active
        act = self.add if report.epoch == 0 else query.stop
        self.threads.append(threading.Thread(target=act, daemon=True))
        self.threads[-1].start()


def memory_stream(spark):
    """Returns (DataFrame, function that adds `count` records) of Spark's memory stream.

    pyspark has no API for it, so it is reached through its JVM class.
    """
    jvm = spark._jvm
    kind = jvm.org.apache.spark.sql.execution.streaming.runtime.MemoryStream
    if isinstance(kind, JavaPackage):
        pytest.skip("before Spark 4.1 its memory stream is elsewhere, and made in another way")
    stream = kind.apply(jvm.org.apache.spark.sql.Encoders.STRING(), spark._jsparkSession)

    def add(count):
        x, y = data(count, seed=count)
        rows = [{"features": one.tolist(), "label": int(label)} for one, label in zip(x, y)]
        scala = jvm.scala.jdk.javaapi.CollectionConverters
        stream.addData(scala.asScala([json.dumps(row) for row in rows]).toSeq())

    text = DataFrame(stream.toDF(), spark)
    return text.selectExpr(f"inline(array(from_json(value, '{SCHEMA}')))"), add


def test_sparks_memory_stream(spark):
    """Records added during training form the next micro-batch."""
    frame, add = memory_stream(spark)
    add(20)
    more = More(spark, lambda: add(12))
    history = SparkNetwork(spark, rich(), MASTER).fit(frame, listeners=[more])
    for thread in more.threads:
        thread.join(30)
        assert not thread.is_alive()
    assert [report.examples for report in history.epochs] == [20, 12]
    assert "its query was stopped" in history.end_reason


def test_a_solver_that_says_when_to_stop_takes_no_stream(spark, folder, tmp_path):
    net = SparkNetwork(spark, write_solver(tmp_path, "max_iter: 9"))
    jobs = spark._jsc.sc().dagScheduler().numTotalJobs()
    with pytest.raises(
        ConfigError, match="must not be a stream where a solver file says when to stop"
    ):
        net.fit(stream(spark, folder), trigger=NOW)
    assert spark._jsc.sc().dagScheduler().numTotalJobs() == jobs
    assert not spark.streams.active


def test_the_history_of_a_stream_does_not_grow_for_ever(monkeypatch):
    monkeypatch.setattr(stream_fit, "KEPT", 3)
    trainer = stream_fit.StreamTrainer(None, None, None, StreamCounts(()))
    for number in range(5):
        part = History()
        part.add_round(report(number))
        part.end_epoch()
        trainer._add(part)
    assert [each.epoch for each in trainer.history.epochs] == [2, 3, 4]
    assert len(trainer.history.rounds) == 3
