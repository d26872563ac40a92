"""Top-k sparsification: the largest numbers are sent exactly, the others stay in the residual."""

from math import ceil
from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Number, dataclass, option
from sparkdl.exchange.codecs.base import Codec, ResidualCoder, blocks, refuse_unless


@dataclass(frozen=True)
class TopK(Codec):
    """The `fraction` of the numbers that are largest in size, 8 bytes each with their place.

    Zeros are never sent, so a vector that has few other numbers makes a shorter message.

    References
    ----------
    Aji and Heafield, Sparse communication for distributed gradient descent (2017); Stich,
    Cordonnier and Jaggi, Sparsified SGD with memory (2018).
    """

    mark: ClassVar = b"topk"
    to_all: ClassVar = True
    fraction: float = option(
        Number(above=0, maximum=1),
        "Share of the numbers that is sent, rounded up to whole numbers.",
        default=0.01,
        kw_only=False,
    )

    def most(self, n: int) -> int:
        """Returns the largest number of entries sent for a vector of n numbers."""
        return min(n, ceil(self.fraction * n))

    def coder(self, n: int) -> Any:
        return TopKCoder(self, n, 8 * self.most(n))

    def parse(self, body: Any, n: int) -> Any:
        self.check(len(body) % 8 == 0, "8 bytes a number", len(body))
        k = len(body) // 8
        places, numbers = body[: 4 * k].view("<u4"), body[4 * k :].view("<f4")
        self.check((places[1:] > places[:-1]).all(), "places that rise", "others")
        self.check(not k or places[-1] < n, f"places below {n}", places[-1:])
        self.check(np.isfinite(numbers).all(), "finite numbers", "others")
        return places, numbers

    def write(self, parts: Any, out: np.ndarray, add: bool) -> None:
        places, numbers = parts
        if not add:
            out[...] = 0
        out[places] += numbers


class TopKCoder(ResidualCoder):
    """Encodes by TopK."""

    def fill(self, vector: np.ndarray) -> int:
        places = self.largest(vector)
        k = len(places)
        self.body[: 4 * k].view("<u4")[:] = places
        self.body[4 * k : 8 * k].view("<f4")[:] = self.residual[places]
        self.residual[places] = 0
        return 8 * k

    def largest(self, vector):
        """Adds `vector` to the residual; returns the indices of its largest numbers, ascending."""
        size = np.empty(self.n, np.float32)
        for block in blocks(self.n):
            total = self.residual[block]
            total += vector[block]
            np.abs(total, out=size[block])
            refuse_unless(size[block].max() < np.inf, self.codec, total, block.start)
        limit = self.codec.most(self.n)
        if not limit:
            return np.zeros(0, np.uint32)
        size.partition(self.n - limit)
        return self.at_least(size[self.n - limit], limit)

    def at_least(self, least, limit):
        """Returns up to `limit` ascending indices of the largest numbers at least `least` in size.

        Numbers equal to `least` fill up what larger ones leave; a `least` of 0 selects none of
        them.
        """
        above, equal = [], []
        for block in blocks(self.n):
            size = np.abs(self.residual[block])
            above.append(np.flatnonzero(size > least) + block.start)
            equal.append(np.flatnonzero(size == least) + block.start if least else above[-1][:0])
        above = np.concatenate(above)
        rest = np.concatenate(equal)[: limit - len(above)]
        return np.sort(np.concatenate([above, rest])).astype(np.uint32)
