"""Predictions on the CPU: sparkdl against torch and onnxruntime, in turns.

Each side has processes of its own, as in `bench cpu`, holds the same network and gives the outputs
for the same batch with the same number of threads. A figure is the fastest call of a turn, so that
what else runs on the machine counts little; ratios are of the fastest over all turns, peer by ours,
so above 1 sparkdl is faster.
"""


def main(arguments):
    from tests.benchmarks.forward import table  # peers' processes import this package too

    table.main(arguments)
