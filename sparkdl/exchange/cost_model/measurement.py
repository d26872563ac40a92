"""Short benchmark of two processes on this machine that measures the cost model's constants.

The second process runs this module, given a folder in which to meet the first.
"""

import os
import secrets
import subprocess
import sys
import tempfile
import time
from statistics import median

import numpy as np

from sparkdl.exchange.cost_model.model import Coding, Costs
from sparkdl.exchange.group import Group
from sparkdl.exchange.rendezvous.file_rendezvous import FileRendezvous

LARGE, SMALL = 64 << 20, 1 << 10  # bytes of the vectors summed; LARGE exceeds any cache
REPEATS = {LARGE: 7, SMALL: 301}
# Minimum for few long runs, to exclude other load; median for short ones, which vary by themselves.
TYPICAL = {LARGE: min, SMALL: median}
LIMIT = 60.0  # seconds for the two processes to meet
LONG, SHORT = 1 << 22, 1 << 16  # length of the vectors encoded
BEGINNING = 3  # warm-up vectors: fresh memory, codecs not yet adapted
SETTLING = 300  # vectors until an adaptive codec has settled


def measure_costs():
    """Returns the Costs of this machine, from two processes that sum vectors for a second or so."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", __name__, folder]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL) as other:
            try:
                seconds = sums(folder, 0)
                other.wait(LIMIT)
            finally:
                other.kill()
    return fit_costs(seconds, addition(), os.cpu_count() or 1)


def sums(folder, rank):
    """Returns {whether through shared memory: {bytes: seconds of a sum over both processes}}."""
    rendezvous = FileRendezvous(folder, rank, 2)
    secret = rendezvous.all_gather(secrets.token_hex(32), LIMIT)[0].encode()
    times = {}
    for shared in (False, True):
        group = Group.form(rendezvous, secret, timeout=LIMIT, shared_memory=shared)
        try:
            times[shared] = {nbytes: seconds(group, nbytes) for nbytes in REPEATS}
        finally:
            group.close()
    return times


def seconds(group, nbytes):
    """Times repeated sums of a vector of zeros; returns the minimum or median, see TYPICAL."""
    vector = np.zeros(nbytes // 4, np.float32)
    group.all_reduce(vector)
    return TYPICAL[nbytes](time_call(group.all_reduce, vector) for _ in range(REPEATS[nbytes]))


def addition():
    """Returns core seconds per byte for adding two vectors that are not in the cache."""
    x, y = np.ones((2, LARGE // 4), np.float32)
    return min(time_call(np.add, x, y, x) for _ in range(REPEATS[LARGE])) / LARGE


def fit_costs(seconds, add, cores):
    """Returns the Costs with which the model reproduces the times of two processes."""
    crowd = max(1.0, 2 / cores)
    over_links, through_memory = seconds[False], seconds[True]
    large = (over_links[LARGE] - 2 * over_links[SMALL]) / crowd / LARGE
    return Costs(
        message=over_links[SMALL] / crowd,
        socket=large - add / 2,
        add=add,
        shared=2 * (through_memory[LARGE] - through_memory[SMALL]) / crowd / LARGE,
        barrier=through_memory[SMALL] / crowd,
    )


def measure_coding(codec, settling=SETTLING):
    """Measures the Coding of a codec.

    Parameters
    ----------
    settling : int
        Vectors after which the message length is steady. They are normal with deviation 0.01; real
        gradients differ, and so do the messages of sparse codecs.
    """
    samples = list(codings(codec, LONG, BEGINNING + 3))[BEGINNING:]
    encode, decode, length = map(min, zip(*samples))
    if settling:
        *_, (_, _, length) = codings(codec, SHORT, settling)
    return Coding(
        name=type(codec).__name__,
        ratio=length,
        encode=encode,
        decode=decode,
        to_all=codec.to_all,
    )


def codings(codec, numbers, count):
    """Yields seconds to encode, seconds to decode and add, and bytes, per byte of each vector."""
    coder, out = codec.coder(numbers), np.ones(numbers, np.float32)
    vector = np.random.default_rng(0).normal(0, 0.01, numbers).astype(np.float32)
    for _ in range(count):
        vector = np.roll(vector, 1001)  # a different vector as far as the residual is concerned
        start = time.perf_counter()
        message = coder.encode(vector)
        encode = time.perf_counter() - start
        decode = time_call(codec.decode, message, out, True)
        yield tuple(figure / vector.nbytes for figure in (encode, decode, len(message)))


def time_call(function, *arguments):
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


if __name__ == "__main__":
    sums(sys.argv[1], 1)
