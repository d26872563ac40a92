"""The columns of a batch that a network reads, and their shapes."""

from types import SimpleNamespace

import numpy as np

from sparkdl.errors import ShapeError
from sparkdl.nn.inputs.labels import check_classes

WEIGHTS = "weights"
NO_MASK = -1.0  # the row of a record whose labels have no mask of their own


def mask_of(column):
    """Returns the column that tells which steps of the sequences in `column` exist."""
    return "mask" if column == "features" else f"{column}_mask"


def label_mask_of(column):
    """Returns the column that tells which labels of the sequences in `column` count.

    For records whose row is NO_MASK, the mask of the output decides.
    """
    return f"{column}_mask"


def weights_of_labels(conf):
    """Returns {column of labels: column of its weights}, where a network has several.

    A column that is also one of features or labels holds no weights.
    """
    columns = conf.label_columns
    names = {column: f"{column}_weights" for column in columns} if len(columns) > 1 else {}
    taken = {*conf.record_shapes, *columns}
    return {column: name for column, name in names.items() if name not in taken}


def masks_of_features(conf):
    """Returns {column: column of its mask} of inputs with a time axis: features, or ids."""
    shapes, of_steps = conf.input_shapes, [p for p in conf.stack if p.layer.reads_ids_of_steps]
    read = {name for place in of_steps for name in place.sources}
    return {
        column: mask_of(column)
        for column, name in conf.feature_columns.items()
        if len(shapes[name]) == 2 or (len(shapes[name]) == 1 and name in read)
    }


def masks_of_labels(conf):
    """Returns {column: column of its mask} of outputs with a label per step."""
    return {c: label_mask_of(c) for c, place in conf.label_columns.items() if is_stepwise(place)}


def is_stepwise(place):
    """Returns whether an output has a label per step of a sequence."""
    return len(place.out_shape) == 2 and place.label_shape[:1] == place.out_shape[:1]


def columns_of(conf, batch, labels=True):
    """Returns {column: array} of the columns of a batch that a program of `conf` reads.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    batch : Batch
        Its masks and weights are included if it has them.
    labels : bool
        Whether to include what losses need.

    Raises
    ------
    ShapeError
        If a column is missing or has the wrong shape.
    DataError
        If a label is not a class of its output.
    """
    needed = [*conf.feature_columns, *(conf.label_columns if labels else ())]
    for name in needed:
        if name not in batch.columns:
            in_batch = [*batch.columns]
            raise ShapeError(f"the network takes the columns {needed}, got {in_batch}")
    optional = [mask_of(name) for name in conf.feature_columns]
    if labels:
        optional += [*map(label_mask_of, conf.label_columns), WEIGHTS]
        optional += weights_of_labels(conf).values()
    names = [*needed, *(name for name in optional if name in batch.columns)]
    columns = {name: as_given(batch.columns[name]) for name in names}
    n = len(columns[needed[0]])
    sequences = sequences_of(conf)
    for name, shape in nominal_shapes(conf, n):
        if name in columns:
            check_column_shape(name, columns[name].shape, shape, name in sequences)
    for name, place in conf.label_columns.items() if labels else ():
        if place.layer.label_kind == "class":
            check_classes(place, name, columns[name])
    return columns


def as_given(column):
    """Returns a column as an array, or unchanged if a device's program decodes it."""
    return column if hasattr(column, "numbers") else np.asarray(column)


def check_column_shape(name, actual, expected, sequence):
    """Raises ShapeError unless a column has its shape; the number of steps is free."""
    of_other_length = sequence and (actual[:1], actual[2:]) == (expected[:1], expected[2:])
    if actual != expected and not of_other_length:
        raise ShapeError(f"input {name!r} needs {expected}, got {actual}")


def sequences_of(conf):
    """Returns the columns with a time axis."""
    inputs = conf.input_shapes
    shapes = {column: inputs[name] for column, name in conf.feature_columns.items()}
    shapes |= {column: place.out_shape for column, place in conf.label_columns.items()}
    return {column for column, shape in shapes.items() if len(shape) == 2}


def shapes_of(columns):
    """Returns ((column, shape), ...), the key by which programs are compiled."""
    return tuple((name, column.shape) for name, column in columns.items())


def nominal_shapes(conf, n):
    """Returns `shapes_of` a batch of n examples with the network's nominal shapes."""
    inputs = conf.input_shapes
    shapes = {column: inputs[name] for column, name in conf.feature_columns.items()}
    shapes |= {column: place.label_shape for column, place in conf.label_columns.items()}
    return tuple((name, (n, *shape)) for name, shape in shapes.items())


def features_batch(features):
    """Returns a batch with nothing but features."""
    return SimpleNamespace(columns={"features": np.asarray(features)})


def padded_size(n, size=None):
    """Returns the padded batch size of the program that handles n examples.

    Sizes are powers of two, or a quarter, half or three quarters more, so that a few programs serve
    batches of any size. For n up to `size` the result is at most `size`.
    """
    step = max(1 << max(n - 1, 0).bit_length() - 3, 1) if n > 4 else 1
    rounded = -(-n // step) * step
    return rounded if size is None or n > size else min(rounded, size)


def pad(array, size):
    """Pads `array` to `size` examples by repeating the first one."""
    missing = size - len(array)
    return array if not missing else np.concatenate([array, np.repeat(array[:1], missing, 0)])
