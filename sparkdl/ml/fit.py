"""What an estimator's fit does: a DataFrame and Params to SparkNetwork.fit."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType

from sparkdl.data.readers.encodings.arrow_columns import require_column
from sparkdl.errors import ConfigError, DataError
from sparkdl.ml.params import FitParams
from sparkdl.ml.turns import taking_turns
from sparkdl.nn import Conf
from sparkdl.spark.network import SparkNetwork
from sparkdl.spark.records.frame_schema import WHERE, check_fields
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.network import Network
from sparkdl.training.reporting.history import History

WEIGHT = "sparkdl_weight"  # the column of weightCol times classWeights


def fit_network(
    stage: Any,
    dataset: DataFrame,
    names: Callable[[Conf], tuple[dict[str, str], dict[str, str]]],
    class_weights: list[float] | None = None,
) -> tuple[Network, History]:
    """Trains a stage's network on a DataFrame.

    Parameters
    ----------
    stage : FitParams
    dataset : DataFrame
    names : function conf -> ({column of a batch: column of the DataFrame} of features, of labels)
    class_weights : list of float, optional

    Raises
    ------
    ConfigError, DataError
        Before any job: a bad Param, a column that is missing or of another type or width.
    """
    network, master = network_to_train(stage), master_to_train(stage)
    preprocessing = stage.getPreprocessing()
    features, labels = names(network.conf)
    weights = (stage.getWeightCol() if stage.isDefined(stage.weightCol) else None) or None
    columns = features | labels | ({} if weights is None else {"weights": weights})
    check_fields(dataset.schema, columns, schema_of(network.conf, transform=preprocessing))
    train, validation = split(stage, dataset)
    if class_weights is not None:
        [label] = labels.values()
        factor = weight_of_class(class_weights, label)
        factor = factor if weights is None else F.col(weights) * factor
        train, weights = train.withColumn(WEIGHT, factor), WEIGHT
    sc = dataset.sparkSession.sparkContext
    net = SparkNetwork(sc, network, master)
    with taking_turns(sc):
        history = net.fit(
            renamed(train, features, labels, weights),
            stage.getMaxIter(),
            None if validation is None else renamed(validation, features, labels, None),
            features=first(features),
            label=first(labels),
            weights=weights,
            transform=preprocessing,
        )
    return net.network, history


def network_to_train(stage: FitParams) -> Network:
    """Returns a new Network with the stage's seed, or one with the weights that it goes on from."""
    given = stage.getNetwork()
    if isinstance(given, Network):
        if stage.isDefined(stage.seed) and stage.getSeed() != given.conf.seed:
            raise ConfigError(
                f"seed must be left out where network has weights of seed {given.conf.seed}, got "
                f"{stage.getSeed()}"
            )
        return Network(given.conf, given.state, given.device)
    return Network(replace(given, seed=stage.getSeed()) if stage.isDefined(stage.seed) else given)


def master_to_train(stage: FitParams) -> TrainingMaster:
    """Returns the stage's master with the options that are Params of their own."""
    options: dict[str, Any] = {}
    if stage.isDefined(stage.batchSize):
        options["batch_size_per_worker"] = stage.getBatchSize()
    if stage.isDefined(stage.numWorkers):
        options["workers"] = stage.getNumWorkers()
    return replace(stage.getMaster(), **options)


def split(stage: FitParams, dataset: DataFrame) -> tuple[DataFrame, DataFrame | None]:
    """Returns the rows to train on, and those that validationIndicatorCol sets apart, or None."""
    if not stage.isDefined(stage.validationIndicatorCol):
        return dataset, None
    name = stage.getValidationIndicatorCol()
    require_column(name, dataset.columns, WHERE)
    kind = dataset.schema[name].dataType
    if not isinstance(kind, BooleanType):
        got = kind.simpleString()
        raise DataError(f"{WHERE}: column {name!r} must be boolean to set rows apart, got {got}")
    apart = F.coalesce(F.col(name), F.lit(False))
    return dataset.filter(~apart), dataset.filter(apart)


def weight_of_class(class_weights: list[float], label: str) -> Column:
    """Returns the factor of a row's class; 1 for a label that is no class: its own check speaks."""
    factors = F.array(*map(F.lit, class_weights))
    return F.coalesce(F.get(factors, F.col(label).cast("int")), F.lit(1.0))


def renamed(
    frame: DataFrame, features: dict[str, str], labels: dict[str, str], weights: str | None
) -> DataFrame:
    """Returns the columns that are read; of several, under the names that the network has."""
    pairs = [pair for columns in (features, labels) for pair in own_names(columns)]
    pairs += [] if weights is None else [(weights, weights)]
    return frame.select(*(F.col(name).alias(target) for name, target in dict.fromkeys(pairs)))


def own_names(columns: dict[str, str]) -> list[tuple[str, str]]:
    """Returns (column of the frame, its name for SparkNetwork)."""
    alone = len(columns) == 1
    return [(name, name if alone else column) for column, name in columns.items()]


def first(columns: dict[str, str]) -> str:
    """Returns the name of the only column; where there are several it is not looked at."""
    return next(iter(columns.values()), "")
