"""16-bit numbers: half the bytes, no residual."""

from typing import Any

import numpy as np

from sparkdl.config import Choice, dataclass, option
from sparkdl.exchange.codecs.base import Codec, Coder, blocks, refuse_unless

LARGEST = {"float16": 65504.0, "bfloat16": 3.3895314e38}
INFINITE = {"float16": 0x7C00, "bfloat16": 0x7F80}  # bit pattern of infinity: all exponent bits set
TO_INFINITY = 0x7F7F8000  # float32 bits from here on round to infinity as bfloat16, or are NaN


@dataclass(frozen=True)
class Half(Codec):
    """Each number rounded to the nearest of 16 bits, ties to even."""

    dtype: str = option(
        Choice(of=tuple(LARGEST)),
        '"float16": 11 significant bits, up to 65504. "bfloat16": 8 significant bits, the '
        "range of float32.",
        default="float16",
        kw_only=False,
    )

    @property
    def mark(self) -> bytes:  # type: ignore[override]
        return b"fp16" if self.dtype == "float16" else b"bf16"

    def coder(self, n: int) -> Any:
        return HalfCoder(self, n, 2 * n)

    def parse(self, body: Any, n: int) -> Any:
        self.check(len(body) == 2 * n, f"{2 * n} bytes after its head", len(body))
        words = body.view("<u2")
        top = np.uint16(INFINITE[self.dtype])
        for block in blocks(n):
            self.check(((words[block] & top) != top).all(), "finite numbers", "others")
        return words

    def write(self, words: Any, out: np.ndarray, add: bool) -> None:
        for block in blocks(len(out)):
            numbers = widen_words(words[block], self.dtype)
            if add:
                out[block] += numbers
            else:
                out[block] = numbers


class HalfCoder(Coder):
    """Encodes by Half; has no residual."""

    def fill(self, vector: np.ndarray) -> int:
        words = self.body.view("<u2")
        narrow = to_float16 if self.codec.dtype == "float16" else to_bfloat16
        for block in blocks(self.n):
            finite = narrow(vector[block], words[block])
            refuse_unless(finite, self.codec, vector[block], block.start, LARGEST[self.codec.dtype])
        return len(self.body)


def to_float16(x, out):
    """Writes x (n,) as float16 bits to out (n,) uint16; returns whether all are finite."""
    with np.errstate(over="ignore"):
        np.copyto(out.view("<f2"), x, casting="same_kind")
    return not ((out & 0x7C00) == 0x7C00).any()


def to_bfloat16(x, out):
    """Writes x (n,) as bfloat16 bits to out (n,) uint16; returns whether all are finite."""
    bits = x.view(np.uint32)
    finite = not len(x) or (bits & 0x7FFFFFFF).max() < TO_INFINITY
    odd = (bits >> 16) & 1
    odd += 0x7FFF  # with `odd`, half of the last place kept: rounds to nearest, ties to even
    odd += bits
    np.copyto(out, odd >> 16, casting="same_kind")
    return finite


def widen_words(words, dtype):
    """Converts 16-bit words (n,) to float32 (n,)."""
    if dtype == "float16":
        return words.view("<f2").astype(np.float32)
    wide = words.astype(np.uint32)
    wide <<= 16
    return wide.view(np.float32)
