"""Predictions on the CPU: sparkdl against torch and onnxruntime, alternating.

Each side has its own processes, as in `bench cpu`, and predicts the same batch by the same network
on the same number of threads. A figure is the fastest call of a turn, to limit the influence of
other programs. A ratio is the peer's fastest call over all turns to ours: above 1 sparkdl is
faster.
"""


def main(arguments):
    from tests.benchmarks.forward import table  # peer processes import this package too

    table.main(arguments)
