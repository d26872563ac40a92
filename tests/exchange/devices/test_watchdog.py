"""Devices that hang or die are detected in time and named; no process waits forever."""

import os
import signal
import threading
import time
from functools import partial

import numpy as np
import pytest

from sparkdl.errors import DeviceError, PeerError, WorkerError
from sparkdl.exchange.devices import process_exit
from sparkdl.thread_start import NoThread
from tests.exchange.crew import crew
from tests.exchange.devices.places import backend_of, device_group, double_of
from tests.exchange.few_threads import no_thread
from tests.support.cuda.host_driver import HostDriver

QUICK = {"timeout": 4.0}
X = np.arange(5, dtype=np.float32)


def dies_before_init(group, folder):
    backend = backend_of(group, folder)
    if group.rank == 1:
        double_of(backend).NcclCommunicator = lambda *_: os._exit(1)
    device_group(group, folder, backend=backend)


def refused_at_init(group, folder):
    """As for two slices of one GPU, which look like two devices."""
    backend = backend_of(group, folder)
    double_of(backend).driver = HostDriver(id="GPU-of-both")
    device_group(group, folder, backend=backend)


def never_in_init(group, folder):
    backend = backend_of(group, folder)
    double_of(backend).stuck = "init" if group.rank == 1 else None
    device_group(group, folder, backend=backend)


def dies_in_a_call(group, folder):
    group, _ = device_group(group, folder)
    pending = group.start_all_reduce(X.copy())
    if group.rank == 1:
        os._exit(1)
    pending.wait()


def one_sum(group, backend):
    """Sums a vector on the device, where no call over sockets is waiting."""
    group._link.vectors["grad"] = backend.vector(X)
    group.add_up("grad", slice(0, 5), 1.0, None, group.clear("grad"))
    group.join_in()
    group.settle()


def dies_in_a_sum(group, folder):
    group, backend = device_group(group, folder)
    if group.rank == 1:
        os._exit(1)
    one_sum(group, backend)


def is_stopped_in_a_sum(group, folder):
    group, backend = device_group(group, folder)
    if group.rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    one_sum(group, backend)


def dies_after_a_call(group, folder):
    group, _ = device_group(group, folder)
    group.all_reduce(X.copy())
    if group.rank == 1:
        os._exit(1)
    group.all_reduce(X.copy())


def goes_wrong(group, folder):
    group, backend = device_group(group, folder)
    double_of(backend).stuck, double_of(backend).trouble = "collective", 6
    group.all_reduce(X.copy())


def stands_still(group, folder):
    group, backend = device_group(group, folder)
    double_of(backend).stuck = "collective"
    group.all_reduce(X.copy())


def is_held_while_it_begins(group, folder):
    """As NCCL's first call does while it opens connections."""
    group, _ = device_group(group, folder)
    members = group._link.members

    def held(x):
        while not members.aborted:
            time.sleep(0.01)
        raise DeviceError("NCCL refuses allReduce: aborted")

    group._link.all_reduce = held
    group.all_reduce(X.copy())


def has_a_broken_device(group, folder):
    group, backend = device_group(group, folder)
    double_of(backend).stuck = "collective"
    if group.rank == 1:
        group._link.check = lambda: 1 / 0
    one_sum(group, backend)


def leaves(group, folder):
    group, backend = device_group(group, folder)
    if group.rank == 0:
        one_sum(group, backend)


def is_refused(group, folder):
    """One of two ranks fails with this error; the other one is told."""
    group, _ = device_group(group, folder)

    def refuse(x):
        raise DeviceError("NCCL refuses allReduce: told by the test")

    if group.rank == 1:
        group._link.all_reduce = refuse
        with pytest.raises(DeviceError, match="told by the test"):
            group.all_reduce(X.copy())
    group.all_reduce(X.copy())


def gets_no_thread(group, folder, name):
    """One of two ranks may start no such thread; the other one is told."""
    if group.rank == 0:
        return device_group(group, folder)
    with no_thread(pytest.MonkeyPatch(), name), pytest.raises(NoThread, match="start new thread"):
        device_group(group, folder)
    group.barrier()


def dies_where_no_thread_starts(group, folder):
    group, _ = device_group(group, folder)
    if group.rank == 1:
        os._exit(1)
    with no_thread(pytest.MonkeyPatch(), "sparkdl-watchdog"):
        try:
            group.barrier()
        finally:
            group.close()


