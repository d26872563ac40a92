"""Groups whose ranks share memory, on one machine and on several simulated ones."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from sparkdl.errors import PeerError, WorkerError
from sparkdl.exchange.levels.discovery import find_levels
from sparkdl.exchange.levels.packing import pack_parts, unpack_parts
from tests.exchange.crew import crew
from tests.exchange.test_group import (
    broadcast_all,
    closed_early,
    differing,
    gather_all,
    in_flight,
    messages,
    reduce_all,
    refused,
    split_up,
)
from tests.support.namespaces import two_hosts, why_not

ONE_MACHINE = [2, 3]
TWO = [[0, 1], [2, 3]]
MACHINES = [[[0, 1], [2]], [[0, 3, 4], [1, 2]]]


def apart(group, machines, function, *arguments):
    """Calls the function in a group that believes in these machines, although there is only one."""
    own = next(ranks for ranks in machines if group.rank in ranks)

    def gather(text):
        told = [bytes(data).decode() for data in group.all_gather_bytes(text.encode())]
        seen = [rank in own or not text.startswith("{") for rank, text in enumerate(told)]
        return [text if see else json.dumps(None) for text, see in zip(told, seen, strict=True)]

    group._levels, group._runner = find_levels(group, group._progress, gather)
    return function(group, *arguments)


def checked(results):
    for result in results:
        if isinstance(result, Exception):
            raise result
    assert not any(result is None for result in results)
    return results


def everything(group):
    """Runs all checks of test_group, one after the other."""
    sums = reduce_all(group)
    gather_all(group)
    broadcast_all(group)
    messages(group)
    in_flight(group)
    if group.size == 2:
        refused(group)
    return sums


def on_two_threads(group):
    """Sums run in the background while this thread makes other calls, in any order."""
    total = np.zeros(3)
    for turn in range(30):
        pending = [group.start_all_reduce(np.full(50_000, i + turn, np.float32)) for i in range(4)]
        total += group.all_reduce(np.full(3, turn, np.float64))
        told = group.all_gather_bytes(bytes([group.rank]))
        assert bytes(np.concatenate(told)) == bytes(range(group.size))
        assert [call.wait()[-1] for call in pending] == [group.size * (i + turn) for i in range(4)]
    return total.tolist()


def threads_after(group, function, *arguments):
    """Names of threads left after closing, except the heartbeat, which ends a little later."""
    function(group, *arguments)
    group.close()
    names = [thread.name for thread in threading.enumerate()]
    return [name for name in names if "sparkdl" in name and name != "sparkdl-heartbeat"]


def sums_until(group, loser, how, beside):
    x = np.ones(200_000, np.float32)
    for turn in range(10_000):
        if group.rank == loser and turn == 20:
            os.kill(os.getpid(), how)
        if beside:
            pending = [group.start_all_reduce(x), group.start_all_reduce(x.copy())]
            for call in pending:
                call.wait()
        else:
            group.all_reduce(x)


def closed_in_a_call(group):
    """Closing the group ends a call whose peer never comes."""
    if group.rank == 1:
        group.receive(np.zeros(1), 0)
        return None
    pending = group.start_all_reduce(np.ones(3))
    while not group._runner._under_way:
        pass
    group.send(np.ones(1), 1)
    group.close()
    for call in (pending, group.start_all_reduce(np.ones(3))):
        with pytest.raises(WorkerError):
            call.wait()
    return "closed"


@pytest.mark.slow
@pytest.mark.parametrize("size", ONE_MACHINE)
def test_one_machine_does_what_sockets_do(size):
    first, *others = checked(crew(size, everything))
    assert all(other == first for other in others)


@pytest.mark.slow
@pytest.mark.parametrize("machines", MACHINES, ids=str)
def test_several_machines_do_what_sockets_do(machines):
    size = sum(map(len, machines))
    first, *others = checked(crew(size, apart, machines, everything, shared_memory=False))
    assert all(other == first for other in others)


@pytest.mark.slow
def test_nothing_that_ranks_of_a_machine_share_goes_over_sockets():
    assert max(checked(crew(2, in_flight))) < 10_000


@pytest.mark.slow
def test_calls_beside_others():
    results = checked(crew(4, apart, TWO, on_two_threads, shared_memory=False))
    assert results == [[4 * sum(range(30))] * 3] * 4


def test_sub_groups_share_memory_too():
    assert [result[:3] for result in checked(crew(5, split_up))] == [
        (rank // 2, 2 if rank % 2 else 3, 1) for rank in range(5)
    ]


@pytest.mark.parametrize("call", ["another type", "another length", "another call"])
def test_ranks_whose_calls_differ_all_get_an_error(call):
    results = crew(3, differing, call)
    assert [type(result) for result in results] == [PeerError] * 3
    assert all("all ranks must make the same calls" in str(result) for result in results)


def of_another_type(group, call):
    """The arrays of the ranks differ in their type alone, not in their bytes."""
    kind = (np.float32, np.int32)[group.rank]
    if call == "broadcast":
        return group.broadcast(np.ones(8, kind))
    return group.all_gather(np.ones(4, kind), np.zeros(8, kind))


@pytest.mark.parametrize("call", ["broadcast", "all_gather"])
def test_bytes_of_another_type_are_not_taken_for_numbers(call):
    results = crew(2, of_another_type, call)
    assert [type(result) for result in results] == [PeerError] * 2
    assert all("arrays of the same type and size" in str(result) for result in results)


def test_who_leaves_early_is_named_and_so_is_a_closed_group():
    assert crew(2, closed_early) == ["told", None]


@pytest.mark.slow
def test_closing_ends_a_call_and_all_threads():
    assert crew(2, closed_in_a_call) == ["closed", None]
    assert crew(2, threads_after, on_two_threads) == [[], []]


@pytest.mark.slow
@pytest.mark.parametrize("beside", [False, True], ids=["waiting", "beside"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=lambda how: how.name)
def test_a_lost_rank_is_named_on_all_machines(how, beside):
    limits = {"timeout": 3.0, "stall_timeout": 30.0, "spare": [1]}
    results = crew(4, apart, TWO, sums_until, 1, how, beside, shared_memory=False, **limits)
    assert results.pop(1) is None
    assert [(type(error), error.rank) for error in results] == [(PeerError, 1)] * len(results)


def late(group, who, count):
    """All ranks but `who` make a call; the vector's length decides who waits for whom."""
    if group.rank == who:
        time.sleep(60)
    group.all_reduce(np.ones(count, np.float32))


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 100_000])
def test_who_does_not_come_is_named_by_those_who_wait_for_others(count):
    limits = {"timeout": 3.0, "stall_timeout": 4.0, "spare": [3]}
    results = crew(4, apart, TWO, late, 3, count, shared_memory=False, **limits)[:3]
    assert [(type(error), error.rank) for error in results] == [(PeerError, 3)] * 3


