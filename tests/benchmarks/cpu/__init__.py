"""Training steps on the CPU: sparkdl against torch, TensorFlow and Keras, alternating.

Each peer has its own environment, created on the first run, and one process per mode. All run the
same workload (shapes, parameters, optimizer) on the same number of threads, in alternating bursts
of steps, round after round. A ratio is the median over rounds of peer time to ours: above 1 sparkdl
is faster. "Best" is the best mode of any peer in this run; "as run" is torch as most people run it:
eager, channels first. "Peak" is the share of the best matrix product's speed in the same rounds;
"others" is the number of cores that other programs used, which must be near 0 for the figures to be
trusted.
"""


def main(arguments):
    from tests.benchmarks.cpu import table  # peer processes import this package without sparkdl

    table.main(arguments)
