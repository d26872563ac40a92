"""The cost model matches figures worked out by hand."""

from dataclasses import replace

import pytest

from sparkdl.errors import ConfigError
from sparkdl.exchange.cost_model.model import Cluster, Coding, Costs

COSTS = Costs(
    message=1e-5, socket=1e-9, add=1e-10, shared=5e-10, barrier=2e-5, job=0.1, driver=1e-8
)
MB = 1e6


def cluster(**options):
    return Cluster(costs=COSTS, **{"workers": 4, "cores": 1} | options)


def test_a_ring_is_bound_by_the_slower_of_wire_and_processor():
    # Each worker sends 2 3/4 of the bytes and adds 3/4 of them, in 6 steps.
    fast = cluster(bandwidth=1e10).ring(MB, 4)
    assert fast.sent == 1.5 * MB
    assert fast.seconds == pytest.approx(1.5e-3 + 0.75e-4 + 6e-5)
    slow = cluster(bandwidth=1e8, latency=1e-3).ring(MB, 4)
    assert slow.seconds == pytest.approx(15e-3 + 6 * 1.01e-3)


def test_small_vectors_are_summed_in_few_steps():
    four = cluster(latency=1e-3)
    assert four.all_reduce(1000).seconds == pytest.approx(2 * (1.01e-3 + 1.1e-6))
    assert four.all_reduce(1000).sent == 2000  # the whole vector in each of 2 steps
    assert cluster(workers=5).doubling(1000, 5).sent == 4000  # the odd one comes first and last
    assert cluster(workers=1024, latency=1e-3).all_reduce(100).seconds < 0.02


def test_the_faster_way_is_taken_at_every_length():
    for nbytes in (1e2, 1e4, 1e6, 1e8):
        one = cluster(bandwidth=1.25e9, latency=5e-5)
        ways = one.ring(nbytes, 4), one.doubling(nbytes, 4)
        assert one.all_reduce(nbytes).seconds == min(way.seconds for way in ways)


def test_workers_that_share_cores_take_turns():
    alone = cluster(per_machine=4, cores=4, shared_memory=False).all_reduce(64 * MB)
    crowded = cluster(per_machine=4, cores=2, shared_memory=False).all_reduce(64 * MB)
    assert crowded.seconds == pytest.approx(2 * alone.seconds)
    assert crowded.sent == alone.sent


def test_the_wire_counts_only_between_machines():
    slow = {"bandwidth": 1e6, "latency": 1.0, "shared_memory": False}
    assert cluster(per_machine=4, cores=4, **slow).all_reduce(MB).seconds < 0.1
    assert cluster(per_machine=2, cores=4, **slow).all_reduce(MB).seconds > 1


def test_two_levels_sum_inside_a_machine_first():
    whole = cluster(workers=8, per_machine=2, cores=2)
    inside = 5e-10 * 64 * MB / 2 + 2e-5
    across = replace(whole, workers=4, per_machine=1).all_reduce(64 * MB)
    assert whole.all_reduce(64 * MB).seconds == pytest.approx(inside + across.seconds)
    assert whole.all_reduce(64 * MB).sent == across.sent


def test_one_worker_exchanges_nothing():
    one = cluster(workers=1)
    assert one.all_reduce(MB).seconds == one.all_reduce(MB).sent == 0


BITS = Coding(name="OneBit", ratio=1 / 32, encode=1e-9, decode=5e-10, to_all=False)


def test_a_codec_costs_its_work_and_saves_bytes():
    slow = cluster(bandwidth=1e7)
    plain, coded = slow.all_reduce(32 * MB), slow.compressed_all_reduce(32 * MB, BITS)
    assert coded.sent == pytest.approx(plain.sent / 32)
    work = 32 * MB * (1e-9 * 1.25 + 2 * 5e-10)
    assert coded.seconds == pytest.approx(1.5 * MB / 1e7 + work, rel=0.01)


def test_messages_to_all_grow_with_the_workers():
    sparse = replace(BITS, to_all=True)
    few, many = (cluster(workers=n).compressed_all_reduce(MB, sparse) for n in (4, 64))
    assert many.sent == pytest.approx(few.sent * 63 / 3)


def test_one_server_is_the_narrow_place():
    many = cluster(workers=64, bandwidth=1e8)
    central, sharded = many.parameter_server(MB, 1), many.parameter_server(MB, 64)
    assert central.seconds == pytest.approx(64 * sharded.seconds, rel=0.05)
    assert central.sent == 2 * MB


def test_the_driver_takes_more_than_workers_among_themselves():
    one = cluster(workers=16, bandwidth=1e9)
    assert one.through_driver(40 * MB).seconds > 2 * one.all_reduce(40 * MB).seconds
    assert one.through_driver(0).seconds == COSTS.job


@pytest.mark.parametrize(
    "option, sentence",
    [
        ({"workers": 0}, "Cluster.workers must be an integer >= 1, got 0"),
        ({"cores": 0}, "Cluster.cores must be an integer >= 1"),
        ({"bandwidth": 0.0}, "Cluster.bandwidth must be above 0"),
        ({"latency": -1.0}, "Cluster.latency must be at least 0"),
    ],
)
def test_what_no_cluster_has_is_refused(option, sentence):
    with pytest.raises(ConfigError, match=sentence):
        cluster(**option)


def test_a_sum_for_its_owner_and_a_gather_are_the_halves_of_a_ring():
    links = cluster(bandwidth=1e8, latency=1e-3)
    ring = links.ring(MB, 4)
    scattered, gathered = links.reduce_scatter(MB), links.all_gather(MB)
    assert scattered.sent == gathered.sent == ring.sent / 2
    assert scattered.seconds == pytest.approx(7.5e-3 + 3 * 1.01e-3)
    assert gathered.seconds == pytest.approx(7.5e-3 + 1.01e-3)


def test_parts_go_to_each_worker_of_a_machine_apart():
    # A machine sends 2 of 8 parts of 1 MB / 8 each to 6 workers elsewhere.
    levels = cluster(workers=8, per_machine=2, cores=2, bandwidth=1e8)
    assert levels.all_gather(MB).seconds == pytest.approx(2 * 6 * MB / 8 / 1e8, rel=1e-2)
    assert levels.reduce_scatter(MB) == levels.all_reduce(MB)


def test_sums_and_gathers_inside_a_machine_cost_two_of_three_passes():
    inside = cluster(per_machine=4, cores=4)
    both = inside.reduce_scatter(MB).seconds + inside.all_gather(MB).seconds
    assert both == pytest.approx(4 / 3 * 0.75 * MB * 5e-10 + 2 * 2e-5)
    assert cluster(workers=1).reduce_scatter(MB).seconds == 0
    assert cluster(workers=1).all_gather(MB).seconds == 0
