"""sparkdl caffe: notes that depend on the data, before Spark starts."""

import h5py
import numpy as np
import pytest

from sparkdl.commands.caffe import command
from sparkdl.errors import ConfigError

LMDB = "type: 'Data' data_param { source: 'SOURCE' backend: LMDB batch_size: 20 }"
HDF5 = "type: 'HDF5Data' hdf5_data_param { source: 'list.txt' batch_size: 20 }"
NOTE = "-lmdb_partitions 7 has no effect on HDF5; only an LMDB is divided by it"


@pytest.fixture
def no_spark(monkeypatch):
    def refuse(master, name):
        raise ConfigError("Spark would start")

    monkeypatch.setattr(command, "session", refuse)


@pytest.mark.parametrize("train, test, noted", [(LMDB, HDF5, False), (HDF5, HDF5, True)])
def test_partitions_of_an_lmdb_are_noted_where_there_is_none(
    run, made, no_spark, train, test, noted
):
    with h5py.File("a.h5", "w") as file:
        file["data"] = made.images / np.float32(256)
        file["label"] = made.labels.astype(np.float32)
    made.write("list.txt", "a.h5\n")
    net = (made.folder / "net.prototxt").read_text()
    layers = net[net.index("layer { name: 'ip'") :]
    for phase, kind in (("TRAIN", train), ("TEST", test)):
        head = f"layer {{ name: 'd' top: 'data' top: 'label' include {{ phase: {phase} }}"
        layers = f"{head} {kind} }}\n{layers}"
    made.write("net.prototxt", layers)
    flags = "-conf solver.prototxt -train -model m.caffemodel -test -lmdb_partitions 7"
    code, _, err = run(flags)
    assert (code, "Spark would start" in err, NOTE in err) == (2, True, noted)
