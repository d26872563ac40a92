"""Compiled programs: feeding, rerunning, hooks, and their descriptions."""

import re
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import numpy as np
import pytest

from sparkdl.engine import Graph, compile, ops, scope
from sparkdl.engine.backends import Kernel
from sparkdl.engine.backends.reference import Reference
from sparkdl.engine.program import Program, copy_into
from sparkdl.errors import ShapeError, UnsupportedError
from tests.engine.networks import lenet
from tests.engine.support import tensors

SHAPES = [(), (4,), (2, 3), (0, 3, 2), (2, 3, 5, 4), (2, 1, 5, 4), (2, 9, 4, 4)]
X = np.array([[1.0, -2.0], [3.0, 4.0]], np.float32)


def program_of(function, *, bindings=None, backend=None, **arrays):
    inputs = tensors(**arrays)
    graph = Graph(inputs, function(**inputs))
    if backend is None:
        return compile(graph, bindings=bindings)
    return Program(graph, backend, bindings)


def exponential(**options):
    return program_of(lambda x: {"y": ops.exp(x)}, x=X, **options)


def step(batch=3, seed=0):
    """Returns a LeNet step and feeds for it."""
    inputs, outputs = lenet(batch)
    rng = np.random.default_rng(seed)
    feeds = {n: rng.normal(0, 0.1, t.shape).astype(np.float32) for n, t in inputs.items()}
    feeds["labels"] = rng.integers(0, 10, batch).astype(np.int32)
    return Graph(inputs, outputs), feeds


FEEDS = {
    "the program takes ['x'], got []": {},
    "the program takes ['x'], got ['x', 'z']": {"x": X, "z": X},
    "input 'x' needs (2, 2), got (2,)": {"x": X[0]},
}


@pytest.mark.parametrize("message", FEEDS)
def test_feeds_that_do_not_fit_are_refused(message):
    with pytest.raises(ShapeError, match=re.escape(message)):
        exponential().run(FEEDS[message])


def test_what_is_bound_is_not_fed():
    with pytest.raises(ShapeError, match=re.escape("the program takes [], got ['x']")):
        exponential(bindings={"x": X.copy()}).run({"x": X})


def test_fractions_are_not_cut_off_to_feed_integers():
    program = program_of(lambda x: {"y": ops.one_hot(x, 3)}, x=np.zeros(2, np.int32))
    with pytest.raises(ShapeError, match="input 'x' needs int32, got float64"):
        program.run({"x": np.array([0.5, 1.0])})


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64, np.float16])
def test_feeds_are_cast_to_the_type_of_the_input(dtype):
    x = np.abs(X).astype(dtype)
    np.testing.assert_allclose(exponential().run({"x": x})["y"], np.exp(np.abs(X)))


def test_lists_can_be_fed():
    np.testing.assert_allclose(exponential().run({"x": X.tolist()})["y"], np.exp(X))


def test_bound_inputs_are_read_at_each_run():
    x = X.copy()
    program = exponential(bindings={"x": x})
    program.run()
    x += 1
    np.testing.assert_allclose(program.run()["y"], np.exp(X + 1))


def test_outputs_of_one_run_can_be_fed_to_the_next():
    def function(a, b):
        product = ops.matmul(a, b)  # from here on p and q may reuse the memory of a and b
        return {"p": ops.softmax(product), "q": ops.transpose(product, (1, 0))}

    program = program_of(function, a=X, b=X)
    a, b = X, X.T
    found = program.run({"a": a, "b": b})
    for _ in range(3):
        a, b = (a @ b).T, ops.softmax(a @ b)
        found = program.run({"a": found["q"], "b": found["p"]})
        np.testing.assert_allclose(found["q"], (a @ b).T, rtol=1e-5)


