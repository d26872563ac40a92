"""Connections between concurrent tasks, as workers make them. Imports no sparkdl."""

import json
import socket

from pyspark import BarrierTaskContext

NEIGHBORS = 8  # tasks that each task connects to; all pairs of a hundred would take long
TIME_LIMIT = 5.0  # seconds per connection


def connect_tasks(_):
    """Yields a sentence for each task that this one cannot reach; runs in a barrier stage."""
    context = BarrierTaskContext.get()
    own = context.partitionId()
    host = context.getTaskInfos()[own].address.rpartition(":")[0]
    with socket.create_server(("", 0)) as server:
        place = json.dumps([host, server.getsockname()[1]])
        places = [json.loads(text) for text in context.allGather(place)]
        count = len(places)
        for step in range(1, min(NEIGHBORS, count - 1) + 1):
            yield from failed_connection(host, *places[(own + step) % count])
        context.barrier()  # until then other tasks may still connect


def failed_connection(source, host, port):
    """Yields why a connection from here to there fails, if it does."""
    try:
        socket.create_connection((host, port), TIME_LIMIT).close()
    except OSError as error:
        yield f"{source} cannot connect to {host}:{port}: {error}"
