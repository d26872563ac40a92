"""Winograd's algorithm against float64 sums over windows, and when it is used."""

import tracemalloc
from functools import partial
from math import ceil

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import get
from sparkdl.engine.backends.onednn.lowerings import winograd
from sparkdl.engine.dtypes import BFLOAT16
from sparkdl.engine.native.jit import find_compiler
from tests.engine.support import trace
from tests.support.tables import slow

pytestmark = pytest.mark.skipif(
    get("auto").name != "onednn" or find_compiler() is None,
    reason="libdnnl or llvmlite is not here",
)
BOUND = 5e-6  # of the largest result
ACTIVATIONS = ops.relu, ops.sigmoid, ops.tanh, partial(ops.leaky_relu, alpha=0.1), ops.elu


def normal(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def convolve(x, w, padding):
    """Returns the convolution in float64, by numpy's windows."""
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), *padding))
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w.astype(np.float64), optimize=True)


def build(x, w, padding, activation=None, with_sum=False, bias=True, **options):
    """Returns (program, its arrays) of a convolution with constant weights and bias."""
    b = normal(len(w))
    shape = [n + sum(p) - k + 1 for n, p, k in zip(x.shape[2:], padding, w.shape[2:], strict=True)]
    z = normal(len(x), len(w), *shape)

    def function(x, z, w, b):
        y = ops.conv(ops.mul(x, x), w, padding=padding, **options)
        y = ops.add_bias(y, b, 1) if bias else y
        y = ops.add(y, ops.mul(z, z)) if with_sum else y
        return y if activation is None else activation(y)

    graph = trace(function, x, z, w, b)
    return compile(graph, "onednn", {"x2": w, "x3": b}, constant_bindings=True), (z, b)


def uses_winograd(program):
    return winograd.NAME in [step.kernel for step in program.steps]


def run(program, x, z):
    return program.run({"x0": x, "x1": z})["y0"]


def check(program, x, z, expected, largest=None):
    """Compares with the expected results; `largest` is the largest number that is activated."""
    assert uses_winograd(program), program.describe()
    largest = abs(expected).max() if largest is None else largest
    assert abs(run(program, x, z) - expected).max() < BOUND * largest


SHAPES = {  # images, filters, padding
    "whole tiles": ((6, 32, 16, 16), (32, 32, 3, 3), ((1, 1), (1, 1))),
    "tiles beyond the edge": ((4, 32, 19, 21), (48, 32, 3, 3), ((1, 1), (1, 1))),
    "no padding": ((7, 48, 18, 15), (32, 48, 3, 3), ((0, 0), (0, 0))),
    "padding on one side": ((7, 32, 13, 16), (32, 32, 3, 3), ((2, 0), (0, 3))),
    "many channels": ((6, 160, 14, 14), (96, 160, 3, 3), ((1, 1), (1, 1))),
    "one image, several blocks": ((1, 64, 57, 61), (64, 64, 3, 3), ((1, 1), (1, 1))),
    "a narrow image": ((32, 32, 40, 3), (32, 32, 3, 3), ((1, 1), (1, 1))),
    "5 x 5, whole tiles": ((8, 32, 8, 8), (64, 32, 5, 5), ((2, 2), (2, 2))),
    "5 x 5, tiles beyond the edge": ((3, 48, 17, 13), (32, 48, 5, 5), ((2, 1), (0, 2))),
}


@pytest.mark.parametrize("threads", [slow(1), 2, slow(3)])
@pytest.mark.parametrize(("shape", "filters", "padding"), SHAPES.values(), ids=SHAPES)
def test_convolutions(shape, filters, padding, threads):
    x, w = normal(*shape), normal(*filters)
    with threadpool_limits(threads):
        program, (z, b) = build(x, w, padding)
        expected = convolve(x * x, w, padding) + b[:, None, None]
        for _ in range(2):  # the second run finds the memory as the first one left it
            check(program, x, z, expected)


