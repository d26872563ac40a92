"""The cost of rows of tables matches figures worked out by hand."""

import pytest

from sparkdl.exchange.cost_model.model import Cluster, Costs
from sparkdl.exchange.cost_model.rows import RowsModel

COSTS = Costs(message=1e-5, socket=1e-9, add=1e-10, shared=5e-10, barrier=2e-5)
MODEL = RowsModel(rows=1000, numbers=16_000)  # 74 bytes a row
KEYS, ROWS, GRADIENTS = 10_000, 64_000, 74_000


def cluster(**options):
    return Cluster(costs=COSTS, **{"workers": 4, "cores": 1} | options)


def test_whole_tables_send_all_gradients_to_all():
    found = MODEL.whole(cluster(bandwidth=1e8))
    assert found.sent == 3 * GRADIENTS
    assert found.seconds == pytest.approx(3 * GRADIENTS / 1e8 + 1e-5 + 4 * 1000 * 1e-7)


def test_sharded_tables_send_gradients_and_which_rows_have_changed():
    found = MODEL.sharded(cluster(bandwidth=1e8))
    assert found.sent == pytest.approx(0.75 * GRADIENTS)
    assert found.seconds == pytest.approx(0.75 * GRADIENTS / 1e8 + 2 * 1e-5 + 2 * 1000 * 1e-7)


def test_keys_and_rows_are_fetched_ahead():
    found = MODEL.fetch(cluster(bandwidth=1e8))
    assert found.sent == pytest.approx(0.75 * (KEYS + ROWS))
    assert found.seconds == pytest.approx(0.75 * (KEYS + ROWS) / 1e8 + 2 * 1e-5)


def test_two_workers_send_as_much_in_either_way_and_more_less_if_sharded():
    two, many = cluster(workers=2), cluster(workers=64)
    sharded = [(MODEL.sharded(one) + MODEL.fetch(one)).sent for one in (two, many)]
    assert sharded[0] == pytest.approx(MODEL.whole(two).sent)
    assert sharded[1] < MODEL.whole(many).sent / 30


def test_one_worker_sends_nothing():
    for way in (MODEL.whole, MODEL.sharded, MODEL.fetch):
        assert way(cluster(workers=1)).sent == 0


def test_what_crosses_between_machines_goes_through_one_connection():
    slow = {"workers": 8, "per_machine": 4, "cores": 4, "bandwidth": 1e6}
    crossing = MODEL.gradient / 8 * 4 * 4
    found = cluster(**slow).all_to_all(MODEL.gradient)
    assert found.seconds == pytest.approx(crossing / 1e6 + COSTS.message)
    assert found.sent == pytest.approx(MODEL.gradient * 7 / 8)
