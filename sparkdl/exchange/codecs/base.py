"""Bases of the codecs: message headers, and checks that run before anything is written."""

from collections.abc import Mapping
from struct import Struct
from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Member, dataclass
from sparkdl.errors import CheckpointError, ConfigError, DataError, DivergedError, ShapeError

HEAD = Struct("<4sI")  # the codec's mark, length of the vector
LONGEST = 2**31 - 1  # an index and a sign share 32 bits
# Numbers per block: few enough for the CPU cache, enough to amortize the cost of numpy calls.
BLOCK = 1 << 17
MOST = np.finfo(np.float32).max


@dataclass(frozen=True)
class Codec(Member):
    """A way to write a vector of float32 in fewer bytes, and to read it.

    A codec is only options. What has to be remembered from one vector to the next (what was not
    sent yet) is in its coder. A message says by itself how it is read, so any process that has the
    same codec reads it without state.

    Attributes
    ----------
    mark : bytes (4,)
        What its messages begin with.
    to_all : bool
        How vectors of several processes are summed. True: each message goes to every process,
        which adds them. False: each process sums a stripe of the vector and encodes the sum again.
    """

    complete: ClassVar = True

    mark: ClassVar[bytes]
    to_all: ClassVar[bool] = False

    def coder(self, n: int) -> Any:
        """Returns a Coder for vectors of n numbers, with nothing kept back."""
        raise NotImplementedError

    def decode(self, message: Any, out: np.ndarray, add: bool = False) -> None:
        """Fills `out` with the vector in a message, or adds the vector to it.

        Parameters
        ----------
        message : bytes-like
            What an `encode` of the same codec gave. It may come from anywhere: all of it is checked
            before `out` is touched.
        out : float32 array (n,)

        Raises
        ------
        DataError
            If it is not a message of this codec for n numbers.
        """
        vector_of(type(self).__name__, out, len(out))
        body = self.open_message(np.frombuffer(message, np.uint8), len(out))
        self.write(self.parse(body, len(out)), out, add)

    def open_message(self, message: Any, n: int) -> Any:
        """Checks the header, and returns the bytes after it."""
        self.check(len(message) >= HEAD.size, f"at least {HEAD.size} bytes", len(message))
        mark, numbers = HEAD.unpack_from(message)
        self.check(mark == self.mark, f"the mark {self.mark!r}", mark)
        self.check(numbers == n, f"{n} numbers", numbers)
        return message[HEAD.size :]

    def check(self, holds: object, expected: str, actual: object) -> None:
        if not holds:
            raise DataError(f"a message of {type(self).__name__} needs {expected}, got {actual}")

    def parse(self, body: Any, n: int) -> Any:
        """Parses and checks `body`, a message for n numbers; raises DataError if it is invalid."""
        raise NotImplementedError

    def write(self, parts: Any, out: np.ndarray, add: bool) -> None:
        """Writes the output of `parse` to `out`, or adds it."""
        raise NotImplementedError


class Coder:
    """Encodes successive vectors, carrying over to the next what each message leaves out.

    Parameters
    ----------
    codec : Codec
    n : int
        Numbers in each vector.
    capacity : int
        Largest size of a message body, in bytes.

    Attributes
    ----------
    size : int
        Largest size of a message, in bytes. Without the codec's `to_all`, every message has it.
    """

    def __init__(self, codec, n, capacity):
        if not 0 <= n <= LONGEST:
            raise ConfigError(f"a coder needs a length from 0 to {LONGEST}, got {n}")
        self.codec, self.n = codec, n
        self._message = np.zeros(HEAD.size + capacity, np.uint8)
        self.size = len(self._message)
        HEAD.pack_into(self._message, 0, codec.mark, n)
        self.body = self._message[HEAD.size :]

    def encode(self, vector: np.ndarray) -> np.ndarray:
        """Returns the message for `vector`: a uint8 array, valid until the next call.

        Parameters
        ----------
        vector : float32 array (n,)

        Raises
        ------
        DivergedError
            If the vector, with the residual, has a NaN, an infinity, or numbers too large for the
            codec. The residual is then partly overwritten, and the coder unusable.
        """
        vector_of(type(self.codec).__name__, vector, self.n)
        return self._message[: HEAD.size + self.fill(vector)]

    def fill(self, vector: np.ndarray) -> int:
        """Writes the body of the message for `vector`; returns its length in bytes."""
        raise NotImplementedError

    def state(self) -> dict[str, np.ndarray]:
        """Returns copies of the state kept between vectors, {name: array}."""
        return {name: array.copy() for name, array in self.state_arrays().items()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restores the `state` of a coder with the same codec and length.

        Raises
        ------
        CheckpointError
            If names, shapes or types differ.
        """
        state_kept = self.state_arrays()
        needed, actual = describe_arrays(state_kept), describe_arrays(state)
        if needed != actual:
            raise CheckpointError(f"{type(self.codec).__name__} needs state {needed}, got {actual}")
        for name, array in state_kept.items():
            array[...] = state[name]

    def state_arrays(self) -> dict[str, np.ndarray]:
        """Returns {name: array} of the state kept between vectors."""
        return {}

    def settings(self) -> np.ndarray:
        """Returns the adaptive settings: float64, a view.

        Callers may average them over coders.
        """
        return np.zeros(0)


class ResidualCoder(Coder):
    """A coder with error feedback: the quantization error is added to the next vector."""

    def __init__(self, codec, n, capacity):
        super().__init__(codec, n, capacity)
        self.residual = np.zeros(n, np.float32)

    def state_arrays(self) -> dict[str, np.ndarray]:
        return {"residual": self.residual}


def blocks(n, size=BLOCK):
    """Returns slices that cover n numbers, `size` at a time."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def vector_of(owner, vector, n):
    fits = isinstance(vector, np.ndarray) and vector.dtype == np.float32 and vector.shape == (n,)
    if not fits or not vector.flags.c_contiguous:
        form = getattr(vector, "dtype", type(vector).__name__), getattr(vector, "shape", None)
        raise ShapeError(f"{owner} needs a contiguous float32 vector ({n},), got {form}")


def refuse_unless(finite, codec, part, start, limit=MOST):
    """Raises DivergedError for the first number of `part` that is NaN or larger than `limit`."""
    if finite:
        return
    bad = np.flatnonzero(~(np.abs(part) <= limit))
    where = f"[{start + bad[0]}] is {part[bad[0]]}" if len(bad) else f"[{start}...] is too large"
    raise DivergedError(
        f"{type(codec).__name__} needs numbers of at most {limit:.3g}, but with the residual "
        f"added the vector{where}"
    )


def describe_arrays(arrays):
    return {name: (str(a.dtype), a.shape) for name, a in sorted(arrays.items())}
