"""Sum of the vectors of all ranks through a codec, with the same bits on every rank."""

from itertools import pairwise

import numpy as np

from sparkdl.errors import ConfigError
from sparkdl.exchange.codecs.joint_state import join_states, restore_joined
from sparkdl.exchange.collectives.compressed_all_reduce import stripes, to_all
from sparkdl.exchange.collectives.pieces import cuts

RESIDUAL = "residual"


class CompressedSum:
    """Sums vectors of n numbers over a group; every rank creates one, with the same codec and n.

    A message's quantization error stays on the rank that encoded it, and is sent later. So nothing
    is lost over many sums: the inputs of all ranks equal the results plus the residuals.

    With the codec's `to_all`, each rank sends its message to all others, and every rank adds them:
    traffic grows with the number of ranks. Otherwise rank i sums the i-th stripe of the vector,
    encodes the sum again and sends it to all: a rank sends about two messages' worth of bytes, for
    any number of ranks.

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
        """Replaces x, float32 (n,), by the sum of the decoded messages of all ranks, and returns
        it.

        Raises
        ------
        DivergedError
            If the vector to be sent is not finite.
        PeerError
            As for all calls of a Group, and if a rank sent an invalid message.
        """
        self._check()
        return self.group.call(*self._steps(x))

    def start(self, x):
        """Starts `sum` in the background; returns a Pending. Only one sum may be in progress."""
        self._check()
        self._pending = self.group.start_call(*self._steps(x))
        return self._pending

    def flush(self):
        """Sums the residuals of all ranks without the codec, returns the sum (n,), and clears them.

        All ranks must call it, after the same number of sums.
        """
        self._check()
        state = self.state()
        if RESIDUAL not in state:
            return np.zeros(self.n, np.float32)
        residual = state[RESIDUAL]
        self.restore(state | {RESIDUAL: np.zeros_like(residual)})
        return self.group.all_reduce(residual)

    def settle(self):
        """Averages the adaptive settings of the codec, such as thresholds, over all ranks.

        All ranks must call it, after the same number of sums. DL4J does so after each epoch.
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

        "residual" (n,) is the part of each number not yet sent, of this rank's vectors as well as
        of sums that it has encoded. The residuals of all ranks add up to the error of the sums.
        """
        return join_states(self._coders)

    def restore(self, state):
        """Restores `state` of this rank; raises CheckpointError if it does not fit."""
        restore_joined(self._coders, state)
