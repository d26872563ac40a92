"""sparkdl's Group: over sockets only, checked or encrypted, or with shared memory."""

import os

import numpy as np

import sparkdl
from sparkdl.exchange.codecs import Codec
from sparkdl.exchange.compressed_sum import CompressedSum
from sparkdl.exchange.connections.job_tls import JobTls
from sparkdl.exchange.group import Group
from sparkdl.exchange.rendezvous.file_rendezvous import FileRendezvous
from tests.benchmarks.exchange.member import SIDE, folder, found, left, place, serve
from tests.benchmarks.exchange.sides import CHECKED, ENCRYPTED, OURS_SHARED

SECRET = b"of this benchmark only, 32 bytes"


class Coded:
    """Sums random gradients through a codec."""

    def __init__(self, group, codec):
        self.group, self.codec, self.sum = group, Codec.from_dict({"type": codec}), None

    def before(self, vector):
        """Fills the vector with another gradient and synchronizes the ranks, untimed."""
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
    """{what: function}: "all_reduce", and codec names for sums through that codec."""

    def __init__(self, group):
        super().__init__(all_reduce=group.all_reduce)
        self.group = group

    def __missing__(self, codec):
        return self.setdefault(codec, Coded(self.group, codec))


def job_tls(rank):
    """Returns the JobTls created by rank 0."""
    if rank == 0:
        made = JobTls.new()
        left("tls", f"{made.certificate.decode()}|{made.key.decode()}")
    return JobTls(*map(str.encode, found("tls").split("|")))


def main():
    rank, size = place()
    rendezvous = FileRendezvous(folder() / "group", rank, size)
    side = os.environ[SIDE]
    options = {"shared_memory": side == OURS_SHARED, "integrity": side == CHECKED}
    tls = job_tls(rank) if side == ENCRYPTED else None
    with Group.form(rendezvous, SECRET, tls=tls, **options) as group:
        serve(rank, f"sparkdl {sparkdl.__version__}", Actions(group))


if __name__ == "__main__":
    main()
