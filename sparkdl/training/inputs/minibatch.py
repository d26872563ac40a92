"""Preparation and checks of minibatches for a network."""

import numpy as np

from sparkdl.config import is_integer
from sparkdl.data.batches.batch import position
from sparkdl.data.batches.columns import Violation, require_finite
from sparkdl.data.batches.sequences import without_full_masks
from sparkdl.errors import ConfigError, DataError
from sparkdl.training.inputs.schema import masks_of_labels_alone
from sparkdl.training.inputs.targets import without_absent_labels


def prepare_minibatch(batch, transform, conf):
    """Returns the transformed batch without masks that are full.

    Parameters
    ----------
    transform : function Batch to Batch, or None
    conf : NetworkConf or GraphConf

    Raises
    ------
    DataError
        If the transform makes features that are not finite; stored ones have been checked.
    """
    if transform is not None:
        batch = without_absent_labels(transform, batch, conf)(batch)
        for name in conf.record_shapes:
            check_finite(name, batch.columns.get(name), batch.ids)
    masks = conf.feature_masks.values()
    return without_full_masks(batch, masks, masks_of_labels_alone(conf))


def check_batch_size(batch_size):
    """Raises ConfigError unless `batch_size` is an integer >= 1."""
    if not is_integer(batch_size, 1):
        raise ConfigError(
            f"Network.batch_size must be an integer >= 1, got {batch_size!r}; leave it out for as "
            "many as fit any network"
        )


def check_finite(name, column, ids):
    """Raises DataError for the first number of a float column that is not finite."""
    if not isinstance(column, np.ndarray) or column.dtype.kind != "f":
        return
    try:
        require_finite(column, name)
    except Violation as offence:
        raise DataError(
            f"column {name!r} must be finite after the transform, but is not in record "
            f"{position(ids[offence.row])}; change the transform"
        ) from None
