"""Training on a stream: Spark runs a query, and each of its micro-batches is a fit.

After each micro-batch the model is saved with its number, and only then does Spark mark it as done.
So a query that is restarted on the same folder begins with the next micro-batch, or receives the
last one again, which is recognized by its number and skipped.

Training stays in the thread that asked for it: Spark stops a query by interrupting its thread, and
cleanup after training would fail there.
"""

import logging
import queue
from concurrent.futures import Future
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from sparkdl.data.records.label_facts import warning_once
from sparkdl.errors import ConfigError, NoRecords, SparkdlError, WorkerError
from sparkdl.spark.jobs.job import message, reason
from sparkdl.spark.records.data_frames import uri
from sparkdl.spark.records.kept_data import keeping_nothing
from sparkdl.spark.streaming.stream_counts import StreamCounts
from sparkdl.spark.streaming.stream_folder import StreamFolder
from sparkdl.training.fit.network_fit import require_tests
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.listeners import Listener

log = logging.getLogger(__name__)
POLL = 0.05
KEPT = 10_000  # reports of each kind in the History of a stream, which may have no end
GRACE = 60.0  # seconds for an inactive query to end
ENDING = {"availableNow", "once"}  # triggers of queries that end by themselves


class StreamEnded(SparkdlError):
    """The query was stopped while a micro-batch was trained on."""


class MicroBatchQueue:
    """Hands micro-batches over to training; the query's thread waits until each is trained."""

    def __init__(self):
        self._items, self.closed = queue.SimpleQueue(), False

    def __call__(self, frame, number):
        done = Future()
        self._items.put((frame, number, done))
        while not done.done():
            if self.closed:
                raise StreamEnded("the fit has ended")
            with suppress(TimeoutError):
                done.result(POLL)
        done.result()

    def items(self, query):
        """Yields (DataFrame, number, Future) of micro-batches, until the query has ended."""
        while query.isActive:
            with suppress(queue.Empty):
                yield self._items.get(timeout=POLL)


class StreamTrainer(Listener):
    """A network in training, and the last micro-batch it was trained on.

    Parameters
    ----------
    network : Network
        Trained in place.
    fit : function (DataFrame, listener) -> History
    place : StreamFolder or None
        Where checkpoints go.
    counts : StreamCounts
    """

    def __init__(self, network, fit, place, counts):
        self._network, self._fit, self._place = network, fit, place
        self._counts = counts
        self.history, self.query = History(), None
        self.last = None  # number of the last trained micro-batch
        self.stopped = None  # why a listener has stopped training

    def take(self, frame, number):
        """Trains on a micro-batch, unless this has been done, and saves the model."""
        if self._place is None or self._place.awaits(number):
            with suppress(NoRecords), keeping_nothing(), self._whole():  # a filter may leave none
                self._add(self._fit(frame, self))
            if self._place is not None:
                self._place.write(self._network, number, self._counts.notes)
        self.last = number

    @contextmanager
    def _whole(self):
        """Rolls back training on a micro-batch that fails, as Spark will give it again."""
        state = self._network.state
        try:
            yield
        except BaseException:
            self._network.state, self._network.unfinished = state, None
            raise

    def _add(self, history):
        self.history.extend(history)
        self.history.keep_last(KEPT)
        self.stopped = history.end_reason

    def on_round(self, report, state):
        if not self.query.isActive:
            raise StreamEnded("its query was stopped")

    def note(self, number):
        """Returns the note to add to an error."""
        good = None if self._place is None else self._place.newest
        return f"in micro-batch {number} of a stream; the last checkpoint is {good}"

    @property
    def where(self):
        return "before a micro-batch" if self.last is None else f"after micro-batch {self.last}"


def fit_stream(network, frame, fit, trigger, checkpoints, counts):
    """Trains until the stream ends; returns the History, with the reason as `end_reason`.

    Parameters
    ----------
    network : Network
        Trained in place; continues from a checkpoint of this stream in `checkpoints`, if any.
    frame : streaming DataFrame
    fit : function (DataFrame of a micro-batch, listener) -> History
    trigger : dict or None
        Options of DataStreamWriter.trigger.
    checkpoints : Checkpoints or None
    counts : StreamCounts
        One of the listeners of `fit`, which goes on with the counts of the checkpoint.

    Raises
    ------
    ConfigError
        If the query cannot be started.
    CheckpointError
        If the folder's checkpoint is of another stream, or behind it.
    WorkerError
        If the query failed, for example to read its source. Errors of training are raised as they
        are.
    """
    place = None if checkpoints is None else StreamFolder(checkpoints, network)
    if place is not None:
        counts.notes = place.notes
    micro_batches, trainer = MicroBatchQueue(), StreamTrainer(network, fit, place, counts)
    query = start_query(frame.writeStream.foreachBatch(micro_batches), trigger, place)
    trainer.query, stopped = query, False
    try:
        for batch, number, done in micro_batches.items(query):
            stopped = not train_on(trainer, batch, number, done)
            if trainer.stopped is not None:
                micro_batches.closed = True
                query.stop()
        finish(query)
    finally:
        micro_batches.closed = True
        query.stop()
    return outcome(query, trainer, is_complete=not stopped and not ENDING.isdisjoint(trigger or {}))


def fit_micro_batches(net, frame, trigger, options, listeners, checkpoints, marks):
    """Trains a SparkNetwork on a stream; the arguments are those of its `fit`."""
    others = [name for name, value in marks.items() if value]
    if others:
        raise ConfigError(f"{others} must be left out where data is a stream")
    if net.recipe is not None:
        raise ConfigError("data must not be a stream where a solver file says when to stop")
    given = (options[name] for name in ("validation", "validation_split"))
    require_tests(None, None, options["metrics"], *given)
    listeners = tuple(listeners)
    counts = StreamCounts(listeners)

    def fit(batch, listener):
        return net.fit(batch, listeners=(listener, *listeners, counts), **options)

    with warning_once():
        return fit_stream(net.network, frame, fit, trigger, checkpoints, counts)


def start_query(writer, trigger, place):
    """Returns the running query."""
    try:
        if trigger is not None:
            writer = writer.trigger(**trigger)
        if place is not None:
            writer = writer.option("checkpointLocation", uri(place.stream))
        return writer.start()
    except (Py4JError, PySparkException, TypeError) as error:
        text = reason(message(error))
        raise ConfigError(f"the stream cannot be started with trigger {trigger}: {text}") from error


def train_on(trainer, batch, number, done):
    """Trains on a micro-batch; returns False if the query was stopped meanwhile."""
    try:
        trainer.take(batch, number)
    except StreamEnded as error:
        done.set_exception(error)
        return False
    except BaseException as error:
        error.add_note(trainer.note(number))
        done.set_exception(error)  # so that Spark does not mark it as done
        raise
    done.set_result(None)
    return True


def finish(query):
    """Waits for the thread of an inactive query."""
    with suppress(PySparkException):  # `outcome` raises the cause
        if not query.awaitTermination(GRACE):
            text = f"its query {query.id} has ended, but its thread still runs after {GRACE:g} s"
            raise WorkerError(f"the stream has not ended: {text}")


def outcome(query, trainer, is_complete):
    """Returns the History of a query that has ended; raises WorkerError if it failed."""
    failure = query.exception()
    if failure is not None and trainer.stopped is None:
        raise WorkerError(f"the stream failed {trainer.where}: {reason(message(failure))}")
    why = "all available data has been trained on" if is_complete else "its query was stopped"
    why = trainer.stopped or why
    trainer.history.end_reason = f"the stream ended {trainer.where}: {why}"
    log.info(trainer.history.end_reason)
    return trainer.history
