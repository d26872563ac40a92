"""Kernels that run on one thread, and switching the number of threads."""

from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.engine import ops
from sparkdl.engine.backends import base
from sparkdl.engine.backends.onednn import backend, team_size
from sparkdl.engine.backends.onednn.team_size import OneThread, in_sequence
from sparkdl.engine.graph import Graph
from sparkdl.engine.native.threads import ThreadPool
from tests.engine.backends.onednn.nodes import tensors


class Library:
    """OpenMP with four threads, which records each change of their number."""

    GOMP_parallel = SimpleNamespace()

    def __init__(self):
        self.sizes = [4]

    def omp_get_max_threads(self):
        return self.sizes[-1]

    def omp_set_num_threads(self, count):
        self.sizes.append(count)

    omp_get_thread_num = omp_get_num_threads = None


@pytest.fixture
def library(monkeypatch):
    library = Library()
    with monkeypatch.context() as only_here:  # the process's own pool needs real addresses
        only_here.setattr("sparkdl.engine.native.threads.address", lambda function: 0)
        pool = ThreadPool(library)
    for module in (team_size, backend):
        monkeypatch.setattr(module, "pool", lambda: pool)
    return library


SEQUENCES = {  # o: on one thread, a: on all
    "": "",
    "o": "-o+",
    "oo": "-oo+",
    "aoa": "a-o+a",
    "ooaooo": "-oo+a-ooo+",
    "aa": "aa",
}


@pytest.mark.parametrize("calls", SEQUENCES)
def test_neighbours_switch_once(calls, monkeypatch):
    seen = []
    team = SimpleNamespace(shrink=lambda: seen.append("-"), grow=lambda: seen.append("+"))
    made = [
        OneThread(lambda: seen.append("o"), team) if c == "o" else lambda: seen.append("a")
        for c in calls
    ]
    result = in_sequence(made)
    assert len(result) == len(calls)
    for call in result:
        call()
    assert "".join(seen) == SEQUENCES[calls]


def test_threads_come_back_after_an_error(library):
    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        OneThread(fail, team_size.pool())()
    assert library.sizes == [4, 1, 4]


def test_an_interrupted_program_leaves_no_thread_alone(library):
    team = team_size.pool()
    team.shrink()  # as if interrupted here
    with team.alone():
        assert library.sizes[-1] == 1
    assert library.sizes[-1] == 4


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_between_two_small_steps_gives_all_threads_back(library, rng, error):
    """Otherwise programs built later would be built for one thread."""

    def fail():
        assert library.sizes[-1] == 1
        raise error("no")

    x, w, v = tensors((8, 128), (128, 128), (128, 100))
    graph = Graph({"x": x, "w": w, "v": v}, {"y": ops.matmul(ops.matmul(x, w), v)})
    program = base.get("onednn").program(graph)
    feeds = {n: rng.normal(size=t.shape).astype(np.float32) for n, t in graph.inputs.items()}
    with pytest.raises(error, match="no"):
        program.run(feeds, after={0: fail})
    assert library.sizes[-1] == 4
    with pytest.raises(error, match="no"):
        program.run(feeds, after={len(program.steps) - 2: fail})
    assert library.sizes[-1] == 4


@pytest.mark.slow
def test_primitives_are_made_and_run_on_one_thread(library, rng):
    """A small product then a large one are built for, and run on, one thread and all threads."""
    shapes = {"x": (8, 128), "w": (128, 128), "v": (128, 50_000)}
    names = dict(zip(shapes, tensors(*shapes.values()), strict=True))
    y = ops.matmul(ops.matmul(names["x"], names["w"]), names["v"])
    program = base.get("onednn").program(Graph(names, {"y": y}))
    feeds = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    assert library.sizes == [4, 1, 4]
    got = program.run(feeds)["y"]
    assert library.sizes == [4, 1, 4, 1, 4]
    np.testing.assert_allclose(got, feeds["x"] @ feeds["w"] @ feeds["v"], rtol=1e-3, atol=1e-2)


WORK = {  # bytes: (whether all threads are used, whether they are if the number was planned)
    1 << 10: (False, False),
    1 << 16: (False, True),
    1 << 22: (True, True),
}


@pytest.mark.parametrize("work", WORK)
def test_planned_loops_use_all_threads_for_less_work(work, library):
    team = team_size.pool()
    assert team.is_worth(work) == WORK[work][0]
    with team.planned():
        assert team.is_worth(work) == WORK[work][1]
        with team.alone():
            assert not team.is_worth(work)
    assert team.is_worth(work) == WORK[work][0]


def test_what_is_computed_once_is_planned_apart(library):
    """Small products of constant bindings run alone though a large one follows in each run."""
    x, w, v = tensors((512, 512), (512, 16), (16, 512))
    graph = Graph({"x": x, "w": w, "v": v}, {"y": ops.matmul(x, ops.matmul(w, v))})
    held = {name: np.ones(graph.inputs[name].shape, np.float32) for name in ("w", "v")}
    program = base.get("onednn").program(graph, held, constant_bindings=True)
    small, large = graph.outputs["y"].node.inputs[1].node, graph.outputs["y"].node
    assert small in program.backend.alone
    assert large not in program.backend.alone
