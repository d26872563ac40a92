"""The items of a worker: blocks to train on at once, and batches to evaluate on later."""

from contextlib import closing, contextmanager

from sparkdl.data.scratch_file import ScratchFile
from sparkdl.data.stored_batches import StoredBatches
from sparkdl.data.stored_share import StoredShare
from sparkdl.errors import WorkerError
from sparkdl.spark.records.packed_batch import pack_batch, unpack_batch
from sparkdl.training.workers.contribution import Failure


@contextmanager
def split_items(items):
    """Splits the items of a worker into two iterators, (blocks, validation).

    The first gives (number, Batch) as they arrive. The second gives Batches, in the same order at
    each launch; it can be used once the first has ended.
    """
    with closing(ScratchFile("sparkdl-validation-")) as scratch:
        later = BatchSpool(scratch)
        yield later.after(items), iter(later)


class BatchSpool:
    """Validation batches spooled to a file until needed, or read where they are stored."""

    def __init__(self, scratch):
        self._scratch, self._places, self._stored, self._complete = scratch, {}, (), False

    def after(self, items):
        """Yields the blocks among the items; keeps everything else."""
        for key, item in items:
            if isinstance(item, Failure):
                raise item.error
            if isinstance(item, StoredShare):
                yield from item.blocks()
            elif isinstance(item, StoredBatches):
                self._stored = item
            elif isinstance(key, tuple):
                start = self._scratch.append(pack_batch(item))
                self._places[key] = start, self._scratch.nbytes - start
            else:
                yield key, item
        self._complete = True

    def __iter__(self):
        if not self._complete:
            raise WorkerError("batches for validation come last: take all blocks before")
        yield from self._stored
        for key in sorted(self._places):
            start, length = self._places[key]
            self._scratch.file.seek(start)
            yield unpack_batch(self._scratch.file.read(length))
