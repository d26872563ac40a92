"""Training on one GPU: sparkdl against torch, and every operation against the reference.

Needs a GPU, CuPy, numpy, ml_dtypes and PyYAML; torch in the same interpreter for the ratios; and
sparkdl.data's reader packages for images from an LMDB. It needs neither Spark nor network access.
`python build.py bench gpu --json FILE` runs everything in ten minutes.

First, all rows of the table of operations and small versions of the zoo's networks are compared
with the reference on the CPU, call by call and as a captured graph, which must give the same bits.
Tolerances are 1e-4 in float32, and 2e-2 in bfloat16 and for float16 operations; for a network, ten
times the effect of rounding its parameters if that is larger. Then come the workloads, each side in
its own process, in alternating bursts, with data on the device before the clock starts. "Best" is
torch's fastest mode in this run: eager under autocast with channels last and cuDNN's search, the
same compiled, or the same captured in a CUDA graph. Peak and bandwidth are those of a large matrix
product and of a copy, both in torch; the roofline sums the minimum time of each of our passes by
either. NCCL sums over the one GPU only. Memory is our device memory in training, and torch's
reported maximum. Failures, and checks without time left, are rows that say so.
"""


def main(arguments):
    from tests.benchmarks.gpu import table  # torch's processes import this package without sparkdl

    table.main(arguments)