@pytest.mark.slow
@pytest.mark.parametrize("with_sum", [False, True])
@pytest.mark.parametrize("activation", [None, *ACTIVATIONS])
def test_what_follows_a_convolution_is_part_of_it(activation, with_sum):
    x, w, padding = normal(4, 32, 15, 15), normal(32, 32, 3, 3) / 20, ((1, 1), (1, 1))
    program, (z, b) = build(x, w, padding, activation, with_sum)
    expected = convolve(x * x, w, padding) + b[:, None, None] + (z * z if with_sum else 0)
    largest = abs(expected).max()
    if activation is not None:
        graph = trace(activation, expected)
        expected = compile(graph, "reference").run({"x0": expected})["y0"]
    check(program, x, z, expected, largest)
    kernels = [step.op for step in program.steps if step.kernel == winograd.NAME]
    assert len(kernels) == 1
    assert not any("Add" in step.op for step in program.steps if step.kernel != winograd.NAME)


def test_a_convolution_without_bias():
    x, w, padding = normal(4, 32, 16, 16), normal(32, 32, 3, 3), ((1, 1), (1, 1))
    program, (z, _) = build(x, w, padding, bias=False)
    check(program, x, z, convolve(x * x, w, padding))


@pytest.mark.slow
def test_threads_leave_the_same_bits():
    """Blocks have other sizes then: channels are added in the same order."""
    x, w, padding = normal(7, 64, 23, 23), normal(64, 64, 3, 3), ((1, 1), (1, 1))
    results = []
    for threads in (1, 2, 3, 5, 40):
        with threadpool_limits(threads):
            program, (z, _) = build(x, w, padding)
            assert uses_winograd(program)
            results.append(run(program, x, z).copy())
    for one in results[1:]:
        np.testing.assert_array_equal(one, results[0])


def test_new_weights_are_evaluated_ahead_of_the_runs():
    x, w, padding = normal(4, 32, 16, 16), normal(32, 32, 3, 3), ((1, 1), (1, 1))
    program, (z, b) = build(x, w, padding)
    assert "3 calls where weights are new" in program.describe()
    for _ in range(2):
        check(program, x, z, convolve(x * x, w, padding) + b[:, None, None])
        w *= -2
        program.refresh()


def test_programs_do_not_share_memory():
    x, padding = normal(4, 32, 16, 16), ((1, 1), (1, 1))
    weights = [normal(32, 32, 3, 3) + i for i in range(2)]
    programs = [build(x, w, padding) for w in weights]
    for _ in range(2):
        for (program, (z, b)), w in zip(programs, weights, strict=True):
            check(program, x, z, convolve(x * x, w, padding) + b[:, None, None])


def test_not_a_number_spreads_within_its_image_only():
    x, w, padding = normal(4, 32, 16, 16), normal(32, 32, 3, 3), ((1, 1), (1, 1))
    program, (z, b) = build(x, w, padding)
    expected = convolve(x * x, w, padding) + b[:, None, None]
    x[1, 3, 5, 7] = np.nan
    y = run(program, x, z)
    assert np.isnan(y[1, :, 4:7, 6:9]).all()
    others = [0, 2, 3]
    assert abs(y[others] - expected[others]).max() < BOUND * abs(expected).max()


UNFIT = {
    "strides": ((8, 32, 16, 16), (32, 32, 3, 3), {"stride": 2}),
    "dilated": ((8, 32, 16, 16), (32, 32, 3, 3), {"dilation": 2}),
    "groups": ((8, 64, 16, 16), (64, 32, 3, 3), {"groups": 2}),
    "few channels": ((8, 16, 16, 16), (32, 16, 3, 3), {}),
    "few filters": ((8, 32, 16, 16), (16, 32, 3, 3), {}),
    "channels that fill no register": ((8, 40, 16, 16), (32, 40, 3, 3), {}),
    "another size": ((8, 32, 16, 16), (32, 32, 7, 7), {}),
    "a size that is not square": ((8, 32, 16, 16), (32, 32, 3, 5), {}),
    "few tiles": ((1, 32, 16, 16), (32, 32, 3, 3), {}),
    "images that fill no tile": ((64, 32, 4, 4), (32, 32, 3, 3), {}),
}


