"""The loss of each record of labelled data on a cluster."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pyspark import RDD
from pyspark.sql import DataFrame

from sparkdl.config.calls import refuse_unknown_options
from sparkdl.nn import Conf
from sparkdl.spark.connect.sessions import is_frame
from sparkdl.spark.inference import predictions
from sparkdl.spark.inference.arrow_map import map_in_arrow
from sparkdl.spark.jobs.running_context import require_running
from sparkdl.spark.records.feature_columns import Columns, join_beside
from sparkdl.spark.records.records import Change, Changes, Data, SparkRecords
from sparkdl.training.inputs.schema import schema_of


class ExampleLosses:
    """The part of SparkNetwork that gives the loss of each example."""

    sc: Any
    transform_for: Callable[..., Change | None]
    batch_function: Callable[..., Callable[..., Any]]
    _require_context: Callable[[Any], None]
    _batches: Callable[..., RDD]

    if TYPE_CHECKING:

        @property
        def conf(self) -> Conf: ...

    @refuse_unknown_options
    def score_examples(
        self,
        data: Data,
        *,
        features: Columns = "features",
        label: str = "label",
        transform: Changes | Literal[False] | None = None,
        device: str | None = None,
        loss: str = "loss",
        keep: str | Iterable[str] | None = None,
    ) -> RDD | DataFrame:
        """Computes the loss of each example lazily, for instance to find anomalies.

        For an autoencoder, `label` may be the column of the features. The loss is that of training
        without regularization; records of a source that have weights have it times their weight.

        Parameters
        ----------
        data : data
        features, label, transform, device
            As in `evaluate`.
        loss : str
            Name of the column to add to a DataFrame, which must not have it yet.
        keep
            As in `predict`.

        Returns
        -------
        For an RDD or source, an RDD of floats, in the order of its records; for a DataFrame, its
        columns followed by `loss`, a double.

        Raises
        ------
        ConfigError, DataError
            Columns are missing, or do not fit the network. When Spark gets to it: a record cannot
            be used, for example because its label is null.
        """
        require_running(self.sc)
        transform = self.transform_for(data, transform)
        schema = schema_of(self.conf, True, transform)
        if is_frame(data):
            data, features, keep = join_beside(data, features, keep)
            columns = schema.fields(features, label, None, data.columns)
            frame = predictions.narrow_frame(data, columns.values(), keep)
            compute = partial(predictions.loss_column, loss)
            compute = self.batch_function(transform, compute, device)
            parts = schema, columns, [predictions.number(loss)], compute, keep
            return map_in_arrow(frame, *predictions.extending_function(frame.schema, *parts))
        self._require_context(data)
        predictions.require_all(keep, data)
        records = SparkRecords(data, features, label, transform=transform)
        compute = self.batch_function(records.transform, predictions.loss_numbers, device)
        return self._batches(records).mapPartitions(compute)
