"""A worker keeps a copy of its buffers if other workers may change theirs."""

from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.training.resident.worker import Worker
from tests.training.models import small_conf, state_of

CONF = small_conf()


def worker_of(size, conf=CONF, infinite=False):
    state = state_of(CONF)
    if infinite:
        state.buffers[0] = np.inf
    vectors = {"buffers": state.buffers, "kept_params": state.params}
    replica = SimpleNamespace(**vectors, link=None)
    master = SimpleNamespace(replica=lambda shared, group, share: replica, exchange="sockets")
    shared = SimpleNamespace(conf=conf, master=master, state=state)
    return Worker(shared, SimpleNamespace(size=size, rank=0), {}, None)


@pytest.mark.parametrize("size, copied", [(1, False), (2, True)])
def test_buffers_are_copied_where_others_may_have_other_ones(size, copied):
    worker = worker_of(size)
    np.testing.assert_array_equal(worker.start_buffers, worker.replica.buffers)
    assert np.shares_memory(worker.start_buffers, worker.replica.buffers) is not copied


@pytest.mark.parametrize("keeps", [False, True])
def test_infinite_buffers_are_constants_in_live_models_alone(keeps):
    assert worker_of(2).is_finite()
    layout = {"stack": CONF.stack, "params_layout": CONF.params_layout}
    conf = SimpleNamespace(keeps_constants=keeps, **layout)
    worker = worker_of(2, conf, infinite=True)
    assert worker.is_finite() is keeps
    worker.replica.buffers[1] = np.inf
    assert not worker.is_finite()
