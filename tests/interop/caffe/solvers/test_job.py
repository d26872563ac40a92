"""Jobs read from solver files: nets, their data and its transforms."""

import numpy as np
import pytest

from sparkdl.data import (
    HDF5,
    LMDB,
    Batch,
    Crop,
    Images,
    MeanImage,
    Mirror,
    Scale,
    SequenceFiles,
    write_lmdb,
)
from sparkdl.errors import ConfigError, DataError, UnsupportedError
from sparkdl.interop.caffe.datasets.sources import source_of
from sparkdl.interop.caffe.graphs.net import load_net
from sparkdl.interop.caffe.messages.blobs import write_mean
from sparkdl.interop.caffe.messages.prototxt import parse_text
from sparkdl.interop.caffe.messages.schema import NetParameter
from sparkdl.interop.caffe.nets.phases import state_of
from sparkdl.interop.caffe.solvers.job import read_job
from sparkdl.nn import Momentum

NET = """
layer { name: 'd' type: 'Data' top: 'data' top: 'label' include { phase: TRAIN }
        data_param { source: '%s' backend: LMDB batch_size: 4 } transform_param { scale: 0.5 } }
layer { name: 'd' type: 'Data' top: 'data' top: 'label' include { phase: TEST }
        data_param { source: '%s' backend: LMDB batch_size: 2 } }
layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip'
        inner_product_param { num_output: 3 } }
layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }
"""
SOLVER = """
net: 'elsewhere/net.prototxt' base_lr: 0.1 lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.01
max_iter: 10 test_iter: 5 test_interval: 5 random_seed: 3
"""


@pytest.fixture
def folder(tmp_path, rng):
    columns = {"features": rng.integers(0, 255, (8, 1, 4, 4), np.uint8)}
    columns["labels"] = np.zeros(8, np.int32)
    write_lmdb(tmp_path / "lmdb", [Batch(columns=columns, ids=np.arange(8))])
    (tmp_path / "net.prototxt").write_text(NET % (tmp_path / "lmdb", tmp_path / "lmdb"))
    (tmp_path / "solver.prototxt").write_text(SOLVER)
    return tmp_path


def test_a_job_is_read_with_its_nets_from_beside_it(folder):
    job = read_job(folder / "solver.prototxt")
    conf = job.train.conf
    assert (conf.optimizer, conf.l2, conf.seed) == (
        Momentum(learning_rate=0.1, momentum=0.9),
        0.01,
        3,
    )
    assert conf.parameter_count == 16 * 3 + 3
    assert job.solver.max_iter == 10
    [test] = job.tests
    assert [net.data[0].batch_size for net in (job.train, test)] == [4, 2]
    assert source_of(job.train.data[0]).transform == Scale(factor=0.5)


def test_a_net_that_is_nowhere_is_named_as_the_solver_does(folder):
    (folder / "net.prototxt").unlink()
    with pytest.raises(DataError, match="elsewhere/net.prototxt: there is no such file"):
        read_job(folder / "solver.prototxt")


# Layers of data


def data_of(text):
    text = f"layer {{ name: 'd' top: 'data' {text} }}"
    text += "layer { name: 'r' type: 'ReLU' bottom: 'data' }"
    net = load_net(parse_text(text, NetParameter), state_of("TRAIN"), shapes={"data": (3, 4, 4)})
    return net.data[0]


DATABASE = "type: 'Data' data_param { source: 'here' backend: LMDB }"
MEMORY = (
    "type: 'MemoryData' memory_data_param { source: 'file:/here' channels: 1 height: 4 width: 5 }"
)
SOURCES = {
    "an LMDB": (DATABASE, LMDB("here")),
    "several LMDBs": (
        DATABASE.replace("here", "one, hdfs://nn/two"),
        LMDB(("one", "hdfs://nn/two")),
    ),
    "an LMDB of CaffeOnSpark": (
        MEMORY + "source_class: 'com.yahoo.ml.caffe.LMDB'",
        LMDB("file:/here"),
    ),
    "SequenceFiles of CaffeOnSpark": (
        MEMORY + "source_class: 'com.yahoo.ml.caffe.SeqImageDataSource'",
        SequenceFiles("file:/here", channels="gray", size=(4, 5)),
    ),
    "images": (
        "type: 'ImageData' image_data_param { source: 'list.txt' root_folder: 'images/' "
        "new_height: 5 new_width: 6 }",
        Images("images/", list_file="list.txt", channels="BGR", size=(5, 6)),
    ),
    "HDF5 files": (
        "type: 'HDF5Data' hdf5_data_param { source: 'list.txt' batch_size: 9 }",
        HDF5("list.txt", columns={"features": "data"}),
    ),
    "gray images": (
        "type: 'ImageData' image_data_param { source: 'list.txt' is_color: false }",
        Images("/", list_file="list.txt", channels="gray"),
    ),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_layer_of_data_is_a_source(name):
    text, wanted = SOURCES[name]
    assert source_of(data_of(text)) == wanted


def test_images_are_changed_in_caffes_order(tmp_path, rng):
    mean = rng.uniform(0, 255, (3, 4, 4)).astype("f")
    write_mean(tmp_path / "mean.binaryproto", mean)
    options = f"mean_file: '{tmp_path}/mean.binaryproto' crop_size: 3 mirror: true scale: 0.1"
    transforms = source_of(
        data_of(DATABASE + f"transform_param {{ {options} }}")
    ).transform.transforms
    assert transforms[1:] == (Crop(size=3), Mirror(), Scale(factor=0.1))
    assert isinstance(transforms[0], MeanImage) and np.array_equal(transforms[0].image, mean)


def test_a_mean_is_a_number_for_each_channel():
    text = DATABASE + "transform_param { mean_value: [104, 117, 123] scale: 0.5 }"
    assert source_of(data_of(text)).transform == Scale(factor=0.5, mean=(104.0, 117.0, 123.0))


BAD = {
    "LEVELDB": ("type: 'Data' data_param { source: 'here' }", UnsupportedError, "sparkdl convert"),
    "no source": ("type: 'Data' data_param { backend: LMDB }", ConfigError, "name its source"),
    "no data": ("type: 'Input'", UnsupportedError, "one of Data, .*, got Input"),
    "two means": (
        DATABASE + "transform_param { mean_file: 'm' mean_value: 1 }",
        ConfigError,
        "got both",
    ),
    "colors": (
        DATABASE + "transform_param { force_gray: true }",
        UnsupportedError,
        "force_gray",
    ),
    "an unknown class": (
        MEMORY + "source_class: 'com.example.Mine'",
        UnsupportedError,
        "one of LMDB, SeqImageDataSource, ImageDataFrame as its source_class, got 'com.example",
    ),
    "HDF5Data with a transform": (
        "type: 'HDF5Data' hdf5_data_param { source: 'here' } transform_param { scale: 2 }",
        ConfigError,
        "no effect",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_refused(name):
    text, error, words = BAD[name]
    with pytest.raises(error, match=f"layer 'd' .*{words}"):
        source_of(data_of(text))
