"""Device programs: no late allocation, no slot reused early, one graph launch.

The host driver runs a stream's work only when it is waited for, and logs all calls.
"""

import pickle
import sys

import numpy as np
import pytest

from sparkdl.engine import Graph, compile, ops
from sparkdl.engine.backends import base
from sparkdl.engine.backends.cuda.device.device_array import DeviceArray
from sparkdl.engine.backends.cuda.execution import delayed_numbers
from sparkdl.errors import ShapeError, UnsupportedError
from tests.engine.support import tensors, uniform

X = uniform(0, 7, 10).astype(np.float32)


def layers(x, w):
    """Combines several kinds of kernels with scratch memory and constants."""
    y = ops.softmax(ops.tanh(ops.matmul(x, w)))
    return {"y": y, "total": ops.sum(ops.mul(y, 2.0)), "turned": ops.transpose(y, (1, 0))}


@pytest.fixture
def program(cuda):
    inputs = tensors(x=X, w=X.T)
    return compile(Graph(inputs, layers(**inputs)), "cuda")


def logged(program, run):
    """Returns the driver calls that `run` makes."""
    log = program.device.driver.log
    start = len(log)
    run()
    return log[start:]


def feeds(seed):
    return {"x": uniform(seed, 7, 10), "w": uniform(seed + 1, 10, 7)}


def kinds(calls):
    return [call[0] for call in calls]


def test_the_first_run_is_call_by_call_then_each_is_one_launch(program):
    first, second, third = (logged(program, lambda: program.run(feeds(0))) for _ in range(3))
    assert kinds(first).count("launch") == len(program.steps) and "replay" not in kinds(first)
    assert kinds(second).count("begin") == kinds(second).count("end") == 1
    assert kinds(third).count("replay") == 1 and "launch" not in kinds(third)


def test_the_graph_has_the_launches_that_ran_before_it(program):
    launches = [
        [call for call in logged(program, lambda: program.run(feeds(0))) if call[0] == "launch"]
        for _ in range(2)
    ]
    assert launches[0] == launches[1]


def steps_of(cuda, vector):
    """Returns two programs bound to `vector(zeros)`: one doubles x, the other adds it up."""
    sums, doubles = (vector(np.zeros(10, np.float32)) for _ in range(2))
    inputs = tensors(x=X[0])
    first = Graph(inputs, {"twice": ops.mul(inputs["x"], 2.0)})
    inputs = tensors(twice=X[0], sum=X[0], y=X[0])
    total = ops.add(ops.add(inputs["sum"], inputs["twice"]), inputs["y"])
    second = Graph(inputs, {"new": total})
    bound = {"twice": doubles, "sum": sums, "new": sums}
    return compile(first, "cuda", {"twice": doubles}), compile(second, "cuda", bound)


@pytest.mark.parametrize("on_device", [True, False])
def test_two_programs_are_one_launch_where_all_stays_on_the_device(cuda, on_device):
    held = []

    def vector(values):
        held.append(cuda.vector(values) if on_device else None)
        return held[-1].array if on_device else values

    first, second = steps_of(cuda, vector)
    logs = [logged(first, lambda x=x: first.run_then({"x": x}, second, {"y": -x})) for x in X[:5]]
    found = held[0].open() if on_device else second.bindings["sum"]
    np.testing.assert_allclose(found, X[:5].sum(axis=0), 1e-5, 1e-6)
    launches = 1 if on_device else 2
    assert kinds(logs[1]).count("begin") == launches
    assert all(kinds(log).count("replay") == launches for log in logs[1:])
    assert all("launch" not in kinds(log) for log in logs[2:])


def test_nothing_is_allocated_once_all_has_run(program):
    for seed in range(2):
        dict(program.run(feeds(seed)))
    calls = logged(program, lambda: [dict(program.run(feeds(seed))) for seed in range(5)])
    assert not {"allocate", "pinned", "begin"} & set(kinds(calls))


def test_to_allocate_while_capturing_is_seen(program):
    driver, stream = program.device.driver, program.device.stream
    driver.begin(stream)
    try:
        with pytest.raises(AssertionError, match="allocated while a graph is captured"):
            driver.allocate(8)
    finally:
        driver.end(stream)


