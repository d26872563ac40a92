"""Schema of a network's data, as the data package expects it."""

from dataclasses import replace

from sparkdl.data.records.label import Label
from sparkdl.data.records.label_range import LabelRange
from sparkdl.data.records.schema import Schema
from sparkdl.data.transforms import record_shapes
from sparkdl.nn.inputs.labels import units_of
from sparkdl.training.inputs.step_counts import labels_of_steps
from sparkdl.training.inputs.targets import check_targets, stored_labels
from sparkdl.training.inputs.vocabularies import vocabularies_of


def schema_of(conf, labels=True, transform=None, changes=()):
    """Returns the Schema of the records that a network is trained, evaluated or used on.

    Parameters
    ----------
    labels : bool
        False for prediction.
    transform : callable or None
        Of the source: records have the shapes that it turns into the network's inputs.
    changes : tuple of callable
        Of the Schema.

    Raises
    ------
    ConfigError
        With labels, if the transform's `targets` are not the network's; see `check_targets`.
    ShapeError
        If the transform cannot produce the network's inputs and labels from any record.
    """
    features = record_shapes(transform, conf.record_shapes)
    masks = masks_of(conf, labels)
    labels_of_outputs = stored_labels_of(conf, transform) if labels else None
    steps = labels_of_steps(conf, masks) if labels else {}
    return Schema(
        features=features,
        labels=labels_of_outputs,
        ids=conf.id_columns,
        integers=conf.integer_columns,
        vocabularies=vocabularies_of(conf, transform),
        masks=masks,
        unread=frozenset() if labels else frozenset(conf.label_columns),
        steps={label: of for label, of in steps.items() if keeps_steps(conf, of, features)},
        changes=changes,
    )


def common_schema(conf, transform=None):
    """Returns the Schema shared by networks that take the same records, whatever their
    vocabularies.
    """
    return replace(schema_of(conf, transform=transform), vocabularies={})


def keeps_steps(conf, column, shapes):
    """Returns whether records have as many steps as the network: the transform then keeps them."""
    return shapes[column][0] == conf.input_shapes[conf.feature_columns[column]][0]


def stored_labels_of(conf, transform):
    """Returns {column: Label} of the records that a transform turns into a network's labels."""
    labels = {column: label_of(place) for column, place in conf.label_columns.items()}
    for place in conf.outputs_with_labels:
        column = conf.label_column(place)
        ranges = dict.fromkeys([*labels[column].ranges, *ranges_of(place.layer.loss)])
        labels[column] = replace(labels[column], ranges=tuple(ranges))
    check_targets(transform, conf.record_shapes, labels)
    return stored_labels(transform, labels)


def ranges_of(loss):
    """Yields the LabelRange of a loss of values, if it has one."""
    limits = getattr(loss, "label_range", None)
    if limits is not None and loss.label_kind == "values":
        may_ignore = hasattr(loss, "ignore_label") and not hasattr(loss, "labels")
        yield LabelRange(loss.type_name, *limits, loss.takes_between, may_ignore)


def masks_of(conf, labels=True):
    """Returns {column: column of its mask} of the columns that have time steps."""
    return conf.feature_masks | (conf.label_masks if labels else {})


def masks_of_labels_alone(conf):
    """Returns the mask columns of labels, except those that also mask features."""
    return {*conf.label_masks.values()} - {*conf.feature_masks.values()}


def label_of(place):
    """Returns the Label of an output."""
    ignored = getattr(place.layer.loss, "ignore_label", None)
    kind, shape, size = place.layer.label_kind, place.label_shape, units_of(place)
    one_hot = getattr(place.layer.loss, "labels", None) == "one_hot"
    one_hot = one_hot and size > 1 and len(shape) < 3  # of images classes come first
    return Label(kind=kind, size=size, shape=shape, ignored=ignored, one_hot=one_hot)
