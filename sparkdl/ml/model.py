"""Base class of the models: a trained network that adds columns to DataFrames."""

import math
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DoubleType, StructType

from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.data.records.schema import FEATURES
from sparkdl.errors import ConfigError, SparkdlError
from sparkdl.ml.columns import one_label
from sparkdl.ml.params import StageParams
from sparkdl.ml.persistence import SavedStage
from sparkdl.ml.rows import ReadColumns, named_columns, require_frame, weights_to_evaluate
from sparkdl.ml.training_params import TrainingParams
from sparkdl.spark.connect.sessions import current_context
from sparkdl.spark.inference.arrow_map import map_in_arrow
from sparkdl.spark.inference.column_udf import column_udf
from sparkdl.spark.inference.functions import batch_function
from sparkdl.spark.inference.output_columns import OutputColumns, compute_outputs, layers_of
from sparkdl.spark.network import SparkNetwork
from sparkdl.spark.records.frame_schema import check_fields
from sparkdl.spark.records.records import SparkRecords
from sparkdl.training.evaluation import Evaluation
from sparkdl.training.evaluation.batch_evaluation import Evaluator
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.network import Network
from sparkdl.training.reporting.history import History


class NetworkModel(StageParams, TrainingParams, SavedStage):
    """Base class of the models.

    A subclass defines the columns it adds (`outputs`, `fields`) and, if there may be several
    columns of features or labels, those it reads (`_names`). The values of TrainingParams only
    describe the fit, except `weightCol`, which `evaluate` reads; predictions do not depend on them.

    Attributes
    ----------
    network : Network
        The trained network; it needs no Spark.
    history : History or None
        Of the fit; None for a loaded model.
    """

    _kept: ClassVar[tuple[str, ...]] = ()  # attributes saved besides the Params

    def __init__(self, network: Network, history: History | None = None) -> None:
        super().__init__()
        self.network, self.history = network, history
        self._spark_network: SparkNetwork | None = None

    def __repr__(self) -> str:
        """Returns the names of the class and of the stage, which is its estimator's, as pyspark.

        A model that is being made lacks these, as does one whose preprocessing does not fit.
        """
        known = []
        for name in ("uid", "numFeatures"):
            with suppress(AttributeError, SparkdlError):
                known.append(f"{name}={getattr(self, name)}")
        return ": ".join(filter(None, (type(self).__name__, ", ".join(known))))

    def setWeightCol(self, value: str) -> Self:
        """Sets the value of `weightCol`, of weights in `evaluate`; "" for none."""
        return self._set(weightCol=value)

    def feature_names(self, known: Collection[str] = ()) -> dict[str, str]:
        """Returns {column of a batch: column of a DataFrame} of features.

        `known` are all columns of the DataFrame.
        """
        return self._names(known)[0]

    def label_names(self) -> dict[str, str]:
        """Returns {column of a batch: column of a DataFrame} of labels."""
        return self._names(())[1]

    def _names(self, known):
        given = self.getFeaturesCol(), self.getLabelCol()
        return one_label(self, self.network.conf, *given, known)

    def outputs(self) -> list[OutputColumns]:
        """Returns the columns that `transform` adds."""
        raise NotImplementedError

    def fields(self) -> list[Any]:
        """Returns the StructFields of the columns that `transform` adds."""
        raise NotImplementedError

    def transformSchema(self, schema: StructType) -> StructType:
        """Returns the schema that `transform` makes of another."""
        return self.map_function(schema)[1]

    def map_function(self, schema: StructType) -> tuple[Callable[..., Any], StructType]:
        """Returns a plain function for DataFrame.mapInArrow, and the schema of what it gives.

        Parameters
        ----------
        schema : StructType
            Of the DataFrames that it is for.

        Examples
        --------
        Spark 3.4 refuses a function that gives vectors; `transform` works there.

        >>> df.mapInArrow(*model.map_function(df.schema))
        """
        outputs, net = self.outputs(), self.spark_network()
        compute = partial(compute_outputs, outputs)
        layers = layers_of(outputs)
        names = self.feature_names(schema.names)
        parts = names, self.getPreprocessing(), self.fields(), compute
        return net.column_function(schema, *parts, layers=layers)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        require_frame(dataset)
        return map_in_arrow(dataset, *self.map_function(dataset.schema))

    def udf(self, column: str | None = None) -> Any:
        """Returns a UDF of columns of features, one for each input, also for SQL.

        It is one of Arrow; before Spark 4.1, which has no such UDFs, one of pandas: that takes a
        null among numbers for NaN.

        Parameters
        ----------
        column : str, optional
            Which of the columns that `transform` adds it gives, vectors as arrays of doubles. None:
            the first, the prediction.

        Raises
        ------
        ConfigError
            There is no such column, or the UDF is called with another number of columns.

        Examples
        --------
        >>> spark.udf.register("species", model.udf())
        >>> spark.sql("SELECT species(features) FROM flowers")
        """
        fields = {field.name: field.dataType for field in self.fields()}
        column = next(iter(fields)) if column is None else column
        if column not in fields:
            raise ConfigError(f"column must be one of {list(fields)}, got {column!r}")
        compute = self.spark_network().batch_function(
            self.getPreprocessing(), partial(compute_outputs, self.outputs())
        )
        kind: Any = ArrayType(DoubleType()) if fields[column] == VectorUDT() else fields[column]
        return column_udf(current_context(), self._schema(), column, compute, kind)

    def make_predict_fn(self) -> Callable[[], Callable[[np.ndarray], np.ndarray]]:
        """Returns what pyspark.ml.functions.predict_batch_udf takes as its make_predict_fn.

        It makes a function of features (n, ...), an array or lists, that gives what
        `network.predict` gives, computed on the processor; of no rows it gives none.

        Examples
        --------
        >>> classify = predict_batch_udf(
        ...     model.make_predict_fn(), return_type=ArrayType(FloatType()), batch_size=256,
        ...     input_tensor_shapes=[[4]],
        ... )
        >>> df.select(classify("features"))
        """
        names = list(self.feature_names())
        if len(names) != 1:
            raise ConfigError(f"make_predict_fn is for networks of one input, got {names}")
        model = self.spark_network().shared_model("cpu")
        name = self.network.conf.output.name
        return batch_function(model, self._schema(), self.getPreprocessing(), name)

    def _schema(self):
        return schema_of(self.network.conf, labels=False, transform=self.getPreprocessing())

    def evaluate(self, dataset: DataFrame) -> Evaluation:
        """Evaluates the model on labelled data and returns an Evaluation, with class names if
        known.

        Rows count as their weights say in all figures, if `weightCol` is given and the DataFrame
        has the column.
        """
        return self._evaluate_by(self.evaluator, dataset)

    def _evaluate_by(self, make, dataset):
        """Returns the Evaluation of a DataFrame by the Evaluator that `make` returns."""
        require_frame(dataset)
        features, labels = self.feature_names(dataset.columns), self.label_names()
        preprocessing, net = self.getPreprocessing(), self.spark_network()
        schema = schema_of(self.network.conf, transform=preprocessing)
        weights = weights_to_evaluate(self, dataset)
        check_fields(dataset.schema, named_columns(features, labels, weights), schema)
        read = ReadColumns(features, labels, weights)
        frame = read.select(dataset)
        transform = net.transform_for(frame, preprocessing)
        records = SparkRecords(frame, **read.names, transform=transform)
        return net.evaluate_by(make, records)

    def evaluator(self, transform: Any) -> Evaluator:
        """Returns the Evaluator of minibatches after `transform`."""
        return Evaluator(self.network.conf, transform)

    def spark_network(self) -> SparkNetwork:
        """Returns the network in the current session; executors get its weights only once."""
        sc, master = current_context(), self.master_for(self.network.conf)
        kept = self._spark_network
        if kept is None or kept.sc is not sc or kept.master != master:
            kept = self._spark_network = SparkNetwork(sc, self.network, master)
        return kept

    def layer_values(self, value: Any, *layers: str) -> list[np.ndarray]:
        """Returns the outputs of layers for one record, computed in this process.

        `value` is a vector or an array, or {input: one} for a network of several inputs.
        """
        given = value if isinstance(value, dict) else {FEATURES: value}
        columns = {name: as_array(one)[np.newaxis] for name, one in given.items()}
        preprocessing = self.getPreprocessing()
        records = Batch(columns=columns, ids=record_ids(0, 0, 1))
        batch = self._schema().check(records, "the value")
        batch = batch if preprocessing is None else preprocessing(batch)
        results = self.network.features(batch.columns, layers)
        return [results[name][0] for name in layers]

    @property
    def numFeatures(self) -> int:
        """Number of features of a record, -1 where preprocessing takes any."""
        shapes = self._schema().inputs.values()
        return -1 if any(None in shape for shape in shapes) else sum(map(math.prod, shapes))

    def networks_to_write(self) -> list[Network]:
        return [self.network]

    def about(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._kept}

    @classmethod
    def from_saved(cls, network: Callable[[], Network], about: dict[str, Any]) -> Self:
        return cls(network(), **about)

    def __getstate__(self) -> dict[str, Any]:
        network = Network(self.network.conf, self.network.state, self.network.device)
        return vars(self) | {"network": network, "_spark_network": None}  # without runtime state


def as_array(value: Any) -> np.ndarray:
    """Returns a vector of pyspark.ml, or lists of numbers, as an array."""
    return np.asarray(value.toArray() if hasattr(value, "toArray") else value)
