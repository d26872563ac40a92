"""Memory planning: live values never overlap, and outputs may overwrite inputs."""

import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkdl.engine import Graph, Spec, Tensor, compile, constant, gradients, ops, planner
from sparkdl.errors import ShapeError
from tests.engine.networks import lenet
from tests.engine.random_graphs import SHAPE, follow, functions
from tests.engine.support import ops_of, tensors

X = np.array([1.0, 2.0, 3.0])
NAMES = ("a", "b", "c")


def fresh():
    rng = np.random.default_rng(3)
    return {name: rng.uniform(-1, 1, SHAPE) for name in NAMES}


def alive(program):
    """Returns {tensor with memory: (producing node, last reader)}, from the graph alone."""
    graph = program.graph
    spans = {t: [-1, -1] for t in graph.inputs.values()}
    shown = {}  # views and the tensors they show; here only operations that rename
    for index, node in enumerate(graph.nodes):
        for tensor in node.inputs:
            if shown.get(tensor, tensor) in spans:
                spans[shown.get(tensor, tensor)][1] = index
        if node.op.kind in ("Reshape", "StopGradient"):
            shown[node.outputs[0]] = shown.get(node.inputs[0], node.inputs[0])
        else:
            spans |= {t: [index, index] for t in node.outputs}
    for tensor in graph.outputs.values():
        if shown.get(tensor, tensor) in spans:
            spans[shown.get(tensor, tensor)][1] = len(graph.nodes)
    return spans


def assert_disjoint(program):
    spans = alive(program)
    bytes_of = {t: (o, o + t.spec.nbytes) for t, o in program.plan.offsets.items()}
    for first, second in combinations(bytes_of, 2):
        (a, b), (c, d) = spans[first], spans[second]
        if a <= d and c <= b:
            (start, stop), (start2, stop2) = bytes_of[first], bytes_of[second]
            assert stop <= start2 or stop2 <= start, (first, second)


def most_alive(program):
    """Returns the most bytes of the arena that are alive at once."""
    spans, moments = alive(program), range(-1, len(program.graph.nodes) + 1)
    return max(
        sum(t.spec.nbytes for t in program.plan.offsets if spans[t][0] <= now <= spans[t][1])
        for now in moments
    )


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(
    moves=functions(),
    outputs=st.lists(st.integers(0, 30), min_size=1, max_size=4),
    bound=st.sets(st.sampled_from(NAMES)),
    places=st.permutations(["", "", "own", *NAMES]),
)
def test_a_program_gives_what_its_function_gives_wherever_its_values_live(
    moves, outputs, bound, places
):
    """Outputs live in the program's memory, in the caller's, or in an input's."""
    arrays, memory = fresh(), fresh()
    inputs = tensors(**arrays)
    values, expected = follow(moves, inputs.values()), follow(moves, arrays.values())
    picked = [-1 - i % len(values) for i in outputs]
    graph = Graph(inputs, {f"y{n}": values[i] for n, i in enumerate(picked)})
    bindings = {name: memory[name] for name in bound}
    for n, where in enumerate(places[: len(picked)]):
        if where == "own":
            bindings[f"y{n}"] = np.full(SHAPE, np.nan)
        elif where in bound:
            bindings[f"y{n}"] = memory[where]
    program = compile(graph, bindings=bindings)
    assert_disjoint(program)
    for _ in range(2):
        for name in bound:
            memory[name][...] = arrays[name]
        found = program.run({n: a for n, a in arrays.items() if n not in bound})
        for n, i in enumerate(picked):
            np.testing.assert_allclose(found[f"y{n}"], expected[i], rtol=1e-12, atol=1e-15)
            if f"y{n}" in bindings:
                assert found[f"y{n}"] is bindings[f"y{n}"]


@pytest.mark.parametrize("batch", [1, 16])
def test_the_arena_of_a_training_step_is_close_to_what_is_alive_at_once(batch):
    inputs, outputs = lenet(batch)
    program = compile(Graph(inputs, outputs))
    assert_disjoint(program)
    total = sum(t.spec.nbytes for t in program.plan.offsets)
    assert program.plan.arena_bytes <= 1.05 * most_alive(program)
    assert program.plan.arena_bytes < 0.9 * total


