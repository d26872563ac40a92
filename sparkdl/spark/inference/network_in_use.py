"""A network in use on a cluster: predictions and features."""

import zlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from pyspark import RDD
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from sparkdl.config.calls import refuse_unknown_options
from sparkdl.data.batches.type_names import kind_of
from sparkdl.data.transforms.compose import as_transform
from sparkdl.errors import ConfigError
from sparkdl.nn import Conf
from sparkdl.spark.connect.sessions import (
    are_of_one_session,
    is_connect,
    is_frame,
    unsupported,
)
from sparkdl.spark.gpu_process.dispatch import run_on_device
from sparkdl.spark.inference import predictions
from sparkdl.spark.inference.arrow_map import map_in_arrow
from sparkdl.spark.inference.example_losses import ExampleLosses
from sparkdl.spark.inference.network_evaluation import NetworkEvaluation
from sparkdl.spark.jobs.device_tally import DeviceTally
from sparkdl.spark.jobs.running_context import require_running
from sparkdl.spark.jobs.sent_function import SentFunction
from sparkdl.spark.jobs.shared_value import LocalValue, SharedValue, share_if_changed
from sparkdl.spark.jobs.user_code import check_pickles
from sparkdl.spark.records.feature_columns import Columns, join_beside
from sparkdl.spark.records.records import (
    Change,
    Changes,
    Data,
    SparkRecords,
    is_records,
)
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.network import Network
from sparkdl.training.saving.stored_tables import files_of, keep_files


