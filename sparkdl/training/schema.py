"""What a network wants of its data, told to the package that reads it."""

from sparkdl.data.schema import Schema


def schema_of(conf, labels=True):
    """The Schema of a NetworkConf's records; without labels for prediction."""
    kind = conf.loss.label_kind if labels else None
    return Schema(
        features=next(iter(conf.input_shapes.values())), labels=kind, label_size=conf.output_size
    )
