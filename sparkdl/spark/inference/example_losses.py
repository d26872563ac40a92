"""The loss of each record of labelled data on a cluster."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pyspark import RDD
from pyspark.sql import DataFrame

from sparkdl.config.calls import refuse_unknown_options
from sparkdl.errors import ConfigError
from sparkdl.nn import Conf
from sparkdl.spark.connect.sessions import is_frame
from sparkdl.spark.inference import predictions
from sparkdl.spark.inference.arrow_map import map_in_arrow
from sparkdl.spark.inference.error_column import check_on_error, reasons_field
from sparkdl.spark.inference.row_losses import extend_by_losses, losses_and_reasons
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
        on_error: str = "raise",
        error: str = "error",
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
        on_error, error
            As in `predict_column`, for a DataFrame: what to do with a row that cannot be used, as
            its label is null, or on which the transform or the network fails. "raise": the job
            fails and names the row. "null": its loss is null. "column": the same, and the column
            `error` gives the reason.
        keep
            As in `predict`.

        Returns
        -------
        For an RDD or source, an RDD of floats, in the order of its records; for a DataFrame, its
        columns followed by `loss`, a double, and perhaps by `error`, a text.

        Raises
        ------
        ConfigError, DataError
            Columns are missing, or do not fit the network. When Spark gets to it: a record cannot
            be used, for example because its label is null.
        """
        require_running(self.sc)
        check_on_error("score_examples", on_error, error)
        transform = self.transform_for(data, transform)
        schema = schema_of(self.conf, True, transform)
        if is_frame(data):
            data, features, keep = join_beside(data, features, keep)
            columns = schema.fields(features, label, None, data.columns)
            frame = predictions.narrow_frame(data, columns.values(), keep)
            if on_error != "raise":
                compute = self.batch_function(transform, losses_and_reasons, device)
                new = [predictions.number(loss), *reasons_field(on_error, error)]
                parts = frame.schema, schema, columns, new, compute, keep
                return map_in_arrow(frame, *loss_function(*parts))
            compute = partial(predictions.loss_column, loss)
            compute = self.batch_function(transform, compute, device)
            parts = schema, columns, [predictions.number(loss)], compute, keep
            return map_in_arrow(frame, *predictions.extending_function(frame.schema, *parts))
        self._require_context(data)
        predictions.require_all(keep, data)
        if on_error != "raise":
            raise ConfigError(
                "score_examples.on_error must be 'raise' for data that is no DataFrame, got "
                f"{on_error!r}"
            )
        records = SparkRecords(data, features, label, transform=transform)
        compute = self.batch_function(records.transform, predictions.loss_numbers, device)
        return self._batches(records).mapPartitions(compute)


def loss_function(fields, schema, columns, new, compute, keep):
    """Returns a function for mapInArrow that adds losses where rows may fail, and its schema.

    The arguments are those of `extending_function`; `compute` is made of `losses_and_reasons`.
    """
    _, whole = predictions.extending_function(fields, schema, columns, new, compute, keep)
    kept, names = predictions.places_of(fields.names, keep), [field.name for field in new]
    return partial(extend_by_losses, schema, columns, [*kept], names, compute), whole
