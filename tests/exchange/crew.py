"""Runs a function in several processes that form a group; none of them outlives the call."""

import contextlib
import multiprocessing
import tempfile
import time
from multiprocessing.connection import wait

from sparkdl.exchange.group import Group
from sparkdl.exchange.rendezvous import FileRendezvous

SECRET = b"a secret of the tests"


def crew(size, function, *arguments, limit=60.0, **options):
    """[what function(group, *arguments) returned, or the exception it raised] by rank.

    A process that ended without either, or not within `limit` seconds, gives None. `options` are
    those of Group.form.
    """
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        started = [
            start(context, member, (folder, rank, size, function, arguments, options))
            for rank, member in enumerate([member] * size)
        ]
        try:
            return gathered(started, limit)
        finally:
            for process, _ in started:
                process.kill()  # also one that is stopped
                process.join()


def start(context, target, arguments):
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=target, args=(theirs, *arguments))
    process.start()
    theirs.close()
    return process, mine


def gathered(started, limit):
    results, end = [None] * len(started), time.monotonic() + limit
    left = {pipe: rank for rank, (_, pipe) in enumerate(started)}
    while left and (seconds := end - time.monotonic()) > 0:
        for pipe in wait(list(left), seconds):
            with contextlib.suppress(EOFError):
                results[left.pop(pipe)] = pipe.recv()
            pipe.close()
    return results


def member(pipe, folder, rank, size, function, arguments, options):
    try:
        rendezvous = FileRendezvous(folder, rank, size)
        options = {"timeout": 20.0, "secret": SECRET} | options
        with Group.form(rendezvous, options.pop("secret"), **options) as group:
            result = function(group, *arguments)
    except Exception as error:
        result = error
    pipe.send(result)
    pipe.close()
