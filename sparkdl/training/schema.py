"""What a network wants of its data, told to the package that reads it."""

from sparkdl.data.schema import Schema
from sparkdl.data.transforms import record_shapes


def schema_of(conf, labels=True, transform=None):
    """The Schema of the records that a network is trained on, evaluated or used on.

    Parameters
    ----------
    labels : bool
        False for prediction.
    transform : callable or None
        Of the source: records have the shape that it makes the network's inputs of.

    Raises
    ------
    ShapeError
        Where it makes something else, whatever records are.
    """
    kind = conf.loss.label_kind if labels else None
    shapes = record_shapes(transform, {"features": next(iter(conf.input_shapes.values()))})
    ignored = getattr(conf.loss, "ignore_label", None) if kind == "class" else None
    size = conf.output_size
    return Schema(features=shapes["features"], labels=kind, label_size=size, ignored=ignored)
