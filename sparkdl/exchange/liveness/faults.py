"""Decides when a group gives up on a member, on which one, and how the error reads."""

from sparkdl.errors import PeerError


def find_silent(links, since, now, timeout):
    """Raises PeerError if a peer was silent for `timeout` seconds, counted from `since`."""
    for link in links:
        if now - max(link.last_received, since) > timeout and not link.has_left and not link.full:
            raise link.trouble(f"was silent for {timeout:g} s")


def find_stuck(calls, links, now, stall_timeout):
    """Raises PeerError if a call made no progress for `stall_timeout` seconds though peers live."""
    for call in calls:
        if now - call.last_progress > stall_timeout:
            raise last_awaited(missing(call), links).trouble(
                f"is alive, but has not done its part for {stall_timeout:g} s; "
                "do all ranks make the same calls?"
            )


def last_awaited(link, links):
    """Follows the chain of waits from a peer; returns the link to the peer at its end."""
    by_rank, seen = {link.member.rank: link for link in links}, set()
    while link.awaited_rank in by_rank and link.awaited_rank not in seen:
        seen.add(link.member.rank)
        link = by_rank[link.awaited_rank]
    return link


def missing(call):
    """Returns the link that a call waits for."""
    if call.awaited_receipt is not None:
        return call.awaited_receipt.link
    links = [link for link in call.links if link is not None]
    return next((link for link in links if link.is_blocked), links[0])


def direct_obstacle(calls):
    """Returns the rank that the oldest call waits for, or None without calls."""
    return next((missing(call).member.rank for call in calls), None)


def root_obstacle(calls, links):
    """Returns the rank that ultimately blocks the oldest call, or None without calls."""
    return next((last_awaited(missing(call), links).member.rank for call in calls), None)


def explain_error(error, calls, member):
    """Returns a PeerError that says which call was waiting for the lost rank.

    Other errors become a PeerError about this rank.
    """
    if not isinstance(error, PeerError):
        what = f"failed: {type(error).__name__}: {error}"
        return PeerError(member.rank, member.host, what)
    if getattr(error, "is_explained", False):  # by the rank that detected it
        return error
    waiting = [call for call in calls if call.awaited_receipt is not None]
    for_rank = [c for c in waiting if c.awaited_receipt.link.member.rank == error.rank]
    call = next(iter(for_rank or calls), None)
    end = f" while rank {member.rank} awaited {call.text}" if call is not None else ""
    return PeerError(error.rank, error.host, error.what + end)
