"""Schema of a network's data, in the terms of the package that reads it."""

from sparkdl.data.records.label import Label
from sparkdl.data.records.schema import Schema
from sparkdl.data.transforms import record_shapes
from sparkdl.nn.inputs.columns import label_mask_of, mask_of
from sparkdl.nn.inputs.labels import units_of


def schema_of(conf, labels=True, transform=None, changes=()):
    """Returns the Schema of the records that a network is trained on, evaluated or used on.

    Parameters
    ----------
    labels : bool
        False for prediction.
    transform : callable or None
        Of the source: records have the shape that it makes the network's inputs of.
    changes : tuple of callable
        Of the Schema.

    Raises
    ------
    ShapeError
        Where it makes something else, whatever records are.
    """
    labels_of_outputs = {column: label_of(place) for column, place in conf.label_columns.items()}
    features = record_shapes(transform, conf.record_shapes)
    masks = masks_of(conf, labels)
    labels = labels_of_outputs if labels else None
    return Schema(
        features=features, labels=labels, ids=conf.id_columns, masks=masks, changes=changes
    )


def feature_shapes(conf):
    """Returns {column: shape of one example} of what a network computes on."""
    return {column: conf.input_shapes[name] for column, name in conf.feature_columns.items()}


def masks_of(conf, labels=True):
    """Returns {column: column of its mask} of the columns that hold something for each step."""
    features = [c for c, name in conf.feature_columns.items() if has_steps(conf, name)]
    scored = [c for c, place in conf.label_columns.items() if labels and is_stepwise(place)]
    return {c: mask_of(c) for c in features} | {c: label_mask_of(c) for c in scored}


def has_steps(conf, name):
    """Returns whether an input has something for each step of a sequence: features, or an id."""
    shape = conf.input_shapes[name]
    if len(shape) == 1:
        readers = (place.layer for place in conf.stack if name in place.sources)
        return any(layer.reads_ids_of_steps for layer in readers)
    return len(shape) == 2


def is_stepwise(place):
    """Returns whether an output has a label for each step of a sequence."""
    return len(place.out_shape) == 2 and place.label_shape[:1] == place.out_shape[:1]


def label_of(place):
    """Returns the Label of an output."""
    ignored = getattr(place.layer.loss, "ignore_label", None)
    kind, shape, size = place.layer.label_kind, place.label_shape, units_of(place)
    one_hot = getattr(place.layer.loss, "labels", None) == "one_hot"
    one_hot = one_hot and size > 1 and shape[-1] == size  # of images classes come first
    return Label(kind=kind, size=size, shape=shape, ignored=ignored, one_hot=one_hot)
