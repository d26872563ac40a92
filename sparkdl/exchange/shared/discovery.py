"""Discovery of processes that share memory, by trying to open it, as host names may mislead."""

import json
import logging
import os

from sparkdl.errors import WorkerError
from sparkdl.exchange.shared import futex
from sparkdl.exchange.shared.memory import SharedMemory, layout_of
from sparkdl.exchange.shared.segment import Segment

log = logging.getLogger(__name__)


def find_memory(rank, gather, members, timeout=60.0, stall_timeout=600.0, lanes=(1, 2)):
    """Finds out which ranks share memory with each other, and the memory that this rank shares.

    Each process creates a memory segment with a random token and announces its path. Each uses the
    first segment that it can open and that has the token. All processes of the group must call
    this.

    Parameters
    ----------
    rank : int
    gather : callable
        gather(text) -> [text of each rank].
    members : list of Member
        By rank; for errors, which name rank and host.
    timeout : float
        Seconds of silence after which an awaited member counts as lost.
    stall_timeout : float
        Seconds to wait for a member that is alive.
    lanes : (int, int)
        Number of lanes if all ranks share memory, and if there are several machines.

    Returns
    -------
    machines : list of list of int
        Ranks of each machine; each rank is in one. Ranks that share no memory are alone.
    memory : SharedMemory or None
        None if this rank is alone.
    """
    own_segment = Segment.create() if futex.is_supported() and hasattr(os, "memfd_create") else None
    opened, memory = {own_segment}, None
    try:
        offers = [json.loads(text) for text in gather(_offer(own_segment))]
        leader, segment = _first_seen(offers[:rank], own_segment)
        opened.add(segment)
        machines = _machines([int(text) for text in gather(str(leader))])
        [ranks] = [machine for machine in machines if rank in machine]
        lanes = lanes[len(machines) > 1]
        error = _prepare(segment, ranks, rank, lanes) if len(ranks) > 1 else ""
        machines = sorted(_sound(machines, gather(error)))
        if ranks in machines and len(ranks) > 1:
            names, hosts = [members[r].rank for r in ranks], {m.rank: m.host for m in members}
            place = ranks.index(rank)
            memory = SharedMemory(segment, place, names, hosts, timeout, stall_timeout, lanes)
            opened.remove(segment)
        return machines, memory
    finally:  # also where a member is lost meanwhile, as this process may start again
        for unused in opened - {None}:
            unused.close()


def _offer(segment):
    if segment is None:
        return json.dumps(None)
    return json.dumps({"path": segment.path, "token": segment.token})


def _first_seen(offers, own_segment):
    """Returns (rank, segment) of the lowest rank whose segment can be opened; else its own."""
    for rank, offer in enumerate(offers):
        segment = Segment.open(**offer) if own_segment is not None and offer is not None else None
        if segment is not None:
            return rank, segment
    return len(offers), own_segment


def _machines(leaders):
    """Groups the ranks that use the same segment.

    A rank is alone if it chose the segment of a rank that itself chose another.
    """
    machines = {}
    for rank, leader in enumerate(leaders):
        machines.setdefault(leader if leaders[leader] == leader else rank, []).append(rank)
    return list(machines.values())


def _prepare(segment, ranks, rank, lanes):
    """Marks this process as alive; on the first rank, allocates the memory.

    Returns an error or "".
    """
    try:
        segment.hold(ranks.index(rank))
        if rank == ranks[0]:
            segment.allocate(layout_of(len(ranks), lanes).nbytes)
    except (OSError, WorkerError) as error:
        return f"rank {rank}: {error}"
    return ""


def _sound(machines, errors):
    """Yields the machines, splitting those with errors into single ranks."""
    for ranks in machines:
        reasons = [errors[rank] for rank in ranks if errors[rank]]
        if reasons:
            log.warning("ranks %s exchange over sockets, not shared memory: %s", ranks, reasons)
        yield from [[rank] for rank in ranks] if reasons else [ranks]
