"""Labels and features that a transform moves with the pixels of its images."""

from dataclasses import replace

from sparkdl.data.transforms.base import Transform, record_shapes, require_column
from sparkdl.data.transforms.compose import Compose, flatten_transforms
from sparkdl.data.transforms.resize import NEAREST
from sparkdl.data.transforms.targets import GeometricTransform
from sparkdl.errors import ConfigError


def stored_labels(transform, labels):
    """Returns {column: Label} of records that a transform turns into `labels`.

    Raises ShapeError if it gives labels of another shape.
    """
    shapes = record_shapes(transform, {column: label.shape for column, label in labels.items()})
    found = {column: with_shape(label, tuple(shapes[column])) for column, label in labels.items()}
    if not may_change(transform, labels):
        return found
    return {column: replace(label, ranges=()) for column, label in found.items()}


def may_change(transform, labels):
    """Returns whether a transform may change the numbers of labels, as a plain function may."""
    parts = [] if transform is None else flatten_transforms([transform])
    return any(not isinstance(one, Transform) or one.column in labels for one in parts)


def with_shape(label, shape):
    """Returns a Label of another shape, whose values are not given as class numbers."""
    return label if shape == label.shape else replace(label, shape=shape, one_hot=False)


def without_absent_labels(transform, batch, conf):
    """Returns the transform without the parts that change labels which the batch lacks.

    Records to predict have none.
    """
    absent = conf.label_columns.keys() - batch.columns.keys()
    if not absent or not isinstance(transform, Transform):
        return transform
    parts = [*flatten_transforms([transform])]
    left = [one for one in parts if one.column not in absent]
    return transform if len(left) == len(parts) else Compose(left)


def check_targets(transform, features, labels):
    """Checks the targets of a network's transform before any record is read.

    Parameters
    ----------
    transform : callable or None
        A plain function is not checked.
    features : iterable of str
        Columns of features.
    labels : {column: Label}

    Raises
    ------
    ConfigError
        If a target is none of the network's columns, new pixels of labels have no class, or labels
        that are classes would be interpolated.
    """
    for one in flatten_transforms([transform]):
        if isinstance(one, GeometricTransform):
            for name in one.targets:
                require_column(one, "targets", name, [*features, *labels])
                check_fill(one, name, labels.get(name))
            check_interpolation(one, labels.get(one.column))


def check_fill(transform, name, label):
    """Raises ConfigError unless a transform gives new pixels of class labels a class."""
    fill = getattr(transform, "target_fill", None)
    if fill is None or label is None or label.kind != "class":
        return
    if fill == label.ignored or (0 <= fill < label.size and fill == int(fill)):
        return
    other = "" if label.ignored is None else f", or the loss's ignore_label ({label.ignored})"
    cure = "" if label.ignored is not None else "; a loss with ignore_label leaves pixels out"
    raise ConfigError(
        f"{type(transform).__name__}.target_fill must be a class of {name!r} in "
        f"[0, {label.size}){other}, got {fill:g}{cure}"
    )


def check_interpolation(transform, label):
    """Raises ConfigError if a transform would make new classes as means of others."""
    if label is None or label.kind != "class" or not transform.interpolates:
        return
    kind = type(transform).__name__
    has_choice = hasattr(transform, "interpolation")
    cure = f", {kind}(interpolation={NEAREST!r}) alone" if has_choice else ""
    raise ConfigError(
        f"{kind}.column must be a column of numbers, as means of classes are other classes, got "
        f"{transform.column!r}; targets=[{transform.column!r}] moves them with the images{cure}"
    )
