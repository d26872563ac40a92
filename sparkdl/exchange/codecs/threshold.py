"""Threshold encoding: sends only residuals beyond a threshold, as a step up or down."""

from struct import Struct
from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Integer, Number, Of, Optional, dataclass, option
from sparkdl.exchange.codecs import pairs
from sparkdl.exchange.codecs.base import MOST, Codec, ResidualCoder, blocks, refuse_unless
from sparkdl.exchange.codecs.rules import SMALLEST, AdaptiveThreshold, ThresholdRule

FORM = Struct("<If")  # SPARSE or DENSE, the threshold
SPARSE, DENSE = 0, 1


@dataclass(frozen=True)
class Threshold(Codec):
    """A number of at least t becomes t, one of at most -t becomes -t, others are kept back.

    A message lists the places of the numbers that are sent, 4 bytes each with the sign, or has two
    bits for every number where that is smaller (from 1/16 of the numbers on). The two bits have a
    fourth code, -t/2, for numbers in (-t, -t/2]; DL4J's bitmap has it too.

    References
    ----------
    Strom, Scalable distributed DNN training using commodity GPU cloud computing (2015).
    """

    mark: ClassVar = b"thr1"
    to_all: ClassVar = True
    rule: ThresholdRule = option(
        Of(family=ThresholdRule),
        "Rule that gives t for each message: FixedThreshold, AdaptiveThreshold or TargetSparsity.",
        default=AdaptiveThreshold(),
        kw_only=False,
    )
    clip: float | None = option(
        Optional(of=Number(minimum=1)),
        "What is kept back is cut to [-clip t, clip t], so that it can be sent within `clip` "
        "messages (DL4J's ResidualClippingPostProcessor: 5.0 every 5). None cuts nothing.",
        default=5.0,
    )
    clip_every: int = option(
        Integer(minimum=1), "Distance of two cuts.", default=5, unit="messages"
    )

    def coder(self, n: int) -> Any:
        return ThresholdCoder(self, n, FORM.size + pairs.bytes_for(n))

    def parse(self, body: Any, n: int) -> Any:
        self.check(len(body) >= FORM.size, f"{FORM.size} bytes after its head", len(body))
        form, t = FORM.unpack_from(body)
        self.check(0 < t <= MOST, "a threshold above 0", t)
        self.check(form in (SPARSE, DENSE), "form 0 or 1", form)
        body = body[FORM.size :]
        return t, self.places(body, n) if form == SPARSE else None, self.codes(body, n, form)

    def places(self, body: np.ndarray, n: int) -> Any:
        """Checks and returns the entries of a sparse message: 2 * index, plus 1 for a step down.

        Indices must be in ascending order.
        """
        self.check(len(body) % 4 == 0, "4 bytes a place", len(body))
        places = body.view("<u4")
        at = places >> 1
        self.check((at[1:] > at[:-1]).all(), "places that rise", "others")
        self.check(not len(at) or at[-1] < n, f"places below {n}", at[-1:])
        return places

    def codes(self, body: np.ndarray, n: int, form: int) -> Any:
        if form == SPARSE:
            return None
        self.check(len(body) == pairs.bytes_for(n), f"{pairs.bytes_for(n)} bytes", len(body))
        self.check(pairs.ends_in_zeros(body, n), "zeros after its last code", "others")
        return body

    def write(self, parts: Any, out: np.ndarray, add: bool) -> None:
        t, places, codes = parts
        if not add:
            out[...] = 0
        if places is not None:
            out[places >> 1] += steps(places, t)
        else:
            for block in blocks(len(out)):
                part = codes[block.start // 4 : pairs.bytes_for(block.stop)]
                out[block] += pairs.levels(part, of_code(t))[: block.stop - block.start]


class ThresholdCoder(ResidualCoder):
    """Encodes by Threshold; the state has the last threshold and sparsity, besides the residual."""

    def __init__(self, codec, n, capacity):
        super().__init__(codec, n, capacity)
        self._last = np.zeros(3)  # threshold, sparsity, number of messages

    def state_arrays(self) -> dict[str, np.ndarray]:
        return super().state_arrays() | {"last": self._last}

    def settings(self) -> np.ndarray:
        return self._last[:2]

    @property
    def threshold(self) -> float:
        """Threshold of the next message."""
        threshold, sparsity, messages = self._last
        rule = self.codec.rule
        t = rule.after(threshold, sparsity) if messages else rule.first()
        return float(np.clip(t, SMALLEST, MOST))

    def fill(self, vector: np.ndarray) -> int:
        t, messages = np.float32(self.threshold), self._last[2]
        count, places = self.add_to_residual(vector, t)
        FORM.pack_into(self.body, 0, DENSE if places is None else SPARSE, t)
        length = self.dense(t) if places is None else self.sparse(places, t)
        if self.codec.clip and messages and messages % self.codec.clip_every == 0:
            bound = min(self.codec.clip * t, MOST)
            np.clip(self.residual, -bound, bound, out=self.residual)
        self._last[:] = self.threshold, count / max(self.n, 1), messages + 1
        return FORM.size + length

    def add_to_residual(self, vector, t):
        """Adds `vector` to the residual; returns (count, indices) of numbers at least t in size.

        The indices are None if there are so many that a dense message is no longer than a sparse
        one.
        """
        count, places, limit = 0, [np.zeros(0, np.uint32)], pairs.bytes_for(self.n) / 4
        for block in blocks(self.n):
            total = self.residual[block]
            total += vector[block]
            size = np.abs(total)
            largest = size.max()
            refuse_unless(largest < np.inf, self.codec, total, block.start)
            if largest >= t:
                large = size >= t
                count += np.count_nonzero(large)
                if count < limit:
                    places.append(np.flatnonzero(large).astype(np.uint32) + block.start)
        return count, None if self.n and count >= limit else np.concatenate(places)

    def sparse(self, places, t):
        body = self.body[FORM.size :][: 4 * len(places)].view("<u4")
        body[:] = places << 1
        body |= self.residual[places] < 0
        self.residual[places] -= steps(body, t)
        return 4 * len(places)

    def dense(self, t: Any) -> int:
        body = self.body[FORM.size :]
        for block in blocks(self.n):
            total = self.residual[block]
            up, down = total >= t, total <= -t
            half = (total <= -t / 2) ^ down
            codes = pairs.pack_pairs(up | down, up | half)
            body[block.start // 4 :][: len(codes)] = codes
            total -= pairs.levels(codes, of_code(t))[: len(total)]
        return len(body)


def steps(places, t):
    """Returns a step of t or -t for each sparse entry."""
    return np.where(places & 1, -np.float32(t), np.float32(t))


def of_code(t: Any) -> tuple[Any, ...]:
    return 0, -np.float32(t) / 2, -t, t
