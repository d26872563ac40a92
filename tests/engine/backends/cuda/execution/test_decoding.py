"""Images sent as bytes: the device decodes them exactly as the host does."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.data import Batch, Compose, Crop, MeanImage, Mirror, Normalize, Pad, Scale
from sparkdl.data.transforms import in_training
from sparkdl.engine import Graph, compile, gradients, ops
from sparkdl.engine.backends import base
from sparkdl.engine.backends.cuda.backend import Cuda
from sparkdl.engine.dtypes import BFLOAT16
from sparkdl.engine.graph import constant
from sparkdl.engine.planner import align
from sparkdl.errors import ShapeError
from sparkdl.nn import Conv2D, Dense, Momentum, NetworkConf, Output, initial_slots
from sparkdl.nn.execution.initial_vectors import initial_buffers, initial_params
from sparkdl.training.rounds.block_training import Round, train_block
from sparkdl.training.saving.state import TrainState
from tests.engine.backends.cuda.execution.test_program import kinds, logged
from tests.engine.backends.cuda.support import near
from tests.engine.support import ops_of, tensors

MEAN = np.random.default_rng(3).random((3, 12, 16)).astype(np.float32) * 255
CAFFE = Compose(MeanImage(mean=MEAN), Crop(size=(7, 9)), Mirror(), Scale(factor=1 / 256))
TRANSFORMS = {
    "Caffe's, a mean image": CAFFE,
    "Caffe's, means of channels": Compose(Crop(size=8), Mirror(), Scale(mean=(1, 2.5, 3))),
    "torch's": Compose(Crop(size=8), Mirror(), Normalize(mean=(0.4, 0.5, 0.6), std=(1, 2, 3))),
    "both axes": Compose(Mirror(axis="vertical"), Mirror(), Mirror(share=0.2), Scale(factor=0.3)),
    "bytes alone": Compose(Crop(size=5, random=False)),
    "a cast": Scale(),
    "scaled before": Compose(Normalize(scale=1 / 255), Crop(size=(7, 9)), Mirror()),
    "a border": Compose(Pad(size=2), Crop(size=(12, 16)), Mirror(), Scale(factor=1 / 255)),
    "mirrored before": Compose(Mirror(), Crop(size=9), Scale(factor=1 / 255)),
    "a mean of windows": Compose(Crop(size=6), MeanImage(mean=MEAN[:, :6, :6])),
    "twice": Compose(Scale(mean=(3,), factor=0.7), Mirror(), Scale(mean=(1, 2, 3), factor=1.1)),
}
COMPUTED = {"twice"}  # partly computed on the host, so it sends no bytes
LAYERS = [Conv2D(filters=4, kernel_size=3, activation="relu"), Dense(units=5), Output(units=3)]
CONF = NetworkConf(
    input_shape=(3, 7, 9), layers=LAYERS, optimizer=Momentum(learning_rate=0.1), seed=4
)


def images(n=6, shape=(3, 12, 16)):
    rng = np.random.default_rng(0)
    return Batch.of(rng.integers(0, 256, (n, *shape)).astype(np.uint8), rng.integers(0, 3, n))


def through(column):
    """Returns (the column's numbers as a program sees them, bytes uploaded)."""
    inputs = tensors(x=np.empty(column.shape, np.float32))
    program = compile(Graph(inputs, {"y": ops.neg(inputs["x"])}), "cuda")
    calls = logged(program, lambda: program.run({"x": column}))
    [size] = {call[3] for call in calls if call[0] == "upload"}
    return -program.run({"x": column})["y"], size


@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_device_makes_the_same_of_bytes(name):
    batch, transform = images(), TRANSFORMS[name]
    expected = in_training(transform, 5, 2)(batch).features
    column = in_training(transform, 5, 2, Cuda.decodes)(batch).features
    found, size = through(column)
    assert expected.dtype == column.dtype
    np.testing.assert_array_equal(found, expected.astype(np.float32))
    if name in COMPUTED:
        assert isinstance(column, np.ndarray)
    else:
        tables = (np.zeros(1) if t is None else np.asarray(t) for t in (column.mean, column.factor))
        parts = column.images.nbytes, 16 * len(batch), *(4 * table.size for table in tables)
        assert size == sum(map(align, parts))


@pytest.mark.parametrize("shape, mean", [((20,), (1.5,)), ((5, 4), (1, 2, 3, 4, 5)), ((), ())])
def test_records_need_not_be_images(shape, mean):
    batch, transform = images(4, shape), Scale(mean=mean, factor=1 / 3)
    column = in_training(transform, 5, 2, Cuda.decodes)(batch).features
    np.testing.assert_array_equal(through(column)[0], transform(batch).features)


def test_a_description_is_one_of_records():
    column = in_training(CAFFE, 5, 2, Cuda.decodes)(images()).features
    expected = column.numbers()
    assert column.nbytes == 6 * 3 * 12 * 16 and len(column) == 6
    for index in (slice(1, 4), np.array([5, 0])):
        np.testing.assert_array_equal(np.asarray(column[index]), expected[index])


def test_descriptions_must_fit():
    inputs = tensors(x=np.empty((6, 3, 8, 8), np.float32))
    program = compile(Graph(inputs, {"y": ops.neg(inputs["x"])}), "cuda")
    column = in_training(CAFFE, 5, 2, Cuda.decodes)(images()).features
    with pytest.raises(ShapeError, match=r"input 'x' needs \(6, 3, 8, 8\), got \(6, 3, 7, 9\)"):
        program.run({"x": column})


def convolved(column, also=None):
    """Returns a graph of a bfloat16 convolution of a column, and the filters' gradient."""
    rng, inputs = np.random.default_rng(1), tensors(x=np.empty(column.shape, np.float32))
    w = constant(rng.standard_normal((8, column.shape[1], 3, 3)), BFLOAT16)
    y = ops.conv(ops.cast(inputs["x"], BFLOAT16), w)
    outputs = {"y": y, "gw": gradients(ops.sum(ops.cast(ops.tanh(y), "float32")), [w])[0]}
    return Graph(inputs, outputs | ({} if also is None else {"also": also(inputs["x"])}))


FED = {
    "described": lambda column: column,
    "float32": lambda column: column.numbers(),
    "float64": lambda column: column.numbers().astype(np.float64),
    "bytes": lambda column: column.images[:, :, :7, :9],
}


@pytest.mark.parametrize("way", FED)
def test_images_arrive_as_cudnns_first_convolution_reads_them(way, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(base.MODULES, "cuda", "tests.support.cuda.with_cudnn")
    column = in_training(CAFFE, 5, 2, Cuda.decodes)(images()).features
    value, found, launches = FED[way](column), [], []
    expected = compile(convolved(column), "reference").run({"x": np.asarray(value)})
    for also in (None, ops.neg):  # a second reader keeps the column in float32
        program = compile(convolved(column, also), "cuda")
        calls = logged(program, lambda program=program: program.run({"x": value}))
        launches.append(kinds(calls).count("launch"))
        found.append({name: program.run({"x": value})[name] for name in expected})
        for name, y in expected.items():
            near(found[-1][name], y, 2e-2)
        assert ops_of(program).count("Pad") == 1 + (also is not None)
        assert program.inputs["x"].shape == (6, 3, 7, 9)
    assert launches[0] == 5 < launches[1], "no cast of the images, no zeros put behind"
    assert all(np.array_equal(found[0][name], found[1][name]) for name in expected)


@pytest.mark.slow
def test_a_worker_sends_bytes_and_trains_as_on_the_host(cuda):
    """Two passes over a block of three batches, the last one smaller."""
    block, start, found = images(22), len(cuda.device.driver.log), {}
    vectors = {"params": initial_params(CONF), "slots": initial_slots(CONF)}
    shared = Round(
        conf=CONF,
        state=TrainState(**vectors, buffers=initial_buffers(CONF)),
        examples=len(block),
        batch_size=8,
        prefetch=2,
        transform=CAFFE,
        keep_slots=True,
        device="cuda",
        backend="auto",
    )
    found = [train_block(shared, 0, block) for _ in range(2)][1]
    expected = train_block(replace(shared, device="cpu", backend="reference"), 0, block)
    np.testing.assert_allclose(found.vector, expected.vector, 1e-4, 1e-6)
    launches = [call[1] for call in cuda.device.driver.log[start:] if call[0] == "launch"]
    assert launches.count("decode") == 6 and found.updates == 3
