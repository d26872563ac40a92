"""Split of a fit's records into training and validation, and their class weights."""

from typing import NamedTuple

import numpy as np

from sparkdl.config.constraints.base import scalar
from sparkdl.config.constraints.numbers import is_number
from sparkdl.data.records.changes import ClassWeights, PartByHash
from sparkdl.errors import ConfigError, brief
from sparkdl.nn.losses import SigmoidCrossEntropy
from sparkdl.training.inputs.schema import label_of

LARGEST = float(np.finfo(np.float32).max)  # the type of records' weights


class Division(NamedTuple):
    """Changes to the training records, and to those held out, or None without a split.

    Both are tuples of functions Batch to Batch, as a Schema takes them.
    """

    training: tuple = ()
    held_out: tuple | None = None


def divide(conf, master, validation, share, class_weight):
    """Returns the Division of a fit's records.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    master : TrainingMaster
    validation : data or None
    share : float or None
        Fraction of the records to hold out.
    class_weight : {int: float} or None
    """
    weights = () if class_weight is None else (class_weights(conf, class_weight),)
    if share is None:
        return Division(weights)
    if not isinstance(share, float) or not 0 < share < 1:
        raise ConfigError(f"validation_split must be a number in (0, 1), got {brief(share)}")
    if validation is not None:
        raise ConfigError("validation_split must be left out where there is validation data")
    seed = conf.seed if master.seed is None else master.seed
    columns = (*conf.feature_columns, *conf.label_columns)
    kept, held_out = (
        PartByHash(share=share, seed=seed, columns=columns, drawn=drawn) for drawn in (False, True)
    )
    return Division((kept, *weights), (held_out,))


def require_whole(division, metrics=None):
    """Raises ConfigError if a Division or metrics were requested: solver files define test data,
    loss and figures.
    """
    if division != Division() or metrics:
        raise ConfigError(
            "validation_split, class_weight and metrics must be left out where a solver file "
            "defines the tests and the loss"
        )


def class_weights(conf, factors):
    """Returns the change that gives records the factors of their classes.

    Raises ConfigError if records have no class, or `factors` has classes out of range.
    """
    columns = list(conf.label_columns)
    size = class_count(conf.label_columns[columns[0]]) if len(columns) == 1 else None
    if size is None:
        raise ConfigError(
            "class_weight must be left out where records do not have one class each; "
            f"{weights_cure(conf.label_columns)}"
        )
    known = isinstance(factors, dict) and all(
        is_number(scalar(one)) and 0 <= one < size and int(one) == one for one in factors
    )
    if not known or not factors:
        raise ConfigError(
            f"class_weight must be {{class: factor}} of classes in [0, {size}), got "
            f"{brief(factors)}"
        )
    for one, factor in factors.items():
        if not is_number(scalar(factor)) or not 0 <= factor <= LARGEST:
            raise ConfigError(
                f"class_weight[{brief(one)}] must be a number >= 0 within float32, got "
                f"{brief(factor)}"
            )
    all_factors = tuple(float(factors.get(n, 1)) for n in range(size))
    return ClassWeights(column=columns[0], factors=all_factors)


def weights_cure(columns):
    """Returns how to give records weights, for a network with these {column of labels: output}."""
    if len(columns) < 2:
        return 'give each record its weight, as a column: weights="w"'
    of_classes = [name for name, place in columns.items() if class_count(place)]
    name = (of_classes or list(columns))[0]
    return (
        f'give each record its weight for an output, as a column: weights={{"{name}": "w"}}, by '
        f"the columns of labels {brief(list(columns))}"
    )


def class_count(place):
    """Returns the number of classes of an output's labels, 2 if binary, or None without classes."""
    label = label_of(place)
    if label.kind == "class":
        return label.size if label.shape == () else None
    is_yes_or_no = isinstance(place.layer.loss, SigmoidCrossEntropy) and label.shape == (1,)
    return 2 if is_yes_or_no else None
