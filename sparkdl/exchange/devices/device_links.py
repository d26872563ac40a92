"""Linking of the members' devices: they are described, then join within a time limit."""

import logging
import threading

from sparkdl.errors import ConfigError, PeerError, UnsupportedError
from sparkdl.exchange.connections.deadline import Deadline
from sparkdl.exchange.devices.choice import DeviceInfo, obstacle
from sparkdl.exchange.devices.group import DeviceGroup
from sparkdl.exchange.devices.process_exit import end_soon
from sparkdl.thread_start import NoThread, start_thread

log = logging.getLogger(__name__)

PAUSE = 0.05  # seconds between checks of the other members


def link_devices(group, make, exchange="auto"):
    """Returns a DeviceGroup of the members if their devices can be linked, else the group itself.

    All ranks must call it with the same `exchange`. Rank 0 logs the choice and its reason.

    Parameters
    ----------
    group : Group
    make : function ()
        Returns this rank's link to other devices, or None without a GPU; raises UnsupportedError if
        there is no NCCL. See Replica.link.
    exchange : str
        "auto"; "nccl", which raises an error where "auto" would use sockets; or "sockets".

    Raises
    ------
    ConfigError
        If "nccl" is not possible; the message names the ranks.
    PeerError
        If a device does not join in time, or NCCL reports an error.
    NoThread
        If this process may have no more threads; the other ranks get a PeerError.
    """
    if exchange == "sockets" or group.size == 1:
        return group
    link, info = offer_link(group.members[group.rank].host, make)
    places = [DeviceInfo.unpack(data) for data in group.all_gather_bytes(info.pack())]
    reason = obstacle(places)
    if reason is not None:
        return over_sockets(group, places, exchange, reason)
    invitation = link.invitation() if group.rank == 0 else ""
    invitation = bytes(group.all_gather_bytes(invitation.encode())[0]).decode()
    linked = DeviceGroup(group, link)
    join(link, invitation, linked)
    if group.rank == 0:
        log.info("%s", linked.describe())
    return linked


def offer_link(host, make):
    """Returns (this rank's link or None, its DeviceInfo)."""
    try:
        link = make()
    except UnsupportedError as error:
        return None, DeviceInfo(host=host, obstacle_text=f"is {error}")
    if link is None:
        return None, DeviceInfo(host=host, gpu=False)
    return link, DeviceInfo(host=host, device=link.id, version=link.version)


def over_sockets(group, places, exchange, reason):
    if exchange == "nccl":
        raise ConfigError(f"exchange must be 'auto' or 'sockets' here, got 'nccl': {reason}")
    if group.rank == 0 and any(place.gpu for place in places):
        log.warning("GPUs exchange through their hosts: %s", reason)
    return group


def join(link, invitation, group):
    """Joins the link with those of all ranks, while this thread watches the members.

    Joining cannot be cancelled. If it has not finished in time, this raises PeerError anyway, and
    the process exits soon after.
    """
    outcome, limit = [], Deadline(group.timeout)

    def meet():
        try:
            outcome.append(link.join(group.size, invitation, group.rank))
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=meet, name="sparkdl-nccl", daemon=True)
    try:
        start_thread(thread)
        while thread.is_alive():
            thread.join(PAUSE)
            group.look()
            if limit.has_passed() and thread.is_alive():
                raise group.missing_error(f"has not joined NCCL within {group.timeout:g} s")
        if outcome != [None]:
            member = group.members[group.rank]
            raise PeerError(member.rank, member.host, str(outcome[0]))
    except (PeerError, NoThread) as error:
        group.fail(error)
        if thread.is_alive():
            end_soon(f"rank {group.rank} is stuck in NCCL, so its process ends: {error}")
        raise