def test_two_runs_give_the_same_bits():
    graph, feeds = step()
    program, other = compile(graph), compile(graph)
    first = {name: value.copy() for name, value in program.run(feeds).items()}
    program.run(step(seed=1)[1])
    for again in (program.run(feeds), other.run(feeds)):
        for name, value in first.items():
            np.testing.assert_array_equal(again[name], value)


def test_a_step_is_the_mean_of_its_examples_alone():
    graph, feeds = step(batch=3)
    found = compile(graph).run(feeds)
    one = compile(step(batch=1)[0])
    rows = [
        {n: v[i : i + 1] for n, v in feeds.items() if n in ("images", "labels")} for i in range(3)
    ]
    each = [{n: v.copy() for n, v in one.run(feeds | row).items()} for row in rows]
    for name, value in found.items():
        expected = np.mean([e[name] for e in each], axis=0)
        np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-6)


def test_a_run_takes_no_memory_of_its_own_where_kernels_have_destinations():
    x = np.ones((300, 300), np.float32)
    program = program_of(lambda x: {"y": ops.exp(ops.matmul(x, x)) * 0.5}, x=x)
    program.run({"x": x * 0.001})
    tracemalloc.start()
    program.run({"x": x * 0.001})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * x.nbytes  # the fed x * 0.001, and nothing else of its size


@pytest.mark.parametrize("bound", [False, True], ids=["in the arena", "bound"])
def test_a_hook_sees_the_final_output(bound):
    graph, feeds = step()
    bindings = {n: np.zeros(t.shape, t.dtype) for n, t in graph.outputs.items()} if bound else None
    program = compile(graph, bindings=bindings)
    seen, order = {}, []

    def hook(names):
        def call():
            order.extend(names)
            seen.update({name: program.outputs[name].copy() for name in names})

        return call

    hooks = {}
    for name in program.outputs:
        hooks.setdefault(program.final(name), []).append(name)
    found = program.run(feeds, after={index: hook(names) for index, names in hooks.items()})
    assert seen.keys() == found.keys()
    for name, value in found.items():
        np.testing.assert_array_equal(seen[name], value)
    assert max(order.index("loss"), order.index("gW4")) < order.index("gW1")


def test_hooks_run_right_after_their_step():
    y, z = np.zeros((2, 2), np.float32), np.zeros((4,), np.float32)
    program = program_of(
        lambda x: {"z": ops.reshape(ops.exp(x), (4,)), "y": x}, x=X, bindings={"y": y, "z": z}
    )
    for name, array in {"y": y, "z": z}.items():
        array[...] = 0
        index, seen = program.final(name), []
        program.run({"x": X}, after={index: lambda a=array, s=seen: s.append(a.copy())})
        np.testing.assert_array_equal(seen[0], array)
        assert array.any()


@pytest.mark.parametrize("reader", ["Softmax", "Transpose"])
def test_what_is_still_read_is_not_final(reader):
    """The callback may overwrite it, as summing gradients over workers does."""
    y = np.zeros((2, 2), np.float32)

    def function(x):
        y = ops.exp(x)
        return {"y": y, "z": ops.softmax(y if reader == "Softmax" else ops.transpose(y, (1, 0)))}

    program = program_of(function, x=X, bindings={"y": y})
    expected = program.run({"x": X})["z"].copy()
    assert program.final("y") == [step.op for step in program.steps].index(reader) > 0
    found = program.run({"x": X}, {program.final("y"): lambda: np.copyto(y, 7)})["z"]
    np.testing.assert_array_equal(found, expected)


def test_describe_lists_every_call():
    graph, _ = step(batch=2)
    text = compile(graph).describe()
    head, columns, *rows = text.splitlines()
    assert re.fullmatch(r"\d+ calls on reference; arena [\d,]+ bytes", head)
    assert columns.split() == ["scope", "operation", "shapes", "kernel", "bytes", "note"]
    assert len(rows) == int(head.split()[0])
    for part in ("Conv+AddBias", "MatMul+AddBias+Relu", "(2, 800) (800, 50) (50,) -> (2, 50)"):
        assert part in text
    for name in ("conv_1", "dense_3", "output_4", "conv_1:grad", "numpy gemm"):
        assert name in text


