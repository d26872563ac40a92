"""Float sums have the same bits over sockets and through shared memory, in a documented order."""

import numpy as np
import pytest

from sparkdl.exchange.collectives.algorithm import DOUBLING
from sparkdl.exchange.collectives.sums import add_in_pairs
from tests.exchange.crew import crew

IN_PAIRS = {
    2: lambda a, b: a + b,
    3: lambda a, b, c: (a + c) + b,
    4: lambda a, b, c, d: (a + b) + (c + d),
    5: lambda a, b, c, d, e: ((a + e) + b) + (c + d),
    6: lambda a, b, c, d, e, f: ((a + e) + (b + f)) + (c + d),
    7: lambda a, b, c, d, e, f, g: ((a + e) + (b + f)) + ((c + g) + d),
}
SHORT, AT_ONCE, IN_TURNS = DOUBLING // 4, 110_000, 400_001  # numbers; shared memory's two ways
LENGTHS = [1, 1000, SHORT, SHORT + 1, AT_ONCE, IN_TURNS]


def drawn(length, kind, size):
    """Returns a vector for each rank, with numbers of very different magnitudes."""
    rng = np.random.default_rng(length)
    return [(rng.normal(size=length) * 10 ** rng.uniform(-3, 3)).astype(kind) for _ in range(size)]


def around(vectors):
    """Sums chunk i in the order of ranks i + 1, i + 2, ..., i."""
    size, length, total = len(vectors), len(vectors[0]), np.empty_like(vectors[0])
    for owner in range(size):
        chunk = slice(length * owner // size, length * (owner + 1) // size)
        first, *others = (vectors[(owner + 1 + i) % size][chunk] for i in range(size))
        for other in others:
            first = first + other
        total[chunk] = first
    return total


def differing_sums(group):
    """Returns the cases whose bits differ from sums by hand."""
    wrong = []
    for kind in ("float32", "float64"):
        for length in LENGTHS:
            vectors = drawn(length, kind, group.size)
            long = around(vectors)
            short = vectors[0].nbytes <= DOUBLING
            total = IN_PAIRS[group.size](*vectors) if short else long
            if group.all_reduce(vectors[group.rank].copy()).tobytes() != total.tobytes():
                wrong.append(("all_reduce", kind, length))
            part = group.reduce_scatter(vectors[group.rank].copy())
            if part.tobytes() != long[group.part(length)].tobytes():
                wrong.append(("reduce_scatter", kind, length))
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("shared_memory", [False, True], ids=["sockets", "shared memory"])
def test_sums_have_the_bits_of_those_by_hand(shared_memory, size):
    assert crew(size, differing_sums, shared_memory=shared_memory) == [[]] * size


@pytest.mark.parametrize("size", IN_PAIRS)
def test_pairs_are_added_without_a_change_to_the_parts(size):
    vectors = drawn(50, "float32", size)
    kept, out = [v.copy() for v in vectors], np.empty(50, np.float32)
    assert add_in_pairs(vectors, np.add, out) is out
    assert out.tobytes() == IN_PAIRS[size](*kept).tobytes()
    assert all(np.array_equal(v, k) for v, k in zip(vectors, kept, strict=True))


def test_the_order_shows_in_the_bits():
    """Otherwise the drawn numbers could not tell one order from another."""
    a, b, c = drawn(1000, "float32", 3)
    assert (a + b + c).tobytes() != (b + c + a).tobytes()
