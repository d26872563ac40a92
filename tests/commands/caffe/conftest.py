"""A Caffe solver with net, data and model, small enough for results by hand."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from sparkdl import cli
from sparkdl.data import Batch, write_lmdb
from sparkdl.interop.caffe import write_weights

RECORDS, CLASSES, SIDE, SEED = 330, 3, 4, 8
NET = """
name: 'small'
layer { name: 'd' type: 'Data' top: 'data' top: 'label' include { phase: TRAIN }
        transform_param { scale: 0.00390625 }
        data_param { source: 'SOURCE' backend: LMDB batch_size: 8 } }
layer { name: 'd' type: 'Data' top: 'data' top: 'label' include { phase: TEST }
        transform_param { scale: 0.00390625 }
        data_param { source: 'SOURCE' backend: LMDB batch_size: 20 } }
layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip'
        param { lr_mult: 1 } param { lr_mult: 2 }
        inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } }
layer { name: 'accuracy' type: 'Accuracy' bottom: 'ip' bottom: 'label' top: 'accuracy'
        include { phase: TEST } }
layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }
"""
SOLVER = """
net: 'net.prototxt' base_lr: 0.1 lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.0005
max_iter: 30 display: 10 snapshot: 20 snapshot_prefix: 'small' random_seed: 3
"""


@dataclass(frozen=True)
class Made:
    """Contents of a test's folder: images (n, 1, 4, 4), labels, and the model's weights."""

    folder: Path
    images: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    biases: np.ndarray

    def write(self, name, text):
        """Writes a file to the folder; SOURCE in the text becomes the path of the data."""
        (self.folder / name).write_text(text.replace("SOURCE", str(self.folder / "lmdb")))

    @property
    def outputs(self):
        """The expected outputs of the layer `ip`."""
        x = self.images.reshape(len(self.images), -1).astype(np.float64) / 256
        return x @ self.weights.T + self.biases

    @property
    def losses(self):
        z = self.outputs
        return np.log(np.exp(z).sum(1)) - z[np.arange(len(z)), self.labels]

    @property
    def hits(self):
        return self.outputs.argmax(1) == self.labels


def images_of(rng, n):
    """Returns linearly separable images and their classes."""
    labels = rng.integers(0, CLASSES, n)
    images = rng.integers(0, 90, (n, 1, SIDE, SIDE))
    images[np.arange(n), 0, labels] += 120
    return images.astype(np.uint8), labels.astype(np.int32)


def database(path, images, labels, keys=None):
    columns = {"features": images, "labels": labels}
    write_lmdb(path, [Batch(columns=columns, ids=np.arange(len(labels)))])


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A Made in the current folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(SEED)
    images, labels = images_of(rng, RECORDS)
    database(tmp_path / "lmdb", images, labels)
    weights = rng.normal(size=(CLASSES, SIDE * SIDE)).astype(np.float32)
    biases = rng.normal(size=CLASSES).astype(np.float32)
    write_weights("small.caffemodel", {"ip": [weights, biases]})
    found = Made(tmp_path, images, labels, weights, biases)
    found.write("net.prototxt", NET)
    found.write("solver.prototxt", SOLVER + "test_iter: 17 test_interval: 10")
    return found


@pytest.fixture
def run(made, capsys):
    """Runs sparkdl caffe in the folder of `made`; returns (exit code, stdout, stderr)."""

    def command(text):
        code = cli.main(["caffe", *text.split()])
        return code, *capsys.readouterr()

    return command
