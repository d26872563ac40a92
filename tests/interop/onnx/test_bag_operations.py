"""Networks with embedding bags written as ONNX files, against onnxruntime."""

import numpy as np
import pytest

from sparkdl import AllReduceSGD, EmbeddingBag, GraphBuilder, Network, Output, zoo
from sparkdl.interop.onnx import OnnxFunction, write_onnx
from tests.interop.onnx.test_writer import answers

FIELDS = {"fields": ("user", "item"), "dimension": 4, "numbers": 3}
TABLES = {
    "factorization_machine": FIELDS,
    "deep_fm": FIELDS | {"units": (8,)},
    "wide_deep": FIELDS | {"units": (8,), "crosses": ("user x item",)},
    "dlrm": FIELDS | {"bottom": (8,), "top": (8,)},
}


@pytest.mark.slow
@pytest.mark.parametrize("largest", [50, 2**62], ids=["listed", "hashed"])
@pytest.mark.parametrize("name", TABLES)
def test_networks_of_tables(name, largest, tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / "net.onnx"
    network = Network(getattr(zoo, name)(**TABLES[name]))
    ids = [column for column in network.conf.record_shapes if column != "numbers"]
    x = {column: rng.integers(0, largest, (40, 1)) for column in ids}
    x["numbers"] = rng.normal(size=(40, 3)).astype(np.float32)
    labels = rng.integers(0, 2, (40, 1)).astype(np.float32)
    network.fit((x, labels), 2, AllReduceSGD(workers=1))
    write_onnx(network, path)
    few = {column: values[:7] for column, values in x.items()}
    [theirs] = answers(path, None, few)
    np.testing.assert_allclose(theirs, network.predict(few), rtol=1e-5, atol=1e-6)
    if largest == 50:
        [computed] = OnnxFunction(path).run(few).values()
        np.testing.assert_allclose(computed, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.0, 0.1])
@pytest.mark.parametrize("combine", ["sum", "mean", "sqrtn"])
def test_bags_of_several_ids_with_weights(combine, scale, tmp_path):
    """Padded and empty bags, and ids without a row, which count as rows of 0 in the file."""
    build = GraphBuilder()
    bag = EmbeddingBag(
        name="words", dimension=3, width=4, combine=combine, weights="counts", scale=scale
    )
    build.add(Output(units=2), "words")
    network, path = Network(build.conf(bags=[bag])), tmp_path / "net.onnx"
    x = {"features": np.array([[3, 1, -1, -1], [-1, -1, -1, -1], [9, 9, 2, -1]])}
    x["counts"] = np.random.default_rng(0).uniform(0.5, 2, (3, 4)).astype(np.float32)
    network.fit((x, np.array([0, 1, 0])), 3, AllReduceSGD(workers=1))
    write_onnx(network, path)
    x["counts"][2] = [1, -2, 1, 5] if combine == "mean" else 0  # the divisor is 0
    [theirs] = answers(path, None, x)
    np.testing.assert_allclose(theirs, network.predict(x), rtol=1e-5, atol=1e-6)
    assert combine == "sum" or (theirs[2] == theirs[1]).all()  # like an empty bag
    x["features"] = np.array([[5, -1, -1, -1], [2**40, -1, -1, -1], [-1, -1, -1, -1]])
    [theirs] = answers(path, None, x)
    np.testing.assert_array_equal(theirs[:2], theirs[[2, 2]])
    assert np.allclose(network.predict(x), theirs, rtol=1e-5) == (scale == 0)