def test_launches_point_where_the_plan_says(program):
    calls = logged(program, lambda: program.run(feeds(0)))
    launches = [call for call in calls if call[0] == "launch"]
    begin = program.arena.address
    for step, (_, _, pointers, *_) in zip(program.steps, launches, strict=True):
        planned = [begin + program.plan.offsets[t] for t in step.node.outputs]
        assert set(planned) <= set(pointers)
    constants = {a.address for t, a in program.arrays.items() if t.value is not None}
    inside = range(begin, begin + program.arena.nbytes)
    assert all(p in inside or p in constants for _, _, ps, *_ in launches for p in ps)


def test_a_copy_up_runs_on_a_stream_of_its_own_and_is_waited_for(program):
    calls = kinds(logged(program, lambda: program.run(feeds(0))))
    order = [k for k in calls if k in ("upload", "record", "wait", "move", "launch")]
    start = ["wait", "upload", "record", "wait", "move", "move", "record", "launch"]
    assert order[: len(start)] == start


def added_up(cuda, runs=10):
    """Returns (a vector that a program accumulates its input in, the expected sum)."""
    vector = cuda.vector(np.zeros(10, np.float32))
    inputs = tensors(x=X[0], sum=X[0])
    graph = Graph(inputs, {"new": ops.add(inputs["x"], inputs["sum"])})
    program = compile(graph, "cuda", {"sum": vector.array, "new": vector.array})
    draws = [uniform(seed, 10).astype(np.float32) for seed in range(runs)]
    for x in draws:
        program.run({"x": x})
    return vector, sum(draws)


def test_slots_are_not_filled_again_before_their_copy_is_done(cuda):
    vector, expected = added_up(cuda)
    np.testing.assert_allclose(vector.open(), expected, 1e-5, 1e-6)


@pytest.mark.parametrize("verb", ["synchronize", "wait"])
def test_without_waiting_the_numbers_would_be_wrong(cuda, monkeypatch, verb):
    with monkeypatch.context() as patch:
        patch.setattr(cuda.device.driver, verb, lambda *arguments: None)
        vector, expected = added_up(cuda)
    assert not np.allclose(vector.open(), expected, 1e-5, 1e-6)


def test_whoever_asks_is_told_as_soon_as_a_call_is_done(program):
    expected = {name: np.array(y) for name, y in program.run(feeds(3)).items()}
    told, last = [], len(program.steps) - 1
    after = {last: lambda: told.append(last), 0: lambda: told.append(0)}
    for run in range(1, 4):
        found = program.run(feeds(3), after)
        assert told == [0, last] * run
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value)


def test_what_comes_back_is_the_callers(program):
    first = program.run(feeds(0))["y"]
    kept = first.copy()
    program.run(feeds(5))["y"]
    np.testing.assert_array_equal(first, kept)


def test_feeds_are_checked_and_cast(program):
    with pytest.raises(ShapeError, match=r"input 'x' needs \(7, 10\), got \(3, 10\)"):
        program.run({"x": X[:3], "w": X.T})
    with pytest.raises(ShapeError, match="the program takes"):
        program.run({"x": X})
    wide, narrow = (dict(program.run({"x": x, "w": X.T})) for x in (X.astype(np.float64), X))
    np.testing.assert_array_equal(wide["y"], narrow["y"])


def test_it_is_described_and_timed(program):
    text = program.describe()
    assert "calls on cuda; arena" in text and "gemm" in text
    assert len(program.profile(feeds(0), repeats=2)) == len(program.steps)


def test_numbers_of_the_device_are_not_to_be_had_by_accident(cuda):
    array = cuda.empty(64).view(np.float32)
    assert isinstance(array, DeviceArray) and "DeviceArray((16,), float32" in repr(array)
    for read in (np.asarray, np.sum, np.copy, lambda a: np.copyto(np.zeros(16), a)):
        with pytest.raises(UnsupportedError, match="cannot read numbers of the device"):
            read(array)
    for wrong in ([1, 2], np.zeros(16, bool)):
        with pytest.raises(UnsupportedError, match="cut by numbers and slices"):
            array[wrong]
    with pytest.raises(TypeError):
        array + array
    with pytest.raises(ValueError):
        array.reshape(4, 4).transpose(1, 0).reshape(16)
    assert array[3].shape == () and array.reshape(4, 4)[1, 2:].address == array.address + 24