class NetworkInUse(NetworkEvaluation, ExampleLosses):
    """The part of SparkNetwork that does not train."""

    sc: Any
    network: Network
    master: TrainingMaster
    _model: Any
    _tally: DeviceTally | None
    recipe: Any

    @property
    def conf(self) -> Conf:
        return self.network.conf

    @property
    def devices(self) -> dict[str, int]:
        """{device: tasks} that have computed evaluations, predictions and features so far; a CPU is
        called "the processor".
        """
        if self._tally is None:
            raise unsupported("devices", "it has no accumulators; see the executors' logs")
        return self._tally.devices

    @refuse_unknown_options
    def predict(
        self,
        data: Data,
        *,
        features: Columns = "features",
        transform: Changes | Literal[False] | None = None,
        device: str | None = None,
        prediction: str = "prediction",
        probability: str = "probability",
        keep: str | Iterable[str] | None = None,
    ) -> RDD | DataFrame:
        """Predicts lazily: Spark computes each record's prediction on demand.

        Parameters
        ----------
        data : data
        features, transform, device
            As in `evaluate`.
        prediction, probability : str
            Names of the columns to add to a DataFrame, which must not have them yet: two networks
            need different names.
        keep : str or sequence of str, optional
            Columns of a DataFrame to keep beside the new ones. None: all. Kept columns pass through
            Python and back, so dropping wide features saves time.

        Returns
        -------
        For an RDD or source, an RDD of float32 vectors (units,); for a DataFrame, its columns
        followed by `prediction` (the class, or the value) and `probability` (for classes).
        """
        require_running(self.sc)
        transform = self.transform_for(data, transform)
        if is_frame(data):
            parts = predictions.prediction_parts(self.conf, prediction, probability)
            return self._add_columns(data, features, transform, parts, device, keep)
        self._require_context(data)
        predictions.require_all(keep, data)
        records, master = SparkRecords(data, features, transform=transform), self._master_on(device)
        name, batches = self.conf.output.name, self._batches(records, labels=False)
        check_pickles(records.transform)
        compute = partial(predictions.predict_batches, self._share(master), name, records.transform)
        return batches.mapPartitions(self._task_on_device(run_on_device, master, compute))

    @refuse_unknown_options
    def features(
        self,
        data: Data,
        layers: str | Iterable[str],
        *,
        features: Columns = "features",
        transform: Changes | Literal[False] | None = None,
        device: str | None = None,
        keep: str | Iterable[str] | None = None,
    ) -> RDD | DataFrame:
        """Computes the outputs of layers for each record, as features for other learners.

        Parameters
        ----------
        data : data
        layers : str or sequence of str
            Names of layers in `conf`.
        features, transform, device
            As in `evaluate`.
        keep
            As in `predict`.

        Returns
        -------
        For an RDD or source, an RDD of {layer: array}; for a DataFrame, its columns followed by a
        column of float lists for each layer.

        Raises
        ------
        ConfigError for a layer that does not exist, DataError for such a column.
        """
        require_running(self.sc)
        layers = predictions.check_layers(self.conf, layers)
        transform = self.transform_for(data, transform)
        if is_frame(data):
            parts = predictions.layer_parts(layers)
            return self._add_columns(data, features, transform, parts, device, keep)
        self._require_context(data)
        predictions.require_all(keep, data)
        records, master = SparkRecords(data, features, transform=transform), self._master_on(device)
        check_pickles(records.transform)
        compute = partial(
            predictions.feature_batches, self._share(master), layers, records.transform
        )
        batches = self._batches(records, labels=False)
        return batches.mapPartitions(self._task_on_device(run_on_device, master, compute))

    def _require_frames(self, data, validation=None, trigger=None):
        """Raises UnsupportedError if data needs a SparkContext, ConfigError for two sessions."""
        if self.recipe is not None:
            cure = "its sources are read with RDDs; give a network and a DataFrame"
            raise unsupported("a solver file", cure)
        for given in (data, *([] if validation is None else [validation])):
            if not is_frame(given):
                raise unsupported(kind_of(given), "data must be a DataFrame of its session")
            if given.isStreaming or trigger is not None:
                raise unsupported("a stream", "give a DataFrame that does not stream")
        if validation is not None and not are_of_one_session(validation, data):
            raise ConfigError(
                "validation must be a DataFrame of the same session as data, got one of another; "
                "make both with one SparkSession"
            )

    def _require_context(self, data):
        if is_connect(self.sc):
            raise unsupported(kind_of(data), "data must be a DataFrame of its session")

    def transform_for(self, data: Data, given: Changes | Literal[False] | None) -> Change | None:
        """Returns the transform of minibatches: the given one, or the fit's if None; False: none.

        A source has its own, both as data and as training data.
        """
        if given is False:
            return None
        if given is None and is_records(data):
            return self.network.transform
        return as_transform(given)

    def _add_columns(self, frame, features, transform, parts, device, keep):
        schema = schema_of(self.conf, labels=False, transform=transform)
        frame, features, keep = join_beside(frame, features, keep)
        columns = schema.fields(features, names=frame.columns)
        frame = predictions.narrow_frame(frame, columns.values(), keep)
        new, compute, layers = parts
        given = features, transform, new, compute, device, keep, layers
        return map_in_arrow(frame, *self.column_function(frame.schema, *given))

    def column_function(
        self,
        fields: StructType,
        features: str | dict[str, str],
        transform: Change | None,
        new: list[StructField],
        compute: Callable[..., Any],
        device: str | None = None,
        keep: str | Iterable[str] | None = None,
        layers: Iterable[str] = (),
    ) -> tuple[Callable[..., Any], StructType]:
        """Returns a function for mapInArrow that adds columns, and the schema of its result.

        `compute` receives the shared model, the transform and an iterator of Batches; the rest is
        as in predictions.column_function.
        """
        compute = self.batch_function(transform, compute, device)
        parts = fields, self.conf, transform, features, new, compute, keep, layers
        return predictions.column_function(*parts)

    def batch_function(
        self, transform: Change | None, compute: Callable[..., Any], device: str | None = None
    ) -> Callable[..., Any]:
        """Returns a function of an iterator of Batches for Spark's tasks."""
        check_pickles(transform)
        master = self._master_on(device)
        compute = partial(compute, self._share(master), transform)
        return self._task_on_device(run_on_device, master, compute)

    def shared_model(self, device: str) -> SharedValue | LocalValue:
        """Returns the SharedValue from which inference loads this network in a process."""
        return self._share(self._master_on(device))

    def _master_on(self, device):
        """Returns the master, on another device if one is given.

        Raises ConfigError if it cannot use that device.
        """
        master = self.master if device is None else replace(self.master, device=device)
        return master.for_network(self.conf)

    def _task_on_device(self, way, master, compute):
        """Returns a task that runs `compute` on the master's device; `way` is run_..._on_device."""
        return SentFunction(partial(way, master.task_device, compute, tally=self._tally))

    def _batches(self, records, labels=True):
        """Returns an RDD of the records' Batches."""
        return records.batches(self.sc, schema_of(self.conf, labels, records.transform))

    def _share(self, master):
        """Shares conf and weights with lazily executed tasks.

        They are sent again only if they have changed, even in place, if a user's code has changed,
        or for another device.
        """
        if is_connect(self.sc):  # no broadcasts there, so tasks carry the model
            check_pickles(self.conf)
            keep_files(self.network.state.tables)
            return LocalValue(self._model_of(self.network.state, master))
        of = self.network.state, checksum(self.network.state), master.device
        model = self._model_of(of[0], master)
        self._model = share_if_changed(self._model, of, self.sc, model, files_of(of[0].tables))
        return self._model[1]

    def _model_of(self, state, master):
        """Returns the arguments from which predictions.load_replica makes a replica."""
        return self.conf, state.without_slots(), master.device, master.backend


def checksum(state):
    """Returns a checksum of a TrainState's vectors, to detect changes in place."""
    return zlib.crc32(state.buffers, zlib.crc32(state.params))
