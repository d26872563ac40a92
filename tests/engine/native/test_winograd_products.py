"""Compiled products of blocks of tiles against numpy, for all remainders of a group of tiles."""

import numpy as np
import pytest

from sparkdl.engine.native.calls import bind
from sparkdl.engine.native.control import module
from sparkdl.engine.native.jit import find_compiler
from sparkdl.engine.native.llvm_code import LANES, Code
from sparkdl.engine.native.tiles import MEMORY_WORDS, TileAddresses, memory_words
from sparkdl.engine.native.winograd_products import NAMES, ROWS, CompiledProducts
from sparkdl.errors import OperandError

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="llvmlite is not here")
POSITIONS, BLOCK = 3, 2 * ROWS + 3
WORDS = (
    "count",
    *NAMES,
    "x_channels",
    "y_channels",
    *(name for i in ("values", "results") for name in (i, *(f"{i}_{w}" for w in MEMORY_WORDS))),
)


def multiply(values, filters, count, block=BLOCK):
    """Returns the results of the first `count` tiles: those beyond are NaN unless computed."""
    channels, outputs = filters.shape[1:]
    results = np.full((1, POSITIONS, block, outputs), np.nan, np.float32)
    panels = filters.reshape(POSITIONS, channels, outputs // LANES, LANES).swapaxes(1, 2)
    products = CompiledProducts(values, results, np.ascontiguousarray(panels))
    code = Code()
    at = TileAddresses(code, WORDS)
    products.emit(at, "0", POSITIONS, at.word("count"))
    words = {"count": count, "x_channels": channels, "y_channels": outputs} | products.words
    words |= memory_words("values", values, values.shape)
    words |= memory_words("results", results, results.shape)
    bind(find_compiler().function(module(code)), [words[name] for name in WORDS], 0)()
    return results[0]


@pytest.mark.parametrize(("channels", "outputs"), [(16, 16), (32, 48), (80, 32)])
def test_products(channels, outputs, rng):
    values = rng.standard_normal((1, POSITIONS, BLOCK, channels), np.float32)
    filters = rng.standard_normal((POSITIONS, channels, outputs), np.float32)
    expected = values[0].astype(np.float64) @ filters.astype(np.float64)
    whole = multiply(values, filters, BLOCK)
    for count in range(1, BLOCK + 1):
        results = multiply(values, filters, count)
        assert np.isnan(results[:, max(count, ROWS) :]).all()
        np.testing.assert_allclose(results[:, :count], expected[:, :count], rtol=0, atol=1e-4)
        np.testing.assert_array_equal(results[:, :count], whole[:, :count])


def test_filters_that_are_too_few_are_an_error(rng):
    values = rng.standard_normal((1, POSITIONS, BLOCK, 16), np.float32)
    results = np.empty((1, POSITIONS, BLOCK, 32), np.float32)
    filters = np.zeros((POSITIONS, 1, 16, LANES), np.float32)
    operand = CompiledProducts(values, results, filters).words["filters"]
    with pytest.raises(OperandError, match="filters needs 1536 float32"):
        _ = operand.address
