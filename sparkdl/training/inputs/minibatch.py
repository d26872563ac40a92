"""A few records as a network takes them."""

from sparkdl.data.batches.sequences import without_full_masks
from sparkdl.training.inputs.schema import masks_of


def prepare_minibatch(batch, transform, conf):
    """Returns the batch transformed, less masks that leave nothing out.

    Parameters
    ----------
    transform : function Batch to Batch, or None
    conf : NetworkConf or GraphConf
    """
    batch = batch if transform is None else transform(batch)
    return without_full_masks(batch, masks_of(conf).values())
