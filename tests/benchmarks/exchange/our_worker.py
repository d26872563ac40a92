"""sparkdl's Group, over sockets alone or with shared memory too."""

import os

import numpy as np

import sparkdl
from sparkdl.exchange.codecs import codec_from_dict
from sparkdl.exchange.compressed_sum import CompressedSum
from sparkdl.exchange.group import Group
from sparkdl.exchange.rendezvous.file_rendezvous import FileRendezvous
from tests.benchmarks.exchange.member import SHARED, folder, place, serve

SECRET = b"of this benchmark only, 32 bytes"


class Coded:
    """The sum of random gradients through a codec."""

    def __init__(self, group, codec):
        self.group, self.codec, self.sum = group, codec_from_dict(codec), None

    def before(self, vector):
        """What is not timed: the vector becomes another gradient, on all ranks."""
        if self.sum is None or self.sum.n != len(vector):
            self.sum = CompressedSum(self.group, self.codec, len(vector))
            rng = np.random.default_rng(self.group.rank)
            self.gradient = rng.normal(0, 0.01, len(vector)).astype(np.float32)
        self.gradient = np.roll(self.gradient, 1001)
        vector[:] = self.gradient
        self.group.barrier()

    def __call__(self, vector):
        self.sum.sum(vector)


class Actions(dict):
    """{what: function}: "all_reduce", and a codec's name for the sum through it."""

    def __init__(self, group):
        super().__init__(all_reduce=group.all_reduce)
        self.group = group

    def __missing__(self, codec):
        return self.setdefault(codec, Coded(self.group, codec))


def main():
    rank, size = place()
    rendezvous = FileRendezvous(folder() / "group", rank, size)
    shared = os.environ[SHARED] == "True"
    with Group.form(rendezvous, SECRET, shared_memory=shared) as group:
        serve(rank, f"sparkdl {sparkdl.__version__}", Actions(group))


if __name__ == "__main__":
    main()
