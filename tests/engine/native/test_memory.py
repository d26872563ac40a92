"""Masked loads: as many lanes as there are numbers left, however many these are."""

import numpy as np
import pytest

from sparkdl.engine.backends import get
from sparkdl.engine.native.calls import call_once
from sparkdl.engine.native.control import FIRST, module, pointer, word
from sparkdl.engine.native.llvm_code import LANES, Code
from sparkdl.engine.native.memory import below, load, store

COMPILER = getattr(get("auto"), "compiler", None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no oneDNN, or no llvmlite: numpy runs")


@pytest.mark.parametrize("left", [-64, 0, 1, 15, 16, 17, 2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**62])
def test_numbers_that_are_left_are_loaded(left):
    code = Code()
    count, numbers, found = word(code, FIRST), pointer(code, FIRST + 1), pointer(code, FIRST + 2)
    store(code, load(code, "float32", numbers, "0", below(code, count)), found, "0", None)
    ones, loaded = np.ones(LANES, np.float32), np.full(LANES, np.nan, np.float32)
    operands = [(array, array.dtype, LANES) for array in (ones, loaded)]
    call_once(COMPILER.function(module(code)), "lanes", [left], operands)
    np.testing.assert_array_equal(loaded, np.arange(LANES) < left)
