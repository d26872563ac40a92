"""Batches as bytes."""

from io import BytesIO

import numpy as np

from sparkdl.data.batches.batch import Batch


def pack_batch(batch):
    """Returns a Batch as bytes in numpy's own format."""
    file = BytesIO()
    columns = {f".{name}": column for name, column in batch.columns.items()}
    np.savez(file, ids=batch.ids, **columns)
    return file.getvalue()


def unpack_batch(data):
    """Returns the Batch from bytes of `pack_batch`."""
    with np.load(BytesIO(data), allow_pickle=False) as arrays:
        ids, columns = arrays["ids"], {n: arrays[n] for n in arrays.files if n != "ids"}
    return Batch(ids=ids, columns={name[1:]: column for name, column in columns.items()})
