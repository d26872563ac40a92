"""Images stored as bytes in an LMDB, and the minibatches that a worker makes of them."""

import tempfile

import numpy as np

from sparkdl.data import LMDB, Batch, Crop, MeanImage, Mirror, write_lmdb
from sparkdl.data.batches.blocks import permutation
from sparkdl.data.batches.prefetch import prefetch
from sparkdl.data.transforms import in_training
from sparkdl.training.rounds.minibatches import minibatches

BLOCKS, AHEAD = 4, 3
SEED = 1


class Stored:
    """An LMDB of noise in the folder for temporary files, whose creator deletes it.

    `steps` is the number of minibatches per pass, two per split.
    """

    def __init__(self, workload):
        self.batch, self.steps, self.epoch = workload.batch, 2 * BLOCKS, 0
        shape = (workload.shape[0], workload.stored, workload.stored)
        rng = np.random.default_rng(SEED)
        images = rng.integers(0, 256, (self.batch, *shape), np.uint8)
        labels = rng.integers(0, workload.classes, self.batch)
        path = f"{tempfile.mkdtemp()}/db"
        write_lmdb(path, (Batch.of(images, labels) for _ in range(self.steps)))
        mean = rng.uniform(100, 150, shape).astype(np.float32)
        transforms = MeanImage(mean=mean), Crop(size=workload.shape[1:]), Mirror()
        each = 2 * self.batch
        self.source = LMDB(path, transforms=transforms, scale=1 / 64, records_per_split=each)

    def minibatches(self, replica):
        """Returns the next epoch's minibatches, prefetched by a thread."""
        self.epoch += 1
        return prefetch(self.read(replica), AHEAD)

    def read(self, replica):
        transform = in_training(self.source.transform, SEED, self.epoch, replica.decodes)
        for number, split in enumerate(self.source.splits()):
            block = Batch.concat(self.source.read(split))
            order = permutation(SEED, self.epoch, number, n=len(block))
            yield from minibatches(block, order, self.batch, transform, replica.conf)
