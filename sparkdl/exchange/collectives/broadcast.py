"""Broadcast: short vectors down a tree, long ones along a chain."""

from sparkdl.exchange.collectives.pieces import pieces, raw

PIECE = 256 << 10  # bytes
TREE = 64 << 10  # bytes up to which few steps (a tree) matter more than few sends (a chain)


def broadcast(call, x, root):
    """Replaces flat x on all ranks by that of rank `root`."""
    place = (call.rank - root) % call.size  # position relative to the root
    parent, children = (tree if x.nbytes <= TREE else chain)(place, call.size)
    for piece in pieces(raw(x), PIECE):
        if parent is not None:
            yield call.receive((parent + root) % call.size, piece)
        for child in children:
            call.send((child + root) % call.size, piece)


def chain(place, size):
    """Returns (parent or None, children) in a chain."""
    return place - 1 if place else None, [place + 1] if place + 1 < size else []


def tree(place, size):
    """Returns (parent or None, children) in a binomial tree; each step doubles the receivers."""
    lowest = place & -place if place else size  # distance to the parent
    steps = [1 << i for i in reversed(range(size.bit_length())) if 1 << i < lowest]
    return place - lowest if place else None, [place + s for s in steps if place + s < size]
