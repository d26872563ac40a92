"""Convolutions and pooling over several tiles, in groups, and in 16-bit types."""

import numpy as np
import pytest

from sparkdl.engine import compile, ops
from sparkdl.engine.dtypes import BFLOAT16
from tests.engine.backends.cuda.support import assert_same
from tests.engine.support import trace, with_gradients
from tests.support.tables import slow

ROUGH = {"float32": 1e-5, BFLOAT16: 1e-2}
kinds = pytest.mark.parametrize("kind", ROUGH)


def normal(kind, *shape):
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32).astype(kind)


@kinds
@pytest.mark.parametrize("groups", [slow(1), 2])
def test_a_convolution_of_several_tiles(kind, groups):
    x, w = normal(kind, 3, 70, 13, 11), normal(kind, 66, 70 // groups, 3, 3)
    graph = with_gradients(lambda x, w: ops.conv(x, w, 2, 1, 1, groups), x, w)
    assert_same(graph, (x, w), ROUGH[kind], runs=2)


@kinds
@pytest.mark.parametrize("channels", [36, 37, 40])  # read 1, 4 or 8 at a time
@pytest.mark.parametrize("stride", [1, 2, 4])
def test_pooling_of_many_channels(kind, channels, stride):
    x = normal(kind, 2, channels, 9, 8)
    pools = (ops.max_pool, ops.avg_pool)
    graph = with_gradients(lambda x: ops.add(*(p(x, 3, stride, 1) for p in pools)), x)
    assert_same(graph, (x,), ROUGH[kind], runs=2)


def test_pooling_over_all_of_an_image():
    x = normal("float32", 2, 8, 11, 12)  # a window too large to unroll
    for pool in (ops.max_pool, ops.avg_pool):
        assert_same(with_gradients(lambda x, p=pool: p(x, (11, 12)), x), (x,), 1e-5, runs=2)


@kinds
@pytest.mark.parametrize("options", [(5, 1e-1, 0.75, 2.0), (3, 0.5, 0.6, 1.0), (9, 0.3, 0.75, 1.0)])
def test_local_response_normalization_of_many_channels(kind, options):
    x = normal(kind, 2, 32, 3, 5)
    graph = with_gradients(lambda x: ops.lrn(x, *options), x)
    assert_same(graph, (x,), ROUGH[kind], runs=2)


def test_a_window_with_a_number_that_is_none_gives_none():
    x = normal("float32", 1, 2, 6, 6)
    x[0, 0, 2, 2] = np.nan
    assert_same(trace(lambda x: ops.max_pool(x, 2), x), (x,), runs=1)


@pytest.mark.parametrize("count", [1, 511, 512, 513, 3000])
def test_rows_are_added_in_their_order(count):
    draw = np.random.default_rng(count)
    y, rows = draw.standard_normal((count, 5), np.float32), draw.integers(0, 7, count, np.int32)
    graph = trace(lambda y, rows: ops.scatter_add(y, rows, 7), y, rows)
    assert_same(graph, (y, rows), 1e-5, runs=2)


def test_an_index_that_is_not_there_gives_no_number():
    table, rows = normal("float32", 4, 3), np.array([0, 4, -1, 3], np.int32)
    found = compile(trace(ops.gather, table, rows), "cuda").run({"x0": table, "x1": rows})["y0"]
    np.testing.assert_array_equal(found[[0, 3]], table[[0, 3]])
    assert np.isnan(found[1:3]).all()