def chain(length):
    x = Tensor(Spec((3,)), name="x")
    values = [x]
    for n in range(length):
        values.append(ops.tanh(values[-1]) if n % 3 else ops.add(values[-1], values[n // 2]))
    return Graph({"x": x}, {f"y{n}": value for n, value in enumerate(values[1:])})


def packed(graph):
    """Returns offsets by the rule: largest first, each at the lowest offset free in its life."""
    roots = planner.view_roots(graph)
    spans, offsets = planner.lifetimes(graph, {}, roots, planner.last_uses(graph, roots)), {}
    for tensor in sorted(spans, key=lambda t: -t.spec.nbytes):
        (begin, end), size = spans[tensor], planner.align(tensor.spec.nbytes)
        beside = [t for t in offsets if spans[t][0] <= end and begin <= spans[t][1]]
        taken = [(offsets[t], offsets[t] + planner.align(t.spec.nbytes)) for t in beside]
        places = sorted([0, *(stop for _, stop in taken)])
        fits = (at for at in places if all(at + size <= a or b <= at for a, b in taken))
        offsets[tensor] = next(fits)
    return offsets


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(moves=functions(longest=30))
def test_each_value_lies_at_the_lowest_place_that_is_free(moves):
    inputs = tensors(**fresh())
    graph = Graph(inputs, {"y": follow(moves, inputs.values())[-1]})
    roots = planner.view_roots(graph)
    found = planner.pack(graph, {}, roots, planner.last_uses(graph, roots))
    assert found == packed(graph)


def test_places_are_sorted_once(monkeypatch):
    """Offsets are inserted in order; no list is sorted again."""
    lengths = []

    def counted(values, **options):
        values = [*values]
        lengths.append(len(values))
        return sorted(values, **options)

    graph = chain(60)
    monkeypatch.setattr(planner, "sorted", counted, raising=False)
    roots = planner.view_roots(graph)
    planner.pack(graph, {}, roots, planner.last_uses(graph, roots))
    assert lengths == [61]


def test_memory_of_many_outputs_is_compared_without_all_pairs(monkeypatch):
    def refuse(*arrays):
        raise AssertionError("a pair is compared")

    graph = chain(60)
    bindings = {name: np.zeros(3, np.float32) for name in (*graph.inputs, *graph.outputs)}
    monkeypatch.setattr(np, "may_share_memory", refuse)
    planner.check(graph, bindings)
    plan = planner.plan(graph, bindings)
    assert len(plan.direct) == 60 and plan.copies == []


def test_gradients_given_memory_take_none_of_the_arena():
    inputs, outputs = lenet(4)
    own = compile(Graph(inputs, outputs)).plan.arena_bytes
    memory = {n: np.zeros(t.shape, t.dtype) for n, t in outputs.items()}
    memory |= {n: np.zeros(t.shape, t.dtype) for n, t in inputs.items() if n in ("W1", "W2", "W3")}
    plan = compile(Graph(inputs, outputs), bindings=memory).plan
    assert plan.arena_bytes < own - 4 * 800 * 50
    assert len(plan.direct) + len(plan.copies) == len(outputs)


def compiled(function, bindings, **arrays):
    inputs = tensors(**arrays)
    return compile(Graph(inputs, function(**inputs)), bindings=bindings)


def test_an_update_in_place_writes_straight_to_the_inputs_memory():
    x = X.copy()
    program = compiled(lambda x: {"y": x * 2.0 + 1.0}, {"x": x, "y": x}, x=X)
    assert program.plan.copies == [] and program.plan.offsets == {}
    program.run()
    program.run()
    np.testing.assert_array_equal(x, 4 * X + 3)


def test_an_input_that_is_read_later_is_not_overwritten_early():
    x = X.copy()
    program = compiled(
        lambda x: {"y": ops.exp(x), "z": ops.sum(ops.exp(x)) * x}, {"x": x, "y": x}, x=X
    )
    z = program.run()["z"]
    np.testing.assert_allclose(x, np.exp(X))
    np.testing.assert_allclose(z, np.exp(X).sum() * X)


def test_an_operation_that_looks_at_all_of_its_input_does_not_overwrite_it():
    x = np.arange(4.0).reshape(2, 2)
    program = compiled(lambda x: {"y": ops.transpose(x, (1, 0))}, {"x": x, "y": x}, x=x)
    program.run()
    np.testing.assert_array_equal(x, [[0, 2], [1, 3]])


def test_memory_that_overlaps_an_input_at_another_place():
    size = 40_000
    memory = np.arange(size + 1.0)
    before = memory[:-1].copy()
    x, y = memory[:-1], memory[1:]
    program = compiled(lambda x: {"y": ops.add(ops.mul(x, 2.0), 1.0)}, {"x": x, "y": y}, x=x)
    program.run()
    np.testing.assert_array_equal(y, before * 2 + 1)


def test_two_inputs_change_places():
    x, y = X.copy(), -X
    program = compiled(lambda a, b: {"p": b, "q": a}, {"a": x, "b": y, "p": x, "q": y}, a=x, b=y)
    program.run()
    np.testing.assert_array_equal(x, -X)
    np.testing.assert_array_equal(y, X)


def test_an_output_that_is_an_input_keeps_the_value_it_had():
    x = X.copy()
    program = compiled(
        lambda x: {"new": ops.exp(x), "old": x, "view": ops.reshape(x, (3, 1))},
        {"x": x, "new": x},
        x=x,
    )
    found = program.run()
    np.testing.assert_allclose(found["new"], np.exp(X))
    np.testing.assert_array_equal(found["old"], X)
    np.testing.assert_array_equal(found["view"], X[:, None])
    assert ops_of(program).count("Copy") == 2


def test_an_input_that_is_an_output_in_other_memory_is_still_fed():
    y = np.zeros(3)
    program = compiled(lambda x: {"y": x, "z": ops.exp(x)}, {"y": y}, x=X)
    np.testing.assert_allclose(program.run({"x": X})["z"], np.exp(X))
    np.testing.assert_array_equal(y, X)


def test_one_name_for_input_and_output_is_one_memory():
    x = X.copy()
    compiled(lambda x: {"x": x + 1.0}, {"x": x}, x=x).run()
    np.testing.assert_array_equal(x, X + 1)


def test_constants_and_views_as_outputs():
    y, z = np.zeros(3), np.zeros((3, 1))

    def function(x):
        doubled = x * 2.0
        views = {"v": ops.reshape(doubled, (3, 1)), "z": ops.reshape(doubled, (3, 1))}
        return {"k": constant(X), "y": constant(X), "w": ops.reshape(constant(X), (1, 3)), **views}

    found = compiled(function, {"y": y, "z": z}, x=X).run({"x": X})
    for name in ("k", "y"):
        np.testing.assert_array_equal(found[name], X)
    np.testing.assert_array_equal(found["w"], X[None])
    np.testing.assert_array_equal(found["v"], 2 * X[:, None])
    assert found["z"] is z and found["y"] is y
    np.testing.assert_array_equal(z, 2 * X[:, None])


def test_one_value_under_several_names():
    p, q = np.zeros(3), np.zeros(3)

    def function(x):
        y = ops.exp(x)
        return {"p": y, "q": y, "r": y}

    found = compiled(function, {"p": p, "q": q}, x=X).run({"x": X})
    assert found["p"] is p and found["q"] is q
    for name in "pqr":
        np.testing.assert_allclose(found[name], np.exp(X))


def test_outputs_that_nobody_asked_for_do_no_harm():
    x = np.random.default_rng(0).normal(size=(5, 3))
    program = compiled(
        lambda x: {"y": ops.tanh(ops.batch_norm(x, np.ones(3), np.zeros(3), 1e-5)[0])}, {}, x=x
    )
    found = program.run({"x": x})["y"]
    np.testing.assert_allclose(found, np.tanh((x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5)))
    assert_disjoint(program)


def test_gradients_become_ready_from_the_last_layer_to_the_first():
    inputs, outputs = lenet(2)
    program = compile(Graph(inputs, outputs))
    ready = [program.final(name) for name in ("gW3", "gW2", "gW1")]
    assert ready == sorted(ready) and ready[0] < len(program.steps) - 3


BINDINGS = {
    "'z' is bound, but the graph has ['x', 'y', 'y2']": {"z": X},
    "'x' needs (3,) float64, got (2,) float64": {"x": X[:2]},
    "'y' needs (3,) float64, got (3,) float32": {"y": X.astype(np.float32)},
    "'y' needs contiguous memory, got strides (16,)": {"y": np.zeros(6)[::2]},
    "outputs 'y' and 'y2' are bound to the same memory": {"y": X, "y2": X},
}


@pytest.mark.parametrize("message", BINDINGS)
def test_memory_that_does_not_fit_is_refused(message):
    with pytest.raises(ShapeError, match=re.escape(message)):
        compiled(lambda x: {"y": ops.exp(x), "y2": ops.neg(x)}, BINDINGS[message], x=X)


def test_read_only_memory_is_refused_for_outputs_and_taken_for_inputs():
    fixed = X.copy()
    fixed.flags.writeable = False
    compiled(lambda x: {"y": ops.exp(x)}, {"x": fixed}, x=X).run()
    with pytest.raises(ShapeError, match="'y' is an output: its memory must be writeable"):
        compiled(lambda x: {"y": ops.exp(x)}, {"y": fixed}, x=X)


def test_a_graph_that_reads_what_is_no_input_is_refused():
    x, stray = Tensor(Spec((3,)), name="x"), Tensor(Spec((3,)), name="stray")
    with pytest.raises(ShapeError, match="stray.* is read, but it is none of the inputs"):
        Graph({"x": x}, {"y": x + stray})
    with pytest.raises(ShapeError, match="input 'y' must be a tensor without a value"):
        Graph({"x": x, "y": x + 1.0}, {"z": x})


def test_second_derivatives_are_planned_like_anything_else():
    inputs = tensors(x=X)
    (grad,) = gradients(ops.sum(ops.tanh(inputs["x"])), [inputs["x"]])
    (second,) = gradients(ops.sum(grad * grad), [inputs["x"]])
    program = compile(Graph(inputs, {"grad": grad, "second": second}))
    assert_disjoint(program)
    slope = 1 - np.tanh(X) ** 2
    np.testing.assert_allclose(program.run({"x": X})["second"], -4 * slope**2 * np.tanh(X))


def test_absurd_sizes_are_added_up():
    x = Tensor(Spec((2**62,), "float64"))
    plan = planner.plan(Graph({"x": x}, {"y": ops.exp(ops.exp(x))}), {})
    assert plan.arena_bytes == 2**66
