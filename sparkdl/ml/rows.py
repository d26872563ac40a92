"""The rows and columns of a DataFrame that a fit reads."""

from collections.abc import Iterable
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType

from sparkdl.data.batches.type_names import kind_of
from sparkdl.errors import ConfigError, DataError
from sparkdl.ml.params import FitParams
from sparkdl.spark.connect.sessions import is_frame
from sparkdl.spark.jobs.slots import is_true
from sparkdl.spark.records.frame_schema import WHERE, require_one
from sparkdl.spark.records.records import cure_for_frame, quote_name
from sparkdl.spark.records.weight_columns import CASES, has_column


def require_frame(dataset: Any) -> None:
    """Raises ConfigError unless given a DataFrame of Spark."""
    if not is_frame(dataset):
        raise ConfigError(
            f"dataset must be a DataFrame of Spark, got {kind_of(dataset)}; "
            f"{cure_for_frame(dataset)}"
        )


def weight_column(stage: Any) -> str | None:
    """Returns the name of a stage's weight column, or None; in pyspark.ml, "" means none."""
    return (stage.getWeightCol() if stage.isDefined(stage.weightCol) else "") or None


def weights_to_evaluate(stage: Any, dataset: DataFrame) -> str | None:
    """Returns the name of a stage's weight column, None also where the DataFrame has no such one.

    As in pyspark.ml, rows without the column have no weights.
    """
    name = weight_column(stage)
    return name if name is not None and has_column(dataset, name) else None


def indicator_column(stage: FitParams) -> str | None:
    """Returns the name of the column that marks validation rows, or None; "" means none, too."""
    marked = stage.isDefined(stage.validationIndicatorCol)
    return (stage.getValidationIndicatorCol() if marked else "") or None


def divide_rows(
    stage: FitParams, dataset: DataFrame
) -> tuple[DataFrame, DataFrame | None, dict[str, Any]]:
    """Returns the training rows, the rows marked for validation or None, and options of a fit.

    The options make SparkNetwork.fit hold out a share, or weight classes.
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


def has_rows(stage: FitParams, dataset: DataFrame, marked: bool) -> bool:
    """Returns whether a row has a weight above 0, of those marked for validation or the others."""
    marks, weights = indicator_column(stage), weight_column(stage)
    apart = F.lit(False) if marks is None else marked_rows(dataset, marks)
    rows = dataset.filter(apart if marked else ~apart)
    if weights is not None:
        rows = rows.filter(F.col(quote_name(weights)).cast("double") > 0)
    return not rows.isEmpty()


def fit_options(stage: Any) -> dict[str, Any]:
    """Returns `validation_split` and `class_weight` of SparkNetwork.fit, if the Params are set."""
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
    """Returns the condition that a column marks a row for validation; null means no."""
    require_one(name, dataset.columns)
    require_distinct(dataset, [name])
    kind = dataset.schema[name].dataType
    if not isinstance(kind, BooleanType):
        got = kind.simpleString()
        raise DataError(
            f"{WHERE}: column {name!r} must be boolean to select validation rows, got {got}"
        )
    return F.coalesce(F.col(quote_name(name)), F.lit(False))


def require_distinct(frame: DataFrame, names: Iterable[str]) -> None:
    """Raises ConfigError if Spark would confuse other columns with these, ignoring case."""
    known = frame.columns
    for name in names:
        same = [one for one in known if one.lower() == name.lower()]
        if len(same) > 1 and not is_true(frame.sparkSession.conf.get(CASES)):
            raise ConfigError(
                f"{WHERE}: column {name!r} must differ from all others in more than upper and "
                f"lower case, got {same}; rename or drop the others, or set {CASES} to true"
            )


def named_columns(
    features: dict[str, str], labels: dict[str, str], weights: str | None
) -> dict[str, str]:
    """Returns {column of a batch: column of a DataFrame} of all that is read."""
    return features | labels | ({} if weights is None else {"weights": weights})


class ReadColumns:
    """The columns to read, under names that SparkNetwork can tell apart.

    Several columns of features, or labels, get the network's names for them. Others keep their own
    names, unless another column has taken it.

    Attributes
    ----------
    names : {str: str or None}
        The options `features`, `label`, `weights` of SparkNetwork.fit. A name is ignored if there
        are several such columns.
    """

    def __init__(
        self, features: dict[str, str], labels: dict[str, str], weights: str | None = None
    ) -> None:
        groups = {"features": features, "label": labels}
        groups |= {} if weights is None else {"weights": {"weights": weights}}
        several = [columns for columns in groups.values() if len(columns) > 1]
        pairs = [(name, column) for columns in several for column, name in columns.items()]
        self._pairs = dict.fromkeys(pairs)
        self.names: dict[str, Any] = {"features": "", "label": "", "weights": None}
        for group, columns in groups.items():
            if len(columns) == 1:
                self.names[group] = self._add(*columns.values())

    def _add(self, name: str) -> str:
        """Returns the name that a column gets: its own, or an unused one."""
        own = name
        taken = {target.lower() for _, target in self._pairs}  # Spark ignores case
        while own.lower() in taken and (name, own) not in self._pairs:
            own = f"_{own}"
        self._pairs[name, own] = None
        return own

    def select(self, frame: DataFrame) -> DataFrame:
        """Returns the DataFrame of these columns; see `require_distinct`."""
        require_distinct(frame, dict.fromkeys(name for name, _ in self._pairs))
        columns = [F.col(quote_name(name)).alias(own) for name, own in self._pairs]
        return frame.select(*columns)
