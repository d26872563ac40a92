"""Faults of HDFS during training: the fit continues, or stops with the cause and the place.

In either case the last checkpoint is intact. Container faults are tested in test_submit.py.
"""

import platform
import re

import numpy as np
import pytest

from sparkdl.data import LMDB, Batch, Parquet, files, host_copy, write_lmdb, write_parquet
from sparkdl.errors import CheckpointError, DataError
from sparkdl.spark import SparkNetwork
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.saving.checkpoint import Checkpoints, latest, load_checkpoint
from tests.spark.networks import CLASSES, plain
from tests.support.disks import may_mount, small_disk
from tests.training.models import assert_equal

MASTER = ParameterAveraging(
    aggregation="driver", batch_size_per_worker=10, averaging_frequency=1, workers=2
)
HOST = re.escape(platform.node())


class At(Listener):
    """Calls `action` once, after the given number of rounds."""

    def __init__(self, rounds, action):
        self.rounds, self.action = rounds, action

    def on_round(self, report, state):
        if state.rounds == self.rounds:
            self.action()


@pytest.fixture(scope="module")
def batch():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (60, 1, 2, 3)).astype(np.uint8)
    return Batch.of(x, rng.integers(0, CLASSES, 60))


@pytest.fixture
def parquet(as_user, batch, request):
    path = f"{as_user.uri}/faults/{request.node.name}"
    files.remove(path)
    write_parquet(path, [batch])
    return path


@pytest.fixture
def lmdb(as_user, batch, request, tmp_path):
    """(local file, path on HDFS) of an LMDB"""
    write_lmdb(str(tmp_path / "db"), [batch])
    return tmp_path / "db" / "data.mdb", f"{as_user.uri}/faults/{request.node.name}-lmdb"


class Listed:
    """A source that lists its splits when it is made, before the fault."""

    transform = None

    def __init__(self, source):
        self._splits, self.read = source.splits(), source.read

    def splits(self):
        return self._splits


def fitted(spark, source, epochs=1, **options):
    net = SparkNetwork(spark, plain(), MASTER)
    net.fit(source, epochs=epochs, **options)
    return net.network.state


def expected(source, epochs):
    net = Network(plain())
    net.fit(source, epochs=epochs, master=MASTER)
    return net.state


def test_epochs_after_the_first_read_hdfs_no_more(spark, lmdb, parquet):
    local, path = lmdb
    files.write(f"{path}/data.mdb", local.read_bytes())
    for source, gone in ((LMDB(path), path), (Parquet(parquet), parquet)):
        wanted = expected(source, 3)
        removal = At(3, lambda gone=gone: files.remove(gone))
        assert_equal(fitted(spark, source, 3, listeners=[removal]), wanted)
        assert not files.exists(gone)


def test_a_datanode_dies_while_a_network_trains(spark, as_user, parquet):
    """The NameNode still names the dead node, so reads and writes both run into it."""
    folder, wanted = f"{as_user.uri}/faults/kept", expected(Parquet(parquet), 2)
    files.remove(folder)
    options = {"checkpoints": Checkpoints(path=folder, every_rounds=1)}
    options["validation"] = Parquet(parquet)
    try:
        death = At(2, lambda: as_user.kill_datanode(0))
        found = fitted(spark, Parquet(parquet), 2, listeners=[death], **options)
    finally:
        as_user.restart_datanode(0)
    assert_equal(found, wanted)
    assert_equal(load_checkpoint(folder)[1], wanted)


def test_safe_mode_stops_a_fit_at_its_save(spark, as_user, parquet):
    folder = f"{as_user.uri}/faults/safe"
    files.remove(folder)
    options = {"checkpoints": Checkpoints(path=folder, every_rounds=1)}
    try:
        with pytest.raises(DataError, match=f"^{folder}/round-00000003: .* is in safe mode"):
            safe = At(2, lambda: as_user.safe_mode(True))
            fitted(spark, Parquet(parquet), 2, listeners=[safe], **options)
    finally:
        as_user.safe_mode(False)
    assert latest(folder) == f"{folder}/round-00000002"
    assert load_checkpoint(folder)[1].rounds == 2


QUOTAS = {
    "of bytes": (
        {"size": 1},
        CheckpointError,
        r"/\.round-00000003\.new-.* DiskSpace quota",
    ),
    "of names": ({"names": 4}, DataError, "/round-00000003: .* NameSpace quota"),
}


@pytest.mark.parametrize("name", QUOTAS)
def test_a_quota_stops_a_fit_at_its_save(spark, as_user, parquet, name):
    quota, error, message = QUOTAS[name]
    folder = f"{as_user.uri}/faults/quota-{name.replace(' ', '-')}"
    files.remove(folder)
    options = {"checkpoints": Checkpoints(path=folder, every_rounds=1)}

    def limit():
        as_user.set_quota(folder.removeprefix(as_user.uri), **quota)

    with pytest.raises(error, match=f"^{folder}{message}"):
        fitted(spark, Parquet(parquet), 2, listeners=[At(2, limit)], **options)
    assert not [name for name in as_user.names(folder.removeprefix(as_user.uri)) if "new" in name]
    assert latest(folder) == f"{folder}/round-00000002"
    assert load_checkpoint(folder)[1].rounds == 2


def test_an_unreadable_block_stops_a_fit(spark, as_user, parquet):
    source = Listed(Parquet(parquet))
    for file in as_user.block_files(parquet.removeprefix(as_user.uri)):
        file.unlink()
    with pytest.raises(DataError, match=rf"^{parquet}/.*: cannot be read .*\(read on {HOST}\)$"):
        fitted(spark, source)


def test_a_truncated_lmdb_stops_a_fit(spark, lmdb):
    """Noticed by the executor that reads the file, and by the driver that lists it."""
    local, path = lmdb
    content = local.read_bytes()
    files.write(f"{path}/data.mdb", content)
    source = Listed(LMDB(path))
    files.write(f"{path}/data.mdb", content[:-4096])
    with pytest.raises(DataError, match=rf"^{path}: cut short, .* \(read on {HOST}\)$"):
        fitted(spark, source)
    with pytest.raises(DataError, match=f"^{path}: must be an LMDB that is whole"):
        fitted(spark, LMDB(path))


@pytest.mark.skipif(not may_mount(), reason="needs a user who may mount disks (unshare --mount)")
def test_a_full_disk_at_the_copy_stops_a_fit(spark, lmdb):
    """The executor's disk is too small for its copy."""
    local, path = lmdb
    files.write(f"{path}/data.mdb", local.read_bytes())
    folder = host_copy.folder()
    message = f"^{path}/data.mdb: cannot be copied to .* on {HOST}: No space left on device"
    with small_disk(folder, "8k"):
        with pytest.raises(DataError, match=message):
            fitted(spark, LMDB(path))
        assert not [*folder.glob("*.part")]
