"""Connects processes that share a rendezvous and a secret into a group's members."""

import secrets
import socket
from pathlib import Path

from sparkdl.errors import PeerError, WorkerError
from sparkdl.exchange.connections.deadline import Deadline
from sparkdl.exchange.connections.sockets import hang_up
from sparkdl.exchange.rendezvous.member import GroupMember
from sparkdl.thread_start import NoThread

BOOT = Path("/proc/sys/kernel/random/boot_id")


def meet(rendezvous, endpoint, timeout):
    """Publishes this process's address, and returns the GroupMembers of all ranks."""
    address, port = endpoint.address
    member = GroupMember(
        rank=rendezvous.rank,
        host=socket.gethostname(),
        address=address,
        port=port,
        machine=machine(),
        group=secrets.token_hex(8),
    )
    texts = rendezvous.all_gather(member.to_json(), timeout)
    return [GroupMember.from_json(text) for text in texts]


def machine():
    """Returns a text that identifies the running machine."""
    try:
        return BOOT.read_text().strip()
    except OSError:
        return socket.gethostname()


def connect(members, rank, endpoint, timeout):
    """Returns {rank: socket} to all other members.

    Of each pair, the member with the higher rank dials.
    """
    channel, limit, sockets = f"group/{members[0].group}", Deadline(timeout), {}
    try:
        for member in members[:rank]:
            sockets[member.rank] = dial_member(member, endpoint, channel, rank, limit)
        while len(sockets) < len(members) - 1:
            other, sock = answer_member(members, rank, sockets, endpoint, channel, limit)
            if not rank < other < len(members) or other in sockets:
                hang_up(sock)
                raise PeerError(other, "an unknown host", "connected out of turn")
            sockets[other] = sock
        return sockets
    except BaseException:
        for sock in sockets.values():
            hang_up(sock)
        raise


def dial_member(member, endpoint, channel, rank, limit):
    try:
        return endpoint.connect((member.address, member.port), channel, rank, limit.remaining())
    except PeerError as error:
        raise PeerError(member.rank, f"{member.host} ({error.host})", error.what) from error
    except TimeoutError as error:  # the members before it took all of the time
        what = f"was not connected to within {limit.seconds:g} s"
        raise PeerError(member.rank, member.host, what) from error


def answer_member(members, rank, sockets, endpoint, channel, limit):
    try:
        return endpoint.accept(channel, limit.remaining())
    except NoThread:  # of this process
        raise
    except (WorkerError, TimeoutError) as error:
        missing = [m for m in members if m.rank not in sockets and m.rank != rank]
        names = ", ".join(f"{m.rank} on {m.host}" for m in missing[:20])
        what = f"did not join the group within {limit.seconds:g} s (missing: rank {names})"
        raise PeerError(missing[0].rank, missing[0].host, what) from error
