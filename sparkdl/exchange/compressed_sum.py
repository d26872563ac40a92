"""Vectors of all ranks, summed through a codec, with the same bits on every rank."""

from itertools import pairwise

import numpy as np

from sparkdl.errors import ConfigError
from sparkdl.exchange.codecs.joint_state import join_states, restore_joined
from sparkdl.exchange.collectives.compressed_all_reduce import stripes, to_all
from sparkdl.exchange.collectives.pieces import cuts

RESIDUAL = "residual"


class CompressedSum:
    """Sums vectors of n numbers over a group; every rank makes one, with the same codec and n.

    What a message leaves out stays on the rank that left it out, and is sent later. So over many
    sums nothing is lost: what all ranks gave is what all got and what all keep.

    Where the codec's `to_all` holds, each rank's message goes to all others, and everyone adds
    them: a rank sends the bytes of its message times the others. Else rank i sums the i-th stripe
    of the vector and sends the sum to all, encoded again: a rank sends the bytes of about two
    messages, however many ranks there are.

    Parameters
    ----------
    group : Group
    codec : Codec
    n : int
        Numbers in a vector.
    """

    def __init__(self, group, codec, n):
        self.group, self.codec, self.n = group, codec, n
        edges = [0, n] if codec.to_all else cuts(n, group.size)
        self._coders = [codec.coder(stop - start) for start, stop in pairwise(edges)]
        self._pending = None

    def sum(self, x):
        """Replaces x, float32 (n,), by the sum of what all ranks sent, and returns it.

        Raises
        ------
        DivergedError
            If what is to be sent is not finite.
        PeerError
            As all calls of a Group, and if a rank sent what is no message of the codec.
        """
        self._check()
        return self.group.call(*self._steps(x))

    def start(self, x):
        """Begins `sum`, beside what the caller does next; returns a Pending. One at a time."""
        self._check()
        self._pending = self.group.start_call(*self._steps(x))
        return self._pending

    def flush(self):
        """Sums (n,) what all ranks keep back, without the codec; none keeps it any more.

        All ranks call it, after as many sums.
        """
        self._check()
        state = self.state()
        if RESIDUAL not in state:
            return np.zeros(self.n, np.float32)
        residual = state[RESIDUAL]
        self.restore(state | {RESIDUAL: np.zeros_like(residual)})
        return self.group.all_reduce(residual)

    def settle(self):
        """Gives all ranks the mean of what codecs have adapted on each, as thresholds.

        All ranks call it, after as many sums. DL4J does so after each epoch.
        """
        for settings in [coder.settings() for coder in self._coders]:
            if len(settings):
                settings[:] = self.group.all_reduce(settings / self.group.size)

    def _check(self):
        if self._pending is not None and not self._pending.is_done:
            raise ConfigError("a CompressedSum sums one vector at a time; wait for the last one")

    def _steps(self, x):
        text = f"sum of {self.n} float32 through {self.codec}"
        if self.codec.to_all:
            return text, to_all, self.codec, self._coders[0], x
        return text, stripes, self.codec, self._coders, x

    def state(self):
        """Returns the codec's state on this rank, {name: vector}.

        "residual" (n,) has what is yet to be sent of each number, be it of this rank's vectors or
        of sums that it has encoded: all ranks' residuals together are what is missing in the sums.
        """
        return join_states(self._coders)

    def restore(self, state):
        """Continues from what `state` gave on this rank; CheckpointError if it does not fit."""
        restore_joined(self._coders, state)
