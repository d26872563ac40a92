"""Runs a function in several processes that form a group; none of them outlives the call."""

import contextlib
import tempfile
import time
from multiprocessing.connection import wait

from sparkdl.exchange.group import Group
from sparkdl.exchange.rendezvous.file_rendezvous import FileRendezvous
from tests.support.processes import forking

SECRET = b"a secret of the tests"
TOGETHER = 120.0  # seconds within which all processes must reach the meeting points


def crew(size, function, *arguments, limit=250.0, spare=(), secrets=None, **options):
    """[what function(group, *arguments) returned, or the exception it raised] by rank.

    A process that ended without either, or not within `limit` seconds, gives None. Ranks in `spare`
    are not awaited. `secrets` are by rank, `options` those of Group.form. All ranks have formed the
    group before any enters `function`, so its faults cannot hit a rank that is still joining.
    """
    with tempfile.TemporaryDirectory() as folder:
        started = [
            start((FileRendezvous(folder, rank, size), secret, function, arguments, options))
            for rank, secret in enumerate(secrets or [SECRET] * size)
        ]
        try:
            return gathered(started, limit, spare)
        finally:
            for process, _ in started:
                process.kill()  # also if it is stopped
                process.join()


def start(arguments):
    mine, theirs = forking.Pipe(duplex=False)
    process = forking.Process(target=member, args=(theirs, *arguments))
    process.start()
    theirs.close()
    return process, mine


def gathered(started, limit, spare):
    results, end = [None] * len(started), time.monotonic() + limit
    left = {pipe: rank for rank, (_, pipe) in enumerate(started)}
    while set(left.values()) - set(spare) and (seconds := end - time.monotonic()) > 0:
        for pipe in wait(list(left), seconds):
            rank = left.pop(pipe)
            with contextlib.suppress(EOFError):
                results[rank] = pipe.recv()
            pipe.close()
    return results


def member(pipe, rendezvous, secret, function, arguments, options):
    try:
        rendezvous.all_gather("started", TOGETHER)
        with Group.form(rendezvous, secret, **{"timeout": 20.0} | options) as group:
            rendezvous.all_gather("formed", TOGETHER)
            result = function(group, *arguments)
    except Exception as error:
        result = error
    pipe.send(result)
    pipe.close()
