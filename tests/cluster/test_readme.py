"""The documented path from MNIST to features on HDFS; its commands run unchanged on YARN."""

import io
import json
import shutil
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkdl import digits
from tests.support.pages import ROOT, blocks

PAGE = "notebooks/how_to/caffe.md"
CONTAINERS = {
    "spark.executor.instances": "2",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.executor.memoryOverhead": "1g",
    "spark.driver.memory": "512m",
    "spark.driver.memoryOverhead": "1g",
}
RECORDS = {"train": 4000, "t10k": 1000}


def commands():
    """Returns the commands of the page's bash block, with continued lines joined."""
    [block] = blocks(PAGE, "bash")
    lines = block.replace("\\\n", " ").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@pytest.fixture
def folder(tmp_path, archive, hdfs):
    """A minimal checkout with MNIST and a yarn.conf of its own.

    HDFS is cleared first, because an earlier test may have put the archive there.
    """
    hdfs.remove("/mnist")
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    own = [
        line for line in (ROOT / "conf/yarn.conf").read_text().splitlines() if not set_here(line)
    ]
    own += [f"{key} {value}" for key, value in CONTAINERS.items()]
    (tmp_path / "yarn.conf").write_text("\n".join(own))
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / archive.name).symlink_to(archive)
    for (name, count), part in zip(RECORDS.items(), ("train", "test")):
        batch = digits(part)
        write_idx(tmp_path / f"{name}-images-idx3-ubyte", batch.features[:count, 0])
        write_idx(tmp_path / f"{name}-labels-idx1-ubyte", batch.labels[:count])
    return tmp_path


def set_here(line):
    return line.partition(" ")[0] in CONTAINERS


def write_idx(path, array):
    """Writes an array in MNIST's IDX format: magic number, sizes, bytes."""
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    path.write_bytes(head + np.ascontiguousarray(array, np.uint8).tobytes())


def test_the_commands_are_those_that_the_issue_asks_for():
    kinds = [line.split()[:2] for line in commands()]
    assert ["python", "build.py"] in kinds
    assert kinds.count(["sparkdl", "convert"]) == 2
    assert kinds.count(["sparkdl", "submit"]) == 3


@pytest.mark.timeout(1500)
def test_the_commands_give_what_they_say(yarn, hdfs, folder):
    for line in commands():
        if line != "python build.py package":  # the fixture has built dist with the same code
            yarn.run("bash", "-c", line, cwd=folder, timeout=500)
    kinds = "caffemodel", "solverstate"
    assert {f"lenet_iter_{n}.{kind}" for n in (100, 200) for kind in kinds} <= set(
        hdfs.names("/mnist")
    )
    scores = json.loads(hdfs.read("/mnist/scores.json"))
    assert float(np.squeeze(scores["accuracy"])) > 0.9
    features = read_parquet(hdfs, "/mnist/features")
    assert features.num_rows == RECORDS["t10k"]
    assert set(features.column_names) == {"SampleID", "ip1", "ip2", "label"}
    found = np.argmax(np.stack(features["ip2"].to_numpy()), axis=1)
    assert np.mean(found == np.stack(features["label"].to_numpy()).reshape(-1)) > 0.9
    # The resumed run equals the uninterrupted one bit for bit.
    assert hdfs.read("/mnist/resumed.caffemodel") == hdfs.read("/mnist/lenet.caffemodel")


def read_parquet(hdfs, path):
    """Returns a pyarrow Table of files that Spark wrote."""
    parts = [name for name in hdfs.names(path) if name.endswith(".parquet")]
    tables = [pq.read_table(io.BytesIO(hdfs.read(f"{path}/{name}"))) for name in parts]
    return pa.concat_tables(tables)
