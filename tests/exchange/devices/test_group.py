"""Device-to-device collectives give numpy's results, for each type and length."""

import ml_dtypes
import numpy as np
import pytest

from sparkdl.errors import ConfigError, PeerError, ShapeError
from tests.exchange.crew import crew
from tests.exchange.devices.places import device_group, double_of

TYPES = ["float32", "float16", ml_dtypes.bfloat16]
LENGTHS = [0, 1, 2, 7, 1001]


def numbers(length, kind, rank):
    """Small whole numbers, whose sums are exact even in 16 bits."""
    return np.random.default_rng(rank).integers(-20, 20, length).astype(kind)


def checked(size, function, folder):
    results = crew(size, function, folder)
    for result in results:
        if isinstance(result, Exception):
            raise result
    assert not [*folder.iterdir()], "NCCL was not left"
    return results


def collectives(group, folder):
    """Compares each call with numpy; returns the names of the calls to NCCL."""
    group, backend = device_group(group, folder)
    for kind in TYPES:
        for length in LENGTHS:
            vectors = [numbers(length, kind, rank) for rank in range(group.size)]
            total, x = sum(vectors[1:], vectors[0]), vectors[group.rank].copy()
            assert group.all_reduce(x) is x
            np.testing.assert_array_equal(x, total)
            own = group.part(length)
            x = group.reduce_scatter(vectors[group.rank].copy())
            np.testing.assert_array_equal(x, total[own])
            out = np.zeros_like(total)
            assert group.all_gather(total[own], out) is out
            np.testing.assert_array_equal(out, total)
            for root in range(group.size):
                x = vectors[group.rank].copy()
                assert group.broadcast(x, root) is x
                np.testing.assert_array_equal(x, vectors[root])
    return sorted({name for name, *_ in double_of(backend).calls})


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
def test_collectives(size, tmp_path):
    assert checked(size, collectives, tmp_path) == [["allReduce", "broadcast", "reduce"]] * size


def others(group, folder):
    """Calls that NCCL does not carry use sockets, mixed with calls that it does."""
    group, backend = device_group(group, folder)
    pending = [group.start_all_reduce(np.full(n, group.rank, np.float32)) for n in (3, 5000, 4)]
    counted = group.start_all_reduce(np.array([group.rank + 1.5]))
    largest = group.all_reduce(np.full(3, group.rank, np.float32), "max")
    told = group.all_gather_bytes(bytes([group.rank]))
    half = group.split(group.rank % 2)
    alone = half.all_reduce(np.full(2, 5.0, np.float32))
    group.barrier()
    sums = [call.wait()[-1] for call in reversed(pending)]
    assert all(call.is_done for call in pending)
    if group.rank:
        group.send(np.arange(3.0), 0)
    else:
        assert group.receive(np.zeros(3), 1).tolist() == [0, 1, 2]
    found = counted.wait()[0], largest[0], [bytes(t)[0] for t in told], alone[0], sums
    return found, list(double_of(backend).calls)


def test_what_is_not_carried_goes_over_sockets(tmp_path):
    carried = [("allReduce", n, "float32") for n in (3, 5000, 4)]
    assert checked(2, others, tmp_path) == [((4.0, 1, [0, 1], 5, [1, 1, 1]), carried)] * 2


def refused(group, folder):
    group, _ = device_group(group, folder)
    x = np.zeros((4, 4), np.float32)
    refusals = [
        (lambda: group.all_reduce(x.T[1:]), ShapeError, "contiguous"),
        (lambda: group.all_reduce(x, "mean"), ConfigError, "op must be one of"),
        (lambda: group.broadcast(x, root=2), ConfigError, "from 0 to 1, got 2"),
        (lambda: group.all_gather(x[0], np.zeros(20, np.float32)), ConfigError, "part of rank"),
    ]
    for call, error, text in refusals:
        with pytest.raises(error, match=text):
            call()
    return group.all_reduce(x + 1).sum()


def test_what_cannot_be_sent_is_refused_and_does_no_harm(tmp_path):
    assert checked(2, refused, tmp_path) == [32, 32]


def differing(group, folder):
    group, _ = device_group(group, folder)
    return group.all_reduce(np.zeros(4 if group.rank else 5, np.float32))


def test_ranks_whose_calls_differ_all_get_an_error(tmp_path):
    results = crew(2, differing, tmp_path, timeout=4.0)
    assert [type(result) for result in results] == [PeerError] * 2
    assert all("all ranks must make the same calls" in str(result) for result in results)
