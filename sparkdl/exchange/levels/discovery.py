"""Discovery of a group's levels: the machines and the ranks on each."""

from sparkdl.exchange.levels.call_order import CallOrder
from sparkdl.exchange.levels.calls import Calls
from sparkdl.exchange.shared.discovery import find_memory


def find_levels(group, progress, gather=None):
    """Returns (Calls, CallOrder) of a group, or None if no two ranks share memory. All ranks must
    call it.

    Parameters
    ----------
    group : Group
        So far over sockets only.
    progress : ProgressEngine
        Of the group.
    gather : callable, optional
        gather(text) -> [text of each rank]. None: that of the group.
    """

    def gather_texts(text):
        return [bytes(data).decode() for data in group.all_gather_bytes(text.encode())]

    limits = progress.timeout, progress.stall_timeout
    machines, memory = find_memory(group.rank, gather or gather_texts, group.members, *limits)
    if len(machines) == group.size:
        return None
    between = None
    if len(machines) > 1:
        [place] = [ranks.index(group.rank) for ranks in machines if group.rank in ranks]
        between = group.split(place, shared_memory=False)
    return Calls(group.rank, machines, memory, between), CallOrder(progress, memory)
