"""Workers with endpoints of their own that share a store, in threads or in processes."""

import os
import time
from contextlib import ExitStack
from queue import Empty

from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.rendezvous.file_rendezvous import FileRendezvous
from sparkdl.exchange.store import Places
from tests.exchange.pairs import SECRET
from tests.exchange.store.threads import together
from tests.exchange.store.work import opened
from tests.support.processes import forking

TIMEOUT = 5.0


def in_threads(size, work, servers=None, **options):
    """Returns [work(store) for each rank], run in threads that talk over sockets."""
    options = {"timeout": TIMEOUT, "stall_timeout": 10.0} | options
    with ExitStack() as stack:
        endpoints = [stack.enter_context(Endpoint(SECRET, timeout=TIMEOUT)) for _ in range(size)]
        addresses = {rank: endpoint.address for rank, endpoint in enumerate(endpoints)}

        def run(rank):
            places = Places(endpoints[rank], rank, size, addresses)
            with opened(places, servers=servers, **options) as store:
                return work(store)

        return together(size, run)


def in_processes(size, folder, work, *args, limit=250.0, allow=(), **options):
    """Returns {rank: work(store, *args)}, each in a process of its own.

    An exception becomes a result, as text. Ranks in `allow` may end without a result.
    """
    results = forking.Queue()
    job = (folder, work, args, {"timeout": TIMEOUT, "stall_timeout": 30.0} | options, results)
    processes = [
        forking.Process(target=life, args=(rank, size, *job), daemon=True) for rank in range(size)
    ]
    for process in processes:
        process.start()
    try:
        return collected(results, set(range(size)) - set(allow), time.monotonic() + limit)
    finally:
        for process in processes:
            process.join(5)
            process.kill()
            process.join()


def collected(results, ranks, end):
    found = {}
    while not ranks <= found.keys():
        try:
            rank, result = results.get(timeout=max(0.0, end - time.monotonic()))
        except Empty:
            raise AssertionError(f"nothing from ranks {sorted(ranks - found.keys())}") from None
        found[rank] = result
    return found


def life(rank, size, folder, work, args, options, results):
    os.environ["OMP_NUM_THREADS"] = "1"
    with Endpoint(SECRET, timeout=120.0) as endpoint:
        told = f"{endpoint.address[0]} {endpoint.address[1]}"
        lines = FileRendezvous(folder, rank, size).all_gather(told, 120.0)
        addresses = {i: (line.split()[0], int(line.split()[1])) for i, line in enumerate(lines)}
        try:
            with opened(Places(endpoint, rank, size, addresses), **options) as store:
                result = work(store, *args)
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
        results.put((rank, result))
        results.close()
        results.join_thread()
