"""Whom a group gives up on, when, and how it is told."""

from sparkdl.errors import PeerError


def find_silent(links, since, now, timeout):
    """Raise PeerError if a peer, listened to since then, has sent nothing for `timeout` seconds."""
    for link in links:
        if now - max(link.heard, since) > timeout and not link.left and not link.full:
            raise link.trouble(f"was silent for {timeout:g} s")


def find_stuck(calls, now, patience):
    """Raise PeerError if a call has not gone on for `patience` seconds, though all peers live."""
    for call in calls:
        if now - call.moved > patience:
            raise missing(call).trouble(
                f"is alive, but does nothing for {call.text} since {patience:g} s; "
                "do all ranks make the same calls?"
            )


def missing(call):
    """The link that a call waits for."""
    if call.awaited is not None:
        return call.awaited.link
    return next(link for link in call.links if link is not None and link.blocked)


def explained(error, calls, member):
    """A PeerError with what was awaited of its rank; other errors become one about this rank."""
    if not isinstance(error, PeerError):
        what = f"failed: {type(error).__name__}: {error}"
        return PeerError(member.rank, member.host, what)
    if getattr(error, "told", False):  # by a rank that has said so
        return error
    mine = [c for c in calls if c.awaited is not None and c.awaited.link.member.rank == error.rank]
    call = next(iter(mine or calls), None)
    end = f" while rank {member.rank} awaited {call.text}" if call is not None else ""
    return PeerError(error.rank, error.host, error.what + end)
