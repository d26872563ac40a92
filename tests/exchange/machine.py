"""Processes on this machine that share memory, for tests."""

import time
from contextlib import contextmanager
from types import SimpleNamespace

from sparkdl.errors import SparkdlError
from sparkdl.exchange.rendezvous.file_rendezvous import FileRendezvous
from sparkdl.exchange.shared.discovery import find_memory
from tests.support.processes import forking

LIMIT = 120.0  # seconds


@contextmanager
def machine(folder, size, task, *arguments, timeout=20.0, stall_timeout=60.0):
    """Yields `answer(rank)`: the result or error of `task(memory, rank, *arguments)`."""
    pipes = [forking.Pipe(duplex=False) for _ in range(size)]
    limits = {"timeout": timeout, "stall_timeout": stall_timeout}
    processes = [
        forking.Process(target=_run, args=(end, folder, rank, size, limits, task, arguments))
        for rank, (_, end) in enumerate(pipes)
    ]
    for process in processes:
        process.start()
    for _, end in pipes:
        end.close()
    deadline = time.monotonic() + LIMIT
    try:
        yield lambda rank: _answer(pipes[rank][0], deadline)
    finally:
        for process in processes:
            process.kill()
            process.join()
        for mine, _ in pipes:
            mine.close()


def results(folder, size, task, *arguments, **limits):
    """Returns the result of `task(memory, rank, *arguments)` by process; errors are raised here."""
    with machine(folder, size, task, *arguments, **limits) as answer:
        found = [answer(rank) for rank in range(size)]
    for result in found:
        if isinstance(result, Exception):
            raise result
    return found


def _answer(pipe, deadline):
    if not pipe.poll(max(0.0, deadline - time.monotonic())):
        raise TimeoutError(f"no answer in {LIMIT} seconds")
    return pipe.recv()


def _run(pipe, folder, rank, size, limits, task, arguments):
    rendezvous = FileRendezvous(folder, rank, size)
    members = [SimpleNamespace(rank=member, host="this machine") for member in range(size)]
    machines, memory = find_memory(
        rank, lambda text: rendezvous.all_gather(text, 30), members, lanes=(2, 2), **limits
    )
    assert machines == [list(range(size))]
    try:
        answer = task(memory, rank, *arguments)
    except SparkdlError as error:
        answer = error
    pipe.send(answer)
    memory.close()
