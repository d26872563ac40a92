"""Mapping of DataFrame columns to the inputs and outputs of a network."""

from collections.abc import Collection
from typing import Any

from sparkdl.data.records.schema import FEATURES
from sparkdl.errors import ConfigError
from sparkdl.nn import Conf

GENERAL = "SparkNetworkEstimator takes several"


def one_label(
    owner: Any,
    conf: Conf,
    features: str | list[str],
    label: str,
    known: Collection[str] = (),
) -> tuple[dict, dict]:
    """Returns the same as `several_names`; ConfigError for a network of several label columns."""
    if len(conf.label_columns) != 1:
        got = f"{len(conf.label_columns)}: {[*conf.label_columns]}"
        kind = type(owner).__name__
        raise ConfigError(f"{kind}.network must have one column of labels, got {got}; {GENERAL}")
    return several_names(owner, conf, features, label, known)


def own_name(owner: Any, conf: Conf, given: str, known: Collection[str]) -> str:
    """Returns the name of the only column of features.

    If featuresCol was not set and there is no column "features", this is the network's own name for
    it, such as a bag's column; SparkNetwork does the same.
    """
    [column] = conf.record_shapes
    is_given = given != FEATURES or owner.isSet("featuresCol") or FEATURES in known
    return given if is_given else column


def keep_own_name(model: Any, conf: Conf, known: Collection[str]) -> None:
    """Makes a model with a single bag read it from the column that its fit has read."""
    given, columns = model.getFeaturesCol(), [*conf.record_shapes]
    if isinstance(given, str) and len(columns) == 1 and columns != [FEATURES]:
        model._set(featuresCol=own_name(model, conf, given, known))


def several_names(
    owner: Any,
    conf: Conf,
    features: str | list[str],
    label: str | list[str],
    known: Collection[str] = (),
) -> tuple[dict, dict]:
    """Returns ({column of a batch: column of a DataFrame} of features, of labels).

    A bag has a column of ids, and perhaps one of weights. `known` are the columns of the DataFrame;
    see `own_name`.
    """
    columns = [*conf.record_shapes]
    if len(columns) == 1 and isinstance(features, str):
        features = own_name(owner, conf, features, known)
    return (
        name_each(owner, "featuresCol", columns, features, FEATURES),
        name_each(owner, "labelCol", [*conf.label_columns], label, "label"),
    )


def name_each(
    owner: object, param: str, columns: list[str], given: str | list[str], default: str
) -> dict[str, str]:
    """Returns {column of a batch: its name in a DataFrame}, by position or with default names.

    Raises ConfigError if there are too many or too few names.
    """
    names = [given] if isinstance(given, str) else given
    if len(names) == len(columns):
        return dict(zip(columns, names, strict=True))
    if names == [default]:
        return {column: column for column in columns}
    is_table = param == "featuresCol" and len(columns) == 1
    cure = "; VectorAssembler puts several columns of numbers together" if is_table else ""
    raise ConfigError(
        f"{type(owner).__name__}.{param} must name a column for each of {columns}, got "
        f"{given}{cure}"
    )


def output_names(owner: object, param: str, outputs: list[str], given: str | list[str]) -> list:
    """Returns the name of each output's column; a single name is suffixed if there are several.

    Raises ConfigError if there are too many or too few names.
    """
    if isinstance(given, str):
        several = given and len(outputs) > 1
        return [f"{given}_{output}" if several else given for output in outputs]
    if len(given) != len(outputs):
        raise ConfigError(
            f"{type(owner).__name__}.{param} must name a column for each of {outputs}, got {given}"
        )
    return given