def test_without_cupy_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(base.MODULES, "cuda", "sparkdl.engine.backends.cuda.backend")
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(UnsupportedError, match=r"needs CuPy: pip install 'sparkdl-hadoop\[gpu\]'"):
        base.get("cuda")


def test_numbers_are_waited_for_when_they_are_needed(program):
    """Losses of many runs accumulate without synchronizing, and equal those of single runs."""
    expected = [float(program.run(feeds(seed))["total"]) for seed in range(20)]
    calls = logged(program, lambda: program.run(feeds(0)) and program.number("total"))
    waits = [call for call in calls if call[0] == "synchronize"]
    assert len(waits) == 1  # for the slot's last copy, many runs ago
    total, numbers = 0.0, []
    for seed in range(20):
        program.run(feeds(seed))
        numbers.append(program.number("total"))
        total += np.float32(0.5) * numbers[-1]
    assert float(total) == pytest.approx(0.5 * sum(expected))
    np.testing.assert_allclose([float(n) for n in numbers], expected, 1e-6)


def test_more_numbers_than_there_is_room_for(program, monkeypatch):
    monkeypatch.setattr(delayed_numbers, "PLACES", 4)
    numbers = []
    for seed in range(10):
        program.run(feeds(seed % 3))
        numbers.append(program.number("total"))
    expected = [float(program.run(feeds(seed))["total"]) for seed in range(3)]
    np.testing.assert_allclose([float(n) for n in numbers], (expected * 4)[:10], 1e-6)


def test_a_number_to_come_is_a_number(program):
    value = float(program.run(feeds(0))["total"])
    number = program.number("total")
    assert f"{number:.3f}" == f"{value:.3f}" and number == value and number < value + 1
    assert number > value - 1 and value <= number <= value and repr(number) == repr(value)
    assert float(2 - number * 3) == 2 - value * 3 and float((number - 1) / 2) == (value - 1) / 2
    assert pickle.loads(pickle.dumps(number)) == value
    assert np.asarray(number) == value and float(number + number) == 2 * value


def test_what_is_final_arrives_while_the_rest_still_runs(cuda):
    """Each part of a vector is copied after the call that completes it, not after the last one."""
    inputs, vector = tensors(x=X[0]), cuda.vector(np.zeros(20, np.float32))
    shares = {"early": ops.tanh(inputs["x"]), "late": ops.softmax(ops.neg(inputs["x"]))}
    bound = {"early": vector.array[:10], "late": vector.array[10:]}
    program = compile(Graph(inputs, shares), "cuda", bound)
    first, last = program.final("early"), program.final("late")
    assert first < last
    seen = {}
    for run in range(3):
        after = {first: lambda: seen.update(early=vector.open().copy())}
        after[last] = lambda: seen.update(late=vector.open().copy())
        log = logged(program, lambda a=after, r=run: program.run({"x": X[r]}, a))
        np.testing.assert_allclose(seen["early"][:10], np.tanh(X[run]), 1e-5)
        np.testing.assert_allclose(seen["late"][10:], bound["late"], 1e-5)
        assert kinds(log).count("download") == 2
    vector.open()[:10] *= 2
    np.testing.assert_allclose(vector.open()[:10], 2 * np.tanh(X[2]), 1e-5)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.float16, bool])
def test_small_types_travel_as_they_are(kind):
    """Pixels take a quarter of the bytes; the device converts them."""
    x = (100 * uniform(0, 2, 3, 5, 4, low=0.0)).astype(kind)
    inputs = tensors(x=x.astype(np.float32))
    program = compile(Graph(inputs, {"y": ops.mul(inputs["x"], 0.5)}), "cuda")
    calls = logged(program, lambda: program.run({"x": x}))
    [size] = {call[3] for call in calls if call[0] == "upload"}
    assert size == -(-x.nbytes // 64) * 64
    np.testing.assert_array_equal(program.run({"x": x})["y"], 0.5 * x.astype(np.float32))
    np.testing.assert_array_equal(program.run({"x": 2.5 * x})["y"], np.float32(1.25 * x))
