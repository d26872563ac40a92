"""Device usage of each zoo network, from the log of a driver that only records."""

import sys
from bisect import bisect_right
from dataclasses import replace
from functools import partial
from types import ModuleType

import numpy as np
import pytest

from sparkdl.engine.backends import base
from sparkdl.nn import zoo
from sparkdl.nn.execution.replica import Replica
from sparkdl.training.masters.all_reduce.buckets import cut_buckets
from tests.nn.networks.test_graph import batch_of
from tests.support.cuda.nccl_backend import made
from tests.support.cuda.recording_driver import RecordingDriver
from tests.support.zoo_networks import OF_ARRAYS

SIDES = {"alexnet": 67, "caffenet": 67, "vgg16": 32}  # the same layers, with smaller images
OPTIONS = {"char_lstm": {"steps": 5}}
RUNS, BUCKETS = 6, 6
pytestmark = pytest.mark.slow  # building a network takes seconds, in its first test


@pytest.fixture(scope="module", params=OF_ARRAYS)
def network(request):
    """Yields (driver, replica, Batch) of a network."""
    module, driver = ModuleType("recording"), RecordingDriver()
    module.BACKEND = made(driver)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "recording", module)
        patch.setitem(base.MODULES, "cuda", "recording")
        conf = getattr(zoo, request.param)(**OPTIONS.get(request.param, {}))
        if request.param in SIDES:
            conf = replace(conf, input_shape=(3, *[SIDES[request.param]] * 2))
        yield driver, Replica(conf, "cuda"), batch_of(conf, np.random.default_rng(0), 2)


@pytest.fixture(scope="module")
def logs(network):
    """Returns (driver, log of each training step)."""
    (driver, replica, batch), found = network, []
    for t in range(1, RUNS + 1):
        start = len(driver.log)
        replica.step(batch, 0.01, t)
        found.append(driver.log[start:])
    return driver, found


def kinds(log):
    return [call[0] for call in log]


def test_from_the_third_on_a_step_is_one_launch_and_allocates_nothing(logs):
    _, (first, second, *others) = logs
    assert "launch" in kinds(first) and kinds(second).count("begin") == 1
    for log in others:
        assert kinds(log).count("replay") == 1
        assert not {"launch", "allocate", "pinned", "begin", "fill"} & set(kinds(log))


def test_what_is_captured_is_what_ran_before(logs):
    _, (first, second, *_) = logs
    work = [[c for c in log if c[0] in ("launch", "fill")] for log in (first, second)]
    assert work[0] == work[1]


def test_all_pointers_lie_in_memory_that_is_held(logs):
    driver, (first, *_) = logs
    spans = sorted(driver.allocated)
    starts = [start for start, _ in spans]
    for call in first:
        for pointer in call[2] if call[0] == "launch" else ():
            start, size = spans[bisect_right(starts, pointer) - 1]
            assert start <= pointer <= start + size, call


def test_a_slot_is_filled_again_once_its_copy_is_done(logs):
    """A slot's copy is waited for before the slot is filled again."""
    _, (_, *others) = logs
    calls, last = [call for log in others for call in log], {}
    for i, call in enumerate(calls):
        if call[0] == "upload" and calls[i + 1][0] == "record":
            source, event = call[2], calls[i + 1][1]
            if source in last:
                assert ("synchronize", event) in calls[last[source] : i]
            last[source] = i
    assert len(last) == 6, "three slots of two programs"


def test_kernels_wait_for_the_copy_that_feeds_them(logs):
    _, (*_, log) = logs
    moves = [i for i, call in enumerate(log) if call[0] == "move"]
    for i in moves:
        before = [call for call in log[:i] if call[0] in ("wait", "record", "upload")]
        recorded = {call[1] for call in before if call[0] == "record"}
        assert before[-1][0] in ("wait", "record") and recorded
        assert any(call[0] == "wait" and call[1] in recorded for call in before)


class Alone:
    """NCCL's communicator of a single device, which leaves sums unchanged."""

    def allReduce(self, *words):
        pass


def test_sums_go_beside_the_backward_pass_and_before_the_update(network, logs):
    """Each sum waits for its gradient's kernel; the update waits for all sums."""
    driver, replica, batch = network
    link, compute = replica.link(), replica.programs(2)[0].device.stream
    link.members = Alone()
    owners, parts = cut_buckets(replica.conf.params_layout.slices, len(replica.grad) / BUCKETS)
    queued = [
        ([name for name, owner in owners.items() if owner == place], partial(added, link, part))
        for place, part in enumerate(parts)
    ]
    replica.gradient(batch)
    replica.apply(0.01, 1)
    for t in (2, 3, 4):
        start = len(driver.log)
        replica.gradient(batch, queued=queued)
        update = len(driver.log) - start
        link.join_in()
        replica.apply(0.01, t)
        check_sums(driver.log[start:], update, id(link.stream), id(compute), len(parts))
    assert not {"allocate", "pinned"} & set(kinds(driver.log[start:]))


def added(link, part, mark):
    link.add_up("grad", part, 0.5, None, mark)


def check_sums(log, update, own, compute, sums):
    """`own` is the stream of sums, `compute` that of kernels; the update begins at `update`."""
    marks = {call[1]: i for i, call in enumerate(log) if call[0] == "record" and call[2] == compute}
    waits = [i for i, call in enumerate(log) if call[0] == "wait" and call[2] == own]
    kernels = [i for i, call in enumerate(log) if call[0] == "replay"]
    backward = [i for i in kernels if i < update]
    assert len(waits) == sums > 1
    assert "synchronize" not in kinds(log[waits[0] : update])
    for i in waits:
        assert marks[log[i][1]] > backward[0], "a sum waits for no kernel"
        assert kinds(log[i + 1 : i + 4]) == ["launch", "library", "record"]
        assert {call[-1] for call in log[i + 1 : i + 4]} == {own}
    assert marks[log[waits[0]][1]] < backward[-1], "the first sum waits for all kernels"
    [joined] = [i for i, call in enumerate(log) if call == ("wait", log[waits[-1] + 3][1], compute)]
    assert update <= joined < min(i for i in kernels if i >= update)