ROWS = {
    "a peer dies before init": (dies_before_init, {}, [1], "rank 1 on .*"),
    "a peer dies where no thread starts": (dies_where_no_thread_starts, {}, [1], "rank 1 on .*"),
    "no thread watches": (
        partial(gets_no_thread, name="sparkdl-watchdog"),
        {},
        [],
        "rank 1 on .*: failed: NoThread: .*start new thread; raise the number of processes",
    ),
    "no thread joins": (
        partial(gets_no_thread, name="sparkdl-nccl"),
        {},
        [],
        "rank 1 on .*: failed: NoThread: .*start new thread; raise the number of processes",
    ),
    "NCCL refuses a device": (
        refused_at_init,
        {},
        [],
        "rank . on .*: NCCL does not accept GPU-.: NCCL_ERROR_INVALID_USAGE",
    ),
    "a peer does not come": (
        never_in_init,
        {"timeout": 3.0},
        [],
        "rank . on .* has not joined NCCL within 3 s",
    ),
    "a peer dies in a call": (dies_in_a_call, {}, [1], "rank 1 on .*"),
    "a peer dies in a sum": (dies_in_a_sum, {}, [1], "rank 1 on .*"),
    "a peer is stopped": (
        is_stopped_in_a_sum,
        {"timeout": 3.0, "spare": [1]},
        [1],
        "rank 1 on .*: was silent for 3 s",
    ),
    "a peer dies after a call": (dies_after_a_call, {}, [1], "rank 1 on .*"),
    "NCCL says so": (
        goes_wrong,
        {},
        [],
        "rank . on .*: NCCL failed in all_reduce of 5 float32 by NCCL: NCCL_ERROR_REMOTE_ERROR",
    ),
    "it is held while it begins": (
        is_held_while_it_begins,
        {"stall_timeout": 3.0},
        [],
        "rank . on .* has not done its part of all_reduce of 5 float32 by NCCL for 3 s",
    ),
    "a peer leaves": (leaves, {}, [1], "rank 1 on .*: has left the group before the sum of 5 grad"),
    "a device fails": (has_a_broken_device, {}, [], "rank 1 on .*: failed: ZeroDivisionError"),
    "a call is refused": (
        is_refused,
        {},
        [],
        "rank 1 on .*: failed: DeviceError: NCCL refuses allReduce: told by the test",
    ),
    "nothing goes on": (
        stands_still,
        {"stall_timeout": 3.0},
        [],
        "rank . on .* has not done its part of all_reduce of 5 float32 by NCCL for 3 s",
    ),
}

QUICK_ROWS = {  # the others wait for seconds
    *("a peer dies in a sum", "a call is refused"),
    *("a peer dies where no thread starts", "no thread watches", "no thread joins"),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK_ROWS)) for name in ROWS],
)
def test_all_who_live_get_an_error_that_names_whom_they_waited_for(name, tmp_path):
    function, options, dead, text = ROWS[name]
    results = crew(2, function, tmp_path, **QUICK | options)
    for rank, result in enumerate(results):
        if rank in dead:
            assert result is None
        else:
            with pytest.raises(PeerError, match=text):
                raise result


def stuck_for_good(group, folder):
    """A call that cannot be cancelled blocks a thread; the process ends nevertheless."""
    process_exit.GRACE = 0.2
    with pytest.raises(WorkerError):
        never_in_init(group, folder)
    time.sleep(60)
    return "still here"


@pytest.mark.slow
def test_a_process_that_is_stuck_in_init_ends_when_it_has_told_why(tmp_path):
    assert crew(2, stuck_for_good, tmp_path, **QUICK | {"timeout": 3.0}) == [None, None]


def given_up(group, folder):
    """After a failure no device call and no thread waits for NCCL."""
    group, backend = device_group(group, folder)
    double_of(backend).stuck = "collective"
    with pytest.raises(PeerError, match="has not done its part of the sum of 5 grad by NCCL"):
        one_sum(group, backend)
    group._link.vectors["grad"].open()
    again = partial(one_sum, group, backend)
    for call in (group.barrier, lambda: group.all_reduce(X.copy()), again):
        with pytest.raises(PeerError, match="group can no longer be used"):
            call()
    group.close()
    return {thread.name for thread in threading.enumerate()} & {"sparkdl-nccl", "sparkdl-watchdog"}


@pytest.mark.slow
def test_after_a_failure_nothing_waits_any_more(tmp_path):
    results = crew(2, given_up, tmp_path, stall_timeout=3.0, **QUICK)
    assert results == [set(), set()]
    assert not [*tmp_path.iterdir()], "NCCL was not given up"


@pytest.mark.slow
def test_all_others_are_named_where_there_are_several(tmp_path):
    for result in crew(3, stands_still, tmp_path, stall_timeout=3.0, **QUICK):
        with pytest.raises(
            PeerError, match="one of ranks ., . has not done its part of all_reduce"
        ):
            raise result
