"""Which kernels of a program run on one thread: single ones, and those behind one another."""

import itertools

import pytest

from sparkdl.engine import ops
from sparkdl.engine.backends.onednn import team_plan
from sparkdl.engine.backends.onednn.team_plan import CALL, MEET, SPIN, WAKE, nodes_alone
from sparkdl.engine.graph import Spec, Tensor
from sparkdl.engine.ops.normalization import BatchNormOp
from sparkdl.engine.ops.softmax import SoftmaxCrossEntropyOp
from tests.engine.backends.onednn.nodes import gru, tensors


def product(m, k, n):
    return ops.matmul(*tensors((m, k), (k, n))).node


def batch_norm(rows, columns):
    gamma, beta = tensors((columns,), (columns,))
    return BatchNormOp(epsilon=1e-5)(*tensors((rows, columns)), gamma, beta)[0].node


def cross_entropy(rows, classes=2):
    logits, labels = Tensor(Spec((rows, classes))), Tensor(Spec((rows,), "int32"))
    return SoftmaxCrossEntropyOp()(logits, labels).node


NODES = {  # alone in a program
    "a small product": (product(32, 64, 64), True),
    "a product of 67 million flops": (product(256, 512, 256), False),
    "a sum over few numbers": (ops.sum(tensors((64, 64))[0]).node, True),
    "a sum over 64 megabytes": (ops.sum(tensors((4096, 4096))[0]).node, False),
    "many small steps, one after the other": (gru(32, 1000, 64), True),
    "few large steps": (gru(64, 10, 512), False),
    "a few short rows": (cross_entropy(256), True),
    "many short rows": (cross_entropy(10_000), True),
    "very many short rows": (cross_entropy(1_000_000), False),
    "many longer rows": (cross_entropy(10_000, 40), False),
}


@pytest.mark.parametrize("name", NODES)
def test_a_single_kernel_runs_on_one_thread_if_it_is_small(name):
    node, alone = NODES[name]
    assert (node in nodes_alone([node], 2)) == alone


def test_all_run_on_the_only_thread():
    assert nodes_alone([product(256, 512, 256)], 1) == set()


SMALL, TINY = 40e-6, 1e-6
SEQUENCES = {  # seconds on one thread: A where all of two threads are used, else o
    "none": ([], ""),
    "one that is not worth to wake threads": ([SMALL], "o"),
    "many of them": ([SMALL] * 20, "A" * 20),
    "a large one wakes them for the next": ([1e-3, SMALL], "AA"),
    "and for the one before": ([SMALL, 1e-3], "AA"),
    "tiny ones do not put them to sleep": ([1e-3, TINY, TINY, SMALL], "AooA"),
    "nor does much time, if they work": ([1e-3, *[3 * MEET] * 9, SMALL], "A" * 11),
    "many tiny ones do": ([1e-3, *[TINY] * 30, SMALL], "A" + "o" * 31),
}


def test_kernels_that_spin_at_barriers_run_on_one_thread_if_they_are_small():
    small, large = batch_norm(64, 512), batch_norm(8192, 512)
    before = product(1024, 1024, 1024)
    assert nodes_alone([before, small, before, large], 2) == {small}


@pytest.fixture
def as_numbers(monkeypatch):
    """Lets nodes be numbers: their seconds on one thread."""
    monkeypatch.setattr(team_plan, "seconds_alone", float)
    monkeypatch.setattr(team_plan, "needs_one_thread", lambda node: False)


class Seconds(float):
    """A node; unlike numbers, two of them never equal."""

    __hash__, __eq__ = object.__hash__, object.__eq__


def choose(seconds, threads=2):
    nodes = [Seconds(one) for one in seconds]
    alone = nodes_alone(nodes, threads)
    return "".join("o" if node in alone else "A" for node in nodes)


@pytest.mark.parametrize("name", SEQUENCES)
def test_threads_that_are_awake_are_used(name, as_numbers):
    seconds, choices = SEQUENCES[name]
    assert choose(seconds) == choices


def time_of(seconds, choices, threads):
    """The time of a program, by the rules that the module's constants tell."""
    total, idle = 0.0, SPIN + 1
    for own, choice in zip(seconds, choices, strict=True):
        if choice == "o":
            total, idle = total + own, idle + own + CALL
        else:
            total += own / threads + MEET + (WAKE if idle > SPIN else 0)
            idle = CALL
    return total


def test_no_other_choice_takes_less_time(as_numbers, rng):
    for _ in range(40):
        threads = int(rng.integers(2, 9))
        seconds = [float(10**x) for x in rng.uniform(-6.5, -3, 9)]
        every = itertools.product("oA", repeat=len(seconds))
        least = min(time_of(seconds, choices, threads) for choices in every)
        chosen = time_of(seconds, choose(seconds, threads), threads)
        assert chosen == pytest.approx(least, rel=1e-9)
