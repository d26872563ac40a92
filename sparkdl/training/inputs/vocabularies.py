"""Features of a network that are ids for an embedding, and their vocabulary sizes."""

from sparkdl.data.transforms.base import Transform
from sparkdl.data.transforms.compose import Compose
from sparkdl.nn.layers.dense.embedding import Embedding, EmbeddingSequence
from sparkdl.nn.layers.wrappers.base import Wrapper

LOOKUPS = (Embedding, EmbeddingSequence)


def vocabularies_of(conf, transform=None):
    """Returns {feature column: size of the vocabulary of its ids}.

    Covers inputs read directly by an embedding layer, whatever else reads them; the smallest size
    if several layers do. Columns that a transform may change are left out: only the layer sees the
    result.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    transform : callable or None
        Of the source of the records.
    """
    sizes = {}
    for place in conf.stack:
        layer = innermost(place.layer)
        if type(layer) in LOOKUPS:  # a subclass may take other numbers
            for name in place.sources:
                size = layer.vocabulary_size
                sizes[name] = min(size, sizes.get(name, size))
    columns = {column: sizes.get(name) for column, name in conf.feature_columns.items()}
    return {c: size for c, size in columns.items() if size and keeps_column(transform, c)}


def innermost(layer):
    """Returns the layer inside all wrappers."""
    while isinstance(layer, Wrapper):
        layer = layer.layer
    return layer


def keeps_column(transform, column):
    """Returns whether a column is certain to reach the network as it is stored."""
    if isinstance(transform, Compose):
        return all(keeps_column(one, column) for one in transform.transforms)
    if not isinstance(transform, Transform):
        return transform is None
    return column not in (transform.column, *getattr(transform, "targets", ()))
