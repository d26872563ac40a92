"""What all ranks of a simulated group do, and what must come of it."""

import numpy as np

COMPUTES = 0.4  # seconds between two calls, at most


def drawn(random, size):
    """A few calls, each with the seconds that a rank computes before it."""
    names = random.choices(list(CALLS), k=random.randint(2, 6 if size < 12 else 3))
    return [(name, random.randint(1, 30_000 if size < 12 else 3000), random.random() * COMPUTES)
            for name in names]  # fmt: skip


def vector(rank, length):
    """Whole numbers, whose sums are exact in any order."""
    return (np.arange(length) % 7 + rank + 1).astype(np.float32)


def summed(size, length):
    return size * (np.arange(length) % 7 + (size + 1) / 2)


def all_reduce(group, length):
    x = group.all_reduce(vector(group.rank, length))
    return (x == summed(group.size, length)).all()


def reduce_scatter(group, length):
    part = group.reduce_scatter(vector(group.rank, length))
    return (part == summed(group.size, length)[group.part(length)]).all()


def broadcast(group, length):
    root = length % group.size
    x = group.broadcast(vector(group.rank, length), root)
    return (x == vector(root, length)).all()


def all_gather_bytes(group, length):
    parts = group.all_gather_bytes(bytes([group.rank % 256]) * (length // (group.rank + 1)))
    return all(bytes(p) == bytes([r % 256]) * (length // (r + 1)) for r, p in enumerate(parts))


def barrier(group, length):
    group.barrier()
    return True


def pending(group, length):
    """Several calls beside each other."""
    begun = [group.start_all_reduce(vector(group.rank, length // n)) for n in (1, 2, 3, 4, 5, 6)]
    group.barrier()
    sums = [call.wait() for call in begun]
    return all((x == summed(group.size, len(x))).all() for x in sums)


def split(group, length):
    half = group.split(group.rank % 2, shared_memory=False)
    x = half.all_reduce(np.full(length, 1, np.float32))
    return (x == half.size).all()


def neighbour(group, length):
    """A message to the next rank."""
    if group.size == 1:
        return True
    after, before = (group.rank + 1) % group.size, (group.rank - 1) % group.size
    group.send(vector(group.rank, length), after)
    x = group.receive(np.zeros(length, np.float32), before)
    return (x == vector(before, length)).all()


CALLS = {
    call.__name__: call
    for call in (all_reduce, reduce_scatter, broadcast, all_gather_bytes, barrier, pending, split,
                 neighbour)
}  # fmt: skip
