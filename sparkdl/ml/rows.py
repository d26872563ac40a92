"""Rows and columns of a DataFrame that a fit reads."""

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType

from sparkdl.data.readers.encodings.arrow_columns import require_column
from sparkdl.errors import ConfigError, DataError
from sparkdl.ml.params import FitParams
from sparkdl.spark.records.frame_schema import WHERE
from sparkdl.spark.records.records import quote_name


def weight_column(stage: FitParams) -> str | None:
    """Returns the name of a stage's column of weights; as pyspark.ml has it, "" is none."""
    return (stage.getWeightCol() if stage.isDefined(stage.weightCol) else "") or None


def indicator_column(stage: FitParams) -> str | None:
    """Returns the name of the column that sets rows apart, of which "" is none, too."""
    marked = stage.isDefined(stage.validationIndicatorCol)
    return (stage.getValidationIndicatorCol() if marked else "") or None


def divide_rows(
    stage: FitParams, dataset: DataFrame
) -> tuple[DataFrame, DataFrame | None, dict[str, Any]]:
    """Returns the rows to train on, those marked to evaluate on or None, and options of a fit.

    The options are what SparkNetwork.fit does about the rest: a share held out, weights of classes.
    """
    marks, options = indicator_column(stage), fit_options(stage)
    if marks is not None and "validation_split" in options:
        raise ConfigError(
            f"validationSplit must be left out where validationIndicatorCol is given, got "
            f"{stage.getValidationSplit()}"
        )
    if marks is None:
        return dataset, None, options
    apart = marked_rows(dataset, marks)
    return dataset.filter(~apart), dataset.filter(apart), options


def fit_options(stage: Any) -> dict[str, Any]:
    """Returns `validation_split` and `class_weight` of SparkNetwork.fit, where Params have them."""
    options: dict[str, Any] = {}
    if stage.isDefined(stage.validationSplit):
        share = stage.getValidationSplit()
        if not 0 < share < 1:
            raise ConfigError(f"validationSplit must be above 0 and below 1, got {share}")
        options["validation_split"] = share
    if stage.hasParam("classWeights") and stage.isDefined(stage.classWeights):
        options["class_weight"] = dict(enumerate(stage.getClassWeights()))
    return options


def marked_rows(dataset: DataFrame, name: str) -> Column:
    """Returns whether a column says that a row is set apart; null means no."""
    require_column(name, dataset.columns, WHERE)
    kind = dataset.schema[name].dataType
    if not isinstance(kind, BooleanType):
        got = kind.simpleString()
        raise DataError(f"{WHERE}: column {name!r} must be boolean to set rows apart, got {got}")
    return F.coalesce(F.col(quote_name(name)), F.lit(False))


def renamed(
    frame: DataFrame, features: dict[str, str], labels: dict[str, str], weights: str | None
) -> DataFrame:
    """Returns the columns that are read; of several, under the names that the network has."""
    pairs = [pair for columns in (features, labels) for pair in own_names(columns)]
    pairs += [] if weights is None else [(weights, weights)]
    chosen = dict.fromkeys(pairs)
    return frame.select(*(F.col(quote_name(name)).alias(target) for name, target in chosen))


def own_names(columns: dict[str, str]) -> list[tuple[str, str]]:
    """Returns (column of the frame, its name for SparkNetwork)."""
    alone = len(columns) == 1
    return [(name, name if alone else column) for column, name in columns.items()]


def first(columns: dict[str, str]) -> str:
    """Returns the name of the only column; where there are several it is not looked at."""
    return next(iter(columns.values()), "")
