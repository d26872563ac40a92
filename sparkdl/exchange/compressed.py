"""Vectors of all ranks, summed through a codec, with the same bits on every rank."""

from itertools import pairwise

import numpy as np

from sparkdl.errors import DataError, PeerError


class CompressedSum:
    """Sums vectors of n numbers over a group; every rank makes one, with the same codec and n.

    What a message leaves out stays on the rank that left it out, and is sent later. So over many
    sums nothing is lost: what all ranks gave is what all got and what all keep.

    Parameters
    ----------
    group : Group
    codec : Codec
        Where its `to_all` holds, each rank's message goes to all others, and everyone adds them: a
        rank sends as many bytes as its message has, times the others (Strom 2015, DL4J). Else rank
        i sums the i-th stripe of the vector from the messages of the others and sends the sum to
        all, encoded again: a rank sends about two messages' bytes, however many ranks there are.
    n : int
        Numbers in a vector.

    References
    ----------
    Seide et al., 1-bit stochastic gradient descent (2014), section 3.3, for the stripes. Tang,
    Lian, Yu, Zhang and Liu, DoubleSqueeze (2019), for what is kept back on both ways.
    """

    def __init__(self, group, codec, n):
        self.group, self.codec, self.n = group, codec, n
        self._way = (ToAll if codec.to_all else Stripes)(group, codec, n)

    def sum(self, vector):
        """Replace `vector`, float32 (n,), by the sum of what was sent for all ranks' vectors.

        Raises
        ------
        DivergedError
            If it holds a NaN or an infinity.
        PeerError
            If another rank is gone, or sent what is no message of the codec.
        """
        self._way.sum(vector)

    @property
    def sent_bytes(self):
        """Bytes of the messages that this rank has sent to others."""
        return self._way.sent_bytes

    def state(self):
        """What this rank keeps back, {name: array}; of use to a group of the same size only."""
        coders = self._way.coders
        return {f"{i}.{k}": a for i, c in enumerate(coders) for k, a in c.state().items()}

    def restore(self, state):
        """Continue from what `state` gave on this rank; CheckpointError if it does not fit."""
        for i, coder in enumerate(self._way.coders):
            own = {k.partition(".")[2]: a for k, a in state.items() if k.startswith(f"{i}.")}
            coder.restore(own)


class ToAll:
    """Each rank's message goes to all; everyone adds them in the order of ranks."""

    def __init__(self, group, codec, n):
        self.group, self.codec = group, codec
        self.coders = [codec.coder(n)]
        self.sent_bytes = 0

    def sum(self, vector):
        message = self.coders[0].encode(vector)
        self.sent_bytes += len(message) * (self.group.size - 1)
        for rank, other in enumerate(self.group.all_gather_bytes(message)):
            decode(self.group, self.codec, rank, other, vector, add=rank > 0)


class Stripes:
    """Each rank sums one stripe of the vector, and tells all others the sum."""

    def __init__(self, group, codec, n):
        self.group, self.codec = group, codec
        edges = [n * rank // group.size for rank in range(group.size + 1)]
        self.stripes = [slice(start, stop) for start, stop in pairwise(edges)]
        # The coder at this rank's own place is for the sum of its stripe.
        self.coders = [codec.coder(part.stop - part.start) for part in self.stripes]
        self.sent_bytes = 0

    def sum(self, vector):
        group, rank = self.group, self.group.rank
        mine = vector[self.stripes[rank]]
        for other, message in self.exchanged(vector):
            decode(group, self.codec, other, message, mine, add=True)
        total = self.coders[rank].encode(mine)
        self.sent_bytes += len(total) * (group.size - 1)
        for other, message in enumerate(group.all_gather_bytes(total)):
            decode(group, self.codec, other, message, vector[self.stripes[other]])

    def exchanged(self, vector):
        """(rank, its message for this rank's stripe) of all others, by rank."""
        group, found = self.group, {}
        messages = {i: self.coders[i].encode(vector[self.stripes[i]]) for i in self.others()}
        for other in turns(group.rank, group.size):
            found[other] = np.empty(self.coders[group.rank].size, np.uint8)
            if group.rank < other:
                group.send(messages[other], other)
            group.receive(found[other], other)
            if group.rank > other:
                group.send(messages[other], other)
            self.sent_bytes += len(messages[other])
        return sorted(found.items())

    def others(self):
        return (rank for rank in range(self.group.size) if rank != self.group.rank)


def turns(rank, size):
    """The partner of a rank, turn by turn: in each turn partners have each other, or nobody."""
    odd = size - 1 + size % 2  # turns; the last of an even number of ranks is paired apart
    for turn in range(odd):
        if rank == odd:
            partner = turn * (odd + 1) // 2 % odd
        else:
            partner = (turn - rank) % odd
            partner = odd if partner == rank else partner
        if partner < size:
            yield partner


def decode(group, codec, rank, message, out, add=False):
    """Decode what came from a rank; PeerError that names it if it cannot be decoded."""
    try:
        codec.decode(message, out, add)
    except DataError as error:
        host = group.members[rank].host
        raise PeerError(rank, host, f"sent what cannot be decoded: {error}") from error
