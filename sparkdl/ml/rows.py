"""Rows and columns of a DataFrame that a fit reads."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType

from sparkdl.data.readers.encodings.arrow_columns import require_column
from sparkdl.errors import ConfigError, DataError
from sparkdl.ml.params import FitParams
from sparkdl.spark.records.frame_schema import WHERE, is_number

WEIGHT = "sparkdl_weight"  # the column of weightCol times classWeights
PLACES = 1_000_000  # of hashes, of which validationSplit is a share


def weight_column(stage: FitParams) -> str | None:
    """Returns the name of a stage's column of weights; as pyspark.ml has it, "" is none."""
    return (stage.getWeightCol() if stage.isDefined(stage.weightCol) else "") or None


def divide_rows(
    stage: FitParams,
    dataset: DataFrame,
    columns: list[str],
    label: str,
    class_weights: list[float] | None,
) -> tuple[DataFrame, DataFrame | None, str | None]:
    """Returns the rows to train on, those to evaluate on or None, and the column of weights."""
    train, validation = split(stage, dataset, columns)
    weights = weight_column(stage)
    if class_weights is None:
        return train, validation, weights
    return with_weights(train, weights, class_weights, label), validation, WEIGHT


def split(
    stage: FitParams, dataset: DataFrame, columns: list[str]
) -> tuple[DataFrame, DataFrame | None]:
    """Returns the rows to train on, and those that are set apart to evaluate on, or None."""
    marked = stage.isDefined(stage.validationIndicatorCol)
    if marked and stage.isDefined(stage.validationSplit):
        raise ConfigError(
            f"validationSplit must be left out where validationIndicatorCol is given, got "
            f"{stage.getValidationSplit()}"
        )
    if marked:
        apart = marked_rows(dataset, stage.getValidationIndicatorCol())
    elif stage.isDefined(stage.validationSplit):
        apart = share_of_rows(stage.getValidationSplit(), columns)
    else:
        return dataset, None
    return dataset.filter(~apart), dataset.filter(apart)


def marked_rows(dataset: DataFrame, name: str) -> Column:
    """Returns whether a column says that a row is set apart; null means no."""
    require_column(name, dataset.columns, WHERE)
    kind = dataset.schema[name].dataType
    if not isinstance(kind, BooleanType):
        got = kind.simpleString()
        raise DataError(f"{WHERE}: column {name!r} must be boolean to set rows apart, got {got}")
    return F.coalesce(F.col(name), F.lit(False))


def share_of_rows(share: float, columns: list[str]) -> Column:
    """Returns whether a row is of a share, by what it holds: the same in each reading."""
    if not 0 < share < 1:
        raise ConfigError(f"validationSplit must be above 0 and below 1, got {share}")
    return F.pmod(F.xxhash64(*columns), F.lit(PLACES)) < round(share * PLACES)


def with_weights(
    frame: DataFrame, weights: str | None, class_weights: list[float], label: str
) -> DataFrame:
    """Returns the frame with a column WEIGHT: that of a row times that of its class."""
    kind = frame.schema[label].dataType
    if not is_number(kind):
        got = kind.simpleString()
        raise DataError(f"{WHERE}: column {label!r} must hold a class for classWeights, got {got}")
    factor = weight_of_class(class_weights, label)
    return frame.withColumn(WEIGHT, factor if weights is None else F.col(weights) * factor)


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
