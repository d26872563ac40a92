"""Decides which member a group gives up on, and when, and words the error."""

from sparkdl.errors import PeerError


def find_silent(links, since, now, timeout):
    """Raises PeerError if a peer, listened to since then, was silent for `timeout` seconds."""
    for link in links:
        if now - max(link.heard, since) > timeout and not link.left and not link.full:
            raise link.trouble(f"was silent for {timeout:g} s")


def find_stuck(calls, links, now, patience):
    """Raises PeerError if a call has not gone on for `patience` seconds, though all peers live."""
    for call in calls:
        if now - call.moved > patience:
            raise last_awaited(missing(call), links).trouble(
                f"is alive, but has not done its part for {patience:g} s; do all ranks make the "
                "same calls?"
            )


def last_awaited(link, links):
    """Returns the peer that waits for nobody, at the end of a chain of peers that wait."""
    by_rank, seen = {link.member.rank: link for link in links}, set()
    while link.awaits in by_rank and link.awaits not in seen:
        seen.add(link.member.rank)
        link = by_rank[link.awaits]
    return link


def missing(call):
    """Returns the link that a call waits for."""
    if call.awaited is not None:
        return call.awaited.link
    links = [link for link in call.links if link is not None]
    return next((link for link in links if link.is_blocked), links[0])


def direct_obstacle(calls):
    """Returns the rank that the oldest call waits for, None if there is none."""
    return next((missing(call).member.rank for call in calls), None)


def root_obstacle(calls, links):
    """Returns the rank without which the oldest call cannot go on, None if there is no call."""
    return next((last_awaited(missing(call), links).member.rank for call in calls), None)


def explain_error(error, calls, member):
    """Returns a PeerError with what was awaited of its rank.

    Other errors become one about this rank.
    """
    if not isinstance(error, PeerError):
        what = f"failed: {type(error).__name__}: {error}"
        return PeerError(member.rank, member.host, what)
    if getattr(error, "told", False):  # by a rank that has said so
        return error
    mine = [c for c in calls if c.awaited is not None and c.awaited.link.member.rank == error.rank]
    call = next(iter(mine or calls), None)
    end = f" while rank {member.rank} awaited {call.text}" if call is not None else ""
    return PeerError(error.rank, error.host, error.what + end)
