"""Which labels several outputs may share."""

from sparkdl.errors import ConfigError


def check_labels(conf):
    """Outputs that read one column want the same labels, and no column is an input too.

    Raises
    ------
    ConfigError
        Names both outputs, or the input.
    """
    for place in conf.labelled:
        column = conf.label_column(place)
        first = conf.label_columns[column]
        if wanted(place) != wanted(first):
            raise ConfigError(
                f"{place.name} and {first.name} cannot share the labels {column!r}: they take "
                f"{told(place)} and {told(first)}"
            )
        if column in conf.feature_columns:
            raise ConfigError(f"{place.name}.labels must be no input, got {column!r}")


def wanted(place):
    """Kind, shape and number of what an output is compared with."""
    units = place.out_shape[0] if len(place.out_shape) > 2 else place.out_shape[-1]
    return place.layer.label_kind, place.label_shape, units


def told(place):
    kind, shape, units = wanted(place)
    return f"{kind} of shape {shape}, {units} units"
