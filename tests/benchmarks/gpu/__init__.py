"""Training on one GPU: sparkdl against torch in turns, every operation against the reference.

Needs a GPU, CuPy, numpy, ml_dtypes and PyYAML, and, for the ratios, torch in the interpreter that
runs it; for images from an LMDB also the packages that sparkdl.data reads with. Neither Spark nor a
network. `python build.py bench gpu --json FILE` does all of it in ten minutes.

First come all rows of the table of operations and the zoo's networks, made small, against the
reference on the processor (float32 within 1e-4, bfloat16 within 2e-2 and so operations in float16;
a network within ten times what rounding of its parameters does, where that is more), call by call
and as a captured graph, which must give the same bits. Then come the workloads, each side in a
process of its own, burst after burst, with data that lie on the device before the clock starts.
"Best" is the fastest mode of torch in this run: eager under autocast with channels last and cuDNN's
search, the same compiled, the same captured in a CUDA graph. The peak is what a large matrix
product reaches, the bandwidth what a copy reaches, both in torch; the roofline adds up what each of
our passes must take by the one or the other. NCCL is asked for sums over the one GPU alone. Memory
is what we hold of the device while we train, and what torch says it took at most. What fails, and
what there was no time for, is a row that says so.
"""


def main(arguments):
    from tests.benchmarks.gpu import table  # torch's processes import this package without sparkdl

    table.main(arguments)