@pytest.mark.parametrize(("shape", "filters", "options"), UNFIT.values(), ids=UNFIT)
def test_other_convolutions_stay_direct(shape, filters, options):
    x, w = normal(*shape), normal(*filters)

    def function(x, w):
        return ops.conv(ops.mul(x, x), w, **options)

    program = compile(trace(function, x, w), "onednn", {"x1": w}, constant_bindings=True)
    assert not uses_winograd(program)


def test_a_bias_of_another_type_leaves_its_convolution_direct():
    x, w, padding = normal(8, 32, 16, 16), normal(32, 32, 3, 3), ((1, 1), (1, 1))
    b = normal(32).astype(BFLOAT16)

    def function(x, w, b):
        return ops.add_bias(ops.conv(ops.mul(x, x), w, padding=padding), b, 1)

    bindings = {"x1": w, "x2": b}
    program = compile(trace(function, x, w, b), "onednn", bindings, constant_bindings=True)
    assert not uses_winograd(program)
    expected = convolve(x * x, w, padding) + b.astype(np.float64)[:, None, None]
    y = program.run({"x0": x})["y0"]
    assert abs(y - expected).max() < BOUND * abs(expected).max()


def test_without_a_thread_pool_convolutions_stay_direct(monkeypatch):
    monkeypatch.setattr(winograd, "pool", lambda: None)
    program, _ = build(normal(8, 32, 16, 16), normal(32, 32, 3, 3), ((1, 1), (1, 1)))
    assert not uses_winograd(program)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [(1, 3), (3, 1), (2, 5)])
def test_programs_run_on_other_numbers_of_threads_than_they_were_built_for(threads):
    x, w, padding = normal(4, 96, 24, 24), normal(96, 96, 3, 3), ((1, 1), (1, 1))
    with threadpool_limits(threads[0]):
        program, (z, b) = build(x, w, padding)
    with threadpool_limits(threads[1]):
        check(program, x, z, convolve(x * x, w, padding) + b[:, None, None])


def test_the_memory_of_a_program_is_four_times_its_weights_and_one_layer_more():
    x, ws = normal(4, 128, 16, 16), [normal(128, 128, 3, 3) / 30 for _ in range(6)]

    def function(x, *ws):
        for w in ws:
            x = ops.conv(x, w, padding=((1, 1), (1, 1)))
        return x

    bindings = {f"x{i}": w for i, w in enumerate(ws, 1)}
    tracemalloc.start()
    try:
        program = compile(trace(function, x, *ws), "onednn", bindings, constant_bindings=True)
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert [step.kernel for step in program.steps].count(winograd.NAME) == len(ws)
    values = [4 * w.nbytes for w in ws]
    images = program.arena.nbytes
    assert sum(values) < taken < sum(values) + 3 * max(values) + images


def test_an_activation_that_is_not_compiled_leaves_its_convolution_direct():
    program, _ = build(normal(8, 32, 16, 16), normal(32, 32, 3, 3), ((1, 1), (1, 1)), ops.gelu)
    assert not uses_winograd(program)


def test_training_stays_direct():
    x, w = normal(8, 32, 16, 16), normal(32, 32, 3, 3)
    assert not uses_winograd(compile(trace(ops.conv, x, w), "onednn"))
    assert not uses_winograd(compile(trace(ops.conv, x, w), "onednn", {"x1": w}))


@pytest.mark.parametrize("total, most", [(64, 128), (96, 128), (1000, 128), (5, 128), (1000, 2)])
@pytest.mark.parametrize("threads", [1, 2, 4, 16])
def test_threads_share_the_tiles_of_compiled_products(total, most, threads):
    block = winograd.block_of_rows(total, most, threads)
    assert winograd.ROWS <= block <= max(most, winograd.ROWS)
    blocks_of_a_thread = ceil(ceil(total / block) / threads)
    assert blocks_of_a_thread * block <= max(1.5 * total / threads, winograd.ROWS)
