"""One-bit quantization with two levels per chunk and error feedback."""

from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Boolean, Integer, dataclass, option
from sparkdl.errors import require
from sparkdl.exchange.codecs.base import BLOCK, Codec, ResidualCoder, blocks, refuse_unless

# Eight int32 masks for each byte, lowest bit first: all ones where the bit says "below threshold".
BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
MASKS = np.where(BITS, np.int32(-1), np.int32(0))


@dataclass(frozen=True)
class OneBit(Codec):
    """Each number becomes the mean of its chunk's numbers on its side of a threshold.

    A message has n / 8 bytes and 8 for each chunk: 28.4 times fewer than float32 with chunks of
    512. CNTK's chunks are the columns of a layer's matrix.

    References
    ----------
    Seide, Fu, Droppo, Li and Yu, 1-bit stochastic gradient descent and its application to
    data-parallel distributed training of speech DNNs (2014), section 3.
    """

    mark: ClassVar = b"1bit"
    chunk: int = option(
        Integer(minimum=64, maximum=BLOCK),
        "Numbers that share two levels: a multiple of 64.",
        default=512,
        kw_only=False,
    )
    zero_threshold: bool = option(
        Boolean(),
        "True: numbers below 0 and the others have each their own mean. False: the threshold "
        "is the mean of the chunk, and both levels are as far from it as the numbers are on "
        "the average. (CNTK's useZeroThresholdFor1BitQuantization, with the same default.)",
        default=True,
    )

    def validate(self) -> None:
        super().validate()
        require(self, "chunk", self.chunk % 64 == 0, f"64, 128, ... {BLOCK}")

    def coder(self, n: int) -> Any:
        return OneBitCoder(self, n, 8 * chunks_in(n, self.chunk) + (n + 7) // 8)

    def parse(self, body: Any, n: int) -> Any:
        chunks = chunks_in(n, self.chunk)
        size = 8 * chunks + (n + 7) // 8
        self.check(len(body) == size, f"{size} bytes after its head", len(body))
        levels, bits = split(body, chunks)
        self.check(np.isfinite(levels).all(), "finite levels", "others")
        self.check(not n % 8 or bits[-1] >> n % 8 == 0, "zeros after its last bit", "others")
        return levels, bits

    def write(self, parts: Any, out: np.ndarray, add: bool) -> None:
        levels, bits = parts
        for block in blocks(len(out), block_of(self.chunk)):
            first = slice(block.start // self.chunk, chunks_in(block.stop, self.chunk))
            part = bits[block.start // 8 : (block.stop + 7) // 8]
            numbers = decode_levels(levels[first], part, self.chunk)[: block.stop - block.start]
            if add:
                out[block] += numbers
            else:
                out[block] = numbers


class OneBitCoder(ResidualCoder):
    """Encodes by OneBit; the residual is the input less the decoded message."""

    def __init__(self, codec, n, capacity):
        super().__init__(codec, n, capacity)
        padded = chunks_in(n, codec.chunk) * codec.chunk
        self._sum = np.zeros(min(padded, block_of(codec.chunk)), np.float32)

    def fill(self, vector: np.ndarray) -> int:
        chunk = self.codec.chunk
        levels, bits = split(self.body, chunks_in(self.n, chunk))
        for block in blocks(self.n, block_of(chunk)):
            length = block.stop - block.start
            rows = chunks_in(length, chunk)
            total = self._sum[: rows * chunk]
            np.add(vector[block], self.residual[block], out=total[:length])
            total[length:] = 0
            part = levels[block.start // chunk :][:rows]
            sides = self.quantize(total.reshape(rows, chunk), length, part)
            refuse_unless(np.isfinite(part).all(), self.codec, total[:length], block.start)
            bits[block.start // 8 :][: (length + 7) // 8] = sides[: (length + 7) // 8]
            sent = decode_levels(part, sides, chunk)
            np.subtract(total[:length], sent[:length], out=self.residual[block])
        return len(self.body)

    def quantize(self, total, length, levels):
        """Fills levels (rows, 2) for total (rows, chunk); returns the bits (rows * chunk / 8,).

        Only the first `length` numbers count.
        """
        counts = np.full(len(total), total.shape[1], np.float32)
        counts[-1:] -= total.size - length
        with np.errstate(over="ignore", invalid="ignore"):  # checked by the caller
            if self.codec.zero_threshold:
                return two_means(total, counts, levels)
            return encode_symmetric(total, counts, levels, length)


def two_means(total, counts, levels):
    """Sets levels to the means of negative and other numbers (0 if none); returns the bits."""
    sides = np.packbits(total < 0, bitorder="little")
    bits = total.view(np.int32)
    below = bits >> 31  # all ones where the number is negative
    below &= bits
    below = below.view(np.float32)
    positive = np.bitwise_count(sides.reshape(len(total), -1)).sum(axis=1, dtype=np.float32)
    levels[:, 0] = np.einsum("ij->i", below) / np.maximum(positive, 1)
    np.subtract(total, below, out=below)
    levels[:, 1] = np.einsum("ij->i", below) / np.maximum(counts - positive, 1)
    return sides


def encode_symmetric(total, counts, levels, length):
    """Sets levels to the mean minus and plus the mean deviation; returns the bits."""
    mean = np.einsum("ij->i", total) / counts
    away = total - mean[:, None]
    away.reshape(-1)[length:] = 0
    sides = np.packbits(away < 0, bitorder="little")
    distance = np.einsum("ij->i", np.abs(away, out=away)) / counts
    levels[:, 0], levels[:, 1] = mean - distance, mean + distance
    return sides


def decode_levels(levels, bits, chunk):
    """Returns the level of each number, (rows * chunk,), for levels (rows, 2).

    `bits` may be shorter; missing ones count as 0.
    """
    masks = np.empty((len(levels) * chunk // 8, 8), np.int32)
    np.take(MASKS, bits, axis=0, out=masks[: len(bits)], mode="clip")
    masks[len(bits) :] = 0
    low, high = levels.view(np.int32).T[:, :, None]
    numbers = masks.reshape(len(levels), chunk)
    numbers &= low ^ high
    numbers ^= high
    return numbers.reshape(-1).view(np.float32)


def split(body, chunks):
    """Splits a message body into levels, float32 (chunks, 2), and bits."""
    return body[: 8 * chunks].view("<f4").reshape(chunks, 2), body[8 * chunks :]


def chunks_in(n, chunk):
    return -(-n // chunk)


def block_of(chunk):
    """Returns the block size in numbers, a multiple of `chunk`."""
    return BLOCK // chunk * chunk
