"""Models on HDFS: sparkdl's checkpoints, and Caffe's nets, solvers, weights and snapshots."""

import gc

import numpy as np
import pytest
from pyspark.ml import PipelineModel

from sparkdl import AllReduceSGD
from sparkdl.data import Batch, files, write_lmdb_anywhere
from sparkdl.errors import CheckpointError, DataError
from sparkdl.interop.caffe.checkpoints.snapshots import load_snapshot, save_snapshot
from sparkdl.interop.caffe.checkpoints.weights import read_weights
from sparkdl.interop.caffe.datasets.sources import source_of
from sparkdl.interop.caffe.messages.blobs import read_mean, write_mean
from sparkdl.interop.caffe.solvers.job import read_job
from sparkdl.ml import SparkNetworkClassificationModel, SparkNetworkRegressionModel
from sparkdl.training.network import Network
from sparkdl.training.saving.checkpoint import Checkpoints, latest, load_checkpoint
from sparkdl.training.saving.manifest import shared_digests
from sparkdl.training.saving.stored_tables import StoredTables
from sparkdl.training.saving.table_folder import sweep
from sparkdl.training.workers.local import LocalWorkers
from tests.interop.caffe.checkpoints.test_blob_orders import start
from tests.interop.caffe.solvers.test_job import NET, SOLVER
from tests.ml.frames import classes_conf
from tests.training.masters.all_reduce.test_row_exchange import network as id_network
from tests.training.masters.all_reduce.test_row_exchange import records as id_records
from tests.training.models import assert_equal, small_conf, state_of
from tests.training.saving.test_checkpoint import train, writer_for

CONF = small_conf()


@pytest.mark.parametrize("scheme", ["hdfs", "webhdfs"])
def test_checkpoints(as_user, scheme):
    folder = f"{scheme}:///checkpoints-{scheme}"
    train(writer_for(folder, every_rounds=1, keep=2), 3)
    assert as_user.names(f"/checkpoints-{scheme}") == ["round-00000002", "round-00000003"]
    _, state, _ = load_checkpoint(folder)
    assert_equal(state, state_of(CONF, seed=3, rounds=3))
    files.write(f"{folder}/round-00000003/weights.safetensors", b"damaged")
    assert latest(folder) == f"{folder}/round-00000002"


def test_safe_mode_leaves_the_last_checkpoint_whole(as_user):
    writer = writer_for("hdfs:///saved", every_rounds=1)
    train(writer, 1)
    as_user.safe_mode(True)
    try:
        with pytest.raises(
            DataError, match="^hdfs:///saved/round-00000002: .*: Cannot create .* is in safe mode.$"
        ):
            train(writer, 1, start=1)
    finally:
        as_user.safe_mode(False)
    assert latest("hdfs:///saved") == "hdfs:///saved/round-00000001"
    train(writer, 1, start=1)
    assert as_user.names("/saved") == ["round-00000001", "round-00000002"]


def test_a_pipeline_of_spark(spark, as_user):
    network = Network(classes_conf())
    path = f"{as_user.uri}/pipeline"
    PipelineModel([SparkNetworkClassificationModel(network)]).save(path)
    [stage] = as_user.names("/pipeline/stages")
    assert {"metadata", "network"} <= set(as_user.names(f"/pipeline/stages/{stage}"))
    [again] = PipelineModel.load(path).stages
    assert_equal(again.network.state, network.state)
    with pytest.raises(CheckpointError, match="must hold a sparkdl.ml.SparkNetworkRegressionModel"):
        SparkNetworkRegressionModel.load(f"{path}/stages/{stage}")


@pytest.mark.parametrize("format", ["BINARYPROTO", "HDF5"])
def test_caffes_files(as_user, format):
    folder = f"hdfs:///caffe-{format}"
    images = np.random.default_rng(0).integers(0, 255, (8, 1, 4, 4), np.uint8)
    write_lmdb_anywhere(f"{folder}/lmdb", [Batch.of(images, np.zeros(8, int))])
    files.write(f"{folder}/net.prototxt", (NET % ((f"{folder}/lmdb",) * 2)).encode())
    files.write(f"{folder}/solver.prototxt", SOLVER.encode())
    job = read_job(f"{folder}/solver.prototxt")
    conf = job.train.conf
    assert conf.parameter_count == 16 * 3 + 3
    assert sum(split.count for split in source_of(job.train.data[0]).splits()) == 8

    state = start(conf)
    path = save_snapshot(conf, state, f"{folder}/n", job.train.layers, format)
    assert_equal(load_snapshot(conf, start(conf), path, job.train.layers), state)
    [(weights, _)] = read_weights(path.replace("solverstate", "caffemodel")).values()
    assert weights.shape == (3, 16)
    write_mean(f"{folder}/mean.binaryproto", images[0])
    np.testing.assert_array_equal(read_mean(f"{folder}/mean.binaryproto"), images[0])


def test_rows_of_tables_are_in_files_there(as_user, tmp_path):
    """Workers write them, the model copies them, and predicting hosts copy the model's."""
    root, options = "hdfs:///tables", {"updates_per_round": 2, "device": "cpu"}
    master = AllReduceSGD(tables="sharded", table_folder=f"{root}/rows", **options)
    whole, net = Network(id_network()), Network(id_network())
    with LocalWorkers(2) as workers:
        for _ in range(2):
            whole.fit(id_records(), epochs=1, master=AllReduceSGD(**options), workers=workers)
        net.fit(id_records(), epochs=1, master=master, workers=workers)
        assert len(as_user.names("/tables/rows")) == 1
        net.save(f"{root}/model")
        net = Network.load(f"{root}/model")
        assert isinstance(net.state.tables, StoredTables)
        net.fit(id_records(), epochs=1, master=master, workers=workers)
    features, _ = id_records()
    np.testing.assert_array_equal(net.predict(features), whole.predict(features))
    net.save(f"{root}/model", overwrite=True)
    again = Network.load(f"{root}/model")
    np.testing.assert_array_equal(again.predict(features), whole.predict(features))
    assert set(as_user.names("/tables/model")) > {"tables-00000-00000.safetensors"}
    net = again = None
    gc.collect()
    sweep()
    assert as_user.names("/tables/rows") == []


def test_checkpoints_share_files_of_rows_there(as_user):
    root, options = "hdfs:///shared-rows", {"updates_per_round": 1, "device": "cpu"}
    master = AllReduceSGD(
        tables="sharded", table_folder=f"{root}/rows", snapshot_every=1, **options
    )
    kept = Checkpoints(path=f"{root}/checkpoints", every_rounds=1, keep=2)
    with LocalWorkers(2) as workers:
        net = Network(id_network())
        net.fit(id_records(), epochs=4, master=master, workers=workers, checkpoints=kept)
        whole = Network(id_network())
        whole.fit(id_records(), epochs=4, master=AllReduceSGD(**options), workers=workers)
    *rounds, shared = as_user.names("/shared-rows/checkpoints")
    assert len(rounds) == 2 and shared == "tables"
    needed = set().union(*(shared_digests(f"{root}/checkpoints/{name}") for name in rounds))
    left = {name.partition(".")[0] for name in as_user.names("/shared-rows/checkpoints/tables")}
    assert left == needed and len(needed) > 2  # all rows, and the changed ones
    again = Network.load(latest(f"{root}/checkpoints"))
    features, _ = id_records()
    np.testing.assert_array_equal(again.predict(features), whole.predict(features))