def late_in_a_sub_group(group, color_of):
    half = group.split(color_of[group.rank])
    late(half, 1, 5)


@pytest.mark.slow
def test_errors_name_the_rank_in_the_group_that_was_formed():
    limits = {"timeout": 3.0, "stall_timeout": 4.0, "spare": [2]}
    error = crew(3, late_in_a_sub_group, [0, 1, 0], **limits)[0]
    assert isinstance(error, PeerError) and error.rank == 2


@pytest.mark.slow
def test_two_hosts_find_out_who_is_where(tmp_path):
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with two_hosts() as hosts:
        programs = [
            hosts[rank % 2].start(
                *("env", f"PYTHONPATH={Path(__file__).parents[3]}"),  # programs start in /
                *(sys.executable, "-m", "tests.exchange.on_hosts"),
                *(tmp_path, rank, 4, hosts[1 - rank % 2].address),
                stdout=subprocess.PIPE,
            )
            for rank in range(4)
        ]
        told = [json.loads(program.communicate(timeout=60)[0]) for program in programs]
    for total, levels, flat in told:
        assert total == 4 and levels < flat / 2  # half of the vector, not 1.5 times it


def test_parts_are_packed_and_found_again():
    for parts in ([], [b""], [b"abc", b"", b"d"]):
        arrays = [np.frombuffer(part, np.uint8) for part in parts]
        assert [bytes(part) for part in unpack_parts(pack_parts(arrays))] == parts
