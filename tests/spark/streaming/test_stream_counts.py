"""Listeners count over all micro-batches of a stream, also after a restart."""

from itertools import count

import numpy as np
import pytest

from sparkdl.training.network import Network
from sparkdl.training.reporting.early_stopping import EarlyStopping
from sparkdl.training.reporting.reduce_rate import ReduceLROnPlateau
from sparkdl.training.reporting.termination import TerminateOnTime
from sparkdl.training.saving.model_checkpoint import ModelCheckpoint
from tests.spark.streaming.test_stream_fit import PARTS, Stop, StopAt, fitted, folder, stream

__all__ = ["folder"]
NOT_SO_MUCH = {"monitor": "loss", "min_delta": 1000.0}  # by which no loss improves


def test_micro_batches_without_improvement_are_counted(spark, folder, tmp_path):
    saving = ModelCheckpoint(tmp_path / "best", "loss", save_best_only=True, mode="max")
    reducing = ReduceLROnPlateau(**NOT_SO_MUCH, patience=2, factor=0.5)
    net, history = fitted(spark, stream(spark, folder), listeners=[saving, reducing])
    largest = int(np.argmax([report.loss for report in history.epochs]))
    assert largest < PARTS - 1, "the last one is the best of its own micro-batch only"
    assert Network.load(tmp_path / "best").state.epoch == largest + 1
    assert net.network.state.rate_factor == 0.5


def test_a_restarted_stream_goes_on_counting(spark, folder, tmp_path):
    with pytest.raises(Stop):
        fitted(spark, stream(spark, folder), tmp_path, listeners=[StopAt(1)])
    stopping = EarlyStopping(**NOT_SO_MUCH, patience=2)
    with pytest.raises(Stop):
        fitted(spark, stream(spark, folder), tmp_path, listeners=[stopping, StopAt(2)])
    again = EarlyStopping(**NOT_SO_MUCH, patience=2)
    _, history = fitted(spark, stream(spark, folder), tmp_path, listeners=[again])
    assert [report.epoch for report in history.epochs] == [2, 3]
    assert (stopping.best_epoch, again.best_epoch, again.stopped_epoch) == (1, 1, 3)
    assert "loss was not better than" in history.end_reason


def test_the_best_weights_are_those_of_each_micro_batch(spark, folder):
    restoring = EarlyStopping(**NOT_SO_MUCH, patience=1, restore_best_weights=True)
    _, history = fitted(spark, stream(spark, folder), listeners=[restoring])
    assert (len(history.epochs), restoring.best_epoch) == (PARTS, PARTS - 1)


def test_the_time_of_a_stream_is_that_of_all_micro_batches(spark, folder):
    ending = TerminateOnTime(5, clock=count().__next__)
    _, history = fitted(spark, stream(spark, folder), listeners=[ending])
    assert "after micro-batch 1: 5 s have passed" in history.end_reason
