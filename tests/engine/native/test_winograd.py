"""The matrices of Winograd's algorithm, and the errors of its kernel."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.engine.backends import base
from sparkdl.engine.native.tiles import Tiles
from sparkdl.engine.native.winograd import POSITIONS, SIDE, matrices, winograd_kernel
from sparkdl.engine.native.winograd_products import PrimitiveProducts
from sparkdl.errors import OperandError, UnsupportedError

BACKEND = base.get("onednn")  # loads the pool's library
EXECUTE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p
)


@pytest.mark.parametrize("step", [1, 2, 3, 4, 5])
def test_matrices_convolve(step, rng):
    pixels, filters, image = matrices(step)
    d, g = rng.standard_normal(SIDE), rng.standard_normal(SIDE + 1 - step)
    np.testing.assert_allclose(
        pixels @ ((filters @ g) * (image @ d)), np.correlate(d, g, "valid"), atol=1e-13
    )


def make(status=0, x=(2, 16, 8, 8), y=(2, 32, 8, 8), values=16, dtype=np.float32):
    """Returns the call of a kernel whose products are done by a double of oneDNN."""
    entry = EXECUTE(lambda *_: status)
    x, y = (np.zeros((n, h, w, c), dtype).transpose(0, 3, 1, 2) for n, c, h, w in (x, y))
    memory = [np.zeros((1, POSITIONS, 3, n), np.float32) for n in (values, 32)]
    products = PrimitiveProducts(*memory, [SimpleNamespace(words=(1, 2, 3, 4))], entry)
    return winograd_kernel(Tiles(4, (1, 1), 2, 2, 3), products, x, y, BACKEND.compiler)


def test_a_product_that_fails_is_an_error():
    make()()
    with pytest.raises(UnsupportedError, match="refuses primitive_execute"):
        make(status=3)()
    with pytest.raises(MemoryError, match="no memory for primitive_execute"):
        make(status=1)()


@pytest.mark.parametrize(
    "wrong", [{"dtype": np.float64}, {"values": 8}, {"y": (2, 48, 8, 8)}, {"y": (1, 32, 8, 8)}]
)
def test_memory_that_does_not_fit_is_an_error(wrong):
    with pytest.raises(OperandError):
        make(**wrong)
