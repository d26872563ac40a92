"""Two-bit quantization: a step up, a step down, or nothing, with error feedback."""

from struct import Struct
from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Number, dataclass, option
from sparkdl.errors import require
from sparkdl.exchange.codecs import pairs
from sparkdl.exchange.codecs.base import Codec, ResidualCoder, blocks, refuse_unless

STEP = Struct("<f")  # lets receivers detect that thresholds differ


@dataclass(frozen=True)
class TwoBit(Codec):
    """A number of at least `threshold` becomes threshold, one of at most -threshold -threshold.

    16 times fewer bytes than float32. Steps have one size, so a process that sums the messages of
    many must not encode the sum again: it could not keep up. Messages go to all.
    """

    mark: ClassVar = b"2bit"
    to_all: ClassVar = True
    threshold: float = option(
        Number(above=0),
        "The size of a step. MXNet's gradient compression of type 2bit, with its default and "
        "its codes: 11 up, 10 down, 00 nothing.",
        default=0.5,
        kw_only=False,
    )

    def validate(self) -> None:
        super().validate()
        require(self, "threshold", np.float32(self.threshold) > 0, "a number above 0")

    def coder(self, n: int) -> Any:
        return TwoBitCoder(self, n, STEP.size + pairs.bytes_for(n))

    @property
    def of_code(self) -> tuple[float, ...]:
        return 0, 0, -self.threshold, self.threshold

    def parse(self, body: Any, n: int) -> Any:
        size = STEP.size + pairs.bytes_for(n)
        self.check(len(body) == size, f"{size} bytes after its head", len(body))
        [step] = STEP.unpack_from(body)
        self.check(step == np.float32(self.threshold), f"threshold {self.threshold}", step)
        body = body[STEP.size :]
        self.check(not (body & ~(body >> 1) & 0x55).any(), "no code 01", "some")
        self.check(pairs.ends_in_zeros(body, n), "zeros after its last code", "others")
        return body

    def write(self, body: Any, out: np.ndarray, add: bool) -> None:
        for block in blocks(len(out)):
            codes = body[block.start // 4 : pairs.bytes_for(block.stop)]
            numbers = pairs.levels(codes, self.of_code)[: block.stop - block.start]
            if add:
                out[block] += numbers
            else:
                out[block] = numbers


class TwoBitCoder(ResidualCoder):
    """Encodes by TwoBit."""

    def fill(self, vector: np.ndarray) -> int:
        threshold, of_code = np.float32(self.codec.threshold), self.codec.of_code
        STEP.pack_into(self.body, 0, threshold)
        body = self.body[STEP.size :]
        for block in blocks(self.n):
            total = self.residual[block]
            total += vector[block]
            size = np.abs(total)
            refuse_unless(size.max() < np.inf, self.codec, total, block.start)
            codes = pairs.pack_pairs(size >= threshold, total >= threshold)
            body[block.start // 4 :][: len(codes)] = codes
            total -= pairs.levels(codes, of_code)[: len(total)]
        return len(self.body)