def test_describe_names_the_layer_of_a_chain_and_of_a_copy():
    with scope("swish_1"):
        program = program_of(
            lambda x: {"y": x * ops.sigmoid(x), "x2": x}, x=X, bindings={"x2": X.copy()}
        )
    rows = [row.split() for row in program.describe().splitlines()[2:]]
    assert [row[0] for row in rows] == ["swish_1", "copy"]
    assert rows[0][1] == "Sigmoid+Mul"


def test_threads_that_build_graphs_at_the_same_time_are_in_their_own_scopes():
    x = tensors(x=X)["x"]
    with scope("mine"), ThreadPoolExecutor(1) as other:
        with scope("mine, too"):
            its = other.submit(scope("its").__enter__).result()
            assert ops.neg(x).node.scope == "mine, too"
        other.submit(its.__exit__).result()
        assert ops.neg(x).node.scope == "mine"


class Fast(Reference):
    """A backend that lacks one kernel."""

    name = "fast"

    def lower(self, node, inputs, outputs):
        kernel = super().lower(node, inputs, outputs)
        missing = node.op.kind == "Softmax"
        return Kernel(kernel.call, kernel.name, "no kernel for 2 columns") if missing else kernel


def test_strict_refuses_a_slower_kernel_and_describe_says_why():
    def graph():
        inputs = tensors(x=X)
        return Graph(inputs, {"y": ops.softmax(inputs["x"])})

    assert "no kernel for 2 columns" in Program(graph(), Fast()).describe()
    message = "fast has no kernel for Softmax.*: no kernel for 2 columns"
    with pytest.raises(UnsupportedError, match=message):
        Program(graph(), Fast(), strict=True)


def test_strict_takes_a_graph_that_has_all_its_kernels():
    graph, feeds = step(batch=2)
    assert np.isfinite(compile(graph, strict=True).run(feeds)["loss"])


def test_a_program_without_any_operation():
    program = program_of(lambda x: {"y": x}, x=X)
    np.testing.assert_array_equal(program.run({"x": X})["y"], X)
    assert program.final("y") == 0


def test_overflow_shows_in_the_result_and_not_as_a_warning():
    assert np.isinf(exponential().run({"x": X * 1000})["y"]).any()


def test_profile_gives_the_seconds_of_each_step():
    graph, feeds = step()
    program = compile(graph)
    expected = {name: value.copy() for name, value in program.run(feeds).items()}
    seconds = program.profile(feeds, repeats=3)
    assert len(seconds) == len(program.steps)
    assert all(s > 0 for s in seconds)
    for name, value in expected.items():
        np.testing.assert_array_equal(program.outputs[name], value)


def test_profile_takes_the_median_of_its_repeats(monkeypatch):
    clock = iter([0, 1, 10, 13, 20, 22])  # the step's kernels take 1, 3 and 2 seconds
    monkeypatch.setattr("sparkdl.engine.program.perf_counter", lambda: next(clock))
    assert exponential().profile({"x": X}, repeats=3) == [2]


def test_steps_know_what_they_read_and_write():
    [one] = program_of(lambda x, y: {"z": ops.matmul(x, y)}, x=X, y=X).steps
    assert (one.traffic, one.flops) == (3 * X.nbytes, 2 * 2 * 2 * 2)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [np.float32, np.uint8])
def test_what_is_fed_arrives_however_the_memory_lies(shape, kind, rng):
    source = (rng.normal(size=shape) * 50).astype(kind)
    for order in permutations(range(len(shape))):
        target = np.zeros([shape[i] for i in order], np.float32).transpose(np.argsort(order))
        copy_into(target, source)
        np.testing.assert_array_equal(target, source)
