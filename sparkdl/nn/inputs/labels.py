"""The labels that outputs take, and checks of outputs that share a column of labels."""

import numpy as np

from sparkdl.errors import ConfigError, DataError
from sparkdl.nn.losses.base import units_axis


def check_labels(conf):
    """Checks that outputs that share a column take the same labels, and that it is not an input.

    Raises
    ------
    ConfigError
        Names both outputs, or the input.
    """
    for place in conf.outputs_with_labels:
        column = conf.label_column(place)
        first = conf.label_columns[column]
        if label_requirements(place) != label_requirements(first):
            raise ConfigError(
                f"{place.name} and {first.name} cannot share the labels {column!r}: they take "
                f"{describe_labels(place)} and {describe_labels(first)}"
            )
        if column in conf.feature_columns:
            raise ConfigError(f"{place.name}.labels must be no input, got {column!r}")


def label_requirements(place):
    """Returns the kind, shape and number of units of an output's labels, and a label that is none.

    That is what the loss ignores, unless it is a class, or None.
    """
    ignored = getattr(getattr(place.layer, "loss", None), "ignore_label", None)
    kind, units = place.layer.label_kind, units_of(place)
    is_class = kind == "class" and ignored is not None and 0 <= ignored < units
    return kind, place.label_shape, units, None if is_class else ignored


def units_of(place):
    """Returns the number of classes or values of an output."""
    return place.out_shape[units_axis(place.out_shape)]


def describe_labels(place):
    kind, shape, units, ignored = label_requirements(place)
    return f"{kind} of shape {shape}, {units} units" + (
        "" if ignored is None else f", ignore_label {ignored}"
    )


def check_classes(place, column, labels):
    """Raises DataError unless each label is a class of an output or the label that it ignores."""
    units, ignored = units_of(place), getattr(place.layer.loss, "ignore_label", None)
    if not labels.size or (labels.min() >= 0 and labels.max() < units):
        return
    strange = ~((labels >= 0) & (labels < units) | (labels == ignored))
    if strange.any():
        example = int(np.argwhere(strange)[0][0])
        allowed = f"[0, {place.name}.units), which is {units}"
        allowed += "" if ignored is None else f", or ignore_label ({ignored})"
        label = labels[strange][0]
        raise DataError(f"{column} must be in {allowed}, got {label} in example {example}")
