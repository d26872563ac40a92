"""CaffeOnSpark's DataFrames, written by Spark, and Caffe's HDF5 files: training and tests."""

import json

import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.commands.caffe.conftest import NET, RECORDS, SEED, SOLVER, images_of

COS = """type: 'CoSData' source_class: 'com.yahoo.ml.caffe.DataFrameSource'
  cos_data_param { source: 'FOLDER/frames.parquet' batch_size: BATCH
    top { name: 'data' type: RAW_IMAGE channels: 1 height: 4 width: 4
          transform_param { scale: 0.00390625 } }
    top { name: 'label' type: STRING channels: 1 height: 1 width: 1 } }"""
FRAME = """type: 'MemoryData' source_class: 'com.yahoo.ml.caffe.ImageDataFrame'
  transform_param { scale: 0.00390625 }
  memory_data_param { source: 'FOLDER/frames.json' dataframe_format: 'json' batch_size: BATCH
                      channels: 1 height: 4 width: 4 share_in_parallel: false }"""
HDF5 = "type: 'HDF5Data' hdf5_data_param { source: 'FOLDER/list.txt' batch_size: BATCH }"


@pytest.fixture(scope="module")
def frames(tmp_path_factory, spark):
    """A folder with the records of `made` as DataFrames and HDF5."""
    folder = tmp_path_factory.mktemp("frames")
    images, labels = images_of(np.random.default_rng(SEED), RECORDS)
    rows = [
        (f"image {i}", bytearray(image.tobytes()), str(label))
        for i, (image, label) in enumerate(zip(images, labels.tolist()))
    ]
    frame = spark.createDataFrame(rows, "id string, data binary, label string").repartition(3)
    frame.write.parquet(str(folder / "frames.parquet"))
    frame.write.json(str(folder / "frames.json"))
    with h5py.File(folder / "a.h5", "w") as file:
        file["data"] = images / np.float32(256)
        file["label"] = labels.astype(np.float32)
    (folder / "list.txt").write_text("a.h5\n")
    return folder


@pytest.mark.parametrize("train, test", [(COS, FRAME), (FRAME, HDF5)], ids=["CoSData", "frame"])
def test_a_net_trains_on_one_and_is_tested_on_another(run, made, frames, train, test):
    layers = NET[NET.index("layer { name: 'ip'") :]
    for phase, layer, size in (("TRAIN", train, 8), ("TEST", test, 20)):
        text = layer.replace("FOLDER", str(frames)).replace("BATCH", str(size))
        head = "layer { name: 'd' top: 'data' top: 'label'"
        layers = f"{head} include {{ phase: {phase} }} {text} }}\n{layers}"
    made.write("net.prototxt", layers)
    made.write("solver.prototxt", SOLVER + "test_iter: 17 test_interval: 30")
    flags = "-train -model m.caffemodel -test -output means.json"
    code, out, err = run(f"-conf solver.prototxt {flags}")
    assert (code, err) == (0, "")
    assert "test net 0: 330 records" in out
    assert json.loads((made.folder / "means.json").read_text())["accuracy"][0] > 0.9
    flags = "-features ip -label label -outputFormat parquet -output rows"
    flags += "" if test is HDF5 else " -resize"
    code, _, err = run(f"-conf solver.prototxt -model small.caffemodel {flags}")
    assert (code, err) == (0, "")
    table = pq.read_table("rows").to_pandas()
    if test is not HDF5:  # records are named by their column id
        table.index = table["SampleID"].str.removeprefix("image ").astype(int)
        table = table.sort_index()
    np.testing.assert_allclose(np.stack(table["ip"]), made.outputs, 1e-4, 1e-5)
    np.testing.assert_array_equal(np.concatenate(table["label"]), made.labels)
